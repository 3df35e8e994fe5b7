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
#define FOLD cm_fold_63

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

/* The first q 2^i from 2^30 on. */
static inline uint32_t positive_multiple(const cm_prime *prime)
{
    uint32_t multiple = prime->q;
    while (multiple < (uint32_t)1 << 30) {
        multiple <<= 1;
    }
    return multiple;
}

static inline uint64_t fold_offset(const cm_ring *ring)
{
    (void)ring;
    return 0;
}

/*
 * For |x| < 2^62, x = high 2^32 + low; adding a multiple of q of at least 2^30 makes high positive. The residue is
 * below 4q, and sixteen terms below 2^60.
 */
static inline uint64_t fold_term(int64_t x, uint32_t power, const cm_prime *prime)
{
    uint32_t high = (uint32_t)(int32_t)(x >> 32) + positive_multiple(prime);
    uint32_t residue = cm_montgomery_multiply(high, prime->r2, prime) +
                       cm_montgomery_multiply((uint32_t)x, prime->r1, prime);
    return (uint64_t)residue * power;
}

#include "encode/fixed_transform.h"

#endif

typedef int cm_fixed63_is_never_an_empty_file;
