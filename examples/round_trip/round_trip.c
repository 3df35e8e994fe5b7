/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encrypt, send and decrypt in one program: temperatures with CKKS and counts with BFV, each under the secret
 * key and under the public one. Use this program to see the library work, and as a starting point for
 * one of your own.
 *
 * A device and an owner share this program's memory, and the "radio" is a buffer. In the field, the owner
 * makes the keys with `ciphermote keygen` or the device makes its own (keygen.h), the counter lies where a
 * power cut does not reach it, and the frames go to a server that computes before anybody decrypts.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ciphermote/ciphermote.h"

#define N 4096
#define PRIMES 3         /* data primes of the set */
#define KEY_ID 20261122u /* names the key pair: any number that no other pair of yours has */
#define T 40961          /* BFV's plain modulus: a prime, and 1 mod 2N */

static const cm_params *const params = &cm_n4096_q26x3_p27;

/* ---- the platform: randomness, and a counter ---- */

static int draw(void *context, uint8_t *out, size_t length)
{
    FILE *source = fopen("/dev/urandom", "rb");
    const size_t got = source ? fread(out, 1, length, source) : 0;
    (void)context;
    if (source) {
        (void)fclose(source);
    }
    return got == length ? 0 : -1;
}

/* In memory, so every run needs a new device secret. A real device stores its counter for good. */
static uint64_t counter;

static int counter_read(void *context, uint64_t *value)
{
    (void)context;
    *value = counter;
    return 0;
}

static int counter_write(void *context, uint64_t value)
{
    (void)context;
    counter = value;
    return 0;
}

/* ---- the radio: a buffer ---- */

static uint8_t sent[128 * 1024];
static size_t sent_bytes;

static int transmit(void *context, const uint8_t *bytes, size_t length)
{
    (void)context;
    if (length > sizeof sent - sent_bytes) {
        return -1;
    }
    memcpy(sent + sent_bytes, bytes, length);
    sent_bytes += length;
    return 0;
}

static void check(cm_status status, const char *step)
{
    if (status != CM_OK) {
        (void)fprintf(stderr, "%s: %s\n", step, cm_status_text(status));
        exit(EXIT_FAILURE);
    }
}

/* ---- keys: a build uses one of the secret key's two forms ---- */

static uint8_t ternary[CM_TERNARY_BYTES(N)];
static uint32_t transformed[PRIMES][N];
static uint32_t public_residues[PRIMES][2][N];

static cm_device device;
static const cm_flat_public_key flat = {&public_residues[0][0][0], N};
static const cm_secret_key secret_key = {&cm_n4096_q26x3_p27, KEY_ID, ternary, &transformed[0][0]};
static const cm_public_key public_key = {&cm_n4096_q26x3_p27, KEY_ID, cm_flat_public_key_polynomial,
                                         (void *)&flat};

static void make_keys(void)
{
    const cm_platform platform = {draw, counter_read, counter_write, NULL};
    uint8_t device_secret[CM_DEVICE_SECRET_BYTES];
    uint8_t secret_seed[CM_SEED_BYTES];
    uint8_t public_seed[CM_SEED_BYTES];
    if (draw(NULL, device_secret, sizeof device_secret) != 0 ||
        draw(NULL, secret_seed, sizeof secret_seed) != 0 ||
        draw(NULL, public_seed, sizeof public_seed) != 0) {
        check(CM_ERR_RANDOM, "keys");
    }
    check(cm_secret_key_generate(params, secret_seed, ternary), "secret key");
    for (unsigned i = 0; i < PRIMES; i++) {
        check(cm_secret_key_transform(params, ternary, i, transformed[i]), "secret key");
        check(
            cm_zero_encryption(params, ternary, public_seed, i, public_residues[i][0], public_residues[i][1]),
            "public key");
    }
    check(cm_device_init(&device, device_secret, &platform), "device");
}

/* ---- one arena serves encryptors and decryptor in turn ---- */

#define LARGER(a, b) ((a) > (b) ? (a) : (b))
#define TILES CM_LOG2_TILES /* log2 of them; more take less RAM and more time */
#define ENCRYPTION_BYTES \
    LARGER(CM_CKKS_ASYMMETRIC_ARENA_BYTES(N, CM_SLOTS_REAL, CM_FIXED_63, TILES), \
           CM_CKKS_SYMMETRIC_ARENA_BYTES(N, CM_SLOTS_REAL, CM_FIXED_63, TILES))
#define DECRYPTION_BYTES \
    LARGER(CM_CKKS_DECRYPT_ARENA_BYTES(N, CM_SLOTS_REAL, CM_FIXED_63, TILES), \
           CM_BFV_DECRYPT_ARENA_BYTES(N, CM_BFV_SUMS_32, TILES))
static uint64_t arena[(LARGER(ENCRYPTION_BYTES, DECRYPTION_BYTES) + 7) / 8];

static cm_frame_writer frames;
static cm_encryptor under_secret_key;
static cm_encryptor under_public_key;
static cm_decryptor decryptor;

static void set_up(void)
{
    static cm_seed_expander expander; /* what devices send under the secret key holds seeds */
    const cm_decryptor_setup decryption = {
        .arena = arena, .arena_bytes = sizeof arena, .expander = &expander};
    cm_encryptor_setup setup = {.device = &device,
                                .emitter = &frames.emitter,
                                .arena = arena,
                                .arena_bytes = sizeof arena,
                                .xof = CM_XOF_CHACHA20,
                                .log2_tiles = TILES};
    cm_frame_writer_init(&frames, (cm_sink){transmit, NULL});
    cm_seed_expander_init(&expander);
    check(cm_encryptor_init_symmetric(&under_secret_key, &secret_key, &setup), "encryptor");
    setup.xof = CM_XOF_NONE; /* a public key's ciphertexts hold no seed */
    check(cm_encryptor_init_asymmetric(&under_public_key, &public_key, &setup), "encryptor");
    check(cm_decryptor_init(&decryptor, &secret_key, &decryption), "decryptor");
}

static void send_temperatures(const cm_encryptor *encryptor, const char *name)
{
    static float temperatures[N / 2];
    const cm_ckks_values values = {.data = temperatures,
                                   .count = N / 2,
                                   .number = CM_FLOAT32,
                                   .slots = CM_SLOTS_REAL,
                                   .log2_scale = 30,
                                   .precision = CM_FIXED_63,
                                   .largest = 60};
    const cm_ckks_expected expected = {.slots = CM_SLOTS_REAL,
                                       .precision = CM_FIXED_63,
                                       .number = CM_FLOAT32,
                                       .log2_tiles = TILES,
                                       .largest = 60};
    for (unsigned i = 0; i < N / 2; i++) {
        temperatures[i] = 21.0f + (float)(i % 10) / 10.0f;
    }
    sent_bytes = 0;
    check(cm_ckks_encrypt(encryptor, &values), "encrypt");
    check(cm_ckks_expect(&decryptor, &expected), "expect");
    check(cm_decryptor_feed(&decryptor, sent, sent_bytes), "receive"); /* in pieces of any size */
    check(cm_ckks_decrypt(&decryptor), "decrypt");
    const float *found = (const float *)(const void *)arena;
    printf("CKKS, %s key: %zu bytes sent; %.3f %.3f %.3f ... degrees\n", name, sent_bytes, (double)found[0],
           (double)found[1], (double)found[2]);
}

static void send_counts(const cm_encryptor *encryptor, const char *name)
{
    static uint16_t counts[N];
    const cm_bfv_values values = {.data = counts,
                                  .count = N,
                                  .number = CM_UINT16,
                                  .encoding = CM_BFV_BATCH,
                                  .width = CM_BFV_16,
                                  .plain_modulus = T,
                                  .largest = 1100};
    const cm_bfv_expected expected = {.encoding = CM_BFV_BATCH,
                                      .number = CM_UINT16,
                                      .sums = CM_BFV_SUMS_32,
                                      .log2_tiles = TILES,
                                      .plain_modulus = T};
    for (unsigned i = 0; i < N; i++) {
        counts[i] = (uint16_t)(100 + i % 1000);
    }
    sent_bytes = 0;
    check(cm_bfv_encrypt(encryptor, &values), "encrypt");
    check(cm_bfv_expect(&decryptor, &expected), "expect");
    check(cm_decryptor_feed(&decryptor, sent, sent_bytes), "receive"); /* in pieces of any size */
    check(cm_bfv_decrypt(&decryptor), "decrypt");
    const uint16_t *found = (const uint16_t *)(const void *)arena;
    printf("BFV,  %s key: %zu bytes sent; %" PRIu16 " %" PRIu16 " %" PRIu16 " ... counts\n", name, sent_bytes,
           found[0], found[1], found[2]);
}

int main(void)
{
    make_keys();
    set_up();
    send_temperatures(&under_secret_key, "secret");
    send_temperatures(&under_public_key, "public");
    send_counts(&under_secret_key, "secret");
    send_counts(&under_public_key, "public");
    return EXIT_SUCCESS;
}
