/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sensor on the chip of rtl/soc: it encrypts APP_CIPHERTEXTS blocks of readings and sends their frames.
 * Nothing here knows whether the client engine does it. The UART says how many cycles each took.
 */
#include <stdint.h>

#include "board.h"
#include "ciphermote/ciphermote.h"
#include "console.h"
#include "platform.h"
#include "provisioned_keys.h"

#define N CM_PROVISIONED_N

#ifdef APP_LOG2_SCALE /* CKKS, or else BFV */
#define READINGS (N / 2)
#define PLAIN_MODULUS 0u
#define ARENA_BYTES CM_CKKS_ASYMMETRIC_ARENA_BYTES(N, CM_SLOTS_REAL, CM_FIXED_31, 0)
#else
#define READINGS N
#define PLAIN_MODULUS APP_PLAIN_MODULUS
#define ARENA_BYTES CM_BFV_ASYMMETRIC_ARENA_BYTES(N, CM_BFV_16, 0)
#endif

static BOARD_NOT_CLEARED int16_t readings[READINGS];
static BOARD_NOT_CLEARED uint8_t arena[ARENA_BYTES];
static cm_device device;
static cm_frame_writer frames;

#if CM_PROVISIONED_PUBLIC_KEY
#define KEY cm_provisioned_public_key
#else
#define KEY cm_provisioned_secret_key
#endif

/* The next block's begin to come. */
static void take_readings(void)
{
    board_order();
    BOARD_ADDRESS = (uint32_t)(uintptr_t)readings;
    BOARD_TAKE = READINGS;
}

static void await_readings(void)
{
    while (BOARD_TAKE) {
    }
    board_order();
}

static cm_status start(cm_encryptor *encryptor)
{
    const cm_sink port = {console_leave, NULL};
    const cm_encryptor_setup setup = {.device = &device,
                                      .emitter = &frames.emitter,
                                      .arena = arena,
                                      .arena_bytes = sizeof arena,
                                      .xof = CM_PROVISIONED_PUBLIC_KEY ? CM_XOF_NONE : CM_XOF_CHACHA20};
#if CM_PROVISIONED_SECRET_KEY
    board_hold(cm_provisioned_device_secret, &KEY, PLAIN_MODULUS);
#endif
    cm_frame_writer_init(&frames, port);
    const cm_status status = cm_device_init(&device, cm_provisioned_device_secret, &picorv32_platform);
    if (status != CM_OK) {
        return status;
    }
#if CM_PROVISIONED_PUBLIC_KEY
    return cm_encryptor_init_asymmetric(encryptor, &KEY, &setup);
#else
    return cm_encryptor_init_symmetric(encryptor, &KEY, &setup);
#endif
}

#ifdef APP_LOG2_SCALE

static cm_status encrypt_readings(const cm_encryptor *encryptor)
{
    const cm_ckks_values values = {.data = readings,
                                   .count = READINGS,
                                   .number = CM_INT16,
                                   .slots = CM_SLOTS_REAL,
                                   .exponent = APP_EXPONENT,
                                   .log2_scale = APP_LOG2_SCALE,
                                   .precision = CM_FIXED_31,
                                   .largest = CM_PROVISIONED_LARGEST};
    return cm_ckks_encrypt(encryptor, &values);
}

#else

static cm_status encrypt_readings(const cm_encryptor *encryptor)
{
    const cm_bfv_values values = {.data = readings,
                                  .count = READINGS,
                                  .number = CM_INT16,
                                  .encoding = CM_BFV_COEFFICIENTS,
                                  .width = CM_BFV_16,
                                  .plain_modulus = PLAIN_MODULUS,
                                  .largest = (uint32_t)CM_PROVISIONED_LARGEST};
    return cm_bfv_encrypt(encryptor, &values);
}

#endif

int main(void)
{
    cm_encryptor encryptor;
    take_readings();
    cm_status status = board_start(KEY.params) ? start(&encryptor) : CM_ERR_UNSUPPORTED;
    for (unsigned i = 0; i < APP_CIPHERTEXTS && status == CM_OK; i++) {
        await_readings();
        const uint32_t began = board_cycles();
        status = encrypt_readings(&encryptor);
        const uint32_t cycles = board_cycles() - began;
        if (i + 1u < APP_CIPHERTEXTS) {
            take_readings();
        }
        console_say("encryption", cycles);
    }
    if (status != CM_OK) {
        console_say("status", (uint32_t)status);
    }
    board_report();
    return status == CM_OK ? 0 : 1;
}
