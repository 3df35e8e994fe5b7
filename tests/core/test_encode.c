/* SPDX-License-Identifier: Apache-2.0 */
/* Encoding: what is refused, how values are rounded, and that nothing of one call reaches the next. */
#include <string.h>

#include "build.h"
#include "check.h"
#include "encode/ckks.h"
#include "encode/ckks_fixed.h"
#include "ring/prime.h"
#include "roots.h"
#include "scheme/noise.h"

enum { LOG2_N = CM_CONFIG_MAX_LOG2_N < 12 ? CM_CONFIG_MAX_LOG2_N : 12, N = 1 << LOG2_N, SLOTS = N / 2 };

static const cm_precision precisions[] = {CM_FIXED_31, CM_FIXED_63};
enum { PRECISIONS = sizeof precisions / sizeof precisions[0] };

static cm_params three_primes; /* those of n = 4096, at the largest n up to 4096 that the build supports */
static const cm_params *const params = &three_primes;

static uint64_t message_words[N];
static uint64_t other_words[N];
static float floats[SLOTS + 1];

static cm_ckks_values real_floats(const float *data, uint32_t count, int log2_scale, cm_precision precision)
{
    cm_ckks_values values;
    memset(&values, 0, sizeof values);
    values.data = data;
    values.count = count;
    values.number = CM_FLOAT32;
    values.slots = CM_SLOTS_REAL;
    values.log2_scale = (int16_t)log2_scale;
    values.precision = precision;
    values.largest = build_room(params, precision, log2_scale);
    return values;
}

static cm_status encode_into(uint64_t *words, const cm_ckks_values *values)
{
    cmi_ckks_message message;
    message.data = words;
    return cmi_ckks_encode(params, values, &message);
}

static cm_status encode(const cm_ckks_values *values)
{
    return encode_into(message_words, values);
}

/* The status expected for values: what is not built is refused before it looks at them. */
static cm_status if_built(cm_precision precision, cm_status status)
{
    return build_has_precision(precision) ? status : CM_ERR_UNSUPPORTED;
}

/* Coefficient i of the message, in the transform's order. */
static int64_t coefficient(cm_precision precision, unsigned i)
{
    int32_t narrow;
    int64_t wide;
    memcpy(&narrow, (const uint8_t *)message_words + sizeof narrow * i, sizeof narrow);
    memcpy(&wide, message_words + (precision == CM_FIXED_63 ? i : 0), sizeof wide);
    return precision == CM_FIXED_31 ? narrow : wide;
}

static float float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void not_a_number_and_infinity_are_refused(void)
{
    const uint32_t bad[] = {0x7F800000u, 0xFF800000u, 0x7FC00000u, 0x7F800001u, 0xFFFFFFFFu};
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        floats[0] = 1;
        floats[1] = float_of_bits(bad[i]);
        for (unsigned p = 0; p < PRECISIONS; p++) {
            const cm_ckks_values values = real_floats(floats, 2, 25, precisions[p]);
            CHECK(encode(&values) == if_built(precisions[p], CM_ERR_NOT_FINITE));
        }
    }
}

static cm_status encode_one(float value, cm_precision precision)
{
    floats[0] = value;
    const cm_ckks_values values = real_floats(floats, 1, 25, precision);
    return encode(&values);
}

/* 2^29 at 31 bits and 2^58 at 63: there is room for the largest float below, but not for the bound itself. */
static void values_too_large_for_the_precision_are_refused(void)
{
    const cm_status passed_31 = if_built(CM_FIXED_31, CM_OK);
    const cm_status refused_31 = if_built(CM_FIXED_31, CM_ERR_VALUE_RANGE);
    CHECK(encode_one(15.999999f, CM_FIXED_31) == passed_31);
    CHECK(encode_one(16, CM_FIXED_31) == refused_31);
    CHECK(encode_one(-16, CM_FIXED_31) == refused_31);
    CHECK(encode_one(3e38f, CM_FIXED_31) == refused_31);

    const cm_status passed_63 = if_built(CM_FIXED_63, CM_OK);
    const cm_status refused_63 = if_built(CM_FIXED_63, CM_ERR_VALUE_RANGE);
    CHECK(encode_one(8589934080.0f, CM_FIXED_63) == passed_63);  /* the float before the next */
    CHECK(encode_one(8589934592.0f, CM_FIXED_63) == refused_63); /* 2^33 */
    CHECK(encode_one(-8589934592.0f, CM_FIXED_63) == refused_63);
    CHECK(encode_one(3e38f, CM_FIXED_63) == refused_63);
}

static cm_status encode_with(const cm_params *set, const cm_ckks_values *values)
{
    cmi_ckks_message message;
    message.data = message_words;
    return cmi_ckks_encode(set, values, &message);
}

/* The scale has room for the largest, or is refused: in the precision, and in a quarter of the modulus. */
static void a_largest_that_the_scale_has_no_room_for_is_refused(void)
{
    floats[0] = 0;
    cm_ckks_values values = real_floats(floats, 1, 20, BUILD_PRECISION);
    values.largest = 15.98f; /* q / 2^22 is 15.984 */
    CHECK(encode_with(&cm_n1024_q26, &values) == CM_OK);
    values.largest = 15.99f;
    CHECK(encode_with(&cm_n1024_q26, &values) == CM_ERR_SCALE);
    values.largest = 3e38f;
    CHECK(encode_with(&cm_n1024_q26, &values) == CM_ERR_SCALE);
    for (unsigned p = 0; p < PRECISIONS; p++) {
        values = real_floats(floats, 1, 25, precisions[p]);
        values.largest = precisions[p] == CM_FIXED_31 ? 15.999999f : 8589934080.0f;
        CHECK(encode(&values) == if_built(precisions[p], CM_OK));
        values.largest = precisions[p] == CM_FIXED_31 ? 16 : 8589934592.0f;
        CHECK(encode(&values) == if_built(precisions[p], CM_ERR_SCALE));
    }
}

/* A prime of 14 bits leaves 3072 for value times scale, and what rounds to that is below it. */
static void all_values_that_a_small_modulus_has_room_for_are_encoded(void)
{
    cm_prime prime;
    CHECK(cmi_prime_init(&prime, 12289, 10, NULL));
    const cm_params set = {.name = "small",
                           .log2_n = 10,
                           .key_primes = 1,
                           .data_primes = 1,
                           .log2_q_data = 13,
                           .primes = &prime};
    for (unsigned p = 0; p < PRECISIONS; p++) {
        cm_ckks_values values = real_floats(floats, 1, 10, precisions[p]);
        values.largest = 3;
        floats[0] = 2.9999998f; /* the float before 3 */
        CHECK(encode_with(&set, &values) == if_built(precisions[p], CM_OK));
        floats[0] = -3;
        CHECK(encode_with(&set, &values) == if_built(precisions[p], CM_OK));
        floats[0] = 3.0000002f;
        CHECK(encode_with(&set, &values) == if_built(precisions[p], CM_ERR_VALUE_RANGE));
    }
}

static void a_largest_that_is_missing_is_refused(void)
{
    const uint32_t none[] = {0, 0x80000000u, 0xBF800000u, 0x7F800000u, 0xFF800000u, 0x7FC00000u, 0xFFFFFFFFu};
    floats[0] = 0;
    cm_ckks_values values = real_floats(floats, 1, 20, BUILD_PRECISION);
    for (unsigned i = 0; i < sizeof none / sizeof none[0]; i++) {
        values.largest = float_of_bits(none[i]);
        CHECK(encode(&values) == CM_ERR_ARGUMENT);
    }
    values.largest = float_of_bits(1); /* the smallest of all */
    CHECK(encode(&values) == CM_OK);
}

static bool float_fits(float value, float largest, cm_precision precision)
{
    floats[0] = 0;
    floats[1] = value;
    cm_ckks_values values = real_floats(floats, 2, 20, precision);
    values.largest = largest;
    const cm_status status = encode(&values);
    CHECK(status == CM_OK || status == CM_ERR_VALUE_RANGE);
    return status == CM_OK;
}

static void floats_beyond_the_largest_are_refused(void)
{
    for (unsigned p = 0; p < PRECISIONS; p++) {
        if (!build_has_precision(precisions[p])) {
            continue;
        }
        CHECK(float_fits(100, 100, precisions[p]) && float_fits(-100, 100, precisions[p]));
        CHECK(!float_fits(100.00001f, 100, precisions[p]) && !float_fits(-100.00001f, 100, precisions[p]));
        CHECK(float_fits(1e-30f, 1e-30f, precisions[p]) && !float_fits(1.1e-30f, 1e-30f, precisions[p]));
        CHECK(float_fits(float_of_bits(5), float_of_bits(5), precisions[p])); /* subnormal */
        CHECK(!float_fits(float_of_bits(0x80000006u), float_of_bits(5), precisions[p]));
        for (unsigned bit = 0; bit < 127; bit++) { /* every power of two above */
            CHECK(!float_fits(float_of_bits((uint32_t)(128 + bit) << 23), 1, precisions[p]));
        }
    }
}

static bool integer_fits(int32_t value, int exponent, float largest, cm_number number, cm_precision precision)
{
    const int16_t narrow = (int16_t)value;
    const int log2_scale = 20;
    cm_ckks_values values = real_floats(floats, 1, log2_scale, precision);
    values.data = number == CM_INT16 ? (const void *)&narrow : (const void *)&value;
    values.number = number;
    values.exponent = (int16_t)exponent;
    values.largest = largest;
    const cm_status status = encode(&values);
    CHECK(status == CM_OK || status == CM_ERR_VALUE_RANGE);
    return status == CM_OK;
}

static void integers_beyond_the_largest_are_refused(void)
{
    for (unsigned p = 0; p < PRECISIONS; p++) {
        if (!build_has_precision(precisions[p])) {
            continue;
        }
        for (unsigned wide = 0; wide < 2; wide++) {
            const cm_number number = wide ? CM_INT32 : CM_INT16;
            CHECK(integer_fits(100, 0, 100, number, precisions[p]));
            CHECK(integer_fits(-100, 0, 100, number, precisions[p]));
            CHECK(!integer_fits(101, 0, 100, number, precisions[p]));
            CHECK(!integer_fits(-101, 0, 100, number, precisions[p]));
            CHECK(integer_fits(1601, -4, 100.1f, number, precisions[p]));
            CHECK(!integer_fits(1602, -4, 100.1f, number, precisions[p]));
            CHECK(integer_fits(12, 3, 100, number, precisions[p]));
            CHECK(!integer_fits(-13, 3, 100, number, precisions[p]));
            CHECK(integer_fits(0, 100, 1, number, precisions[p]));
            CHECK(!integer_fits(1, 100, 1, number, precisions[p]));
            CHECK(!integer_fits(-1, 127, 1, number, precisions[p]));
            CHECK(integer_fits(INT16_MIN, -128, 1e-30f, number, precisions[p]));
            CHECK(!integer_fits(INT16_MIN, 0, 32767 / 64.0f, number, precisions[p]));
        }
        CHECK(integer_fits(INT32_MIN, -23, 256, CM_INT32, precisions[p]));
        CHECK(!integer_fits(INT32_MIN, -23, 255.99998f, CM_INT32, precisions[p]));
        CHECK(integer_fits(INT32_MAX, -23, 256, CM_INT32, precisions[p]));
    }
}

/* A slot, encoded and then decoded again. */
static cm_status decode_complex(float re, float im, uint32_t largest, cm_precision precision)
{
    const cmi_ckks_message message = {message_words, LOG2_N, CM_SLOTS_COMPLEX, precision};
    const cmi_ckks_decoding wanted = {
        .scale = (uint64_t)(1023 + 18) << 52, .number = CM_FLOAT32, .largest = largest};
    memset(floats, 0, sizeof floats);
    floats[2] = re;
    floats[3] = im;
    cm_ckks_values values = real_floats(floats, 2, 18, precision);
    values.slots = CM_SLOTS_COMPLEX;
    CHECK(encode(&values) == CM_OK);
    for (unsigned i = 0; i < N; i++) { /* guard bits */
        if (precision == CM_FIXED_31) {
            ((int32_t *)(void *)message_words)[i] *= 1 << CM_GUARD_BITS_31;
        } else {
            ((int64_t *)(void *)message_words)[i] *= 1 << CM_GUARD_BITS_63;
        }
    }
    return cmi_ckks_decode(&message, &wanted);
}

static void a_decoded_slot_beyond_twice_the_largest_in_absolute_value_is_refused(void)
{
    for (unsigned p = 0; p < PRECISIONS; p++) {
        if (!build_has_precision(precisions[p])) {
            continue;
        }
        CHECK(decode_complex(141, 141, 100, precisions[p]) == CM_OK);
        CHECK(decode_complex(-141, 141.9f, 100, precisions[p]) == CM_ERR_VALUE_RANGE);
        CHECK(decode_complex(199, 199, 100, precisions[p]) == CM_ERR_VALUE_RANGE); /* 2.81 times */
        CHECK(decode_complex(199, 10, 100, precisions[p]) == CM_OK);
        CHECK(decode_complex(0, -201, 100, precisions[p]) == CM_ERR_VALUE_RANGE);
        CHECK(decode_complex(1.3f, -1.5f, 1, precisions[p]) == CM_OK);
        CHECK(decode_complex(1.3f, -1.53f, 1, precisions[p]) == CM_ERR_VALUE_RANGE);
        CHECK(decode_complex(300, 300, 0, precisions[p]) == CM_OK); /* no limit */
    }
}

static cm_status encode_wide(int64_t value, int exponent, float largest)
{
    cm_ckks_values values = real_floats(floats, 1, 20, CM_FIXED_63);
    values.data = &value;
    values.number = CM_INT64;
    values.exponent = (int16_t)exponent;
    values.largest = largest;
    return encode(&values);
}

static void integers_of_64_bits_are_refused_beyond_the_largest_or_2_to_the_62(void)
{
    const int64_t most = ((int64_t)1 << 62) - 1;
    CHECK(encode_wide(100, 0, 100) == CM_OK && encode_wide(-100, 0, 100) == CM_OK);
    CHECK(encode_wide(101, 0, 100) == CM_ERR_VALUE_RANGE && encode_wide(-101, 0, 100) == CM_ERR_VALUE_RANGE);
    CHECK(encode_wide(most, -61, 2) == CM_OK && encode_wide(-most, -61, 2) == CM_OK);
    CHECK(encode_wide(most + 1, -61, 4) == CM_ERR_VALUE_RANGE);
    CHECK(encode_wide(-most - 1, -61, 4) == CM_ERR_VALUE_RANGE);
    CHECK(encode_wide(INT64_MAX, -128, 4) == CM_ERR_VALUE_RANGE);
    CHECK(encode_wide(INT64_MIN, -128, 4) == CM_ERR_VALUE_RANGE);
    CHECK(encode_wide((int64_t)1 << 60, -60, 1) == CM_OK);
    CHECK(encode_wide(((int64_t)1 << 60) + 1, -60, 1) == CM_ERR_VALUE_RANGE);
    CHECK(encode_wide(1, 127, 100) == CM_ERR_VALUE_RANGE && encode_wide(0, 127, 100) == CM_OK);
}

static void integers_of_64_bits_need_the_precision_of_63(void)
{
    static const int64_t one = 1;
    cm_ckks_values values = real_floats(floats, 1, 20, CM_FIXED_31);
    values.data = &one;
    values.number = CM_INT64;
    CHECK(encode(&values) == CM_ERR_ARGUMENT);
    values = real_floats(floats, 1, 20, CM_FIXED_63);
    values.data = &one;
    values.number = CM_INT64;
    CHECK(encode(&values) == if_built(CM_FIXED_63, CM_OK));
}

/* Those of fewer bits are encoded as they are in 32, at every distance that they are shifted. */
static void integers_of_64_bits_are_rounded_as_those_of_32(void)
{
    static int32_t narrow[SLOTS];
    static int64_t wide[SLOTS];
    for (unsigned i = 0; i < SLOTS; i++) {
        narrow[i] = (int32_t)(i * 2654435761u);
        wide[i] = narrow[i];
    }
    for (int exponent = -100; exponent <= 4; exponent++) {
        cm_ckks_values values = real_floats(floats, SLOTS, 20, CM_FIXED_63);
        values.exponent = (int16_t)exponent;
        values.number = CM_INT32;
        values.data = narrow;
        CHECK(encode_into(other_words, &values) == CM_OK);
        values.number = CM_INT64;
        values.data = wide;
        CHECK(encode(&values) == CM_OK);
        CHECK_BYTES(message_words, other_words, CM_CKKS_MESSAGE_BYTES(N, CM_SLOTS_REAL, CM_FIXED_63));
    }
}

static bool complex_fits(float re, float im, float largest, cm_precision precision)
{
    for (unsigned i = 0; i < SLOTS; i++) {
        floats[i] = 0;
    }
    floats[2] = re;
    floats[3] = im;
    cm_ckks_values values = real_floats(floats, 3, 20, precision);
    values.slots = CM_SLOTS_COMPLEX;
    values.largest = largest;
    const cm_status status = encode(&values);
    CHECK(status == CM_OK || status == CM_ERR_VALUE_RANGE);
    return status == CM_OK;
}

/* By its absolute value, not part by part. */
static void complex_numbers_beyond_the_largest_are_refused(void)
{
    for (unsigned p = 0; p < PRECISIONS; p++) {
        if (!build_has_precision(precisions[p]) || !build_has_slots(CM_SLOTS_COMPLEX)) {
            continue;
        }
        CHECK(complex_fits(60, 80, 100, precisions[p]) && complex_fits(-80, -60, 100, precisions[p]));
        CHECK(complex_fits(100, 0, 100, precisions[p]) && complex_fits(0, -100, 100, precisions[p]));
        CHECK(!complex_fits(60, 80.00001f, 100, precisions[p]));
        CHECK(!complex_fits(-60.00001f, 80, 100, precisions[p]));
        CHECK(!complex_fits(100, 100, 100, precisions[p]) && !complex_fits(-100, 1, 100, precisions[p]));
        CHECK(!complex_fits(0, 101, 100, precisions[p]) && !complex_fits(3e38f, 3e38f, 100, precisions[p]));
        const float most = build_room(params, precisions[p], 20);
        CHECK(complex_fits(most * 0.6f, most * 0.7999f, most, precisions[p]));
        CHECK(complex_fits(most, 0, most, precisions[p]) && !complex_fits(most, most, most, precisions[p]));
        CHECK(!complex_fits(most * 0.6f, most * 0.8001f, most, precisions[p]));
        CHECK(!complex_fits(most * 0.7072f, -most * 0.7072f, most, precisions[p]));
    }
}

/* As encoding finds them, wherever they are, for hardware that compares parts alone. */
static void complex_numbers_beyond_the_circle_are_found_without_a_message(void)
{
#if CM_CONFIG_COMPLEX && CM_CONFIG_PRECISION_31
    cm_ckks_values values = real_floats(floats, 1, 20, CM_FIXED_31);
    values.slots = CM_SLOTS_COMPLEX;
    values.largest = 5;
    for (uint32_t count = 1; count <= 19; count++) {
        for (int step = -3; step <= 3; step++) {
            memset(floats, 0, sizeof floats);
            values.count = count;
            floats[2u * count - 2u] = -3;
            floats[2u * count - 1u] = 4 + (float)step / (1 << 20);
            const bool beyond = cmi_ckks_beyond_circle(&values);
            CHECK(beyond == (encode(&values) == CM_ERR_VALUE_RANGE));
            CHECK(beyond == (step == 3) || step == 2);
        }
    }
#endif
}

static void a_refused_vector_leaves_zeros(void)
{
    for (unsigned p = 0; p < PRECISIONS; p++) {
        memset(message_words, 0x5A, sizeof message_words);
        for (unsigned i = 0; i < SLOTS; i++) {
            floats[i] = 1;
        }
        floats[SLOTS - 1] = 1e11f;
        const cm_ckks_values values = real_floats(floats, SLOTS, 25, precisions[p]);
        CHECK(encode(&values) == if_built(precisions[p], CM_ERR_VALUE_RANGE));
        int64_t any = 0;
        for (unsigned i = 0; i < SLOTS && build_has_precision(precisions[p]); i++) {
            any |= coefficient(precisions[p], i);
        }
        CHECK(any == 0);
    }
}

static void counts_of_zero_and_beyond_the_slots_are_refused(void)
{
    cm_ckks_values values = real_floats(floats, 0, 25, BUILD_PRECISION);
    CHECK(encode(&values) == CM_ERR_ARGUMENT);
    values.count = SLOTS + 1;
    CHECK(encode(&values) == CM_ERR_TOO_MANY);
}

static void arguments_out_of_range_are_refused(void)
{
    floats[0] = 0;
    cm_ckks_values values = real_floats(NULL, 1, 25, BUILD_PRECISION);
    CHECK(encode(&values) == CM_ERR_ARGUMENT);
    values = real_floats(floats, 1, 25, (cm_precision)32);
    CHECK(encode(&values) == CM_ERR_ARGUMENT);
    values = real_floats(floats, 1, 25, BUILD_PRECISION);
    values.exponent = 128;
    CHECK(encode(&values) == CM_ERR_ARGUMENT);
}

static cm_status encode_at_scale(unsigned log2_q_data, int log2_scale)
{
    cm_params some = cm_n1024_q26;
    cmi_ckks_message message;
    some.log2_q_data = (uint8_t)log2_q_data;
    message.data = message_words;
    floats[0] = 0;
    cm_ckks_values values = real_floats(floats, 1, log2_scale, BUILD_PRECISION);
    values.largest = build_room(&some, BUILD_PRECISION, log2_scale);
    return cmi_ckks_encode(&some, &values, &message);
}

/*
 * SEAL does not decode a scale with as many bits as the modulus: at one prime of 26 bits, 2^25 is the
 * largest.
 */
static void a_scale_that_is_missing_or_that_seal_cannot_decode_is_refused(void)
{
    CHECK(encode_at_scale(25, 0) == CM_ERR_SCALE);
    CHECK(encode_at_scale(25, -1) == CM_ERR_SCALE);
    CHECK(encode_at_scale(25, 1) == CM_OK);
    CHECK(encode_at_scale(25, 25) == CM_OK);
    CHECK(encode_at_scale(25, 26) == CM_ERR_SCALE);
    CHECK(encode_at_scale(25, 30) == CM_ERR_SCALE);
    CHECK(encode_at_scale(77, 60) == CM_OK);
    CHECK(encode_at_scale(77, 61) == CM_ERR_SCALE);
}

static void choices_that_were_forgotten_are_refused(void)
{
    floats[0] = 0;
    cm_ckks_values values = real_floats(floats, 1, 25, BUILD_PRECISION);
    values.number = (cm_number)0;
    CHECK(encode(&values) == CM_ERR_ARGUMENT);
    values = real_floats(floats, 1, 25, BUILD_PRECISION);
    values.slots = (cm_slots)0;
    CHECK(encode(&values) == CM_ERR_ARGUMENT);
    values = real_floats(floats, 1, 25, (cm_precision)0);
    CHECK(encode(&values) == CM_ERR_ARGUMENT);
    memset(&values, 0, sizeof values);
    CHECK(encode(&values) == CM_ERR_ARGUMENT);
}

/* At 63 bits, intermediate results leave the signed range: none of this may be undefined behaviour. */
static void negative_values_far_out_of_range_are_refused_as_positive_ones(void)
{
    const cm_status refused = if_built(CM_FIXED_63, CM_ERR_VALUE_RANGE);
    for (int log2_value = 30; log2_value < 128; log2_value++) {
        float value = 1;
        for (int i = 0; i < log2_value; i++) {
            value *= 2;
        }
        const cm_status expected = log2_value < 33 ? if_built(CM_FIXED_63, CM_OK) : refused;
        CHECK(encode_one(-value, CM_FIXED_63) == expected);
        CHECK(encode_one(value, CM_FIXED_63) == expected);
    }
}

static void complex_slots_are_encoded_or_refused(void)
{
    floats[0] = 1;
    floats[1] = 2;
    cm_ckks_values values = real_floats(floats, 1, 25, BUILD_PRECISION);
    values.slots = CM_SLOTS_COMPLEX;
    CHECK(encode(&values) == (build_has_slots(CM_SLOTS_COMPLEX) ? CM_OK : CM_ERR_UNSUPPORTED));
}

/* Slots that are not given are zero, not what the previous call left. */
static void a_short_vector_does_not_see_the_call_before(void)
{
    for (unsigned i = 0; i < SLOTS; i++) {
        floats[i] = i < 3 ? 0.5f : 0;
    }
    cm_ckks_values values = real_floats(floats, SLOTS, 25, BUILD_PRECISION);
    CHECK(encode_into(other_words, &values) == CM_OK);
    for (unsigned i = 3; i < SLOTS; i++) {
        floats[i] = 9;
    }
    CHECK(encode(&values) == CM_OK);
    values.count = 3;
    CHECK(encode(&values) == CM_OK);
    CHECK_BYTES(message_words, other_words, CM_CKKS_MESSAGE_BYTES(N, CM_SLOTS_REAL, BUILD_PRECISION));
}

static void values_are_encoded_where_they_lie_and_from_any_address(void)
{
    for (unsigned p = 0; p < PRECISIONS; p++) {
        if (!build_has_precision(precisions[p])) {
            continue;
        }
        const size_t size = CM_CKKS_MESSAGE_BYTES(N, CM_SLOTS_REAL, precisions[p]);
        for (unsigned i = 0; i < SLOTS; i++) {
            floats[i] = (float)((int)i % 17 - 8) / 4;
        }
        cm_ckks_values values = real_floats(floats, SLOTS, 25, precisions[p]);
        CHECK(encode_into(other_words, &values) == CM_OK);

        memcpy(message_words, floats, SLOTS * sizeof(float));
        values.data = message_words;
        CHECK(encode(&values) == CM_OK);
        CHECK_BYTES(message_words, other_words, size);

        uint8_t *odd = (uint8_t *)floats + 1;
        memmove(odd, floats, SLOTS * sizeof(float));
        values.data = odd;
        CHECK(encode(&values) == CM_OK);
        CHECK_BYTES(message_words, other_words, size);
    }
}

static void integers_with_an_exponent_equal_the_floats_they_stand_for(void)
{
    static int16_t shorts[SLOTS];
    static int32_t longs[SLOTS];
    const size_t size = CM_CKKS_MESSAGE_BYTES(N, CM_SLOTS_REAL, BUILD_PRECISION);
    for (unsigned i = 0; i < SLOTS; i++) {
        shorts[i] = (int16_t)((int)(i * 7919u % 65536u) - 32768);
        longs[i] = shorts[i];
        floats[i] = (float)shorts[i] / 4096;
    }
    cm_ckks_values values = real_floats(floats, SLOTS, 25, BUILD_PRECISION);
    CHECK(encode_into(other_words, &values) == CM_OK);
    values.exponent = -12;
    values.number = CM_INT16;
    values.data = shorts;
    CHECK(encode(&values) == CM_OK);
    CHECK_BYTES(message_words, other_words, size);
    values.number = CM_INT32;
    values.data = longs;
    CHECK(encode(&values) == CM_OK);
    CHECK_BYTES(message_words, other_words, size);
}

/*
 * A constant c encodes as c * scale in the first coefficient and nothing else, exactly, up to the limits of
 * the range.
 */
static void a_constant_vector_is_one_exact_coefficient(void)
{
    for (unsigned i = 0; i < SLOTS; i++) {
        floats[i] = -15.999999f;
    }
    const int64_t expected = -536870880; /* -15.999999 as a float is -(2^24 - 1) / 2^20 */
    for (unsigned p = 0; p < PRECISIONS; p++) {
        if (!build_has_precision(precisions[p])) {
            continue;
        }
        const cm_ckks_values values = real_floats(floats, SLOTS, 25, precisions[p]);
        CHECK(encode(&values) == CM_OK);
        CHECK(coefficient(precisions[p], 0) == expected);
        int64_t largest = 0;
        for (unsigned i = 1; i < SLOTS; i++) {
            const int64_t value = coefficient(precisions[p], i);
            const int64_t size = value < 0 ? -value : value;
            largest = size > largest ? size : largest;
        }
        CHECK(largest <= 1);
    }
}

#if CM_CONFIG_STORE_NOISE && CM_CONFIG_PRECISION_31

/* Custom sets may have small primes too. */
static void halves_at_small_primes_are_those_of_the_whole(void)
{
    enum { LOG2_SMALL = 10, SMALL = 1 << LOG2_SMALL, HALF = SMALL / 2 };
    static int32_t data[HALF];
    static int8_t noise[SMALL];
    static uint32_t whole[SMALL];
    static uint32_t half[HALF];
    const uint32_t small_primes[] = {12289, 18433, 40961, 65537, 147457, 786433};
    const cmi_ckks_message message = {data, LOG2_SMALL, CM_SLOTS_REAL, CM_FIXED_31};
    for (unsigned p = 0; p < sizeof small_primes / sizeof small_primes[0]; p++) {
        const uint32_t q = small_primes[p];
        cm_prime prime;
        cmi_ring ring;
        CHECK(cmi_prime_init(&prime, q, LOG2_SMALL, NULL));
        cmi_ring_init(&ring, &prime, LOG2_SMALL, NULL);
        uint32_t state = q;
        for (unsigned i = 0; i < SMALL; i++) {
            state = state * 1664525u + 1013904223u;
            data[i / 2u] = (int32_t)(state >> 2) - (1 << 29);
            noise[i] = (int8_t)((int)(state >> 24) % 43 - 21);
        }
        cmi_ckks_message_fold_noisy(&message, noise, &ring, whole);
        for (unsigned tile = 0; tile < 2; tile++) {
            uint32_t wrong = 0;
            cmi_ring_select_tile(&ring, 1, tile);
            const uint64_t r = cmi_montgomery_residue(cmi_ring_fold_ratio(&ring), 1, &prime);
            cmi_ckks_message_fold_noisy(&message, noise, &ring, half);
            for (unsigned i = 0; i < HALF; i++) {
                wrong += half[i] >= 4u * q || half[i] % q != (whole[i] + r * whole[i + HALF]) % q;
            }
            CHECK(wrong == 0);
        }
    }
}

/* Whether lazy values are those that folded has once it is transformed. */
static bool are_transformed(const uint32_t *lazy, uint32_t *folded, const cmi_ring *ring)
{
    const cm_prime *prime = ring->prime;
    uint32_t wrong = 0;
    cmi_ntt_forward(folded, ring);
    for (uint32_t i = 0; i < cmi_ring_points(ring); i++) {
        wrong += lazy[i] > 32u * prime->q || cmi_reduce(lazy[i], prime) != cmi_reduce(folded[i], prime);
    }
    return wrong == 0;
}

/* At random, and then at their limits, where only signs are random. */
static void message_and_noise_are_transformed_as_they_are_folded(void)
{
    enum { LOG2_SMALL = 10, SMALL = 1 << LOG2_SMALL, HALF = SMALL / 2, LARGEST = 759250124 };
    static int32_t data[HALF];
    static int8_t noise[SMALL];
    static uint32_t lazy[SMALL];
    static uint32_t folded[SMALL];
    const uint32_t primes[] = {12289, cm_n1024_q26.primes[0].q, cm_n4096_q26x3_p27.primes[2].q,
                               cm_std2018_n16384_q27x15_p27.primes[15].q};
    const cmi_ckks_message message = {data, LOG2_SMALL, CM_SLOTS_REAL, CM_FIXED_31};
    for (unsigned run = 0; run < 2u * sizeof primes / sizeof primes[0]; run++) {
        cm_prime prime;
        cmi_ring ring;
        CHECK(cmi_prime_init(&prime, primes[run / 2u], LOG2_SMALL, NULL));
        const cm_params set = {.log2_n = LOG2_SMALL, .data_primes = 1, .primes = &prime};
        cmi_ring_init(&ring, &prime, LOG2_SMALL, test_roots(&set));
        uint32_t state = run;
        for (unsigned i = 0; i < SMALL; i++) {
            state = state * 1664525u + 1013904223u;
            const bool negative = state >> 31;
            noise[i] = (int8_t)(run % 2u == 0 ? (int)(state >> 24) % 43 - 21 : negative ? -21 : 21);
            data[i / 2u] = run % 2u == 0 ? (int32_t)(state >> 2) - (1 << 29) : negative ? -LARGEST : LARGEST;
        }
        for (unsigned tile = 0; tile < 3; tile++) {
            cmi_ring_select_tile(&ring, tile < 2 ? 1 : 0, tile % 2u);
            cmi_ckks_message_fold_noisy(&message, noise, &ring, folded);
            cmi_ckks_message_transform_noisy(&message, noise, &ring, lazy);
            CHECK(are_transformed(lazy, folded, &ring));
            cmi_noise_fold(noise, &ring, folded);
            cmi_noise_transform(noise, &ring, lazy);
            CHECK(are_transformed(lazy, folded, &ring));
        }
    }
}

#endif

void test_encode(void)
{
    three_primes = cm_n4096_q26x3_p27;
    three_primes.log2_n = LOG2_N;
    RUN(not_a_number_and_infinity_are_refused);
    RUN(values_too_large_for_the_precision_are_refused);
    RUN(a_largest_that_the_scale_has_no_room_for_is_refused);
    RUN(all_values_that_a_small_modulus_has_room_for_are_encoded);
    RUN(a_largest_that_is_missing_is_refused);
    RUN(floats_beyond_the_largest_are_refused);
    RUN(integers_beyond_the_largest_are_refused);
    RUN(complex_numbers_beyond_the_largest_are_refused);
    RUN_IF(CM_CONFIG_PRECISION_63, integers_of_64_bits_are_refused_beyond_the_largest_or_2_to_the_62);
    RUN_IF(CM_CONFIG_COMPLEX, a_decoded_slot_beyond_twice_the_largest_in_absolute_value_is_refused);
    RUN(integers_of_64_bits_need_the_precision_of_63);
    RUN_IF(CM_CONFIG_PRECISION_63, integers_of_64_bits_are_rounded_as_those_of_32);
    RUN(complex_numbers_beyond_the_circle_are_found_without_a_message);
    RUN(a_refused_vector_leaves_zeros);
    RUN(counts_of_zero_and_beyond_the_slots_are_refused);
    RUN(arguments_out_of_range_are_refused);
    RUN(a_scale_that_is_missing_or_that_seal_cannot_decode_is_refused);
    RUN(choices_that_were_forgotten_are_refused);
    RUN(negative_values_far_out_of_range_are_refused_as_positive_ones);
    RUN(complex_slots_are_encoded_or_refused);
    RUN(a_short_vector_does_not_see_the_call_before);
    RUN(values_are_encoded_where_they_lie_and_from_any_address);
    RUN(integers_with_an_exponent_equal_the_floats_they_stand_for);
    RUN(a_constant_vector_is_one_exact_coefficient);
#if CM_CONFIG_STORE_NOISE && CM_CONFIG_PRECISION_31
    RUN(halves_at_small_primes_are_those_of_the_whole);
    RUN(message_and_noise_are_transformed_as_they_are_folded);
#endif
}
