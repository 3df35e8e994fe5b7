/* SPDX-License-Identifier: Apache-2.0 */
/* BFV's plaintexts: from the caller's integers to coefficients, and to round(q m / t) at a prime. */
#include "encode/bfv.h"

#include <string.h>

#include "common/compiler.h"
#include "common/declassify.h"
#include "common/masks.h"
#include "encode/bfv_numbers.h"
#include "ring/prime.h"

/* Functions for both widths are inlined once for each, with the width known at compile time. */

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

/* The greatest common divisor of public numbers. */
static inline uint32_t lesser(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/*
 * Backwards, so that narrow numbers can widen in place. A signed number is sign-extended, and with depth
 * added valid ones are 0 .. span, which is below t: for any other, the top bit of shifted or of span -
 * shifted is set. In 16 bits, t is subtracted from numbers above t/2; in 32 bits, it is added to negative
 * ones. Nonzero if any number is beyond the largest, or beyond t or its half.
 */
static CM_ALWAYS_INLINE uint32_t convert_integers(const cm_bfv_values *values, bool wide, cm_bfv_width width,
                                                  void *out)
{
    const uint32_t t = values->plain_modulus;
    const bool is_signed = values->number == CM_INT16 || values->number == CM_INT32;
    const uint32_t sign = is_signed && !wide ? 0x8000u : 0u;
    const uint32_t depth = is_signed ? lesser((t - 1u) / 2u, values->largest) : 0u;
    const uint32_t span = depth + lesser(is_signed ? t / 2u : t - 1u, values->largest);
    const uint32_t gained = is_signed && width == CM_BFV_32 ? t : 0u;
    const uint32_t lost = !is_signed && width == CM_BFV_16 ? t : 0u;
    uint32_t wrong = 0;
    for (uint32_t i = values->count; i-- > 0;) {
        const uint32_t number = read_number(values->data, wide, i);
        const uint32_t x = number - ((number & sign) << 1);
        const uint32_t shifted = x + depth;
        wrong |= shifted | (span - shifted);
        if (width == CM_BFV_16) {
            cmi_plain_put(out, width, i, x - cmi_if_negative((t - 1u) / 2u - x, lost));
        } else {
            cmi_plain_put(out, width, i, cmi_add_if_negative(x, gained));
        }
    }
    return wrong >> 31;
}

/* From numbers of either size to either width. */
static uint32_t convert_any_integers(const cm_bfv_values *values, void *out)
{
    const bool wide = values->number == CM_INT32 || values->number == CM_UINT32;
    if (values->width == CM_BFV_16) {
        return wide ? convert_integers(values, true, CM_BFV_16, out)
                    : convert_integers(values, false, CM_BFV_16, out);
    }
    return wide ? convert_integers(values, true, CM_BFV_32, out)
                : convert_integers(values, false, CM_BFV_32, out);
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

cm_status cmi_plain_check(const cm_params *params, const cm_bfv_values *values)
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
    return values->largest == 0 || values->largest >= t ? CM_ERR_ARGUMENT : CM_OK;
}

cm_status cmi_plain_encode(const cm_params *params, const cm_bfv_values *values, const cm_root_table *tables,
                           cmi_plain *plain, cmi_ring *ring)
{
    cm_status status = cmi_plain_check(params, values);
    if (status != CM_OK) {
        return status;
    }
    cm_prime prime;
    const bool batch = values->encoding == CM_BFV_BATCH;
    if (batch && !cmi_prime_init(&prime, values->plain_modulus, params->log2_n, tables)) {
        return CM_ERR_PLAIN_MODULUS;
    }
    plain->modulus = values->plain_modulus;
    plain->width = values->width;
    plain->log2_n = params->log2_n;

    const size_t size = values->width == CM_BFV_16 ? 2u : 4u;
    const size_t total = size << params->log2_n;
    const size_t given = size * values->count;
    const uint32_t wrong = convert_any_integers(values, plain->data);
    memset((uint8_t *)plain->data + given, 0, total - given);
    /* The status reveals whether any number is out of range. */
    if (cmi_declassified(wrong != 0)) {
        memset(plain->data, 0, total);
        return CM_ERR_VALUE_RANGE;
    }
    if (batch) {
        cmi_ring_init(ring, &prime, params->log2_n, tables);
        cmi_bfv_batch(plain->data, plain->width, ring);
    }
    return CM_OK;
}

/* ---- from m to round(q m / t) ---- */

/*
 * c m mod t for c < t and any m: with quotient = floor(2^32 c / t), m quotient / 2^32 is less than 1 below m
 * c / t, and less than 2 once rounded down, so the remainder is below 2t. It is reduced below t; then t is
 * subtracted from remainders of t - half and above.
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
