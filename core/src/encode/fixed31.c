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
#define FOLD cm_fold_31

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

/* Terms lie within +-2^30 q, and T of them within +-2^30 T q: the offset, a multiple of q, makes the sum positive. */
static inline uint64_t fold_offset(const cm_ring *ring)
{
    return (uint64_t)ring->prime->q << (30 + ring->log2_tiles);
}

/* For |x| < 2^30; unsigned, for the sum is. */
static inline uint64_t fold_term(int64_t x, uint32_t power, const cm_prime *prime)
{
    (void)prime;
    return (uint64_t)(x * power);
}

#include "encode/fixed_transform.h"

#endif

typedef int cm_fixed31_is_never_an_empty_file;
