/* SPDX-License-Identifier: Apache-2.0 */
/* Encryption of every kind of number, in both schemes, under both kinds of key, and what it refuses. */
#include "watch.h"

/* ---- CKKS ---- */

/* Under the public key if xof is CM_XOF_NONE. */
static cm_status encrypt_reals(const cm_params *params, const cm_ckks_values *values, cm_xof_kind xof,
                               cm_emitter *emitter)
{
    if (xof == CM_XOF_NONE) {
        const cm_public_key key = public_key_of(params);
        return test_ckks_asymmetric(&device, &key, values, arena, sizeof arena, emitter);
    }
    const cm_secret_key key = secret_key_of(params);
    return test_ckks_symmetric(&device, &key, xof, values, arena, sizeof arena, emitter);
}

/* Integers that a scale makes larger, and smaller: at 31 bits, they take different code paths. */
static void encrypt_every_real_number(const cm_params *params, cm_xof_kind xof)
{
    static const cm_precision precisions[] = {CM_FIXED_31, CM_FIXED_63};
    for (unsigned i = 0; i < 16; i++) {
        const cm_precision precision = precisions[i >> 2 & 1u];
        for (unsigned j = 0; j < (precision == CM_FIXED_63 ? 4u : 3u); j++) {
            static const cm_number numbers[] = {CM_FLOAT32, CM_INT16, CM_INT32, CM_INT64};
            const bool in_place = i & 1u;
            cm_ckks_values values = draw_reals(params, numbers[j], i & 2u ? CM_SLOTS_COMPLEX : CM_SLOTS_REAL,
                                               precision, in_place);
            values.exponent = (int16_t)(i & 8u ? EXPONENT_OF_INTEGERS - 12 : EXPONENT_OF_INTEGERS);
            check_call(encrypt_reals(params, &values, xof, open_writer(FRAMES)), CM_OK);
        }
    }
}

static void reals_are_encrypted_with_the_secret_key_in_constant_time(void)
{
    encrypt_every_real_number(&cm_n1024_q26, CM_XOF_CHACHA20);
}

static void reals_are_encrypted_with_the_public_key_in_constant_time(void)
{
    make_public_key(&cm_n1024_q26);
    encrypt_every_real_number(&cm_n1024_q26, CM_XOF_NONE);
}

static void reals_are_encrypted_at_three_primes_in_constant_time(void)
{
    make_secret_key(&cm_n4096_q26x3_p27);
    make_public_key(&cm_n4096_q26x3_p27);
    for (unsigned xof = CM_XOF_NONE; xof <= CM_XOF_CHACHA20; xof += CM_XOF_CHACHA20) {
        for (unsigned way = 0; way < 4; way++) {
            const cm_ckks_values values =
                draw_reals(&cm_n4096_q26x3_p27, CM_FLOAT32, way & 1u ? CM_SLOTS_COMPLEX : CM_SLOTS_REAL,
                           way & 2u ? CM_FIXED_63 : CM_FIXED_31, true);
            check_call(encrypt_reals(&cm_n4096_q26x3_p27, &values, (cm_xof_kind)xof, open_writer(FRAMES)),
                       CM_OK);
        }
    }
}

/* SEAL cannot expand ChaCha20 seeds, and accepts no seed where there is none. */
static void every_xof_and_emitter_is_served_in_constant_time(void)
{
    make_public_key(&cm_n1024_q26);
    for (unsigned xof = CM_XOF_NONE; xof <= CM_XOF_CHACHA20; xof++) {
        for (unsigned form = FRAMES; form <= SEAL_SEEDED; form++) {
            const bool taken = form != SEAL_SEEDED || xof == CM_XOF_SHAKE256 || xof == CM_XOF_BLAKE2XB;
            const cm_ckks_values values =
                draw_reals(&cm_n1024_q26, CM_FLOAT32, CM_SLOTS_REAL, CM_FIXED_31, false);
            check_call(
                encrypt_reals(&cm_n1024_q26, &values, (cm_xof_kind)xof, open_writer((form_of_bytes)form)),
                taken ? CM_OK : CM_ERR_UNSUPPORTED);
        }
    }
}

/* A refusal may reveal that it happened, and nothing more. */
static void a_real_is_refused_without_telling_which(void)
{
    static const uint32_t not_a_number = 0x7FC00000u;
    for (unsigned way = 0; way < 4; way++) {
        const cm_number number = way & 1u ? CM_INT32 : CM_FLOAT32;
        const cm_precision precision = way & 2u ? CM_FIXED_63 : CM_FIXED_31;
        cm_ckks_values values = draw_reals(&cm_n1024_q26, number, CM_SLOTS_REAL, precision, true);
        values.largest = 0.5f;
        check_call(encrypt_reals(&cm_n1024_q26, &values, CM_XOF_CHACHA20, open_writer(FRAMES)),
                   CM_ERR_VALUE_RANGE);
        values = draw_reals(&cm_n1024_q26, CM_FLOAT32, CM_SLOTS_REAL, precision, true);
        memcpy((uint8_t *)arena + 4u * 100u, &not_a_number, sizeof not_a_number);
        mark_secret((uint8_t *)arena + 4u * 100u, sizeof not_a_number);
        check_call(encrypt_reals(&cm_n1024_q26, &values, CM_XOF_CHACHA20, open_writer(FRAMES)),
                   CM_ERR_NOT_FINITE);
    }
}

/* ---- BFV ---- */

static cm_status encrypt_integers(const cm_params *params, const cm_bfv_values *values, cm_xof_kind xof,
                                  cm_emitter *emitter)
{
    if (xof == CM_XOF_NONE) {
        const cm_public_key key = public_key_of(params);
        return test_bfv_asymmetric(&device, &key, values, arena, sizeof arena, emitter);
    }
    const cm_secret_key key = secret_key_of(params);
    return test_bfv_symmetric(&device, &key, xof, values, arena, sizeof arena, emitter);
}

static void encrypt_every_integer(const cm_params *params, cm_domain domain, cm_xof_kind xof)
{
    for (unsigned number = CM_INT16; number <= CM_UINT32; number++) {
        for (unsigned way = 0; way < 4; way++) {
            const cm_bfv_encoding encoding = way & 1u ? CM_BFV_COEFFICIENTS : CM_BFV_BATCH;
            const cm_bfv_width width = way & 2u ? CM_BFV_32 : CM_BFV_16;
            const bool large = width == CM_BFV_32 && xof != CM_XOF_NONE;
            cm_bfv_values values =
                draw_integers(params, (cm_number)number, encoding, width, large ? LARGE_T : SMALL_T);
            values.domain = domain;
            check_call(encrypt_integers(params, &values, xof, open_writer(FRAMES)), CM_OK);
        }
    }
}

static void integers_are_encrypted_with_the_secret_key_in_constant_time(void)
{
    encrypt_every_integer(&cm_n1024_q26, CM_DOMAIN_NTT, CM_XOF_CHACHA20);
    make_secret_key(&cm_n2048_q26_p27); /* batches with an odd log2(n) end in a single level */
    encrypt_every_integer(&cm_n2048_q26_p27, CM_DOMAIN_NTT, CM_XOF_CHACHA20);
}

static void integers_are_encrypted_with_the_public_key_in_constant_time(void)
{
    make_public_key(&cm_n1024_q26);
    encrypt_every_integer(&cm_n1024_q26, CM_DOMAIN_NTT, CM_XOF_NONE);
}

static void integers_are_encrypted_into_coefficients_in_constant_time(void)
{
    make_public_key(&cm_n1024_q26);
    encrypt_every_integer(&cm_n1024_q26, CM_DOMAIN_COEFFICIENTS, CM_XOF_CHACHA20);
    encrypt_every_integer(&cm_n1024_q26, CM_DOMAIN_COEFFICIENTS, CM_XOF_SHAKE256);
    encrypt_every_integer(&cm_n1024_q26, CM_DOMAIN_COEFFICIENTS, CM_XOF_NONE);
}

static void integers_are_encrypted_at_three_primes_in_constant_time(void)
{
    make_secret_key(&cm_n4096_q26x3_p27);
    make_public_key(&cm_n4096_q26x3_p27);
    encrypt_every_integer(&cm_n4096_q26x3_p27, CM_DOMAIN_NTT, CM_XOF_CHACHA20);
    encrypt_every_integer(&cm_n4096_q26x3_p27, CM_DOMAIN_NTT, CM_XOF_NONE);
}

static void an_integer_is_refused_without_telling_which(void)
{
    for (unsigned number = CM_INT16; number <= CM_UINT32; number++) {
        for (unsigned way = 0; way < 2; way++) {
            cm_bfv_values values = draw_integers(&cm_n1024_q26, (cm_number)number, CM_BFV_COEFFICIENTS,
                                                 way & 1u ? CM_BFV_32 : CM_BFV_16, SMALL_T);
            values.largest = 1;
            check_call(encrypt_integers(&cm_n1024_q26, &values, CM_XOF_CHACHA20, open_writer(FRAMES)),
                       CM_ERR_VALUE_RANGE);
        }
    }
}

/* ---- BFV, values that are read ---- */

static uint16_t read_secret(void *context, uint16_t index)
{
    return ((const uint16_t *)context)[index];
}

static cm_status encrypt_readings(cm_xof_kind xof, uint32_t t, uint16_t largest)
{
    static uint16_t readings[1000];
    const cm_bfv_reader reader = {
        .read = read_secret, .context = readings, .count = 1000, .plain_modulus = t, .largest = largest};
    const cm_secret_key key = secret_key_of(&cm_n1024_q26);
    for (unsigned i = 0; i < 1000; i++) {
        readings[i] = (uint16_t)(i * 37u % 30000u);
    }
    mark_secret(readings, sizeof readings);
    return test_bfv_read(&device, &key, xof, &reader, arena, sizeof arena, open_writer(FRAMES));
}

static void readings_are_encrypted_in_constant_time(void)
{
    for (unsigned xof = CM_XOF_BLAKE2XB; xof <= CM_XOF_CHACHA20; xof++) {
        check_call(encrypt_readings((cm_xof_kind)xof, SMALL_T, SMALL_T - 1), CM_OK);
    }
}

static void a_reading_is_refused_without_telling_which(void)
{
    check_call(encrypt_readings(CM_XOF_CHACHA20, SMALL_T, 12288), CM_ERR_VALUE_RANGE);
}

const behaviour encryption_behaviours[] = {
    BEHAVIOUR_OF(reals_are_encrypted_with_the_secret_key_in_constant_time),
    BEHAVIOUR_OF(reals_are_encrypted_with_the_public_key_in_constant_time),
    BEHAVIOUR_OF(reals_are_encrypted_at_three_primes_in_constant_time),
    BEHAVIOUR_OF(every_xof_and_emitter_is_served_in_constant_time),
    BEHAVIOUR_OF(a_real_is_refused_without_telling_which),
    BEHAVIOUR_OF(integers_are_encrypted_with_the_secret_key_in_constant_time),
    BEHAVIOUR_OF(integers_are_encrypted_with_the_public_key_in_constant_time),
    BEHAVIOUR_OF(integers_are_encrypted_into_coefficients_in_constant_time),
    BEHAVIOUR_OF(integers_are_encrypted_at_three_primes_in_constant_time),
    BEHAVIOUR_OF(an_integer_is_refused_without_telling_which),
    BEHAVIOUR_OF(readings_are_encrypted_in_constant_time),
    BEHAVIOUR_OF(a_reading_is_refused_without_telling_which),
    {NULL, NULL},
};
