/* The 63-bit encoder: 64-bit numbers, roots with 63 fractional bits, 128-bit accumulators. */
#include "ciphermote/config.h"

#if CM_PRECISION_63

#include "encode/encode.h"
#include "encode/roots.h"
#include "encode/wide128.h"

typedef int64_t fixed;
typedef cm_wide128 wide;

#define FIXED_BITS 64
#define GUARD_BITS CM_GUARD_BITS_63
#define SINE cm_sine_63
#define TRANSFORM cm_transform_63
#define RESIDUES cm_residues_63

static inline wide wide_from(int64_t a)
{
    return cm_wide128_shifted(a, FIXED_BITS - 1);
}

static inline wide product(int64_t a, fixed b)
{
    return cm_wide128_product(a, b);
}

static inline wide add(wide a, wide b)
{
    return cm_wide128_add(a, b);
}

static inline wide subtract(wide a, wide b)
{
    return cm_wide128_subtract(a, b);
}

static inline fixed shift_right(wide a, unsigned bits)
{
    return cm_wide128_high(a, bits);
}

/* To the nearest, halves up. */
static inline fixed round_shift(wide a, unsigned bits)
{
    return cm_wide128_round(a, bits);
}

/* x = high 2^32 + low; the offset, a multiple of q of at least 2^30, makes high positive, for |x| < 2^62. */
static inline uint32_t residue(fixed x, uint32_t offset, const cm_prime *prime)
{
    uint32_t high = (uint32_t)(int32_t)(x >> 32) + offset;
    uint32_t sum = cm_montgomery_multiply(high, prime->r2, prime) +
                   cm_montgomery_multiply((uint32_t)x, prime->r1, prime);
    return cm_subtract_once(sum, 2u * prime->q);
}

#include "encode/fixed_transform.h"

#endif

typedef int cm_fixed63_is_never_an_empty_file;
