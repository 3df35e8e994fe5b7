/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device on the chip of rtl/soc that decrypts: APP_CIPHERTEXTS ciphertexts come in through the sensor's
 * port, each behind its length in bytes, and their numbers leave. Nothing here knows whether the client
 * engine does it. The UART says how many cycles each took, from the first byte to the last number, and the
 * status.
 */
#include <stdint.h>

#include "board.h"
#include "ciphermote/ciphermote.h"
#include "console.h"
#include "provisioned_keys.h"

#define N CM_PROVISIONED_N
#define PIECE 1000u /* bytes, as a radio might bring them */
#define MOST_BYTES (160u + 2u * APP_PRIMES * (48u + 4u * (size_t)N))

#ifndef APP_GAP
#define APP_GAP 0u /* bytes between pieces in memory */
#endif

static uint8_t frames[MOST_BYTES / PIECE * (PIECE + APP_GAP) + PIECE] __attribute__((aligned(4)));

static uint8_t *place_of(uint32_t byte)
{
    return frames + byte + byte / PIECE * APP_GAP;
}

#ifdef APP_LARGEST /* CKKS, or else BFV */
#define ARENA_BYTES CM_CKKS_DECRYPT_ARENA_BYTES(N, CM_SLOTS_REAL, CM_FIXED_31, 0)
#define VALUES_BYTES (2u * (size_t)N)
#else
#define ARENA_BYTES CM_BFV_DECRYPT_ARENA_BYTES(N, CM_BFV_SUMS_32, 0)
#define VALUES_BYTES ((APP_NUMBER == CM_INT16 || APP_NUMBER == CM_UINT16 ? 2u : 4u) * (size_t)N)
#endif
static uint8_t arena[ARENA_BYTES] __attribute__((aligned(8)));
static cm_seed_expander expander;

/* 0 if there are more than fit. */
static uint32_t receive(void)
{
    uint32_t length = BOARD_SENSOR & 0xFFFFu;
    length |= BOARD_SENSOR << 16;
    if (length > MOST_BYTES) {
        return 0;
    }
    for (uint32_t i = 0; i < length; i += 2u) {
        const uint32_t two = BOARD_SENSOR;
        *place_of(i) = (uint8_t)two;
        if (i + 1u < length) {
            *place_of(i + 1u) = (uint8_t)(two >> 8);
        }
    }
    return length;
}

#ifdef APP_LARGEST

static cm_status expect(cm_decryptor *decryptor)
{
    const cm_ckks_expected expected = {
        .slots = CM_SLOTS_REAL, .precision = CM_FIXED_31, .number = CM_FLOAT32, .largest = APP_LARGEST};
    return cm_ckks_expect(decryptor, &expected);
}

#define DECRYPT cm_ckks_decrypt

#else

static cm_status expect(cm_decryptor *decryptor)
{
    const cm_bfv_expected expected = {.encoding = APP_BATCH ? CM_BFV_BATCH : CM_BFV_COEFFICIENTS,
                                      .number = APP_NUMBER,
                                      .sums = CM_BFV_SUMS_32,
                                      .plain_modulus = APP_PLAIN_MODULUS};
    return cm_bfv_expect(decryptor, &expected);
}

#define DECRYPT cm_bfv_decrypt

#endif

static cm_status decrypt(cm_decryptor *decryptor, uint32_t length)
{
    cm_status status = expect(decryptor);
    for (uint32_t at = 0; at < length && status == CM_OK; at += PIECE) {
        status = cm_decryptor_feed(decryptor, place_of(at), length - at < PIECE ? length - at : PIECE);
    }
    const cm_status ended = DECRYPT(decryptor);
    return status != CM_OK ? status : ended;
}

int main(void)
{
    static cm_decryptor decryptor;
    const cm_decryptor_setup setup = {
        .arena = arena, .arena_bytes = sizeof arena, .expander = APP_SEEDS ? &expander : NULL};
    cm_seed_expander_init(&expander);
    cm_status status = board_start(cm_provisioned_secret_key.params)
                           ? cm_decryptor_init(&decryptor, &cm_provisioned_secret_key, &setup)
                           : CM_ERR_UNSUPPORTED;
    if (status != CM_OK) {
        console_say("status", (uint32_t)status);
        return 1;
    }
    for (unsigned i = 0; i < APP_CIPHERTEXTS; i++) {
        const uint32_t length = receive();
        const uint32_t began = board_cycles();
        status = decrypt(&decryptor, length);
        console_say("decryption", board_cycles() - began);
        console_say("status", (uint32_t)status);
        console_say("counter", (uint32_t)decryptor.decryption.counter);
        if (status == CM_OK && console_leave(NULL, arena, VALUES_BYTES) != 0) {
            return 1;
        }
    }
    board_report();
    return 0;
}
