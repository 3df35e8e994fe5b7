/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the caller's numbers to fixed point: floats are taken apart by bit operations, and nothing branches on
 * them.
 */
#include <string.h>

#include "common/bytes.h"
#include "common/compiler.h"
#include "common/declassify.h"
#include "common/masks.h"
#include "encode/ckks.h"
#include "encode/ckks_fixed.h"
#include "encode/slots.h"

/* What the conversions of one vector found wrong, gathered without branching; nonzero if anything was. */
typedef struct findings {
    uint32_t not_finite;
    uint32_t too_large;
} findings;

/*
 * The bits that |value * scale| may have: the encoder's limit or a quarter of the modulus, whichever is
 * smaller.
 */
static unsigned limit_bits(const cm_params *params, cm_precision precision)
{
    unsigned encoder = precision == CM_FIXED_31 ? 29u : 58u;
    unsigned modulus = params->log2_q_data - 2u;
    return modulus < encoder ? modulus : encoder;
}

static inline uint32_t read_word(const cm_ckks_values *values, uint32_t index)
{
    uint32_t word;
    memcpy(&word, (const uint8_t *)values->data + (size_t)index * sizeof word, sizeof word);
    return word;
}

static inline int32_t read_integer(const cm_ckks_values *values, uint32_t index)
{
    int16_t narrow;
    if (values->number == CM_INT32) {
        return (int32_t)read_word(values, index);
    }
    memcpy(&narrow, (const uint8_t *)values->data + (size_t)index * sizeof narrow, sizeof narrow);
    return narrow;
}

/* The conversions go backwards, so that narrow numbers at the start of the message can widen in place. */

#if CM_CONFIG_PRECISION_31

#if CM_ARMV7EM && !defined(__clang__)
#define UNROLLED _Pragma("GCC unroll 4")
#else
#define UNROLLED
#endif

/* right, or 31 if it is more; some number up to 31 if it is negative. */
static inline uint32_t at_most_31(int32_t right)
{
#if CM_ARMV7EM
    uint32_t places;
    __asm__("usat %0, #5, %1" : "=r"(places) : "r"(right));
    return places;
#else
    return (cmi_mask_of_sign(31 - right) | (uint32_t)right) & 31u;
#endif
}

/* x / 2^places, in constant time even where the time of a shift grows with its distance. places < 32. */
static inline uint32_t shifted_right(uint32_t x, uint32_t places)
{
#if defined(__AVR__)
    x ^= (x ^ x >> 16) & cmi_mask_of_bit(places >> 4);
    x ^= (x ^ x >> 8) & cmi_mask_of_bit(places >> 3 & 1u);
    x ^= (x ^ x >> 4) & cmi_mask_of_bit(places >> 2 & 1u);
    x ^= (x ^ x >> 2) & cmi_mask_of_bit(places >> 1 & 1u);
    return x ^ ((x ^ x >> 1) & cmi_mask_of_bit(places & 1u));
#else
    return x >> places;
#endif
}

/*
 * Floats times 2^shift. With the 24-bit significand y in bits 7 to 30, x = y / 2^(1 + right): y is shifted by
 * all places but one, and then halved and rounded. Numbers below 1/2, subnormal ones included, are shifted
 * out entirely by 31 places; a number for which right is negative is at least 2^30, and too large.
 */
static findings convert_floats_31(const cm_ckks_values *values, uint32_t count, int32_t shift, unsigned limit,
                                  int32_t *message)
{
    uint32_t exponents = 0;
    uint32_t magnitudes = 0;
    uint32_t rights = 0;
    UNROLLED
    for (uint32_t i = count; i-- > 0;) {
        const uint32_t bits = read_word(values, i);
        const uint32_t exponent = bits >> 23 & 0xFFu;
        const int32_t right = 156 - shift - (int32_t)exponent;
        const uint32_t places = at_most_31(right);
        const uint32_t significand = (bits << 8 | 0x80000000u) >> 1;
        const uint32_t magnitude = (shifted_right(significand, places) + 1u) >> 1;
        exponents |= exponent + 1u;
        magnitudes |= magnitude;
        rights |= (uint32_t)right;
        message[i] = (int32_t)cmi_negated(magnitude, cmi_mask_of_top(bits));
    }
    /* Only infinities and NaNs have the exponent 255. */
    return (findings){exponents & 0x100u, magnitudes >> limit | rights >> 31};
}

/*
 * Integers times 2^shift, shift >= 0: too large unless the bits shifted out, and those left above the limit,
 * are all zero.
 */
static findings convert_integers_31_up(const cm_ckks_values *values, uint32_t count, int32_t shift,
                                       unsigned limit, int32_t *message)
{
    const unsigned left = shift < 31 ? (unsigned)shift : 31u;
    uint32_t magnitudes = 0;
    for (uint32_t i = count; i-- > 0;) {
        const int32_t value = read_integer(values, i);
        const uint32_t negative = cmi_mask_of_sign(value);
        const uint32_t magnitude = cmi_negated((uint32_t)value, negative);
        magnitudes |= magnitude;
        message[i] = (int32_t)cmi_negated(magnitude << left, negative);
    }
    return (findings){0, magnitudes >> (left < limit ? limit - left : 0u)};
}

/* Integers divided by 2^(1 + right), right >= 0. */
static findings convert_integers_31_down(const cm_ckks_values *values, uint32_t count, int32_t right,
                                         unsigned limit, int32_t *message)
{
    const uint32_t kept = right < 32 ? 0xFFFFFFFFu : 0u;
    uint32_t magnitudes = 0;
    for (uint32_t i = count; i-- > 0;) {
        const int32_t value = read_integer(values, i);
        const uint32_t negative = cmi_mask_of_sign(value);
        uint32_t magnitude = cmi_negated((uint32_t)value, negative) & kept;
        magnitude = ((magnitude >> (right & 31)) + 1u) >> 1;
        magnitudes |= magnitude;
        message[i] = (int32_t)cmi_negated(magnitude, negative);
    }
    return (findings){0, magnitudes >> limit};
}

static findings convert_31(const cm_params *params, const cm_ckks_values *values, uint32_t count,
                           int32_t *message)
{
    const unsigned limit = limit_bits(params, CM_FIXED_31) + CM_GUARD_BITS_31;
    const int32_t shift = values->log2_scale + CM_GUARD_BITS_31;
    if (values->number == CM_FLOAT32) {
        return convert_floats_31(values, count, shift, limit, message);
    }
    const int32_t whole = shift + values->exponent;
    return whole >= 0 ? convert_integers_31_up(values, count, whole, limit, message)
                      : convert_integers_31_down(values, count, -1 - whole, limit, message);
}

#endif

#if CM_CONFIG_PRECISION_63

/* sign * magnitude * 2^shift */
typedef struct exact_number {
    uint32_t magnitude;
    uint32_t negative; /* all ones or zero */
    int32_t shift;
} exact_number;

static exact_number number_of_float(uint32_t bits, findings *found)
{
    uint32_t exponent = bits >> 23 & 0xFFu;
    uint32_t subnormal = cmi_mask_of_zero(exponent);
    found->not_finite |= cmi_mask_of_zero(exponent ^ 0xFFu);
    exact_number result;
    result.magnitude = (bits & 0x7FFFFFu) | (0x800000u & ~subnormal);
    result.negative = cmi_mask_of_top(bits);
    result.shift = (int32_t)(exponent - subnormal) - 150;
    return result;
}

static exact_number number_of_integer(int32_t value, int32_t exponent)
{
    exact_number result;
    result.negative = cmi_mask_of_sign(value);
    result.magnitude = cmi_negated((uint32_t)value, result.negative);
    result.shift = exponent;
    return result;
}

/* x limited to 0 .. limit, for |x| well below 2^31. */
static int32_t clamp(int32_t x, int32_t limit)
{
    x &= (int32_t)~cmi_mask_of_sign(x);
    return limit + ((x - limit) & (int32_t)cmi_mask_of_sign(x - limit));
}

/*
 * x 2^places, 0 <= places < 64, and what goes beyond 64 bits. Words are shifted, because on 32-bit targets
 * compilers turn a variable shift of 64 bits into a branch.
 */
static uint64_t shift_left(uint32_t x, int32_t places, uint32_t *beyond)
{
    const uint32_t by_word = cmi_mask_of_sign(31 - places);
    const uint32_t within = (uint32_t)places & 31u;
    const uint32_t low = x << within;
    const uint32_t high = x >> 1 >> (31u - within);
    *beyond = high & by_word;
    return (uint64_t)((high & ~by_word) | (low & by_word)) << 32 | (low & ~by_word);
}

/* x / 2^places to the nearest, halves up, for x <= 2^31 and 0 <= places <= 33. */
static uint32_t shift_right_rounded(uint32_t x, int32_t places)
{
    uint32_t none;
    const uint32_t kept = x & ~cmi_mask_of_sign(32 - places); /* 33 places leave less than 1/2 */
    const uint64_t shifted = shift_left(kept, 32 - clamp(places, 32), &none);
    return (uint32_t)(shifted >> 32) + ((uint32_t)shifted >> 31);
}

/*
 * Round value * 2^shift to the nearest integer, halves away from zero; too large unless |result| <
 * 2^limit_bits.
 */
static int64_t to_fixed(exact_number value, int32_t shift, unsigned limit_bits, findings *found)
{
    shift += value.shift;
    uint32_t lost;
    const uint32_t whole = shift_right_rounded(value.magnitude, clamp(-shift, 33));
    const uint64_t magnitude = shift_left(whole, clamp(shift, 62), &lost);
    const uint64_t over = lost | magnitude >> limit_bits;
    uint32_t beyond_shift = cmi_mask_of_sign(62 - shift) & ~cmi_mask_of_zero(value.magnitude);
    found->too_large |= beyond_shift | ~cmi_mask_of_zero((uint32_t)(over >> 32) | (uint32_t)over);
    return (int64_t)cmi_negated_64(magnitude, value.negative);
}

static findings convert_63(const cm_params *params, const cm_ckks_values *values, uint32_t count,
                           int64_t *message)
{
    const unsigned limit = limit_bits(params, CM_FIXED_63) + CM_GUARD_BITS_63;
    const int32_t shift = values->log2_scale + CM_GUARD_BITS_63;
    findings found = {0, 0};
    for (uint32_t i = count; i-- > 0;) {
        const exact_number value = values->number == CM_FLOAT32
                                       ? number_of_float(read_word(values, i), &found)
                                       : number_of_integer(read_integer(values, i), values->exponent);
        message[i] = to_fixed(value, shift, limit, &found);
    }
    return found;
}

#endif

static cm_status check_values(const cm_params *params, const cm_ckks_values *values)
{
    if (!values->data || values->count == 0 || values->exponent < -128 || values->exponent > 127 ||
        values->number < CM_FLOAT32 || values->number > CM_INT32 ||
        (values->slots != CM_SLOTS_REAL && values->slots != CM_SLOTS_COMPLEX)) {
        return CM_ERR_ARGUMENT;
    }
    if (values->precision != CM_FIXED_31 && values->precision != CM_FIXED_63) {
        return CM_ERR_ARGUMENT;
    }
    if ((values->precision == CM_FIXED_31 && !CM_CONFIG_PRECISION_31) ||
        (values->precision == CM_FIXED_63 && !CM_CONFIG_PRECISION_63) ||
        (values->slots == CM_SLOTS_COMPLEX && !CM_CONFIG_COMPLEX)) {
        return CM_ERR_UNSUPPORTED;
    }
    if (values->log2_scale < 1 || values->log2_scale > 60 || values->log2_scale > params->log2_q_data) {
        return CM_ERR_SCALE;
    }
    if (values->count > (uint32_t)1 << (params->log2_n - 1u)) {
        return CM_ERR_TOO_MANY;
    }
    return CM_OK;
}

static void transform_message(const cmi_ckks_message *message)
{
#if CM_CONFIG_PRECISION_31
    if (message->precision == CM_FIXED_31) {
        cmi_transform_31(message->data, message->log2_n, message->slots);
    }
#endif
#if CM_CONFIG_PRECISION_63
    if (message->precision == CM_FIXED_63) {
        cmi_transform_63(message->data, message->log2_n, message->slots);
    }
#endif
}

CM_NOINLINE static findings convert_values(const cm_params *params, const cm_ckks_values *values,
                                           uint32_t count, void *message)
{
#if CM_CONFIG_PRECISION_31
    if (values->precision == CM_FIXED_31) {
        return convert_31(params, values, count, message);
    }
#endif
#if CM_CONFIG_PRECISION_63
    if (values->precision == CM_FIXED_63) {
        return convert_63(params, values, count, message);
    }
#endif
    return (findings){0, 0};
}

cm_status cmi_ckks_encode(const cm_params *params, const cm_ckks_values *values, cmi_ckks_message *message)
{
    cm_status status = check_values(params, values);
    if (status != CM_OK) {
        return status;
    }
    message->log2_n = params->log2_n;
    message->slots = values->slots;
    message->precision = values->precision;

    const size_t number_size = values->precision == CM_FIXED_31 ? 4u : 8u;
    const unsigned parts = values->slots == CM_SLOTS_COMPLEX ? 2u : 1u;
    const size_t total = number_size * parts << (params->log2_n - 1u);
    const size_t given = number_size * parts * values->count;
    const findings found = convert_values(params, values, values->count * parts, message->data);
    memset((uint8_t *)message->data + given, 0, total - given);
    /*
     * The status reveals whether any value was refused, and why, but not which: all of them have been
     * converted.
     */
    const bool not_finite = cmi_declassified(found.not_finite != 0);
    if (not_finite || cmi_declassified(found.too_large != 0)) {
        memset(message->data, 0, total);
        return not_finite ? CM_ERR_NOT_FINITE : CM_ERR_VALUE_RANGE;
    }
    if (parts == 2u) {
        cmi_ckks_conjugate_odd_slots(message, values->count);
    }
    cmi_slots_permute(message->data, (unsigned)(number_size / 4u) * parts, params->log2_n, values->slots);
    transform_message(message);
    return CM_OK;
}
