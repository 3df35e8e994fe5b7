/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device on the chip of rtl/soc whose key pair is its own: a secret key that it draws (APP_MAKES) or that
 * it was given, the frames of its public key, and a message under the secret key, there and back. Frames,
 * values and all else that the library leaves behind go out, with each status. Nothing here knows whether the
 * client engine does it.
 */
#include <stdint.h>
#include <string.h>

#include "board.h"
#include "ciphermote/ciphermote.h"
#include "console.h"
#include "platform.h"
#include "provisioned_keys.h"

#define N CM_PROVISIONED_N
#define MOST_BYTES (160u + 2u * (APP_PRIMES + 1u) * (76u + 4u * (size_t)N))

static int16_t numbers[N];
static uint8_t ternary[CM_TERNARY_BYTES(N)] __attribute__((aligned(4)));
static uint8_t arena[CM_BFV_DECRYPT_ARENA_BYTES(N, CM_BFV_SUMS_32, 0) +
                     CM_BFV_SYMMETRIC_ARENA_BYTES(N, CM_BFV_16, 0)] __attribute__((aligned(8)));
static uint8_t sent[MOST_BYTES] __attribute__((aligned(4)));
static size_t length;
static cm_device device;
static cm_frame_writer frames;

static int keep(void *context, const uint8_t *bytes, size_t count)
{
    (void)context;
    if (count > sizeof sent - length) {
        return 1;
    }
    memcpy(sent + length, bytes, count);
    length += count;
    return 0;
}

static cm_encryptor_setup setup_of(cm_xof_kind xof)
{
    const cm_sink memory = {keep, NULL};
    length = 0;
    cm_frame_writer_init(&frames, memory);
    return (cm_encryptor_setup){.device = &device,
                                .emitter = &frames.emitter,
                                .arena = arena,
                                .arena_bytes = sizeof arena,
                                .xof = xof};
}

/* Frames, and what the emitter says of them. */
static void leave_frames(const char *what, uint32_t cycles, cm_status status)
{
    static uint32_t words[16];
    console_say(what, cycles);
    console_say("status", (uint32_t)status);
    const cm_ciphertext_info *info = &frames.emitter.info;
    memcpy(words, info->seed, cm_public_seed_bytes(info->xof));
    words[8] = (uint32_t)info->counter;
    words[9] = (uint32_t)info->key_id;
    words[10] = (uint32_t)info->scheme | (uint32_t)info->primes << 8 | (uint32_t)info->components << 16;
    (void)!console_leave(NULL, sent, length);
    (void)!console_leave(NULL, (const uint8_t *)words, sizeof words);
}

static void publish(uint64_t key_id, cm_xof_kind xof)
{
    const cm_encryptor_setup setup = setup_of(xof);
    const uint32_t began = board_cycles();
    const cm_status status =
        cm_device_emit_public_key(&setup, cm_provisioned_secret_key.params, ternary, key_id);
    leave_frames("published", board_cycles() - began, status);
}

static void encrypt(const cm_secret_key *key)
{
    cm_encryptor encryptor;
    const cm_encryptor_setup setup = setup_of(CM_XOF_CHACHA20);
    memcpy(arena, numbers, sizeof numbers); /* as a session's steps leave them */
    const cm_bfv_values values = {.data = arena,
                                  .count = N,
                                  .number = CM_INT16,
                                  .encoding = APP_BATCH ? CM_BFV_BATCH : CM_BFV_COEFFICIENTS,
                                  .width = CM_BFV_16,
                                  .plain_modulus = APP_PLAIN_MODULUS,
                                  .largest = APP_PLAIN_MODULUS / 2u};
    const uint32_t began = board_cycles();
    cm_status status = cm_encryptor_init_symmetric(&encryptor, key, &setup);
    if (status == CM_OK) {
        status = cm_bfv_encrypt(&encryptor, &values);
    }
    leave_frames("encryption", board_cycles() - began, status);
}

static void decrypt(const cm_secret_key *key)
{
    static cm_decryptor decryptor;
    static cm_seed_expander expander;
    const cm_decryptor_setup setup = {.arena = arena, .arena_bytes = sizeof arena, .expander = &expander};
    const cm_bfv_expected expected = {.encoding = APP_BATCH ? CM_BFV_BATCH : CM_BFV_COEFFICIENTS,
                                      .number = CM_INT16,
                                      .sums = CM_BFV_SUMS_32,
                                      .plain_modulus = APP_PLAIN_MODULUS};
    cm_seed_expander_init(&expander);
    const uint32_t began = board_cycles();
    cm_status status = cm_decryptor_init(&decryptor, key, &setup);
    if (status == CM_OK) {
        status = cm_bfv_expect(&decryptor, &expected);
    }
    if (status == CM_OK) {
        (void)!cm_decryptor_feed(&decryptor, sent, length);
        status = cm_bfv_decrypt(&decryptor);
    }
    console_say("decryption", board_cycles() - began);
    console_say("status", (uint32_t)status);
    if (status == CM_OK) {
        (void)!console_leave(NULL, arena, sizeof numbers);
        console_say("right", memcmp(arena, numbers, sizeof numbers) == 0);
    }
}

/* Null for a key that only the engine has. */
static const uint32_t *transform(const cm_params *params)
{
    static uint32_t transformed[APP_PRIMES * (size_t)N];
    cm_status status = CM_OK;
    for (unsigned i = 0; i < APP_PRIMES && status == CM_OK; i++) {
        status = cm_secret_key_transform(params, ternary, i, transformed + (size_t)i * N);
    }
    return status == CM_OK ? transformed : NULL;
}

int main(void)
{
    const cm_params *params = cm_provisioned_secret_key.params;
    uint64_t key_id = cm_provisioned_secret_key.key_id;
    if (!board_start(params) ||
        cm_device_init(&device, cm_provisioned_device_secret, &picorv32_platform) != CM_OK) {
        return 1;
    }
    for (unsigned i = 0; i < N; i++) {
        numbers[i] = (int16_t)((int)(i * 7919u % APP_PLAIN_MODULUS) - (int)(APP_PLAIN_MODULUS / 2u));
    }
    memcpy(ternary, cm_provisioned_secret_key.ternary, sizeof ternary);
#if APP_MAKES
    const uint32_t began = board_cycles();
    const cm_status made = board_make_secret_key(&device, params, ternary, &key_id);
    console_say("made", board_cycles() - began);
    console_say("status", (uint32_t)made);
#endif
    const cm_secret_key key = {
        .params = params, .key_id = key_id, .ternary = ternary, .transformed = transform(params)};
    publish(key_id, CM_XOF_CHACHA20);
    encrypt(&key);
    decrypt(&key);
    publish(key_id, APP_XOF);
    board_report();
    return 0;
}
