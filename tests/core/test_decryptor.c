/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encryptors and decryptors as an application uses them: many ciphertexts with one of each, and what they
 * refuse.
 */
#include <string.h>

#include "build.h"
#include "check.h"
#include "ciphermote/ciphermote.h"
#include "common/bytes.h"
#include "platform.h"
#include "secret_key.h"

enum {
    N = 1024,
    COUNT = 100,
    KEY_ID = 7,
    T = 12289,
    LOG2_SCALE = 18,
    /* c0 and a seed, in whatever tiles the build uses */
    OVERHEAD_BYTES = CM_FRAME_TAGGED_HEADER_BYTES + CM_TAG_BYTES + CM_FRAME_CRC_BYTES,
    SENT_BYTES = N / 8 * 26 + ((1 << BUILD_LOG2_TILES) + 1) * (OVERHEAD_BYTES + 64)
};

static const cm_params *const params = &cm_n1024_q26;
static test_platform platform;
static cm_device device;
static uint8_t ternary[CM_TERNARY_BYTES(N)];
static cm_secret_key key;
static uint8_t sent[SENT_BYTES];
static size_t sent_bytes;
static cm_frame_writer frames;
static cm_encryptor encryptor;
static uint64_t encryption_arena[BUILD_MOST_ARENA_BYTES(N) / 8];
static uint64_t arena[(CM_CKKS_DECRYPT_ARENA_BYTES(N, CM_SLOTS_REAL, CM_FIXED_63, BUILD_LOG2_TILES) +
                       CM_BFV_DECRYPT_ARENA_BYTES(N, CM_BFV_SUMS_32, BUILD_LOG2_TILES) +
                       CM_BFV_NOISE_ARENA_BYTES(N, 1, BUILD_LOG2_TILES)) /
                      8];
static cm_seed_expander expander;
static cm_decryptor decryptor;

static const cm_bfv_expected integers = {.encoding = CM_BFV_COEFFICIENTS,
                                         .number = CM_UINT16,
                                         .sums = CM_BFV_SUMS_32,
                                         .log2_tiles = BUILD_LOG2_TILES,
                                         .plain_modulus = T};
static const cm_ckks_expected reals = {.slots = CM_SLOTS_REAL,
                                       .precision = BUILD_PRECISION,
                                       .number = CM_FLOAT32,
                                       .log2_tiles = BUILD_LOG2_TILES,
                                       .largest = 30};

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

static cm_decryptor_setup decryptor_setup(void)
{
    cm_seed_expander_init(&expander);
    return (cm_decryptor_setup){.arena = arena, .arena_bytes = sizeof arena, .expander = &expander};
}

/* A device, its key, and an encryptor and a decryptor that are set up once. */
static void start(void)
{
    const uint8_t seed[CM_SEED_BYTES] = {4, 5, 6};
    const cm_encryptor_setup encryption = {.device = &device,
                                           .emitter = &frames.emitter,
                                           .arena = encryption_arena,
                                           .arena_bytes = sizeof encryption_arena,
                                           .xof = CM_XOF_CHACHA20,
                                           .log2_tiles = BUILD_LOG2_TILES};
    const cm_decryptor_setup decryption = decryptor_setup();
    platform = (test_platform){.mode = RANDOM_GOOD};
    CHECK(test_device_start(&device, &platform) == CM_OK);
    CHECK(cm_secret_key_generate(params, seed, ternary) == CM_OK);
    key = test_secret_key(params, KEY_ID, ternary);
    cm_frame_writer_init(&frames, (cm_sink){transmit, NULL});
    CHECK(cm_encryptor_init_symmetric(&encryptor, &key, &encryption) == CM_OK);
    CHECK(cm_decryptor_init(&decryptor, &key, &decryption) == CM_OK);
}

static void send_integers(uint16_t first)
{
    uint16_t numbers[COUNT];
    const cm_bfv_values values = {.data = numbers,
                                  .count = COUNT,
                                  .number = CM_UINT16,
                                  .encoding = CM_BFV_COEFFICIENTS,
                                  .width = CM_BFV_16,
                                  .plain_modulus = T,
                                  .largest = T - 1};
    for (unsigned i = 0; i < COUNT; i++) {
        numbers[i] = (uint16_t)(first + i);
    }
    sent_bytes = 0;
    CHECK(cm_bfv_encrypt(&encryptor, &values) == CM_OK);
}

static void send_floats(const float numbers[COUNT])
{
    const cm_ckks_values values = {.data = numbers,
                                   .count = COUNT,
                                   .number = CM_FLOAT32,
                                   .slots = CM_SLOTS_REAL,
                                   .log2_scale = LOG2_SCALE,
                                   .precision = BUILD_PRECISION,
                                   .largest = 32};
    sent_bytes = 0;
    CHECK(cm_ckks_encrypt(&encryptor, &values) == CM_OK);
}

static void send_reals(float first)
{
    float numbers[COUNT];
    for (unsigned i = 0; i < COUNT; i++) {
        numbers[i] = first + (float)i / 8.0f;
    }
    send_floats(numbers);
}

static bool integers_came(uint16_t first)
{
    const uint16_t *found = (const uint16_t *)(const void *)arena;
    for (unsigned i = 0; i < N; i++) {
        if (found[i] != (i < COUNT ? first + i : 0)) {
            return false;
        }
    }
    return true;
}

static bool reals_came(float first)
{
    const float *found = (const float *)(const void *)arena;
    for (unsigned i = 0; i < N / 2; i++) {
        const float error = found[i] - (i < COUNT ? first + (float)i / 8.0f : 0.0f);
        if (error > 0.05f || error < -0.05f) {
            return false;
        }
    }
    return true;
}

static bool arena_wiped(void)
{
    uint64_t any = 0;
    for (size_t i = 0; i < sizeof arena / 8; i++) {
        any |= arena[i];
    }
    return any == 0;
}

static void one_encryptor_and_one_decryptor_serve_many_ciphertexts(void)
{
    start();
    for (unsigned round = 0; round < 3; round++) {
        send_integers((uint16_t)(100u * round));
        CHECK(cm_bfv_expect(&decryptor, &integers) == CM_OK);
        CHECK(cm_decryptor_feed(&decryptor, sent, sent_bytes / 2) == CM_OK);
        CHECK(cm_decryptor_feed(&decryptor, sent + sent_bytes / 2, sent_bytes - sent_bytes / 2) == CM_OK);
        CHECK(cm_bfv_decrypt(&decryptor) == CM_OK);
        CHECK(integers_came((uint16_t)(100u * round)));
        send_reals((float)round);
        CHECK(cm_ckks_expect(&decryptor, &reals) == CM_OK);
        CHECK(cm_decryptor_feed(&decryptor, sent, sent_bytes) == CM_OK);
        CHECK(cm_ckks_decrypt(&decryptor) == CM_OK);
        CHECK(reals_came((float)round));
        CHECK(decryptor.decryption.counter == 2u * round + 1u);
    }
}

static void a_fault_ends_one_ciphertext_and_not_the_next(void)
{
    start();
    send_integers(5);
    sent[sent_bytes - 1] ^= 1;
    CHECK(cm_bfv_expect(&decryptor, &integers) == CM_OK);
    CHECK(cm_decryptor_feed(&decryptor, sent, sent_bytes) == CM_ERR_FRAME_CRC);
    CHECK(arena_wiped());
    CHECK(cm_decryptor_feed(&decryptor, sent, 1) == CM_ERR_FRAME_CRC);
    CHECK(cm_bfv_decrypt(&decryptor) == CM_ERR_FRAME_CRC);
    sent[sent_bytes - 1] ^= 1;
    CHECK(cm_bfv_expect(&decryptor, &integers) == CM_OK);
    CHECK(cm_decryptor_feed(&decryptor, sent, sent_bytes) == CM_OK);
    CHECK(cm_bfv_decrypt(&decryptor) == CM_OK);
    CHECK(integers_came(5));
}

static void a_ciphertext_under_way_is_forgotten_for_another(void)
{
    cm_bfv_expected impossible = integers;
    impossible.plain_modulus = 1;
    start();
    send_integers(5);
    CHECK(cm_bfv_expect(&decryptor, &integers) == CM_OK);
    CHECK(cm_decryptor_feed(&decryptor, sent, sent_bytes / 2) == CM_OK);
    CHECK(!arena_wiped());
    CHECK(cm_bfv_expect(&decryptor, &impossible) == CM_ERR_PLAIN_MODULUS);
    CHECK(arena_wiped());
    CHECK(cm_decryptor_feed(&decryptor, sent, sent_bytes) != CM_OK);
    CHECK(cm_bfv_expect(&decryptor, &integers) == CM_OK);
    CHECK(cm_decryptor_feed(&decryptor, sent, sent_bytes) == CM_OK);
    cm_decryptor_wipe(&decryptor);
    CHECK(arena_wiped());
    CHECK(cm_bfv_decrypt(&decryptor) == CM_ERR_ARGUMENT);
}

static void seeds_are_taken_with_memory_to_expand_them_alone(void)
{
    start();
    send_integers(5);
    cm_decryptor_setup setup = decryptor_setup();
    setup.expander = NULL;
    CHECK(cm_decryptor_init(&decryptor, &key, &setup) == CM_OK);
    CHECK(cm_bfv_expect(&decryptor, &integers) == CM_OK);
    CHECK(cm_decryptor_feed(&decryptor, sent, sent_bytes) == CM_ERR_FRAME_SEED);
    CHECK(arena_wiped());
}

static void values_are_given_once_and_by_their_own_scheme_alone(void)
{
    unsigned bits = 1;
    start();
    send_integers(5);
    CHECK(cm_bfv_expect(&decryptor, &integers) == CM_OK);
    CHECK(cm_decryptor_feed(&decryptor, sent, sent_bytes) == CM_OK);
    CHECK(cm_ckks_decrypt(&decryptor) == CM_ERR_ARGUMENT);
    CHECK(cm_bfv_noise_budget(&decryptor, &bits) == CM_ERR_ARGUMENT && bits == 0);
    CHECK(cm_bfv_decrypt(&decryptor) == CM_OK);
    CHECK(cm_bfv_decrypt(&decryptor) == CM_ERR_ARGUMENT);
    CHECK(integers_came(5));
    CHECK(cm_bfv_expect_noise(&decryptor, T, BUILD_LOG2_TILES) == CM_OK);
    CHECK(cm_decryptor_feed(&decryptor, sent, sent_bytes) == CM_OK);
    CHECK(cm_bfv_decrypt(&decryptor) == CM_ERR_ARGUMENT);
    CHECK(cm_bfv_noise_budget(&decryptor, &bits) == CM_OK);
    CHECK(bits > 0 && bits < 26);
}

static void refused_everywhere(cm_decryptor *refused, cm_status status)
{
    unsigned bits;
    CHECK(cm_decryptor_feed(refused, sent, 1) == status);
    CHECK(cm_bfv_decrypt(refused) == CM_ERR_ARGUMENT);
    CHECK(cm_ckks_decrypt(refused) == CM_ERR_ARGUMENT);
    CHECK(cm_ckks_decrypt_shared(refused, &device, 16) == CM_ERR_ARGUMENT);
    CHECK(cm_bfv_noise_budget(refused, &bits) == CM_ERR_ARGUMENT);
    CHECK(cm_bfv_expect(refused, &integers) == CM_ERR_ARGUMENT);
    CHECK(cm_ckks_expect(refused, &reals) == CM_ERR_ARGUMENT);
    CHECK(cm_bfv_expect_noise(refused, T, 0) == CM_ERR_ARGUMENT);
    CHECK(cm_decryptor_feed(refused, sent, 1) == CM_ERR_ARGUMENT);
    cm_decryptor_wipe(refused);
}

static void a_decryptor_that_was_refused_takes_nothing(void)
{
    start();
    const cm_secret_key nobodys = {0};
    const cm_decryptor_setup good = decryptor_setup();
    cm_decryptor_setup bad = good;
    refused_everywhere(NULL, CM_ERR_ARGUMENT);
    CHECK(cm_decryptor_init(NULL, &key, &good) == CM_ERR_ARGUMENT);
    CHECK(cm_decryptor_init(&decryptor, &key, NULL) == CM_ERR_ARGUMENT);
    refused_everywhere(&decryptor, CM_ERR_ARGUMENT);
    CHECK(cm_decryptor_init(&decryptor, NULL, &good) == CM_ERR_ARGUMENT);
    refused_everywhere(&decryptor, CM_ERR_ARGUMENT);
    CHECK(cm_decryptor_init(&decryptor, &nobodys, &good) == CM_ERR_ARGUMENT);
    refused_everywhere(&decryptor, CM_ERR_ARGUMENT);
    bad.arena = NULL;
    CHECK(cm_decryptor_init(&decryptor, &key, &bad) == CM_ERR_ARENA);
    refused_everywhere(&decryptor, CM_ERR_ARGUMENT);
    bad.arena = (uint8_t *)arena + 4;
    CHECK(cm_decryptor_init(&decryptor, &key, &bad) == CM_ERR_ARENA);
    refused_everywhere(&decryptor, CM_ERR_ARGUMENT);
}

static void an_object_of_the_setup_inside_the_arena_is_refused(void)
{
    static uint64_t larger[sizeof decryptor / 8 + sizeof expander / 8 + sizeof key / 8 + 64];
    start();
    const cm_decryptor_setup good = decryptor_setup();
    cm_decryptor_setup bad = {.arena = larger, .arena_bytes = sizeof larger};
    cm_decryptor *const within = (cm_decryptor *)(void *)(larger + 8);
    CHECK(cm_decryptor_init(within, &key, &good) == CM_OK);
    CHECK(cm_decryptor_init(within, &key, &bad) == CM_ERR_ARENA);
    refused_everywhere(within, CM_ERR_ARGUMENT);
    bad.expander = (cm_seed_expander *)(void *)(larger + 8);
    cm_seed_expander_init(bad.expander);
    CHECK(cm_decryptor_init(&decryptor, &key, &bad) == CM_ERR_ARENA);
    refused_everywhere(&decryptor, CM_ERR_ARGUMENT);
    bad.expander = NULL;
    cm_secret_key *const inner = (cm_secret_key *)(void *)(larger + 8);
    *inner = key;
    CHECK(cm_decryptor_init(&decryptor, inner, &bad) == CM_ERR_ARENA);
    refused_everywhere(&decryptor, CM_ERR_ARGUMENT);
    CHECK(inner->params == key.params);
}

static void an_expander_that_was_not_set_up_is_refused_and_never_called(void)
{
    start();
    send_integers(5);
    cm_decryptor_setup setup = decryptor_setup();
    for (unsigned i = 0; i < 2; i++) {
        memset(&expander, i == 0 ? 0 : 0xA5, sizeof expander); /* static memory, or a stack's */
        CHECK(cm_decryptor_init(&decryptor, &key, &setup) == CM_ERR_EXPANDER);
        refused_everywhere(&decryptor, CM_ERR_ARGUMENT);
    }
    setup = decryptor_setup();
    CHECK(cm_decryptor_init(&decryptor, &key, &setup) == CM_OK);
    memset(&expander, 0, sizeof expander);
    CHECK(cm_bfv_expect(&decryptor, &integers) == CM_OK);
    CHECK(cm_decryptor_feed(&decryptor, sent, sent_bytes) == CM_ERR_EXPANDER);
    CHECK(arena_wiped());
}

static void an_expander_serves_one_decryptor(void)
{
    static uint64_t other_arena[sizeof arena / sizeof(uint64_t)];
    cm_decryptor other;
    start();
    send_integers(5);
    const cm_decryptor_setup setup = {.arena = other_arena, .arena_bytes = sizeof other_arena, &expander};
    CHECK(cm_decryptor_init(&other, &key, &setup) == CM_OK);
    CHECK(cm_bfv_expect(&decryptor, &integers) == CM_OK);
    CHECK(cm_bfv_expect(&other, &integers) == CM_OK);
    CHECK(cm_decryptor_feed(&decryptor, sent, sent_bytes) == CM_ERR_EXPANDER);
    CHECK(cm_bfv_decrypt(&decryptor) == CM_ERR_EXPANDER);
    CHECK(arena_wiped());
    CHECK(cm_bfv_decrypt(&other) == CM_ERR_FRAME_SHORT);
}

/* One sum alone is 0 in many a ciphertext of zeros, as a wiped word is. */
static void a_wiped_start_of_the_arena_is_noticed(void)
{
    const float zeros[COUNT] = {0};
    start();
    for (unsigned run = 0; run < 64; run++) {
        send_floats(zeros);
        CHECK(cm_ckks_expect(&decryptor, &reals) == CM_OK);
        CHECK(cm_decryptor_feed(&decryptor, sent, sent_bytes) == CM_OK);
        memset(arena, 0, 64);
        CHECK(cm_ckks_decrypt(&decryptor) == CM_ERR_ARENA);
    }
}

static void wiping_takes_the_values_of_a_finished_decryption(void)
{
    start();
    send_integers(5);
    CHECK(cm_bfv_expect(&decryptor, &integers) == CM_OK);
    CHECK(cm_decryptor_feed(&decryptor, sent, sent_bytes) == CM_OK);
    CHECK(cm_bfv_decrypt(&decryptor) == CM_OK);
    CHECK(integers_came(5));
    cm_decryptor_wipe(&decryptor);
    CHECK(arena_wiped());
}

/* With the checksum that belongs to it: the seed's frame of another key, counter or scale. */
static void a_seed_of_another_ciphertext_is_foreign(void)
{
    const size_t length = CM_FRAME_HEADER_BYTES + 32u; /* ChaCha20's seed */
    const size_t fields[] = {12, 20, 28};
    start();
    for (unsigned i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        send_integers(5);
        sent[fields[i] + 1] ^= 1;
        const uint32_t crc = cm_crc32c(0, sent, length);
        for (unsigned byte = 0; byte < 4; byte++) {
            sent[length + byte] = (uint8_t)(crc >> 8u * byte);
        }
        CHECK(cm_bfv_expect(&decryptor, &integers) == CM_OK);
        CHECK(cm_decryptor_feed(&decryptor, sent, sent_bytes) == CM_ERR_FRAME_FOREIGN);
        CHECK(cm_bfv_decrypt(&decryptor) == CM_ERR_FRAME_FOREIGN);
    }
}

static void an_arena_too_small_is_refused_where_a_ciphertext_is_expected(void)
{
    start();
    cm_decryptor_setup setup = decryptor_setup();
    setup.arena_bytes = CM_BFV_DECRYPT_ARENA_BYTES(N, CM_BFV_SUMS_32, BUILD_LOG2_TILES);
    CHECK(cm_decryptor_init(&decryptor, &key, &setup) == CM_OK);
    CHECK(cm_bfv_expect(&decryptor, &integers) == CM_OK);
    setup.arena_bytes--;
    CHECK(cm_decryptor_init(&decryptor, &key, &setup) == CM_OK);
    CHECK(cm_bfv_expect(&decryptor, &integers) == CM_ERR_ARENA);
    CHECK(cm_decryptor_feed(&decryptor, sent, 1) == CM_ERR_ARENA);
}

static void nothing_is_taken_before_a_ciphertext_is_expected(void)
{
    start();
    send_integers(5);
    CHECK(cm_decryptor_feed(&decryptor, sent, sent_bytes) == CM_ERR_ARGUMENT);
    CHECK(cm_bfv_decrypt(&decryptor) == CM_ERR_ARGUMENT);
    CHECK(cm_ckks_decrypt(&decryptor) == CM_ERR_ARGUMENT);
}

/* ---- tagged results: the device's own ciphertexts, under the result key ---- */

enum { DEVICE = 77, EPOCH = 3 };

static uint8_t result_key[CM_TAG_KEY_BYTES];
static cm_frame_sender sender;
static cm_frame_expected results;

/* A decryptor that expects an answer to the integers that were sent with it. */
static void start_tagged(uint16_t first)
{
    start();
    for (unsigned i = 0; i < sizeof result_key; i++) {
        result_key[i] = (uint8_t)(7u * i + 1u);
    }
    cm_frame_sender_init(&sender, result_key, DEVICE, EPOCH);
    cm_frame_writer_tag(&frames, &sender);
    cm_frame_expected_init(&results, result_key, DEVICE, EPOCH);
    cm_decryptor_setup setup = decryptor_setup();
    setup.results = &results;
    CHECK(cm_decryptor_init(&decryptor, &key, &setup) == CM_OK);
    send_integers(1); /* its counter is the next one's window */
    send_integers(first);
    cm_frame_expect_answer(&results, &sender, &frames.emitter.info);
    CHECK(results.window + 1u == results.counter);
    CHECK(cm_bfv_expect(&decryptor, &integers) == CM_OK);
}

static bool result_state_wiped(void)
{
    uint32_t any = 0;
    for (unsigned i = 0; i < sizeof results.state / sizeof *results.state; i++) {
        any |= results.state[i];
    }
    return any == 0;
}

/* Alter a byte, and the checksum of its frame, as an attacker can. Returns false for a byte of a checksum. */
static bool alter(size_t place)
{
    cm_frame frame = {0};
    size_t begin = 0, end = 0;
    while (end <= place) {
        begin = end;
        if (cm_frame_parse(sent + begin, sent_bytes - begin, params, &frame) != CM_OK) {
            return false;
        }
        end = begin + frame.frame_bytes;
    }
    end -= CM_FRAME_CRC_BYTES;
    if (place >= end) {
        return false;
    }
    sent[place] ^= 1;
    cmi_store32(sent + end, cm_crc32c(0, sent + begin, end - begin));
    return true;
}

static void check_ended(cm_status status)
{
    CHECK(cm_decryptor_feed(&decryptor, sent, sent_bytes) == status);
    CHECK(arena_wiped() && result_state_wiped());
    CHECK(cm_decryptor_feed(&decryptor, sent, 1) == status);
    CHECK(cm_bfv_decrypt(&decryptor) == status);
    CHECK(arena_wiped());
}

static void a_tagged_answer_is_taken_in_pieces_of_any_size(void)
{
    const size_t pieces[] = {1, 12, 63, 64, 1000, SENT_BYTES};
    start_tagged(5);
    for (unsigned i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        CHECK(cm_bfv_expect(&decryptor, &integers) == CM_OK);
        for (size_t at = 0; at < sent_bytes; at += pieces[i]) {
            const size_t rest = sent_bytes - at;
            CHECK(cm_decryptor_feed(&decryptor, sent + at, rest < pieces[i] ? rest : pieces[i]) == CM_OK);
        }
        CHECK(cm_bfv_decrypt(&decryptor) == CM_OK);
        CHECK(integers_came(5) && result_state_wiped());
    }
}

static void an_answer_to_anything_else_is_foreign(void)
{
    for (unsigned field = 0; field < 6; field++) {
        start_tagged(5);
        results.device ^= field == 0;
        results.epoch ^= field == 1;
        results.counter += field == 2;
        results.window += field == 3;
        results.random[0] ^= field == 4;
        results.random[7] ^= field == 5;
        check_ended(CM_ERR_FRAME_FOREIGN);
    }
}

static void an_answer_under_another_key_is_refused(void)
{
    start_tagged(5);
    for (unsigned at = 0; at < sizeof result_key; at++) {
        result_key[at] ^= 4u;
        CHECK(cm_bfv_expect(&decryptor, &integers) == CM_OK);
        check_ended(CM_ERR_FRAME_TAG);
        result_key[at] ^= 4u;
    }
}

/* Whichever frame it is in, nothing of the whole is given out. */
static void an_altered_answer_is_refused_whole(void)
{
    static uint8_t genuine[SENT_BYTES];
    start_tagged(5);
    memcpy(genuine, sent, sent_bytes);
    for (size_t at = 0; at < sent_bytes; at += at < CM_FRAME_TAGGED_HEADER_BYTES ? 1 : 37) {
        if (alter(at)) {
            CHECK(cm_bfv_expect(&decryptor, &integers) == CM_OK);
            const cm_status status = cm_decryptor_feed(&decryptor, sent, sent_bytes);
            CHECK(status != CM_ERR_FRAME_CRC);
            CHECK(status != CM_OK && cm_bfv_decrypt(&decryptor) == status && arena_wiped());
            CHECK(result_state_wiped());
        }
        memcpy(sent, genuine, sent_bytes);
    }
    CHECK(alter(sent_bytes - CM_FRAME_CRC_BYTES - 1)); /* the last tag */
    CHECK(cm_bfv_expect(&decryptor, &integers) == CM_OK);
    check_ended(CM_ERR_FRAME_TAG);
    sent[sent_bytes - 1] ^= 1; /* damaged, for all that is known */
    CHECK(cm_bfv_expect(&decryptor, &integers) == CM_OK);
    check_ended(CM_ERR_FRAME_CRC);
}

static void an_answer_that_is_cut_gives_nothing(void)
{
    start_tagged(5);
    for (size_t missing = 1; missing <= CM_TAG_BYTES + CM_FRAME_CRC_BYTES; missing++) {
        CHECK(cm_bfv_expect(&decryptor, &integers) == CM_OK);
        CHECK(cm_decryptor_feed(&decryptor, sent, sent_bytes - missing) == CM_OK);
        CHECK(cm_bfv_decrypt(&decryptor) == CM_ERR_FRAME_SHORT);
        CHECK(arena_wiped());
    }
}

static void tagged_and_untagged_frames_do_not_pass_for_each_other(void)
{
    start_tagged(5);
    cm_frame_writer_tag(&frames, NULL);
    send_integers(5);
    results.counter = results.window = frames.emitter.info.counter;
    check_ended(CM_ERR_FRAME_VERSION);
    start_tagged(5);
    const cm_decryptor_setup setup = decryptor_setup();
    CHECK(cm_decryptor_init(&decryptor, &key, &setup) == CM_OK);
    CHECK(cm_bfv_expect(&decryptor, &integers) == CM_OK);
    CHECK(cm_decryptor_feed(&decryptor, sent, sent_bytes) == CM_ERR_FRAME_VERSION);
    CHECK(arena_wiped());
}

static void an_answer_that_is_given_up_leaves_no_key(void)
{
    start_tagged(5);
    CHECK(cm_decryptor_feed(&decryptor, sent, sent_bytes / 2) == CM_OK);
    CHECK(!result_state_wiped());
    cm_decryptor_wipe(&decryptor);
    CHECK(result_state_wiped());
}

static void what_is_expected_is_set_up_and_out_of_the_way(void)
{
    start_tagged(5);
    cm_decryptor_setup setup = decryptor_setup();
    cm_frame_expected unset = {0};
    setup.results = &unset;
    CHECK(cm_decryptor_init(&decryptor, &key, &setup) == CM_ERR_ARGUMENT);
    cm_frame_expected_init(&unset, NULL, DEVICE, EPOCH);
    CHECK(cm_decryptor_init(&decryptor, &key, &setup) == CM_ERR_ARGUMENT);
    static union {
        uint64_t arena[64];
        cm_frame_expected expected;
    } shared;
    cm_frame_expected_init(&shared.expected, result_key, DEVICE, EPOCH);
    setup.results = &shared.expected;
    setup.arena = shared.arena;
    setup.arena_bytes = sizeof shared.arena;
    CHECK(cm_decryptor_init(&decryptor, &key, &setup) == CM_ERR_ARENA);
    cm_frame_reader reader;
    cm_frame_reader_init(&reader, params, &decryptor.decryption.receiver);
    memset(&unset, 0, sizeof unset);
    cm_frame_reader_expect(&reader, &unset);
    CHECK(cm_frame_reader_feed(&reader, sent, sent_bytes) == CM_ERR_ARGUMENT);
}

void test_decryptor(void)
{
    RUN(one_encryptor_and_one_decryptor_serve_many_ciphertexts);
    RUN(a_fault_ends_one_ciphertext_and_not_the_next);
    RUN(a_ciphertext_under_way_is_forgotten_for_another);
    RUN(seeds_are_taken_with_memory_to_expand_them_alone);
    RUN(values_are_given_once_and_by_their_own_scheme_alone);
    RUN(a_decryptor_that_was_refused_takes_nothing);
    RUN(an_object_of_the_setup_inside_the_arena_is_refused);
    RUN(an_expander_that_was_not_set_up_is_refused_and_never_called);
    RUN(an_expander_serves_one_decryptor);
    RUN(a_wiped_start_of_the_arena_is_noticed);
    RUN(wiping_takes_the_values_of_a_finished_decryption);
    RUN(a_seed_of_another_ciphertext_is_foreign);
    RUN(an_arena_too_small_is_refused_where_a_ciphertext_is_expected);
    RUN(nothing_is_taken_before_a_ciphertext_is_expected);
    RUN(a_tagged_answer_is_taken_in_pieces_of_any_size);
    RUN(an_answer_to_anything_else_is_foreign);
    RUN(an_answer_under_another_key_is_refused);
    RUN(an_altered_answer_is_refused_whole);
    RUN(an_answer_that_is_cut_gives_nothing);
    RUN(tagged_and_untagged_frames_do_not_pass_for_each_other);
    RUN(an_answer_that_is_given_up_leaves_no_key);
    RUN(what_is_expected_is_set_up_and_out_of_the_way);
}
