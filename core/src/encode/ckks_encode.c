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
#include "common/wipe.h"
#include "encode/ckks.h"
#include "encode/ckks_fixed.h"
#include "encode/slots.h"
#include "ring/product.h"

#if CM_CONFIG_PRECISION_63 && !defined(__AVR__)
#define HAS_INT64 1
#else
#define HAS_INT64 0
#endif
#define MOST_INT64 (((uint64_t)1 << 62) - 1u)

/* What the conversions of one vector found wrong, gathered without branching; nonzero if anything was. */
typedef struct findings {
    uint32_t not_finite;
    uint32_t beyond; /* the largest */
} findings;

/* ---- public numbers: the largest value, and the room for it ---- */

static uint32_t largest_bits(const cm_ckks_values *values)
{
    uint32_t bits;
    memcpy(&bits, &values->largest, sizeof bits);
    return bits;
}

/* largest * 2^shift rounded down, or 2^62 if it is more. */
static uint64_t scaled_largest(const cm_ckks_values *values, int32_t shift)
{
    const uint32_t bits = largest_bits(values);
    const uint32_t exponent = bits >> 23;
    const uint64_t significand = (bits & 0x7FFFFFu) | (exponent > 0 ? 0x800000u : 0u);
    shift += (int32_t)(exponent > 0 ? exponent : 1u) - 150;
    if (shift < 0) {
        return shift > -24 ? significand >> -shift : 0;
    }
    return shift < 38 ? significand << shift : (uint64_t)1 << 62;
}

/* The same for integers i that stand for i * 2^exponent: no magnitude of theirs is above 2^31. */
static uint32_t largest_magnitude(const cm_ckks_values *values)
{
    const uint64_t scaled = scaled_largest(values, -values->exponent);
    return scaled < 0x80000000u ? (uint32_t)scaled : 0x80000000u;
}

uint32_t cmi_ckks_largest(const cm_ckks_values *values)
{
    return values->number == CM_FLOAT32 ? largest_bits(values) : largest_magnitude(values);
}

/*
 * What largest * scale may be: below the precision's limit, and at most a quarter of the modulus. Where the
 * modulus decides, it has fewer than 60 bits.
 */
static uint64_t most_scaled(const cm_params *params, cm_precision precision)
{
    const unsigned limit = precision == CM_FIXED_31 ? 29u : 58u;
    if (params->log2_q_data >= limit + 2u) {
        return ((uint64_t)1 << limit) - 1u;
    }
    uint64_t q = 1;
    for (unsigned i = 0; i < params->data_primes; i++) {
        const uint32_t prime = params->primes[i].q;
        q = cmi_product((uint32_t)q, prime) + (cmi_product((uint32_t)(q >> 32), prime) << 32);
    }
    return q / 4u;
}

/* ---- from numbers to fixed point ---- */

/* The top bit is set if magnitude is above largest; neither is above 2^31, which holds any. */
static inline uint32_t above(uint32_t magnitude, uint32_t largest)
{
    return largest - magnitude;
}

static uint32_t any_above(uint32_t gathered, uint32_t largest)
{
    return (gathered & ~largest) >> 31;
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
 * out entirely by 31 places; a number for which right is negative is at least 2^30, and beyond the largest.
 */
static findings convert_floats_31(const cm_ckks_values *values, uint32_t count, int32_t shift,
                                  int32_t *message)
{
    const uint32_t largest = largest_bits(values);
    uint32_t exponents = 0;
    uint32_t beyond = 0;
    UNROLLED
    for (uint32_t i = count; i-- > 0;) {
        const uint32_t bits = read_word(values, i);
        const uint32_t exponent = bits >> 23 & 0xFFu;
        const int32_t right = 156 - shift - (int32_t)exponent;
        const uint32_t places = at_most_31(right);
        const uint32_t significand = (bits << 8 | 0x80000000u) >> 1;
        const uint32_t magnitude = (shifted_right(significand, places) + 1u) >> 1;
        exponents |= exponent + 1u;
        beyond |= above(bits & 0x7FFFFFFFu, largest); /* floats compare as their bits do */
        message[i] = (int32_t)cmi_negated(magnitude, cmi_mask_of_top(bits));
    }
    /* Only infinities and NaNs have the exponent 255. */
    return (findings){exponents & 0x100u, any_above(beyond, largest)};
}

/* Integers times 2^shift, shift >= 0. Of those that are not beyond the largest, no bit is shifted out. */
static findings convert_integers_31_up(const cm_ckks_values *values, uint32_t count, int32_t shift,
                                       int32_t *message)
{
    const uint32_t largest = largest_magnitude(values);
    const unsigned left = shift < 31 ? (unsigned)shift : 31u;
    uint32_t beyond = 0;
    for (uint32_t i = count; i-- > 0;) {
        const int32_t value = read_integer(values, i);
        const uint32_t negative = cmi_mask_of_sign(value);
        const uint32_t magnitude = cmi_negated((uint32_t)value, negative);
        beyond |= above(magnitude, largest);
        message[i] = (int32_t)cmi_negated(magnitude << left, negative);
    }
    return (findings){0, any_above(beyond, largest)};
}

/* Integers divided by 2^(1 + right), right >= 0. */
static findings convert_integers_31_down(const cm_ckks_values *values, uint32_t count, int32_t right,
                                         int32_t *message)
{
    const uint32_t largest = largest_magnitude(values);
    const uint32_t kept = right < 32 ? 0xFFFFFFFFu : 0u;
    uint32_t beyond = 0;
    for (uint32_t i = count; i-- > 0;) {
        const int32_t value = read_integer(values, i);
        const uint32_t negative = cmi_mask_of_sign(value);
        const uint32_t magnitude = cmi_negated((uint32_t)value, negative);
        const uint32_t halved = ((magnitude & kept) >> (right & 31)) + 1u;
        beyond |= above(magnitude, largest);
        message[i] = (int32_t)cmi_negated(halved >> 1, negative);
    }
    return (findings){0, any_above(beyond, largest)};
}

static findings convert_31(const cm_ckks_values *values, uint32_t count, int32_t *message)
{
    const int32_t shift = values->log2_scale + CM_GUARD_BITS_31;
    if (values->number == CM_FLOAT32) {
        return convert_floats_31(values, count, shift, message);
    }
    const int32_t whole = shift + values->exponent;
    return whole >= 0 ? convert_integers_31_up(values, count, whole, message)
                      : convert_integers_31_down(values, count, -1 - whole, message);
}

#endif

#if CM_CONFIG_PRECISION_63

/* sign * magnitude * 2^shift */
typedef struct exact_number {
    uint32_t magnitude;
    uint32_t negative; /* all ones or zero */
    int32_t shift;
} exact_number;

static exact_number number_of_float(uint32_t bits)
{
    uint32_t exponent = bits >> 23 & 0xFFu;
    uint32_t subnormal = cmi_mask_of_zero(exponent);
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
 * x 2^places modulo 2^64, 0 <= places < 64. Words are shifted, because on 32-bit targets compilers turn a
 * variable shift of 64 bits into a branch.
 */
static uint64_t shift_left(uint32_t x, int32_t places)
{
    const uint32_t by_word = cmi_mask_of_sign(31 - places);
    const uint32_t within = (uint32_t)places & 31u;
    const uint32_t low = x << within;
    const uint32_t high = x >> 1 >> (31u - within);
    return (uint64_t)((high & ~by_word) | (low & by_word)) << 32 | (low & ~by_word);
}

/* x / 2^places to the nearest, halves up, for x <= 2^31 and 0 <= places <= 33. */
static uint32_t shift_right_rounded(uint32_t x, int32_t places)
{
    const uint32_t kept = x & ~cmi_mask_of_sign(32 - places); /* 33 places leave less than 1/2 */
    const uint64_t shifted = shift_left(kept, 32 - clamp(places, 32));
    return (uint32_t)(shifted >> 32) + ((uint32_t)shifted >> 31);
}

/*
 * value * 2^shift rounded to the nearest integer, halves away from zero; any number if that has more than 62
 * bits.
 */
static int64_t to_fixed(exact_number value, int32_t shift)
{
    shift += value.shift;
    const uint32_t whole = shift_right_rounded(value.magnitude, clamp(-shift, 33));
    return (int64_t)cmi_negated_64(shift_left(whole, clamp(shift, 62)), value.negative);
}

static findings convert_floats_63(const cm_ckks_values *values, uint32_t count, int32_t shift,
                                  int64_t *message)
{
    const uint32_t largest = largest_bits(values);
    uint32_t exponents = 0;
    uint32_t beyond = 0;
    for (uint32_t i = count; i-- > 0;) {
        const uint32_t word = read_word(values, i);
        exponents |= (word >> 23 & 0xFFu) + 1u;
        beyond |= above(word & 0x7FFFFFFFu, largest);
        message[i] = to_fixed(number_of_float(word), shift);
    }
    return (findings){exponents & 0x100u, any_above(beyond, largest)};
}

static findings convert_integers_63(const cm_ckks_values *values, uint32_t count, int32_t shift,
                                    int64_t *message)
{
    const uint32_t largest = largest_magnitude(values);
    uint32_t beyond = 0;
    for (uint32_t i = count; i-- > 0;) {
        const exact_number value = number_of_integer(read_integer(values, i), values->exponent);
        beyond |= above(value.magnitude, largest);
        message[i] = to_fixed(value, shift);
    }
    return (findings){0, any_above(beyond, largest)};
}

#if HAS_INT64

static inline uint64_t mask_of_top_64(uint64_t x)
{
    return cmi_mask_twice(cmi_mask_of_top((uint32_t)(x >> 32)));
}

/* As convert_integers_31_up and ..._down, for numbers of 64 bits: largest is below 2^62. */
static findings convert_wide_integers_63(const cm_ckks_values *values, uint32_t count, int32_t shift,
                                         int64_t *message)
{
    const uint64_t scaled = scaled_largest(values, -values->exponent);
    const uint64_t largest = scaled < MOST_INT64 ? scaled : MOST_INT64;
    const int32_t whole = shift + values->exponent;
    const unsigned left = whole < 0 ? 0u : whole < 63 ? (unsigned)whole : 63u;
    const unsigned right = whole >= 0 ? 0u : whole > -63 ? (unsigned)-whole : 63u;
    const uint64_t half = right > 0 ? (uint64_t)1 << (right - 1u) : 0u;
    uint64_t beyond = 0;
    for (uint32_t i = count; i-- > 0;) {
        uint64_t value;
        memcpy(&value, (const uint8_t *)values->data + (size_t)i * sizeof value, sizeof value);
        const uint64_t negative = mask_of_top_64(value);
        const uint64_t magnitude = (value ^ negative) - negative;
        const uint64_t rounded = ((magnitude << left) + half) >> right;
        beyond |= largest - magnitude;
        message[i] = (int64_t)((rounded ^ negative) - negative);
    }
    return (findings){0, (uint32_t)(beyond >> 63)};
}

#endif

static findings convert_63(const cm_ckks_values *values, uint32_t count, int64_t *message)
{
    const int32_t shift = values->log2_scale + CM_GUARD_BITS_63;
#if HAS_INT64
    if (values->number == CM_INT64) {
        return convert_wide_integers_63(values, count, shift, message);
    }
#endif
    return values->number == CM_FLOAT32 ? convert_floats_63(values, count, shift, message)
                                        : convert_integers_63(values, count, shift, message);
}

#endif

/* The largest in fixed point, with guard bits. */
static uint64_t fixed_largest(const cm_ckks_values *values)
{
    const int32_t guard = values->precision == CM_FIXED_31 ? CM_GUARD_BITS_31 : CM_GUARD_BITS_63;
    return scaled_largest(values, values->log2_scale + guard);
}

#if CM_CONFIG_COMPLEX && CM_CONFIG_PRECISION_31

bool cmi_ckks_beyond_circle(const cm_ckks_values *values)
{
    enum { STEP = 8 };
    int32_t numbers[2 * STEP];
    const cmi_ckks_message message = {.data = numbers, .precision = CM_FIXED_31};
    const size_t number_size = values->number == CM_INT16 ? 2u : 4u;
    cm_ckks_values part = *values;
    uint32_t beyond = 0;
    for (uint32_t left = values->count; left > 0; left -= part.count) {
        part.count = left < STEP ? left : STEP;
        (void)convert_31(&part, 2u * part.count, numbers);
        beyond |= cmi_ckks_any_beyond(&message, part.count, fixed_largest(values));
        part.data = (const uint8_t *)part.data + number_size * 2u * part.count;
    }
    cmi_wipe(numbers, sizeof numbers);
    return cmi_declassified(beyond != 0);
}

#endif

static bool is_number(const cm_ckks_values *values)
{
    return (values->number >= CM_FLOAT32 && values->number <= CM_INT32) ||
           (values->number == CM_INT64 && values->precision == CM_FIXED_63);
}

cm_status cmi_ckks_check(const cm_params *params, const cm_ckks_values *values)
{
    const uint32_t largest = largest_bits(values);
    if (!values->data || values->count == 0 || values->exponent < -128 || values->exponent > 127 ||
        largest == 0 || largest > 0x7F7FFFFFu || /* infinite, no number, or negative */
        !is_number(values) || (values->slots != CM_SLOTS_REAL && values->slots != CM_SLOTS_COMPLEX)) {
        return CM_ERR_ARGUMENT;
    }
    if (values->precision != CM_FIXED_31 && values->precision != CM_FIXED_63) {
        return CM_ERR_ARGUMENT;
    }
    if ((values->precision == CM_FIXED_31 && !CM_CONFIG_PRECISION_31) ||
        (values->precision == CM_FIXED_63 && !CM_CONFIG_PRECISION_63) ||
        (values->number == CM_INT64 && !HAS_INT64) ||
        (values->slots == CM_SLOTS_COMPLEX && !CM_CONFIG_COMPLEX)) {
        return CM_ERR_UNSUPPORTED;
    }
    if (values->log2_scale < 1 || values->log2_scale > 60 || values->log2_scale > params->log2_q_data ||
        scaled_largest(values, values->log2_scale) > most_scaled(params, values->precision)) {
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

CM_NOINLINE static findings convert_values(const cm_ckks_values *values, uint32_t count, void *message)
{
#if CM_CONFIG_PRECISION_31
    if (values->precision == CM_FIXED_31) {
        return convert_31(values, count, message);
    }
#endif
#if CM_CONFIG_PRECISION_63
    if (values->precision == CM_FIXED_63) {
        return convert_63(values, count, message);
    }
#endif
    return (findings){0, 0};
}

cm_status cmi_ckks_encode(const cm_params *params, const cm_ckks_values *values, cmi_ckks_message *message)
{
    cm_status status = cmi_ckks_check(params, values);
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
    findings found = convert_values(values, values->count * parts, message->data);
    memset((uint8_t *)message->data + given, 0, total - given);
    if (parts == 2u) {
        found.beyond |= cmi_ckks_any_beyond(message, values->count, fixed_largest(values));
    }
    /*
     * The status reveals whether any value was refused, and why, but not which: all of them have been
     * converted.
     */
    const bool not_finite = cmi_declassified(found.not_finite != 0);
    if (not_finite || cmi_declassified(found.beyond != 0)) {
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
