/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decryption of what the device encrypted, for every kind of number and in every way, and client-aided
 * sessions.
 */
#include "watch.h"

static void check_values(size_t words_of_values)
{
    CHECK(secret_words(arena, words_of_values) == words_of_values);
}

static void set_up(cm_decryptor *decryptor, const cm_secret_key *key)
{
    const cm_decryptor_setup setup = {.arena = arena, .arena_bytes = sizeof arena};
    check_call(cm_decryptor_init(decryptor, key, &setup), CM_OK);
}

/* ---- BFV ---- */

static void send_integers(const cm_params *params, cm_number number, uint32_t t)
{
    const cm_secret_key key = secret_key_of(params);
    const cm_bfv_values values =
        draw_integers(params, number, CM_BFV_BATCH, t == LARGE_T ? CM_BFV_32 : CM_BFV_16, t);
    check_call(test_bfv_symmetric(&device, &key, CM_XOF_CHACHA20, &values, arena, sizeof arena, open_cloud()),
               CM_OK);
}

static bool is_narrow(cm_number number)
{
    return number == CM_INT16 || number == CM_UINT16;
}

static void decrypt_integers(const cm_params *params, const cm_bfv_expected *expected)
{
    const cm_secret_key key = secret_key_of(params);
    const size_t n = (size_t)1 << params->log2_n;
    cm_decryptor decryptor;
    set_up(&decryptor, &key);
    check_call(cm_bfv_expect(&decryptor, expected), CM_OK);
    check_call(decrypt_ciphertext(expected->log2_tiles, params->data_primes, &decryptor), CM_OK);
    check_call(cm_bfv_decrypt(&decryptor), CM_OK);
    check_values(is_narrow(expected->number) ? n / 2u : n);
}

static void decrypt_every_integer(const cm_params *params, unsigned log2_tiles)
{
    for (unsigned number = CM_INT16; number <= CM_UINT32; number++) {
        const bool narrow = is_narrow((cm_number)number);
        const uint32_t t = narrow ? SMALL_T : LARGE_T;
        send_integers(params, (cm_number)number, t);
        for (unsigned way = 0; way < (narrow ? 4u : 2u); way++) {
            const cm_bfv_expected expected = {.encoding = way & 1u ? CM_BFV_COEFFICIENTS : CM_BFV_BATCH,
                                              .number = (cm_number)number,
                                              .sums = way & 2u ? CM_BFV_SUMS_24 : CM_BFV_SUMS_32,
                                              .log2_tiles = (uint8_t)log2_tiles,
                                              .plain_modulus = t};
            decrypt_integers(params, &expected);
        }
    }
}

static void integers_are_decrypted_in_constant_time(void)
{
    for (unsigned log2_tiles = 0; log2_tiles <= MOST_LOG2_TILES; log2_tiles++) {
        decrypt_every_integer(&cm_n1024_q26, log2_tiles);
    }
}

static void integers_are_decrypted_at_three_primes_in_constant_time(void)
{
    make_secret_key(&cm_n4096_q26x3_p27);
    decrypt_every_integer(&cm_n4096_q26x3_p27, 2);
}

/* ---- BFV, noise ---- */

static void tell_noise(const cm_params *params, unsigned log2_tiles)
{
    const cm_secret_key key = secret_key_of(params);
    cm_decryptor decryptor;
    uint32_t bits = 0;
    set_up(&decryptor, &key);
    send_integers(params, CM_UINT16, SMALL_T);
    check_call(cm_bfv_expect_noise(&decryptor, SMALL_T, log2_tiles), CM_OK);
    check_call(decrypt_ciphertext(log2_tiles, params->data_primes, &decryptor), CM_OK);
    check_call(cm_bfv_noise_budget(&decryptor, &bits), CM_OK);
    CHECK(secret_words(&bits, 1) == 1);
}

static void a_noise_budget_is_told_in_constant_time(void)
{
    tell_noise(&cm_n1024_q26, 0);
    tell_noise(&cm_n1024_q26, 2);
    make_secret_key(&cm_n4096_q26x3_p27);
    tell_noise(&cm_n4096_q26x3_p27, 2);
}

/* ---- CKKS ---- */

static void send_reals(const cm_params *params, cm_slots slots, int log2_scale)
{
    const cm_secret_key key = secret_key_of(params);
    cm_ckks_values values = draw_reals(params, CM_FLOAT32, slots, CM_FIXED_63, false);
    values.log2_scale = (int16_t)log2_scale;
    check_call(
        test_ckks_symmetric(&device, &key, CM_XOF_CHACHA20, &values, arena, sizeof arena, open_cloud()),
        CM_OK);
}

static cm_ckks_expected expect_reals(cm_slots slots, cm_precision precision, cm_number number,
                                     unsigned log2_tiles)
{
    const cm_ckks_expected expected = {.slots = slots,
                                       .precision = precision,
                                       .number = number,
                                       .exponent = EXPONENT_OF_INTEGERS,
                                       .log2_tiles = (uint8_t)log2_tiles,
                                       .largest = 12}; /* either part is below 8 */
    return expected;
}

/* log2_noise: of the noise that floods the ciphertext's, for sharing; 0 for none */
static cm_status decrypt_reals(const cm_params *params, unsigned primes, const cm_ckks_expected *expected,
                               unsigned log2_noise)
{
    const cm_secret_key key = secret_key_of(params);
    cm_decryptor decryptor;
    set_up(&decryptor, &key);
    check_call(cm_ckks_expect(&decryptor, expected), CM_OK);
    check_call(decrypt_ciphertext(expected->log2_tiles, primes, &decryptor), CM_OK);
    return log2_noise ? cm_ckks_decrypt_shared(&decryptor, &device, log2_noise) : cm_ckks_decrypt(&decryptor);
}

static void decrypt_every_real(const cm_params *params, unsigned primes, cm_precision precision,
                               unsigned log2_tiles)
{
    const size_t n = (size_t)1 << params->log2_n;
    for (unsigned way = 0; way < 4; way++) {
        const cm_slots slots = way & 1u ? CM_SLOTS_COMPLEX : CM_SLOTS_REAL;
        const cm_ckks_expected expected =
            expect_reals(slots, precision, way & 2u ? CM_INT32 : CM_FLOAT32, log2_tiles);
        send_reals(params, slots, LOG2_SCALE);
        check_call(decrypt_reals(params, primes, &expected, 0), CM_OK);
        check_values(slots == CM_SLOTS_COMPLEX ? n : n / 2u);
    }
}

static void reals_are_decrypted_at_31_bits_in_constant_time(void)
{
    for (unsigned log2_tiles = 0; log2_tiles <= MOST_LOG2_TILES; log2_tiles++) {
        decrypt_every_real(&cm_n1024_q26, 1, CM_FIXED_31, log2_tiles);
    }
}

static void reals_are_decrypted_at_63_bits_in_constant_time(void)
{
    for (unsigned log2_tiles = 0; log2_tiles <= MOST_LOG2_TILES; log2_tiles++) {
        decrypt_every_real(&cm_n1024_q26, 1, CM_FIXED_63, log2_tiles);
    }
}

static void reals_are_decrypted_at_two_primes_in_constant_time(void)
{
    make_secret_key(&cm_n4096_q26x3_p27);
    decrypt_every_real(&cm_n4096_q26x3_p27, 2, CM_FIXED_63, 2);
}

static void reals_are_decrypted_for_others_in_constant_time(void)
{
    make_secret_key(&cm_n4096_q26x3_p27);
    for (unsigned way = 0; way < 4; way++) {
        const cm_slots slots = way & 1u ? CM_SLOTS_COMPLEX : CM_SLOTS_REAL;
        const cm_ckks_expected expected =
            expect_reals(slots, CM_FIXED_63, way & 2u ? CM_INT32 : CM_FLOAT32, 2);
        send_reals(&cm_n4096_q26x3_p27, slots, 40);
        check_call(decrypt_reals(&cm_n4096_q26x3_p27, 2, &expected, 30), CM_OK);
        check_values(slots == CM_SLOTS_COMPLEX ? 4096 : 2048);
    }
}

/*
 * Under another key, coefficients are of any size, which is too much for 31 bits; and in units of 2^-40, 2^31
 * is too much for an integer.
 */
static void a_real_too_large_is_refused_without_telling_which(void)
{
    cm_ckks_expected expected = expect_reals(CM_SLOTS_COMPLEX, CM_FIXED_31, CM_FLOAT32, 0);
    send_reals(&cm_n1024_q26, CM_SLOTS_COMPLEX, LOG2_SCALE);
    make_secret_key(&cm_n1024_q26);
    check_call(decrypt_reals(&cm_n1024_q26, 1, &expected, 0), CM_ERR_VALUE_RANGE);

    expected = expect_reals(CM_SLOTS_REAL, CM_FIXED_63, CM_INT32, 0);
    expected.exponent = -40;
    send_reals(&cm_n1024_q26, CM_SLOTS_REAL, LOG2_SCALE);
    check_call(decrypt_reals(&cm_n1024_q26, 1, &expected, 0), CM_ERR_VALUE_RANGE);
}

/* ---- client-aided sessions ---- */

static cm_status feed_session(void *to, const uint8_t *bytes, size_t length)
{
    return cm_aided_feed((cm_aided *)to, bytes, length);
}

/* The words of the values, halved. */
static cm_status halve(void *context, unsigned round, void *values, uint32_t count)
{
    const cm_aided *aided = (const cm_aided *)context;
    const bool narrow = aided->plan.scheme == CM_BFV && is_narrow(aided->plan.bfv.number);
    (void)round;
    for (uint32_t i = 0; i < count; i++) {
        if (narrow) {
            ((int16_t *)values)[i] = (int16_t)(((int16_t *)values)[i] / 2);
        } else {
            ((int32_t *)values)[i] /= 2;
        }
    }
    return CM_OK;
}

static void hold_session(const cm_aided_plan *plan, const void *values, size_t bytes, uint32_t count)
{
    const cm_secret_key key = secret_key_of(&cm_n1024_q26);
    cm_emitter *const cloud = open_cloud();
    const cm_encryptor_setup setup = {.device = &device,
                                      .emitter = cloud,
                                      .arena = arena,
                                      .arena_bytes = sizeof arena,
                                      .xof = CM_XOF_CHACHA20,
                                      .log2_tiles = BUILD_LOG2_TILES};
    cm_aided aided;
    memcpy(arena, values, bytes);
    check_call(cm_aided_begin(&aided, &key, plan, &setup), CM_OK);
    check_call(cm_aided_send(&aided, count), CM_OK);
    check_call(return_ciphertext(1, 1, feed_session, &aided), CM_OK);
    (void)open_cloud();
    check_call(cm_aided_answer(&aided, halve, &aided), CM_OK);
    check_call(return_ciphertext(1, 1, feed_session, &aided), CM_OK);
    check_call(cm_aided_finish(&aided), CM_OK);
    check_values(bytes / 4u);
}

static void a_session_of_integers_is_held_in_constant_time(void)
{
    for (unsigned number = CM_INT16; number <= CM_INT32; number++) {
        const bool narrow = is_narrow((cm_number)number);
        const cm_bfv_values values =
            draw_integers(&cm_n1024_q26, (cm_number)number, CM_BFV_BATCH, CM_BFV_32, SMALL_T);
        const cm_aided_plan plan = {.scheme = CM_BFV,
                                    .rounds = 2,
                                    .bfv = {.encoding = CM_BFV_BATCH,
                                            .number = (cm_number)number,
                                            .sums = CM_BFV_SUMS_32,
                                            .log2_tiles = 1,
                                            .plain_modulus = SMALL_T}};
        hold_session(&plan, values.data, narrow ? 2048 : 4096, 1024);
    }
}

static void a_session_of_reals_is_held_in_constant_time(void)
{
    for (unsigned way = 0; way < 2; way++) {
        const cm_precision precision = way ? CM_FIXED_63 : CM_FIXED_31;
        const cm_ckks_values values = draw_reals(&cm_n1024_q26, CM_INT32, CM_SLOTS_REAL, precision, false);
        const cm_aided_plan plan = {.scheme = CM_CKKS,
                                    .rounds = 2,
                                    .ckks = expect_reals(CM_SLOTS_REAL, precision, CM_INT32, 1),
                                    .precision = precision,
                                    .log2_scale = LOG2_SCALE,
                                    .largest = values.largest};
        hold_session(&plan, values.data, 2048, 512);
    }
}

const behaviour decryption_behaviours[] = {
    BEHAVIOUR_OF(integers_are_decrypted_in_constant_time),
    BEHAVIOUR_OF(integers_are_decrypted_at_three_primes_in_constant_time),
    BEHAVIOUR_OF(a_noise_budget_is_told_in_constant_time),
    BEHAVIOUR_OF(reals_are_decrypted_at_31_bits_in_constant_time),
    BEHAVIOUR_OF(reals_are_decrypted_at_63_bits_in_constant_time),
    BEHAVIOUR_OF(reals_are_decrypted_at_two_primes_in_constant_time),
    BEHAVIOUR_OF(reals_are_decrypted_for_others_in_constant_time),
    BEHAVIOUR_OF(a_real_too_large_is_refused_without_telling_which),
    BEHAVIOUR_OF(a_session_of_integers_is_held_in_constant_time),
    BEHAVIOUR_OF(a_session_of_reals_is_held_in_constant_time),
    {NULL, NULL},
};
