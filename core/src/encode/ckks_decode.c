/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a decrypted polynomial to the caller's numbers: the embedding, the slots' order, and the division by
 * the scale, which is public. Floats are assembled by bit operations, and nothing branches on a value.
 */
#include <stddef.h>
#include <string.h>

#include "common/declassify.h"
#include "common/masks.h"
#include "encode/ckks.h"
#include "encode/ckks_fixed.h"
#include "encode/slots.h"
#include "ring/prime.h"

/* 1 / scale as multiplier 2^exponent, 2^31 <= multiplier < 2^32. */
typedef struct reciprocal {
    uint32_t multiplier;
    int32_t exponent;
} reciprocal;

/* Exact for a power of two; otherwise, the scale and the quotient are rounded to 32 bits. */
static reciprocal reciprocal_of(uint64_t scale)
{
    const int32_t exponent = (int32_t)(scale >> 52) - 1023;
    const uint64_t significand = ((scale & 0xFFFFFFFFFFFFFu) | (uint64_t)1 << 52) + ((uint32_t)1 << 20);
    const uint64_t divisor = significand >> 21; /* 2^31 .. 2^32 */
    if ((divisor & (divisor - 1u)) == 0) {
        return (reciprocal){(uint32_t)1 << 31, (divisor >> 32 ? -32 : -31) - exponent};
    }
    uint32_t rest;
    const uint64_t quotient = cmi_quotient(((uint64_t)1 << 63) + divisor / 2u, (uint32_t)divisor, &rest);
    return (reciprocal){(uint32_t)quotient, -32 - exponent};
}

/* magnitude 2^exponent and a sign, 2^63 <= magnitude < 2^64 or magnitude = 0 */
typedef struct divided {
    uint64_t magnitude;
    int32_t exponent;
    uint32_t negative; /* all ones or zero */
} divided;

/*
 * x 2^exponent times a reciprocal, from the 32 bits of x that start at its highest one. Words are shifted,
 * because on 32-bit targets compilers turn a variable shift of 64 bits into a branch.
 */
static inline divided divide(int64_t x, int32_t exponent, reciprocal factor)
{
    divided result;
    result.negative = cmi_mask_of_top((uint32_t)(x >> 32));
    const uint64_t magnitude = cmi_negated_64((uint64_t)x, result.negative);
    uint32_t high = (uint32_t)(magnitude >> 32);
    uint32_t low = (uint32_t)magnitude;
    const uint32_t by_word = cmi_mask_of_zero(high);
    high |= low & by_word;
    low &= ~by_word;
    uint32_t zeros = 32u & by_word;
    for (uint32_t step = 16; step > 0; step >>= 1) {
        const uint32_t places = step & cmi_mask_of_zero(high >> (32u - step));
        high = high << places | low >> 1 >> (31u - places);
        low <<= places;
        zeros += places;
    }
    const uint64_t product = cmi_product(high, factor.multiplier);
    const uint32_t place = ~cmi_mask_of_top((uint32_t)(product >> 32));
    result.magnitude = product + (product & cmi_mask_twice(place));
    result.exponent = exponent + factor.exponent + 32 - (int32_t)(zeros + (place & 1u));
    return result;
}

/*
 * The nearest binary32, halves away from zero; 0 for what is too small to be normal. x is below 2^64, because
 * no scale is below 1.
 */
static inline uint32_t float_of(divided x)
{
    const uint32_t significand =
        (uint32_t)(((x.magnitude >> 39) + 1u) >> 1); /* including its leading bit, 2^23 */
    const int32_t exponent = x.exponent + 63 + 126;
    const uint32_t present = ~cmi_mask_of_zero((uint32_t)(x.magnitude >> 32)) & ~cmi_mask_of_sign(exponent);
    const uint32_t bits = ((uint32_t)exponent << 23) + significand;
    return ((bits & 0x7FFFFFFFu) | (x.negative & 0x80000000u)) & present;
}

/*
 * The nearest multiple of 2^exponent, halves away from zero. Only numbers shifted right by 33 places or more
 * are below 2^31.
 */
static inline uint32_t integer_of(divided x, int32_t exponent, uint32_t *too_large)
{
    const int32_t right = exponent - x.exponent;
    const uint32_t present = ~cmi_mask_of_zero((uint32_t)(x.magnitude >> 32)) & ~cmi_mask_of_sign(64 - right);
    const uint32_t few = cmi_mask_of_sign(right - 33);
    const uint32_t twice = (uint32_t)(x.magnitude >> 32) >> ((uint32_t)(right - 33) & 31u);
    const uint32_t rounded = (twice >> 1) + (twice & 1u);
    *too_large |= present & (few | cmi_mask_of_top(rounded));
    return cmi_negated(rounded, x.negative) & present;
}

/* The exponent, then the upper half of the magnitude: sizes compare as the numbers do. */
static inline int64_t size_of(int32_t exponent, uint32_t high)
{
    return exponent * ((int64_t)1 << 32) + high;
}

/*
 * Twice largest, which leaves room for noise: a value beyond it has wrapped around the modulus, or is
 * encrypted under another key.
 */
static int64_t limit_of(uint32_t largest)
{
    if (largest == 0) {
        return INT64_MAX / 2;
    }
    int32_t exponent = 1 - 32;
    while (largest >> 31 == 0) {
        largest <<= 1;
        exponent--;
    }
    return size_of(exponent, largest);
}

/* Its top bit is set if x is beyond the limit. */
static inline uint32_t beyond_limit(divided x, int64_t limit)
{
    return (uint32_t)((uint64_t)(limit - size_of(x.exponent, (uint32_t)(x.magnitude >> 32))) >> 32);
}

/* By memcpy, because words are written where wider numbers are stored. */
static inline int64_t number_at(const cmi_ckks_message *message, size_t i)
{
    int64_t wide;
    int32_t narrow;
    if (message->precision == CM_FIXED_31) {
        memcpy(&narrow, (const uint8_t *)message->data + i * sizeof narrow, sizeof narrow);
        return narrow;
    }
    memcpy(&wide, (const uint8_t *)message->data + i * sizeof wide, sizeof wide);
    return wide;
}

/* Forwards, because what is written is no wider than what is read. */
static cm_status convert_slots(const cmi_ckks_message *message, const cmi_ckks_decoding *wanted)
{
    const size_t count = (size_t)1 << (message->log2_n - (message->slots == CM_SLOTS_COMPLEX ? 0u : 1u));
    const int32_t guard = message->precision == CM_FIXED_31 ? CM_GUARD_BITS_31 : CM_GUARD_BITS_63;
    const reciprocal factor = reciprocal_of(wanted->scale);
    const int64_t limit = limit_of(wanted->largest);
    uint32_t *const out = message->data;
    uint32_t too_large = 0;
    uint32_t past = 0;
    if (wanted->number == CM_FLOAT32) {
        for (size_t i = 0; i < count; i++) {
            const divided x = divide(number_at(message, i), -guard, factor);
            past |= beyond_limit(x, limit);
            out[i] = float_of(x);
        }
    } else {
        for (size_t i = 0; i < count; i++) {
            const divided x = divide(number_at(message, i), -guard, factor);
            past |= beyond_limit(x, limit);
            out[i] = integer_of(x, wanted->exponent, &too_large);
        }
    }
    /* The status reveals whether any number is too large. */
    return cmi_declassified((too_large | past >> 31) != 0) ? CM_ERR_VALUE_RANGE : CM_OK;
}

/* Twice largest times the scale, with guard bits, rounded up by less than 2^-31 of it; at most 2^62. */
static uint64_t scaled_limit(const cmi_ckks_message *message, const cmi_ckks_decoding *wanted)
{
    const int32_t guard = message->precision == CM_FIXED_31 ? CM_GUARD_BITS_31 : CM_GUARD_BITS_63;
    const uint32_t upper = (uint32_t)(wanted->scale >> 21) | (uint32_t)1 << 31; /* of the significand */
    const uint64_t product = (uint64_t)upper * wanted->largest + wanted->largest;
    const int32_t left = (int32_t)(wanted->scale >> 52) - 1023 - 31 + 1 + guard;
    if (left <= 0) {
        return left > -64 ? product >> -left : 0;
    }
    return left < 62 && product >> (62 - left) == 0 ? product << left : (uint64_t)1 << 62;
}

static bool embed(const cmi_ckks_message *message)
{
#if CM_CONFIG_PRECISION_31
    if (message->precision == CM_FIXED_31) {
        return cmi_embed_31(message->data, message->log2_n, message->slots);
    }
#endif
#if CM_CONFIG_PRECISION_63
    if (message->precision == CM_FIXED_63) {
        return cmi_embed_63(message->data, message->log2_n, message->slots);
    }
#endif
    return false;
}

cm_status cmi_ckks_decode(const cmi_ckks_message *message, const cmi_ckks_decoding *wanted)
{
    const bool is_complex = message->slots == CM_SLOTS_COMPLEX;
    const unsigned words = (message->precision == CM_FIXED_31 ? 1u : 2u) * (is_complex ? 2u : 1u);
    /* What outgrows the transform is refused at the end, too, so that the time of a refusal does not tell. */
    const bool embedded = embed(message);
    cmi_slots_restore(message->data, words, message->log2_n, message->slots);
    uint32_t past = 0;
    if (is_complex) {
        const uint32_t slots = (uint32_t)1 << (message->log2_n - 1u);
        if (wanted->largest > 0) { /* each part is compared as it is converted */
            past = cmi_ckks_any_beyond(message, slots, scaled_limit(message, wanted));
        }
        cmi_ckks_conjugate_odd_slots(message, slots);
    }
    const cm_status status = convert_slots(message, wanted);
    return status == CM_OK && cmi_declassified(past | !embedded) ? CM_ERR_VALUE_RANGE : status;
}
