/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One message in every configuration that the client engine accepts, on the chip of rtl/soc: each is
 * encrypted and then decrypted. Frames, values, statuses and all else that the library leaves behind go out;
 * nothing here knows whether the client engine does it. The UART says which configuration took how many
 * cycles.
 *
 * APP_MESSAGE is the message's number. The number after the last stands for all that the engine does not
 * accept.
 */
#include <stdint.h>
#include <string.h>

#include "board.h"
#include "ciphermote/ciphermote.h"
#include "console.h"
#include "platform.h"
#include "provisioned_keys.h"

#define N CM_PROVISIONED_N
#define LOG2_SCALE 12
#define LARGEST 1000u

typedef struct message {
    cm_scheme scheme;
    cm_number number;
    uint32_t count;
    /* BFV. */
    uint32_t t;
    cm_bfv_encoding encoding;
    cm_domain domain;
    /* CKKS. */
    cm_slots slots;
    cm_precision precision;
    int8_t exponent;
    /* Decrypted. */
    cm_number given;
    int8_t given_exponent;
    uint32_t largest;
} message;

#define CKKS_31 .scheme = CM_CKKS, .precision = CM_FIXED_31, .largest = LARGEST
#define BFV_COEFFICIENTS .scheme = CM_BFV, .encoding = CM_BFV_COEFFICIENTS
static const message messages[] = {
    {BFV_COEFFICIENTS, .number = CM_INT16, .count = N, .t = 12289, .given = CM_INT16},
    {BFV_COEFFICIENTS, .number = CM_INT32, .count = N - 3, .t = 12289, .given = CM_INT32},
    {BFV_COEFFICIENTS, .number = CM_UINT32, .count = 5, .t = 70001, .given = CM_UINT32},
    {BFV_COEFFICIENTS, .number = CM_INT16, .count = N, .t = 12289, .domain = CM_DOMAIN_COEFFICIENTS},
    {CKKS_31, .number = CM_FLOAT32, .count = N / 2, .slots = CM_SLOTS_REAL, .given = CM_FLOAT32},
    {CKKS_31, .number = CM_INT16, .count = N / 2 - 1, .exponent = -4, .slots = CM_SLOTS_COMPLEX,
     .given = CM_INT32, .given_exponent = -10},
    {CKKS_31, .number = CM_INT32, .count = N / 2, .slots = CM_SLOTS_REAL, .given = CM_FLOAT32},
    {CKKS_31, .number = CM_FLOAT32, .count = 7, .slots = CM_SLOTS_COMPLEX, .given = CM_INT32},
};
/* What portable C does, or refuses. */
static const message others[] = {
    {.scheme = CM_BFV,
     .number = CM_INT16,
     .count = N,
     .t = 12289,
     .encoding = CM_BFV_BATCH,
     .given = CM_INT16},
    {CKKS_31, .number = CM_INT16, .count = N / 2, .slots = CM_SLOTS_REAL, .given = CM_INT32, .largest = 3},
    {CKKS_31, .number = CM_INT16, .count = N / 2, .slots = CM_SLOTS_REAL, .given = CM_FLOAT32, .largest = 3},
    {CKKS_31, .number = CM_INT16, .count = 9, .slots = CM_SLOTS_REAL, .given = CM_FLOAT32, .largest = 9999},
    {CKKS_31, .number = CM_INT16, .count = N / 2, .slots = CM_SLOTS_REAL, .given = CM_INT32,
     .given_exponent = -25},
    {.scheme = CM_CKKS,
     .number = CM_FLOAT32,
     .count = N / 2,
     .slots = CM_SLOTS_REAL,
     .precision = CM_FIXED_63,
     .largest = LARGEST,
     .given = CM_FLOAT32},
};

/* ---- what enters and leaves ---- */

static uint32_t numbers[N];
static uint8_t arena[CM_CKKS_ASYMMETRIC_ARENA_BYTES(N, CM_SLOTS_COMPLEX, CM_FIXED_63, 0)]
    __attribute__((aligned(8)));
static uint8_t sent[160u + 2u * APP_PRIMES * (76u + 4u * (size_t)N)] __attribute__((aligned(4)));
static size_t length;

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

static void leave(const void *bytes, size_t count)
{
    static uint32_t words[16];
    if (count <= sizeof words) {
        memset(words, 0, sizeof words);
        memcpy(words, bytes, count);
        bytes = words;
        count = sizeof words;
    }
    (void)!console_leave(NULL, bytes, count);
}

/* Within the range of each message; not the same twice. */
static void make_numbers(const message *of)
{
    static uint32_t state = 1;
    const uint32_t count = of->count * (of->scheme == CM_CKKS && of->slots == CM_SLOTS_COMPLEX ? 2u : 1u);
    for (uint32_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        const int32_t number = (int32_t)((state >> 16) % 1999u) - 999;
        if (of->number == CM_FLOAT32) {
            const float value = (float)number * 0.99609375f;
            memcpy(&numbers[i], &value, 4);
        } else if (of->number == CM_INT16) {
            ((int16_t *)numbers)[i] = (int16_t)number;
        } else {
            numbers[i] = of->number == CM_UINT32 ? (state >> 8) % of->t : (uint32_t)number;
        }
    }
}

/* ---- a configuration ---- */

static cm_device device;
static cm_frame_writer frames;
static cm_frame_sender sender;

static cm_status encrypt(const message *of, bool public_key, cm_xof_kind xof)
{
    cm_encryptor encryptor;
    const cm_encryptor_setup setup = {.device = &device,
                                      .emitter = &frames.emitter,
                                      .arena = arena,
                                      .arena_bytes = sizeof arena,
                                      .xof = public_key ? CM_XOF_NONE : xof};
    const cm_status status =
        public_key ? cm_encryptor_init_asymmetric(&encryptor, &cm_provisioned_public_key, &setup)
                   : cm_encryptor_init_symmetric(&encryptor, &cm_provisioned_secret_key, &setup);
    if (status != CM_OK) {
        return status;
    }
    if (of->scheme == CM_BFV) {
        const cm_bfv_values values = {.data = numbers,
                                      .count = of->count,
                                      .number = of->number,
                                      .encoding = of->encoding,
                                      .width = of->t <= 0x10000u ? CM_BFV_16 : CM_BFV_32,
                                      .plain_modulus = of->t,
                                      .domain = of->domain,
                                      .largest = of->t - 1u};
        return cm_bfv_encrypt(&encryptor, &values);
    }
    const cm_ckks_values values = {.data = numbers,
                                   .count = of->count,
                                   .number = of->number,
                                   .slots = of->slots,
                                   .exponent = of->exponent,
                                   .log2_scale = LOG2_SCALE,
                                   .precision = of->precision,
                                   .largest = 1500};
    return cm_ckks_encrypt(&encryptor, &values);
}

/* The answer to itself, where frames are tagged. */
static cm_status decrypt(const message *of)
{
    static cm_decryptor decryptor;
    static cm_seed_expander expander;
    static cm_frame_expected results;
    const cm_decryptor_setup setup = {.arena = arena,
                                      .arena_bytes = sizeof arena,
                                      .expander = &expander,
                                      .results = frames.sender ? &results : NULL};
    const cm_bfv_expected integers = {
        .encoding = of->encoding, .number = of->given, .sums = CM_BFV_SUMS_32, .plain_modulus = of->t};
    const cm_ckks_expected vector = {.slots = of->slots,
                                     .precision = of->precision,
                                     .number = of->given,
                                     .exponent = of->given_exponent,
                                     .largest = of->largest};
    cm_seed_expander_init(&expander);
    cm_frame_expected_init(&results, cm_provisioned_tag_key, CM_PROVISIONED_DEVICE, CM_PROVISIONED_EPOCH);
    cm_frame_expect_answer(&results, &sender, &frames.emitter.info);
    cm_status status = cm_decryptor_init(&decryptor, &cm_provisioned_secret_key, &setup);
    if (status == CM_OK) {
        status =
            of->scheme == CM_BFV ? cm_bfv_expect(&decryptor, &integers) : cm_ckks_expect(&decryptor, &vector);
    }
    const size_t half = length / 8u * 4u;
    if (status == CM_OK) {
        (void)!cm_decryptor_feed(&decryptor, sent, half);
        (void)!cm_decryptor_feed(&decryptor, sent + half, length - half);
        status = of->scheme == CM_BFV ? cm_bfv_decrypt(&decryptor) : cm_ckks_decrypt(&decryptor);
    }
    leave(&decryptor.decryption.counter, 16); /* and the scale behind it */
    return status;
}

static void run(const message *of, bool public_key, cm_xof_kind xof, bool tagged)
{
    const cm_sink memory = {keep, NULL};
    length = 0;
    make_numbers(of);
    cm_frame_writer_init(&frames, memory);
    cm_frame_writer_tag(&frames, tagged ? &sender : NULL);
    uint32_t began = board_cycles();
    const cm_status status = encrypt(of, public_key, xof);
    console_say("encryption", board_cycles() - began);
    console_say("status", (uint32_t)status);
    leave(sent, length);
    leave(&sender.window, 16); /* and the sum of the tags */
    leave(&frames.emitter.info.counter, 16);
    if (tagged || !public_key) {
        leave(frames.emitter.info.seed, sizeof frames.emitter.info.seed);
    }
    if (status != CM_OK || of->domain == CM_DOMAIN_COEFFICIENTS) {
        return;
    }
    began = board_cycles();
    const cm_status decrypted = decrypt(of);
    console_say("decryption", board_cycles() - began);
    console_say("status", (uint32_t)decrypted);
    leave(arena, sizeof arena / 4u * 4u);
}

/* What enters is refused; the engine has taken a counter by then, so these are last. */
static void refuse(uint32_t bits)
{
    const message floats = messages[4];
    cm_frame_writer_tag(&frames, NULL);
    make_numbers(&floats);
    numbers[100] = bits;
    length = 0;
    console_say("status", (uint32_t)encrypt(&floats, false, CM_XOF_CHACHA20));
    leave(&length, sizeof length);
}

static void run_every_configuration(const message *of)
{
    for (unsigned tagged = 0; tagged < 2; tagged++) {
        run(of, false, CM_XOF_CHACHA20, tagged);
        run(of, false, CM_XOF_SHAKE256, tagged);
        cm_frame_sender_begin_window(&sender);
        run(of, true, CM_XOF_NONE, tagged);
    }
}

static void run_what_it_does_not_accept(void)
{
    for (unsigned i = 0; i < sizeof others / sizeof others[0]; i++) {
        run(&others[i], false, CM_XOF_CHACHA20, true);
    }
    run(&messages[0], false, CM_XOF_BLAKE2XB, false);
    sender.window = ~(uint64_t)1; /* not yet */
    run(&messages[0], false, CM_XOF_CHACHA20, true);
    refuse(0x7FC00000u); /* no number */
    refuse(0x7F800000u); /* infinity */
    refuse(0x4E000000u); /* 2^29 */
}

int main(void)
{
    if (!board_start(cm_provisioned_secret_key.params) ||
        cm_device_init(&device, cm_provisioned_device_secret, &picorv32_platform) != CM_OK) {
        return 1;
    }
    cm_frame_sender_init(&sender, cm_provisioned_tag_key, CM_PROVISIONED_DEVICE, CM_PROVISIONED_EPOCH);
    if (APP_MESSAGE < sizeof messages / sizeof messages[0]) {
        run_every_configuration(&messages[APP_MESSAGE]);
    } else {
        run_what_it_does_not_accept();
    }
    board_report();
    return 0;
}
