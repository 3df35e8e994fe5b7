/* SPDX-License-Identifier: Apache-2.0 */
/* The 63-bit encoder and decoder: 64-bit numbers, roots with 63 fractional bits, 128-bit accumulators. */
#include "common/bytes.h"
#include "common/compiler.h"
#include "encode/ckks_fixed.h"
#include "encode/ckks_names.h"
#include "encode/ckks_roots.h"
#include "encode/wide128.h"

#if CM_CONFIG_PRECISION_63

#define PRECISE(name) name##_63
#define FX_BITS_63 64
#define FX_TRY_63(step, ...) 0 /* no back-end has 63 bits */

typedef int64_t fx_int;
typedef uint64_t fx_uint;
typedef cmi_wide128 fx_wide;

/* a 2^63 */
static inline fx_wide fx_wide_from(fx_int a)
{
    return cmi_wide128_shifted(a, FX_BITS - 1);
}

/* Added before a right shift by this many bits, it rounds to nearest, halves up. */
static inline fx_wide fx_wide_half(unsigned bits)
{
    return cmi_wide128_shifted((int64_t)1 << (bits - FX_BITS), FX_BITS - 1);
}

static inline fx_wide fx_multiply_add(fx_wide sum, fx_int a, fx_int b)
{
    return cmi_wide128_add(sum, cmi_wide128_product(a, b));
}

/* sum + (x + y) b; for |x|, |y| < 2^62 */
static inline fx_wide fx_multiply_add_sum(fx_wide sum, fx_int x, fx_int y, fx_int b)
{
    return fx_multiply_add(sum, x + y, b);
}

/* (a + b + 1) >> 1 */
static inline fx_int fx_half_sum(fx_int a, fx_int b)
{
    return (a + b + 1) >> 1;
}

static inline fx_int fx_shift_right(fx_wide a, unsigned bits)
{
    return cmi_wide128_high(a, bits);
}

static inline fx_wide fx_wide_add(fx_wide a, fx_wide b)
{
    return cmi_wide128_add(a, b);
}

static inline fx_wide fx_wide_subtract(fx_wide a, fx_wide b)
{
    return cmi_wide128_subtract(a, b);
}

/* a / 2^63 to the nearest, halves up, for |a| < 2^126 */
static inline fx_int fx_drop_fraction(fx_wide a)
{
    return fx_shift_right(cmi_wide128_add(cmi_wide128_add(a, a), fx_wide_half(FX_BITS)), FX_BITS);
}

/* The least q 2^i that is at least 2^30. */
static inline uint32_t positive_multiple(const cm_prime *prime)
{
    uint32_t multiple = prime->q;
    while (multiple < (uint32_t)1 << 30) {
        multiple <<= 1;
    }
    return multiple;
}

/*
 * For |x| < 2^62, x = high 2^32 + low; adding a multiple of q of at least 2^30 makes high positive. The
 * result is below 4q.
 */
static inline uint32_t lazy_residue(fx_int x, const cm_prime *prime)
{
    const uint32_t high = (uint32_t)(int32_t)(x >> 32) + positive_multiple(prime);
    return cmi_montgomery_multiply(high, prime->r2, prime) +
           cmi_montgomery_multiply((uint32_t)x, prime->r1, prime);
}

/* A lazy residue is below 2^29. */
static inline int64_t fx_fold_add(int64_t sum, fx_int x, int32_t power, const cm_prime *prime)
{
    return sum + cmi_product_signed((int32_t)lazy_residue(x, prime), power);
}

typedef struct fx_residue_constants {
    const cm_prime *prime;
} fx_residue_constants;

static inline fx_residue_constants fx_residue_constants_of(const cm_prime *prime)
{
    return (fx_residue_constants){prime};
}

static inline int32_t fx_residue_of(fx_int x, const fx_residue_constants *constants)
{
    return (int32_t)cmi_reduce(lazy_residue(x, constants->prime), constants->prime);
}

#include "encode/ckks_transform.h"

#include "encode/ckks_embed.h"

#include "encode/ckks_fold.h"

#undef PRECISE

#endif
