/* SPDX-License-Identifier: Apache-2.0 */
/* The 63-bit encoder and decoder: 64-bit numbers, roots with 63 fractional bits, 128-bit accumulators. */
#include "common/bytes.h"
#include "common/compiler.h"
#include "encode/ckks_fixed.h"
#include "encode/ckks_roots.h"
#include "encode/wide128.h"

#if CM_CONFIG_PRECISION_63

typedef int64_t fixed;
typedef uint64_t ufixed;
typedef cmi_wide128 wide;

#define FIXED_BITS 64
#define GUARD_BITS CM_GUARD_BITS_63
#define SINE cmi_sine_63
#define COMPUTED_ROOT cmi_computed_root_63
#define TRANSFORM cmi_transform_63
#define EMBED cmi_embed_63
#define FOLD cmi_fold_63
#define FOLD_NOISY cmi_fold_noisy_63
#define TRY(step, ...) 0 /* no back-end has 63 bits */

/* a 2^63 */
static inline wide wide_from(fixed a)
{
    return cmi_wide128_shifted(a, FIXED_BITS - 1);
}

/* What rounds a shift by so many bits to the nearest, halves up. */
static inline wide wide_half(unsigned bits)
{
    return cmi_wide128_shifted((int64_t)1 << (bits - FIXED_BITS), FIXED_BITS - 1);
}

static inline wide multiply_add(wide sum, fixed a, fixed b)
{
    return cmi_wide128_add(sum, cmi_wide128_product(a, b));
}

/* sum + (x + y) b; for |x|, |y| < 2^62 */
static inline wide multiply_add_sum(wide sum, fixed x, fixed y, fixed b)
{
    return multiply_add(sum, x + y, b);
}

/* (a + b + 1) >> 1 */
static inline fixed half_sum(fixed a, fixed b)
{
    return (a + b + 1) >> 1;
}

static inline fixed shift_right(wide a, unsigned bits)
{
    return cmi_wide128_high(a, bits);
}

static inline wide wide_add(wide a, wide b)
{
    return cmi_wide128_add(a, b);
}

static inline wide wide_subtract(wide a, wide b)
{
    return cmi_wide128_subtract(a, b);
}

/* a / 2^63 to the nearest, halves up, for |a| < 2^126 */
static inline fixed drop_fraction(wide a)
{
    return shift_right(cmi_wide128_add(cmi_wide128_add(a, a), wide_half(FIXED_BITS)), FIXED_BITS);
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

/*
 * For |x| < 2^62, x = high 2^32 + low; adding a multiple of q of at least 2^30 makes high positive. Below
 * 4q.
 */
static inline uint32_t lazy_residue(fixed x, const cm_prime *prime)
{
    const uint32_t high = (uint32_t)(int32_t)(x >> 32) + positive_multiple(prime);
    return cmi_montgomery_multiply(high, prime->r2, prime) +
           cmi_montgomery_multiply((uint32_t)x, prime->r1, prime);
}

/* A lazy residue is below 2^29. */
static inline int64_t fold_add(int64_t sum, fixed x, int32_t power, const cm_prime *prime)
{
    return sum + cmi_product_signed((int32_t)lazy_residue(x, prime), power);
}

typedef struct residue_constants {
    const cm_prime *prime;
} residue_constants;

static inline residue_constants residue_constants_of(const cm_prime *prime)
{
    return (residue_constants){prime};
}

static inline int32_t residue_of(fixed x, const residue_constants *constants)
{
    return (int32_t)cmi_reduce(lazy_residue(x, constants->prime), constants->prime);
}

#include "encode/ckks_transform.h"

#include "encode/ckks_embed.h"

#include "encode/ckks_fold.h"

#endif
