/* SPDX-License-Identifier: Apache-2.0 */
/* BFV's plaintexts: from the caller's integers to coefficients, and to round(q m / t) at a prime. */
#include "encode/plain.h"

#include <string.h>

#include "common/compiler.h"
#include "common/declassify.h"
#include "encode/encode.h"
#include "ring/prime.h"

/* Functions of both widths are inlined for each: the compiler knows which. */

/* ---- from numbers to residues modulo t ---- */

static inline uint32_t read_number(const void *data, bool wide, size_t i)
{
    uint32_t word;
    uint16_t half;
    if (wide) {
        memcpy(&word, (const uint8_t *)data + i * sizeof word, sizeof word);
        return word;
    }
    memcpy(&half, (const uint8_t *)data + i * sizeof half, sizeof half);
    return half;
}

/* All ones if the uppermost bit of x is set. */
static inline uint32_t mask_of(uint32_t x)
{
    return 0u - (x >> 31);
}

/*
 * Backwards, so that narrow numbers can widen in place. A signed number is extended by its sign bit, and with
 * lowest added the right ones are 0 .. t - 1: the uppermost bit of one of two numbers tells any other. In 16
 * bits numbers above t/2 lose t, in 32 bits those below 0 gain it. Not zero if any number is wrong.
 */
static CM_ALWAYS_INLINE uint32_t convert(const cm_bfv_values *values, bool wide, cm_bfv_width width,
                                         void *out)
{
    const uint32_t t = values->plain_modulus;
    const bool is_signed = values->number == CM_INT16 || values->number == CM_INT32;
    const uint32_t sign = is_signed && !wide ? 0x8000u : 0u;
    const uint32_t lowest = is_signed ? (t - 1u) / 2u : 0u;
    const uint32_t gained = is_signed && width == CM_BFV_32 ? t : 0u;
    const uint32_t lost = !is_signed && width == CM_BFV_16 ? t : 0u;
    uint32_t wrong = 0;
    for (uint32_t i = values->count; i-- > 0;) {
        const uint32_t number = read_number(values->data, wide, i);
        const uint32_t x = number - ((number & sign) << 1);
        const uint32_t shifted = x + lowest;
        wrong |= shifted | (t - 1u - shifted);
        if (width == CM_BFV_16) {
            cmi_plain_put(out, width, i, x - (lost & mask_of((t - 1u) / 2u - x)));
        } else {
            cmi_plain_put(out, width, i, x + (gained & mask_of(x)));
        }
    }
    return wrong >> 31;
}

/* From numbers of either size to either width. */
static uint32_t convert_all(const cm_bfv_values *values, void *out)
{
    const bool wide = values->number == CM_INT32 || values->number == CM_UINT32;
    if (values->width == CM_BFV_16) {
        return wide ? convert(values, true, CM_BFV_16, out) : convert(values, false, CM_BFV_16, out);
    }
    return wide ? convert(values, true, CM_BFV_32, out) : convert(values, false, CM_BFV_32, out);
}

bool cmi_below_every_prime(uint32_t t, const cm_params *params)
{
    for (unsigned i = 0; i < params->data_primes; i++) {
        if (t >= params->primes[i].q) {
            return false;
        }
    }
    return true;
}

static cm_status check(const cm_params *params, const cm_bfv_values *values)
{
    if (!values->data || values->count == 0 || values->number < CM_INT16 || values->number > CM_UINT32 ||
        (values->encoding != CM_BFV_BATCH && values->encoding != CM_BFV_COEFFICIENTS) ||
        (values->width != CM_BFV_16 && values->width != CM_BFV_32)) {
        return CM_ERR_ARGUMENT;
    }
    if (values->count > (uint32_t)1 << params->log2_n) {
        return CM_ERR_TOO_MANY;
    }
    const uint32_t t = values->plain_modulus;
    if (t < 2u || !cmi_below_every_prime(t, params) || (values->width == CM_BFV_16 && t > 0x10000u)) {
        return CM_ERR_PLAIN_MODULUS;
    }
    return CM_OK;
}

cm_status cmi_plain_encode(const cm_params *params, const cm_bfv_values *values, cmi_plain *plain,
                           cmi_ring *ring)
{
    cm_status status = check(params, values);
    if (status != CM_OK) {
        return status;
    }
    cm_prime prime;
    const bool batch = values->encoding == CM_BFV_BATCH;
    if (batch && !cmi_prime_init(&prime, values->plain_modulus, params->log2_n, plain->tables)) {
        return CM_ERR_PLAIN_MODULUS;
    }
    plain->modulus = values->plain_modulus;
    plain->width = values->width;
    plain->log2_n = params->log2_n;

    const size_t size = values->width == CM_BFV_16 ? 2u : 4u;
    const size_t total = size << params->log2_n;
    const size_t given = size * values->count;
    const uint32_t wrong = convert_all(values, plain->data);
    memset((uint8_t *)plain->data + given, 0, total - given);
    /* The status tells whether any number is. */
    if (cmi_declassified(wrong != 0)) {
        memset(plain->data, 0, total);
        return CM_ERR_VALUE_RANGE;
    }
    if (batch) {
        cmi_ring_init(ring, &prime, params->log2_n, plain->tables);
        cmi_batch(plain->data, plain->width, ring);
    }
    return CM_OK;
}

/* ---- from m to round(q m / t) ---- */

/*
 * c m mod t for c < t and any m: with quotient = floor(2^32 c / t), m quotient / 2^32 is less than one below
 * m c / t, and rounded down less than two: what is left is below 2t. Then t is taken from those from t - half
 * on.
 */
static CM_ALWAYS_INLINE void scale(void *data, cm_bfv_width width, uint32_t n,
                                   const cmi_plain_scaling *scaling)
{
    const uint32_t t = scaling->t;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t m = cmi_plain_residue(data, width, i, t);
        const uint32_t left = m * scaling->factor - cmi_upper_word(cmi_product(m, scaling->quotient)) * t;
        cmi_plain_put(data, width, i, cmi_plain_shift(left, scaling) - scaling->half);
    }
}

void cmi_plain_scaling_init(cmi_plain_scaling *scaling, const cm_params *params, uint32_t t)
{
    uint32_t factor = 1; /* q mod t, all of it public */
    for (unsigned i = 0; i < params->data_primes; i++) {
        (void)cmi_quotient((uint64_t)factor * params->primes[i].q, t, &factor);
    }
    uint32_t rest;
    scaling->t = t;
    scaling->factor = factor;
    scaling->quotient = (uint32_t)cmi_quotient((uint64_t)factor << 32, t, &rest);
    scaling->half = (t + 1u) / 2u;
}

void cmi_plain_scale(const cm_params *params, cmi_plain *plain)
{
    const uint32_t n = (uint32_t)1 << plain->log2_n;
    cmi_plain_scaling scaling;
    cmi_plain_scaling_init(&scaling, params, plain->modulus);
    if (plain->width == CM_BFV_16) {
        scale(plain->data, CM_BFV_16, n, &scaling);
    } else {
        scale(plain->data, CM_BFV_32, n, &scaling);
    }
}

/*
 * A scaled coefficient w and noise e add w (-1/t) + e, times a power of r: in 16 bits, that is (w - t e)
 * (-1/t), and at most 2^21 (-1/t).
 */
typedef struct fold_powers {
    int32_t scaled[CM_MAX_TILES]; /* r^j (-1/t) */
    int32_t noise[CM_MAX_TILES];  /* r^j, for 32 bits */
} fold_powers;

static CM_ALWAYS_INLINE int64_t fold_add(int64_t sum, const cmi_plain *plain, cm_bfv_width width,
                                         const int8_t *noise, const fold_powers *powers, unsigned j,
                                         size_t at)
{
    const int32_t w = cmi_plain_get_signed(plain->data, width, at);
    if (!noise) {
        return sum + cmi_product_signed(w, powers->scaled[j]);
    }
    if (width == CM_BFV_16) {
        return sum + cmi_product_signed(w - (int32_t)plain->modulus * noise[at], powers->scaled[j]);
    }
    return sum + cmi_product_signed(w, powers->scaled[j]) + cmi_product_signed(noise[at], powers->noise[j]);
}

/*
 * The sums of j over w[j n/T + i], and e there. At most sixteen terms, each below 2^26 q / 2 in magnitude,
 * are reduced to within q / 8 + q / 2 of 0; noise of 32 bits adds next to nothing.
 */
static CM_ALWAYS_INLINE void fold_tiles(const cmi_plain *plain, cm_bfv_width width, const int8_t *noise,
                                        const cmi_ring *ring, const fold_powers *powers, unsigned tiles,
                                        uint32_t *out)
{
    const cmi_plain source = *plain; /* copies, which out cannot alias */
    const cm_prime prime = *ring->prime;
    const uint32_t points = cmi_ring_points(ring);
    for (uint32_t i = 0; i < points; i++) {
        int64_t sum = 0;
        size_t at = i;
        for (unsigned j = 0; j < tiles; j++) {
            sum = fold_add(sum, &source, width, noise, powers, j, at);
            at += points;
        }
        out[i] = (uint32_t)(cmi_montgomery_reduce_signed(sum, &prime) + (int32_t)prime.q);
    }
}

#if CM_CONFIG_STORE_NOISE

/* The same of halves with noise, in 16 bits: what a device in a hurry takes. */
static void fold_halves_16(const cmi_plain *plain, const int8_t *noise, const cmi_ring *ring,
                           const fold_powers *powers, uint32_t *out)
{
    const cm_prime prime = *ring->prime;
    const uint32_t points = cmi_ring_points(ring);
    const int32_t t = (int32_t)plain->modulus;
    const int32_t one = powers->scaled[0];
    const int32_t r = powers->scaled[1];
    const int16_t *low = plain->data;
    const int16_t *high = low + points;
    const int8_t *low_noise = noise;
    const int8_t *high_noise = noise + points;
    const uint32_t *const end = out + points;
    while (out < end) {
        const int32_t a = *low++ - t * *low_noise++;
        const int32_t b = *high++ - t * *high_noise++;
        const int64_t sum = cmi_product_signed(a, one) + cmi_product_signed(b, r);
        *out++ = (uint32_t)(cmi_montgomery_reduce_signed(sum, &prime) + (int32_t)prime.q);
    }
}

#endif

uint32_t cmi_plain_factor(uint32_t t, const cm_prime *prime)
{
    const uint32_t montgomery = cmi_montgomery_residue(t, prime->r2, prime);
    return prime->q - cmi_montgomery_power(montgomery, prime->q - 2u, prime);
}

static CM_ALWAYS_INLINE void fold(const cmi_plain *plain, cm_bfv_width width, const int8_t *noise,
                                  const cmi_ring *ring, uint32_t *out)
{
    const cm_prime *prime = ring->prime;
    fold_powers powers;
    cmi_ring_fold_powers(ring, cmi_plain_factor(plain->modulus, prime), powers.scaled);
    if (noise && width == CM_BFV_32) {
        cmi_ring_fold_powers(ring, prime->r1, powers.noise);
    }
    if (ring->log2_tiles == 0) {
        fold_tiles(plain, width, noise, ring, &powers, 1, out);
#if CM_CONFIG_STORE_NOISE
    } else if (ring->log2_tiles == 1 && width == CM_BFV_16 && noise) {
        fold_halves_16(plain, noise, ring, &powers, out);
#endif
    } else if (ring->log2_tiles == 1) {
        fold_tiles(plain, width, noise, ring, &powers, 2, out);
    } else if (ring->log2_tiles == 2) {
        fold_tiles(plain, width, noise, ring, &powers, 4, out);
    } else {
        fold_tiles(plain, width, noise, ring, &powers, 1u << ring->log2_tiles, out);
    }
}

void cmi_plain_fold(const cmi_plain *plain, const cmi_ring *ring, uint32_t *out)
{
    if (plain->width == CM_BFV_16) {
        fold(plain, CM_BFV_16, NULL, ring, out);
    } else {
        fold(plain, CM_BFV_32, NULL, ring, out);
    }
}

#if CM_CONFIG_STORE_NOISE

void cmi_plain_fold_noisy(const cmi_plain *plain, const int8_t *noise, const cmi_ring *ring, uint32_t *out)
{
    if (plain->width == CM_BFV_16) {
        fold(plain, CM_BFV_16, noise, ring, out);
    } else {
        fold(plain, CM_BFV_32, noise, ring, out);
    }
}

#endif
