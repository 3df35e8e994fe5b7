/* SPDX-License-Identifier: Apache-2.0 */
/* The 31-bit encoder and decoder: 32-bit numbers, roots with 31 fractional bits, 64-bit accumulators. */
#include "arch/backends.h"
#include "common/bytes.h"
#include "common/compiler.h"
#include "encode/ckks_fixed.h"
#include "encode/ckks_roots.h"

#if CM_CONFIG_PRECISION_31

typedef int32_t fixed;
typedef uint32_t ufixed;
typedef int64_t wide;

#define FIXED_BITS 32
#define GUARD_BITS CM_GUARD_BITS_31
#define SINE cmi_sine_31
#define COMPUTED_ROOT cmi_computed_root_31
#define TRANSFORM cmi_transform_31
#define EMBED cmi_embed_31
#define FOLD cmi_fold_31
#define FOLD_NOISY cmi_fold_noisy_31
#define TRY(step, ...) CM_ARCH_TRY(step##_31, __VA_ARGS__)

/* a 2^31 */
static inline wide wide_from(fixed a)
{
    return (wide)((uint64_t)(int64_t)a << (FIXED_BITS - 1));
}

/* What rounds a shift by so many bits to the nearest, halves up. */
static inline wide wide_half(unsigned bits)
{
    return (wide)1 << (bits - 1u);
}

/* Unsigned inside: a partial sum may wrap, the whole never does. */
static inline wide multiply_add(wide sum, fixed a, fixed b)
{
    return (wide)((uint64_t)sum + (uint64_t)cmi_product_signed(a, b));
}

/* sum + (x + y) b, where x + y may need 33 bits: two products of 32 bits are the cheaper ones. */
static inline wide multiply_add_sum(wide sum, fixed x, fixed y, fixed b)
{
    return multiply_add(multiply_add(sum, x, b), y, b);
}

/*
 * (a + b + 1) >> 1, where the sum may need 33 bits: bits that both have, and half of those that one has,
 * rounded up.
 */
static inline fixed half_sum(fixed a, fixed b)
{
    return (a | b) - ((a ^ b) >> 1);
}

static inline fixed shift_right(wide a, unsigned bits)
{
    return bits == 32u ? (fixed)cmi_upper_word((uint64_t)a) : (fixed)(a >> bits);
}

static inline wide wide_add(wide a, wide b)
{
    return (wide)((uint64_t)a + (uint64_t)b);
}

static inline wide wide_subtract(wide a, wide b)
{
    return (wide)((uint64_t)a - (uint64_t)b);
}

/* a / 2^31 to the nearest, halves up */
static inline fixed drop_fraction(wide a)
{
    return (fixed)(wide_add(a, wide_half(FIXED_BITS - 1)) >> (FIXED_BITS - 1));
}

/*
 * For |x| < 2^30: x - q round(x / q), where the quotient comes from one product and is off by less than
 * 5/8.
 */
typedef struct residue_constants {
    int32_t q;
    int32_t half;    /* floor(q / 2) */
    int32_t inverse; /* cmi_prime_inverse */
} residue_constants;

/*
 * Proof of the 5/8: with |inverse - 2^32 / q| <= 1/2, (x + half) inverse / 2^32 lies within 2^31 / 2^33 = 1/4
 * of x / q + half / q, and for |x + half| < 2^30 + 2^26 within 0.133; it is rounded down, so x minus q times
 * it is between -0.64 q and 0.64 q.
 */
static inline residue_constants residue_constants_of(const cm_prime *prime)
{
    residue_constants constants;
    constants.q = (int32_t)prime->q;
    constants.half = (int32_t)(prime->q >> 1);
    constants.inverse = cmi_prime_inverse(prime);
    return constants;
}

static inline int32_t residue_of(fixed x, const residue_constants *constants)
{
    const int32_t quotient = (int32_t)(cmi_product_signed(x + constants->half, constants->inverse) >> 32);
    return x - quotient * constants->q;
}

/*
 * Coefficients are below sqrt(2) 2^29, with noise below 2^29.6: the parts of a complex slot are below 2^29
 * each.
 */
static inline int64_t fold_add(int64_t sum, fixed x, int32_t power, const cm_prime *prime)
{
    (void)prime;
    return sum + cmi_product_signed(x, power);
}

#include "encode/ckks_transform.h"

#include "encode/ckks_embed.h"

#include "encode/ckks_fold.h"

#endif
