/* SPDX-License-Identifier: Apache-2.0 */
/* The 31-bit encoder and decoder: 32-bit numbers, roots with 31 fractional bits, 64-bit accumulators. */
#include "arch/backends.h"
#include "common/bytes.h"
#include "common/compiler.h"
#include "encode/ckks_fixed.h"
#include "encode/ckks_names.h"
#include "encode/ckks_roots.h"

#if CM_CONFIG_PRECISION_31

#define PRECISE(name) name##_31
#define FX_BITS_31 32
#define FX_TRY_31(step, ...) CM_ARCH_TRY(step##_31, __VA_ARGS__)

typedef int32_t fx_int;
typedef uint32_t fx_uint;
typedef int64_t fx_wide;

/* a 2^31 */
static inline fx_wide fx_wide_from(fx_int a)
{
    return (fx_wide)((uint64_t)(int64_t)a << (FX_BITS - 1));
}

/* Added before a right shift by this many bits, it rounds to nearest, halves up. */
static inline fx_wide fx_wide_half(unsigned bits)
{
    return (fx_wide)1 << (bits - 1u);
}

/* Computed unsigned: a partial sum may wrap, the total never does. */
static inline fx_wide fx_multiply_add(fx_wide sum, fx_int a, fx_int b)
{
    return (fx_wide)((uint64_t)sum + (uint64_t)cmi_product_signed(a, b));
}

/* sum + (x + y) b, where x + y may need 33 bits: two 32-bit products are cheaper. */
static inline fx_wide fx_multiply_add_sum(fx_wide sum, fx_int x, fx_int y, fx_int b)
{
    return fx_multiply_add(fx_multiply_add(sum, x, b), y, b);
}

/*
 * (a + b + 1) >> 1, where the sum may need 33 bits: the bits both have, and half of those only one has,
 * rounded up.
 */
static inline fx_int fx_half_sum(fx_int a, fx_int b)
{
    return (a | b) - ((a ^ b) >> 1);
}

static inline fx_int fx_shift_right(fx_wide a, unsigned bits)
{
    return bits == 32u ? (fx_int)cmi_upper_word((uint64_t)a) : (fx_int)(a >> bits);
}

static inline fx_wide fx_wide_add(fx_wide a, fx_wide b)
{
    return (fx_wide)((uint64_t)a + (uint64_t)b);
}

static inline fx_wide fx_wide_subtract(fx_wide a, fx_wide b)
{
    return (fx_wide)((uint64_t)a - (uint64_t)b);
}

/* a / 2^31 to the nearest, halves up */
static inline fx_int fx_drop_fraction(fx_wide a)
{
    return (fx_int)(fx_wide_add(a, fx_wide_half(FX_BITS - 1)) >> (FX_BITS - 1));
}

/*
 * For |x| < 2^30: x - q round(x / q), where the quotient comes from one product and is off by less than 0.64.
 */
typedef struct fx_residue_constants {
    int32_t q;
    int32_t half;    /* floor(q / 2) */
    int32_t inverse; /* cmi_prime_inverse */
} fx_residue_constants;

/*
 * Proof of the 0.64: with |inverse - 2^32 / q| <= 1/2, (x + half) inverse / 2^32 lies within 2^31 / 2^33 =
 * 1/4 of x / q + half / q, and for |x + half| < 2^30 + 2^26 within 0.133; it is rounded down, so x minus q
 * times it is between -0.64 q and 0.64 q.
 */
static inline fx_residue_constants fx_residue_constants_of(const cm_prime *prime)
{
    fx_residue_constants constants;
    constants.q = (int32_t)prime->q;
    constants.half = (int32_t)(prime->q >> 1);
    constants.inverse = cmi_prime_inverse(prime);
    return constants;
}

static inline int32_t fx_residue_of(fx_int x, const fx_residue_constants *constants)
{
    const int32_t quotient = (int32_t)(cmi_product_signed(x + constants->half, constants->inverse) >> 32);
    return x - quotient * constants->q;
}

/*
 * Coefficients are below sqrt(2) 2^29, with noise below 2^29.6: the parts of a complex slot are below 2^29
 * each.
 */
static inline int64_t fx_fold_add(int64_t sum, fx_int x, int32_t power, const cm_prime *prime)
{
    (void)prime;
    return sum + cmi_product_signed(x, power);
}

#include "encode/ckks_transform.h"

#include "encode/ckks_embed.h"

#include "encode/ckks_fold.h"

#undef PRECISE

#endif
