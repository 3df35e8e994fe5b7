/* Encoding: what is refused, what is rounded how, and that nothing of one call reaches the next. */
#include <string.h>

#include "check.h"
#include "encode/encode.h"

enum { N = 1024, SLOTS = N / 2 };

static const cm_params *const params = &cm_n4096_q26x3_p27;
enum { BIG_SLOTS = 2048 };

static uint64_t message_words[BIG_SLOTS * 2];
static uint64_t other_words[BIG_SLOTS * 2];
static uint16_t scratch[4096 / 2];
static float floats[BIG_SLOTS + 1];

static cm_ckks_values real_floats(const float *data, uint32_t count, int log2_scale, cm_precision precision)
{
    cm_ckks_values values;
    memset(&values, 0, sizeof values);
    values.data = data;
    values.count = count;
    values.number = CM_FLOAT32;
    values.slots = CM_REAL;
    values.log2_scale = (int16_t)log2_scale;
    values.precision = precision;
    return values;
}

static cm_status encode_into(uint64_t *words, const cm_ckks_values *values)
{
    cm_message message;
    message.data = words;
    return cm_encode(params, values, &message, (uint8_t *)scratch);
}

static cm_status encode(const cm_ckks_values *values)
{
    return encode_into(message_words, values);
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
        cm_ckks_values values = real_floats(floats, 2, 25, CM_FIXED_31);
        CHECK(encode(&values) == CM_ERR_NOT_FINITE);
        values.precision = CM_FIXED_63;
        CHECK(encode(&values) == CM_ERR_NOT_FINITE);
    }
}

/* 2^29 at 31 bits and 2^58 at 63: the largest float below passes, the bound itself does not, whatever its sign. */
static void values_too_large_for_the_precision_are_refused(void)
{
    floats[0] = 15.999999f;
    cm_ckks_values values = real_floats(floats, 1, 25, CM_FIXED_31);
    CHECK(encode(&values) == CM_OK);
    floats[0] = 16;
    CHECK(encode(&values) == CM_ERR_VALUE_RANGE);
    floats[0] = -16;
    CHECK(encode(&values) == CM_ERR_VALUE_RANGE);
    floats[0] = 3e38f;
    CHECK(encode(&values) == CM_ERR_VALUE_RANGE);
    values.precision = CM_FIXED_63;
    CHECK(encode(&values) == CM_ERR_VALUE_RANGE);
    floats[0] = 8589934592.0f; /* 2^33 */
    CHECK(encode(&values) == CM_ERR_VALUE_RANGE);
    floats[0] = 8589934080.0f; /* the float before it */
    CHECK(encode(&values) == CM_OK);
}

/* One 26-bit prime leaves 2^23. */
static void values_too_large_for_the_modulus_are_refused(void)
{
    cm_message message;
    message.data = message_words;
    floats[0] = 7.9f;
    cm_ckks_values values = real_floats(floats, 1, 20, CM_FIXED_31);
    CHECK(cm_encode(&cm_n1024_q26, &values, &message, (uint8_t *)scratch) == CM_OK);
    floats[0] = 8;
    CHECK(cm_encode(&cm_n1024_q26, &values, &message, (uint8_t *)scratch) == CM_ERR_VALUE_RANGE);
}

static void a_refused_vector_leaves_zeros(void)
{
    memset(message_words, 0x5A, sizeof message_words);
    for (unsigned i = 0; i < BIG_SLOTS; i++) {
        floats[i] = 1;
    }
    floats[BIG_SLOTS - 1] = 1000;
    cm_ckks_values values = real_floats(floats, BIG_SLOTS, 25, CM_FIXED_31);
    CHECK(encode(&values) == CM_ERR_VALUE_RANGE);
    const int32_t *m = (const int32_t *)(const void *)message_words;
    int32_t any = 0;
    for (unsigned i = 0; i < BIG_SLOTS; i++) {
        any |= m[i];
    }
    CHECK(any == 0);
}

static void counts_of_zero_and_beyond_the_slots_are_refused(void)
{
    cm_ckks_values values = real_floats(floats, 0, 25, CM_FIXED_31);
    CHECK(encode(&values) == CM_ERR_ARGUMENT);
    values.count = BIG_SLOTS + 1;
    CHECK(encode(&values) == CM_ERR_TOO_MANY);
}

static void arguments_out_of_range_are_refused(void)
{
    floats[0] = 0;
    cm_ckks_values values = real_floats(floats, 1, 61, CM_FIXED_63);
    CHECK(encode(&values) == CM_ERR_ARGUMENT);
    values = real_floats(floats, 1, -1, CM_FIXED_63);
    CHECK(encode(&values) == CM_ERR_ARGUMENT);
    values = real_floats(NULL, 1, 25, CM_FIXED_31);
    CHECK(encode(&values) == CM_ERR_ARGUMENT);
    values = real_floats(floats, 1, 25, (cm_precision)32);
    CHECK(encode(&values) == CM_ERR_ARGUMENT);
    values = real_floats(floats, 1, 25, CM_FIXED_31);
    values.exponent = 128;
    CHECK(encode(&values) == CM_ERR_ARGUMENT);
}

/* Slots that are not given are zero, not what the call before left. */
static void a_short_vector_does_not_see_the_call_before(void)
{
    for (unsigned i = 0; i < BIG_SLOTS; i++) {
        floats[i] = i < 3 ? 0.5f : 0;
    }
    cm_ckks_values values = real_floats(floats, BIG_SLOTS, 25, CM_FIXED_31);
    CHECK(encode_into(other_words, &values) == CM_OK);
    for (unsigned i = 3; i < BIG_SLOTS; i++) {
        floats[i] = 9;
    }
    CHECK(encode(&values) == CM_OK);
    values.count = 3;
    CHECK(encode(&values) == CM_OK);
    CHECK_BYTES(message_words, other_words, BIG_SLOTS * sizeof(int32_t));
}

static void values_are_encoded_where_they_lie_and_from_any_address(void)
{
    for (unsigned precision = 31; precision <= 63; precision += 32) {
        const size_t size = BIG_SLOTS * (precision == 31 ? 4u : 8u);
        for (unsigned i = 0; i < BIG_SLOTS; i++) {
            floats[i] = (float)((int)i % 17 - 8) / 4;
        }
        cm_ckks_values values = real_floats(floats, BIG_SLOTS, 25, (cm_precision)precision);
        CHECK(encode_into(other_words, &values) == CM_OK);

        memcpy(message_words, floats, BIG_SLOTS * sizeof(float));
        values.data = message_words;
        CHECK(encode(&values) == CM_OK);
        CHECK_BYTES(message_words, other_words, size);

        uint8_t *odd = (uint8_t *)floats + 1;
        memmove(odd, floats, BIG_SLOTS * sizeof(float));
        values.data = odd;
        CHECK(encode(&values) == CM_OK);
        CHECK_BYTES(message_words, other_words, size);
    }
}

static void integers_with_an_exponent_equal_the_floats_they_stand_for(void)
{
    static int16_t shorts[BIG_SLOTS];
    static int32_t longs[BIG_SLOTS];
    for (unsigned i = 0; i < BIG_SLOTS; i++) {
        shorts[i] = (int16_t)((int)(i * 7919u % 65536u) - 32768);
        longs[i] = shorts[i];
        floats[i] = (float)shorts[i] / 4096;
    }
    cm_ckks_values values = real_floats(floats, BIG_SLOTS, 25, CM_FIXED_31);
    CHECK(encode_into(other_words, &values) == CM_OK);
    values.exponent = -12;
    values.number = CM_INT16;
    values.data = shorts;
    CHECK(encode(&values) == CM_OK);
    CHECK_BYTES(message_words, other_words, BIG_SLOTS * sizeof(int32_t));
    values.number = CM_INT32;
    values.data = longs;
    CHECK(encode(&values) == CM_OK);
    CHECK_BYTES(message_words, other_words, BIG_SLOTS * sizeof(int32_t));
}

/* A constant c encodes as c * scale in the first coefficient and nothing else, exactly, to the edge of the range. */
static void a_constant_vector_is_one_exact_coefficient(void)
{
    for (unsigned i = 0; i < BIG_SLOTS; i++) {
        floats[i] = -15.999999f;
    }
    const int32_t expected = -536870880; /* -15.999999 as a float is -(2^24 - 1) / 2^20 */
    cm_ckks_values values = real_floats(floats, BIG_SLOTS, 25, CM_FIXED_31);
    CHECK(encode(&values) == CM_OK);
    const int32_t *m = (const int32_t *)(const void *)message_words;
    CHECK(m[0] == expected);
    int32_t largest = 0;
    for (unsigned i = 1; i < BIG_SLOTS; i++) {
        const int32_t size = m[i] < 0 ? -m[i] : m[i];
        largest = size > largest ? size : largest;
    }
    CHECK(largest <= 1);
}

void test_encode(void)
{
    RUN(not_a_number_and_infinity_are_refused);
    RUN(values_too_large_for_the_precision_are_refused);
    RUN(values_too_large_for_the_modulus_are_refused);
    RUN(a_refused_vector_leaves_zeros);
    RUN(counts_of_zero_and_beyond_the_slots_are_refused);
    RUN(arguments_out_of_range_are_refused);
    RUN(a_short_vector_does_not_see_the_call_before);
    RUN(values_are_encoded_where_they_lie_and_from_any_address);
    RUN(integers_with_an_exponent_equal_the_floats_they_stand_for);
    RUN(a_constant_vector_is_one_exact_coefficient);
}
