/* From the caller's numbers to fixed point: floats are taken apart by bit operations, and nothing branches on them. */
#include <string.h>

#include "encode/encode.h"

/* What the conversions of one vector found wrong; all ones or zero each, gathered without branching. */
typedef struct findings {
    uint32_t not_finite;
    uint32_t too_large;
} findings;

/* sign * magnitude * 2^shift */
typedef struct number {
    uint32_t magnitude;
    uint32_t negative; /* all ones or zero */
    int32_t shift;
} number;

static uint32_t all_ones_if(uint32_t bit)
{
    return 0u - bit;
}

/* All ones if x is zero. */
static uint32_t is_zero(uint32_t x)
{
    return all_ones_if((~x & (x - 1u)) >> 31);
}

static number read_float(const uint8_t *bytes, findings *found)
{
    uint32_t bits;
    memcpy(&bits, bytes, sizeof bits);
    uint32_t exponent = bits >> 23 & 0xFFu;
    uint32_t subnormal = is_zero(exponent);
    found->not_finite |= is_zero(exponent ^ 0xFFu);
    number result;
    result.magnitude = (bits & 0x7FFFFFu) | (0x800000u & ~subnormal);
    result.negative = all_ones_if(bits >> 31);
    result.shift = (int32_t)(exponent - subnormal) - 150;
    return result;
}

static number read_integer(int32_t value, int32_t exponent)
{
    number result;
    result.negative = all_ones_if((uint32_t)value >> 31);
    result.magnitude = ((uint32_t)value ^ result.negative) - result.negative;
    result.shift = exponent;
    return result;
}

static unsigned number_bytes(cm_number kind)
{
    return kind == CM_INT16 ? 2u : 4u;
}

static number read_number(const cm_ckks_values *values, uint32_t index, findings *found)
{
    const uint8_t *bytes = (const uint8_t *)values->data + (size_t)index * number_bytes(values->number);
    if (values->number == CM_FLOAT32) {
        return read_float(bytes, found);
    }
    if (values->number == CM_INT32) {
        int32_t value;
        memcpy(&value, bytes, sizeof value);
        return read_integer(value, values->exponent);
    }
    int16_t value;
    memcpy(&value, bytes, sizeof value);
    return read_integer(value, values->exponent);
}

/* x limited to 0 .. limit, for |x| far below 2^31; the arithmetic right shift makes a mask of the sign. */
static int32_t clamp(int32_t x, int32_t limit)
{
    x &= ~(x >> 31);
    return limit + ((x - limit) & ((x - limit) >> 31));
}

/* Round value * 2^shift to the nearest integer, halves away from zero; |result| < 2^limit_bits or it is too large. */
static int64_t to_fixed(number value, int32_t shift, unsigned limit_bits, findings *found)
{
    shift += value.shift;
    int32_t left = clamp(shift, 62);
    int32_t right = clamp(-shift, 40);
    uint64_t lost = (uint64_t)(value.magnitude >> 1) >> (63 - left);
    uint64_t half = (uint64_t)1 << right >> 1;
    uint64_t magnitude = (((uint64_t)value.magnitude << left) + half) >> right;
    uint64_t over = lost | magnitude >> limit_bits;
    uint32_t beyond_shift = all_ones_if((uint32_t)(62 - shift) >> 31) & ~is_zero(value.magnitude);
    found->too_large |= beyond_shift | ~is_zero((uint32_t)(over >> 32) | (uint32_t)over);
    int64_t sign = -(int64_t)(value.negative & 1u);
    return ((int64_t)magnitude ^ sign) - sign;
}

/* The largest |value * scale|: the encoder's, or a quarter of the modulus, whichever is smaller. */
static unsigned limit_bits(const cm_params *params, cm_precision precision)
{
    unsigned encoder = precision == CM_FIXED_31 ? 29u : 58u;
    unsigned modulus = params->log2_q_data - 2u;
    return modulus < encoder ? modulus : encoder;
}

/* Backwards, so that narrow numbers at the start of the message can widen in place. */
static findings convert(const cm_params *params, const cm_ckks_values *values, void *message)
{
    const unsigned parts = values->slots == CM_COMPLEX_SLOTS ? 2u : 1u;
    const bool narrow = values->precision == CM_FIXED_31;
    const unsigned guard = narrow ? CM_GUARD_BITS_31 : CM_GUARD_BITS_63;
    const unsigned limit = limit_bits(params, values->precision) + guard;
    const int32_t shift = values->log2_scale + (int32_t)guard;
    findings found = {0, 0};
    for (uint32_t i = values->count * parts; i-- > 0;) {
        int64_t fixed = to_fixed(read_number(values, i, &found), shift, limit, &found);
        /* Odd slots lie at exponents 3 mod 4, where the transform wants the conjugate: see slots.c. */
        if (parts == 2u && (i & 3u) == 3u) {
            fixed = -fixed;
        }
        if (narrow) {
            ((int32_t *)message)[i] = (int32_t)fixed;
        } else {
            ((int64_t *)message)[i] = fixed;
        }
    }
    return found;
}

static cm_status check(const cm_params *params, const cm_ckks_values *values)
{
    if (!values->data || values->count == 0 || values->log2_scale < 0 || values->log2_scale > 60 ||
        values->exponent < -128 || values->exponent > 127 || (unsigned)values->number > CM_INT32 ||
        (unsigned)values->slots > CM_COMPLEX_SLOTS) {
        return CM_ERR_ARGUMENT;
    }
    if (values->precision != CM_FIXED_31 && values->precision != CM_FIXED_63) {
        return CM_ERR_ARGUMENT;
    }
    if ((values->precision == CM_FIXED_31 && !CM_PRECISION_31) ||
        (values->precision == CM_FIXED_63 && !CM_PRECISION_63) ||
        (values->slots == CM_COMPLEX_SLOTS && !CM_COMPLEX)) {
        return CM_ERR_UNSUPPORTED;
    }
    if (values->count > (uint32_t)1 << (params->log2_n - 1u)) {
        return CM_ERR_TOO_MANY;
    }
    return CM_OK;
}

cm_status cm_encode(const cm_params *params, const cm_ckks_values *values, cm_message *message,
                    uint8_t *scratch)
{
    cm_status status = check(params, values);
    if (status != CM_OK) {
        return status;
    }
    message->log2_n = params->log2_n;
    message->slots = values->slots;
    message->precision = values->precision;

    const size_t number_size = values->precision == CM_FIXED_31 ? 4u : 8u;
    const unsigned parts = values->slots == CM_COMPLEX_SLOTS ? 2u : 1u;
    const size_t total = number_size * parts << (params->log2_n - 1u);
    const size_t given = number_size * parts * values->count;
    findings found = convert(params, values, message->data);
    memset((uint8_t *)message->data + given, 0, total - given);
    if (found.not_finite | found.too_large) {
        memset(message->data, 0, total);
        return found.not_finite ? CM_ERR_NOT_FINITE : CM_ERR_VALUE_RANGE;
    }

    cm_slots_permute(message->data, (unsigned)(number_size / 4u) * parts, params->log2_n, values->slots,
                     scratch);
#if CM_PRECISION_31
    if (values->precision == CM_FIXED_31) {
        cm_transform_31(message->data, params->log2_n, values->slots);
    }
#endif
#if CM_PRECISION_63
    if (values->precision == CM_FIXED_63) {
        cm_transform_63(message->data, params->log2_n, values->slots);
    }
#endif
    return CM_OK;
}

void cm_message_fold(const cm_message *message, const cm_ring *ring, uint32_t *out)
{
#if CM_PRECISION_31
    if (message->precision == CM_FIXED_31) {
        cm_fold_31(message->data, message->slots, ring, out);
    }
#endif
#if CM_PRECISION_63
    if (message->precision == CM_FIXED_63) {
        cm_fold_63(message->data, message->slots, ring, out);
    }
#endif
}
