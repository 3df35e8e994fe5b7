/* The 31-bit encoder: 32-bit numbers, roots with 31 fractional bits, 64-bit accumulators. */
#include "ciphermote/config.h"

#if CM_PRECISION_31

#include "encode/encode.h"
#include "encode/roots.h"

typedef int32_t fixed;
typedef int64_t wide;

#define FIXED_BITS 32
#define GUARD_BITS CM_GUARD_BITS_31
#define SINE cm_sine_31
#define TRANSFORM cm_transform_31
#define RESIDUES cm_residues_31

static inline wide wide_from(int64_t a)
{
    return a * ((wide)1 << (FIXED_BITS - 1));
}

static inline wide product(int64_t a, fixed b)
{
    return (wide)((uint64_t)a * (uint64_t)(int64_t)b);
}

/* Unsigned inside: a partial sum may wrap, the whole never does. */
static inline wide add(wide a, wide b)
{
    return (wide)((uint64_t)a + (uint64_t)b);
}

static inline wide subtract(wide a, wide b)
{
    return (wide)((uint64_t)a - (uint64_t)b);
}

static inline fixed shift_right(wide a, unsigned bits)
{
    return (fixed)(a >> bits);
}

/* To the nearest, halves up. */
static inline fixed round_shift(wide a, unsigned bits)
{
    return (fixed)((a + ((wide)1 << (bits - 1u))) >> bits);
}

/* A multiple of q between 2^30 and 2^31 makes any |x| < 2^30 a positive 32-bit number. */
static inline uint32_t residue(fixed x, uint32_t offset, const cm_prime *prime)
{
    return cm_montgomery_multiply((uint32_t)x + offset, prime->r1, prime);
}

#include "encode/fixed_transform.h"

#endif

typedef int cm_fixed31_is_never_an_empty_file;
