/* SPDX-License-Identifier: Apache-2.0 */
/* Devices, seeds and keys. */
#include "watch.h"

static void a_secret_key_is_drawn_in_constant_time(void)
{
    make_secret_key(&cm_n1024_q26);
    make_secret_key(&cm_n4096_q26x3_p27);
}

static void a_secret_key_is_transformed_in_constant_time(void)
{
    for (unsigned prime = 0; prime < cm_n4096_q26x3_p27.key_primes; prime++) {
        make_secret_key(&cm_n4096_q26x3_p27);
        check_call(cm_secret_key_residues(&cm_n4096_q26x3_p27, ternary, prime, words), CM_OK);
        CHECK(secret_words(words, 4096) == 4096);
        check_call(cm_secret_key_transform(&cm_n4096_q26x3_p27, ternary, prime, words), CM_OK);
        CHECK(secret_words(words, 4096) == 4096);
    }
}

static void an_encryption_of_zero_is_made_in_constant_time(void)
{
    make_public_key(&cm_n1024_q26);
    make_secret_key(&cm_n4096_q26x3_p27);
    make_public_key(&cm_n4096_q26x3_p27);
}

/* Whether a draw is refused is public, whichever check refuses it. */
static void a_random_source_is_checked_in_constant_time(void)
{
    uint64_t key_id;
    for (unsigned mode = RANDOM_ZERO; mode <= RANDOM_REPEATS; mode++) {
        platform.mode = (test_random_mode)mode;
        cm_status status = cm_device_make_secret_key(&device, &cm_n1024_q26, ternary, &key_id);
        if (mode == RANDOM_REPEATS) {
            check_call(status, CM_OK);
            status = cm_device_make_secret_key(&device, &cm_n1024_q26, ternary, &key_id);
        }
        check_call(status, CM_ERR_RANDOM);
    }
}

static void a_device_takes_its_secret_in_constant_time(void)
{
    const cm_platform callbacks = device.counter.platform;
    uint8_t secret[CM_DEVICE_SECRET_BYTES] = {0};
    mark_secret(secret, sizeof secret);
    check_call(cm_device_init(&device, secret, &callbacks), CM_ERR_ARGUMENT);
    draw_secret(secret, sizeof secret);
    check_call(cm_device_init(&device, secret, &callbacks), CM_OK);
    CHECK(secret_words(device.secret, sizeof device.secret / 4u) == sizeof device.secret / 4u);
}

static void a_device_makes_its_key_in_constant_time(void)
{
    uint64_t key_id;
    check_call(cm_device_make_secret_key(&device, &cm_n1024_q26, ternary, &key_id), CM_OK);
    CHECK(secret_words(&key_id, 2) == 0);
    CHECK(secret_words(ternary, 1024 / 16) == 1024 / 16);
}

static void a_device_exports_its_public_key_in_constant_time(void)
{
    for (unsigned xof = CM_XOF_BLAKE2XB; xof <= CM_XOF_CHACHA20; xof++) {
        check_call(test_emit_public_key(&device, &cm_n1024_q26, ternary, KEY_ID, (cm_xof_kind)xof, arena,
                                        sizeof arena, open_writer(FRAMES)),
                   CM_OK);
    }
}

const behaviour key_behaviours[] = {
    BEHAVIOUR_OF(a_device_takes_its_secret_in_constant_time),
    BEHAVIOUR_OF(a_random_source_is_checked_in_constant_time),
    BEHAVIOUR_OF(a_secret_key_is_drawn_in_constant_time),
    BEHAVIOUR_OF(a_secret_key_is_transformed_in_constant_time),
    BEHAVIOUR_OF(an_encryption_of_zero_is_made_in_constant_time),
    BEHAVIOUR_OF(a_device_makes_its_key_in_constant_time),
    BEHAVIOUR_OF(a_device_exports_its_public_key_in_constant_time),
    {NULL, NULL},
};
