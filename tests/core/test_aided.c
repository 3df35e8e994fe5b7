/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Client-aided sessions against a server that returns what it is sent: values survive the rounds, the step
 * sees them in between, and a result that is incomplete or of another round or key ends the session with a
 * wiped arena.
 */
#include <string.h>

#include "build.h"
#include "check.h"
#include "ciphermote/ciphermote.h"
#include "platform.h"
#include "secret_key.h"

enum {
    N = 1024,
    T = 12289,
    KEY_ID = 42,
    ROUNDS = 3,
    LOG2_SCALE = 18,
    FRAMES = 4, /* two components in two tiles each */
    STREAM_BYTES =
        2 * N / 8 * 26 + FRAMES * (CM_FRAME_TAGGED_HEADER_BYTES + CM_TAG_BYTES + CM_FRAME_CRC_BYTES),
    DEVICE = 77,
    EPOCH = 3
};

static const cm_params *const params = &cm_n1024_q26;

/* The larger of both schemes' arenas. Results come in two tiles, whatever was sent. */
#define LEAST_LOG2_TILES (BUILD_LOG2_TILES < 1 ? BUILD_LOG2_TILES : 1)
static uint64_t
    arena[CM_AIDED_LARGER(CM_AIDED_BFV_ARENA_BYTES(N, CM_BFV_32, CM_BFV_SUMS_32, LEAST_LOG2_TILES),
                          CM_AIDED_CKKS_ARENA_BYTES(N, CM_SLOTS_REAL, BUILD_PRECISION, BUILD_PRECISION,
                                                    LEAST_LOG2_TILES)) /
              8 +
          1];
static uint8_t ternary[CM_TERNARY_BYTES(N)];
static test_platform platform;
static cm_device device;
static cm_aided aided;

/* ---- the server: keeps a ciphertext's residues, and returns them as a result's frames ---- */

typedef struct server {
    cm_emitter emitter; /* first */
    uint32_t residues[2][N];
    uint8_t stream[STREAM_BYTES];
    size_t length;
} server;

static server cloud;
static uint8_t result_key[CM_TAG_KEY_BYTES];
static cm_frame_sender sender;       /* the device's */
static cm_frame_sender *signs_cloud; /* null: results are of version 1 */
static bool names_windows;           /* as the device's writer does that has a sender */

static cm_status ignore(cm_emitter *self)
{
    (void)self;
    return CM_OK;
}

static cm_status begin_ciphertext(cm_emitter *self, const cm_ciphertext_info *info)
{
    if (names_windows && sender.window == CM_NEW_WINDOW) {
        sender.window = info->counter;
    }
    return ignore(self);
}

static cm_status keep(cm_emitter *self, unsigned component, unsigned prime, unsigned tile,
                      const uint32_t *residues)
{
    server *kept = (server *)(void *)self;
    const size_t points = (size_t)N >> self->info.log2_tiles;
    (void)prime;
    memcpy(kept->residues[component] + tile * points, residues, 4u * points);
    return CM_OK;
}

static void start_server(void)
{
    memset(&cloud, 0, sizeof cloud);
    signs_cloud = NULL;
    names_windows = false;
    cloud.emitter.begin = begin_ciphertext;
    cloud.emitter.residues = keep;
    cloud.emitter.end = ignore;
    cloud.emitter.expands_seed = true;
}

static int store(void *context, const uint8_t *bytes, size_t count)
{
    server *to = (server *)context;
    memcpy(to->stream + to->length, bytes, count);
    to->length += count;
    return 0;
}

/* The frames of what was kept, for this key and counter. */
static void return_frames(uint64_t key_id, uint64_t counter)
{
    const cm_sink sink = {store, &cloud};
    cm_frame_writer writer;
    cm_frame_writer_init(&writer, sink);
    cm_frame_writer_tag(&writer, signs_cloud);
    writer.emitter.info = cloud.emitter.info;
    writer.emitter.info.xof = CM_XOF_NONE;
    writer.emitter.info.log2_tiles = 1;
    writer.emitter.info.key_id = key_id;
    writer.emitter.info.counter = counter;
    cloud.length = 0;
    for (unsigned tile = 0; tile < 2; tile++) {
        for (unsigned component = 2; component-- > 0;) {
            CHECK(writer.emitter.residues(&writer.emitter, component, 0, tile,
                                          cloud.residues[component] + tile * (N / 2)) == CM_OK);
        }
    }
}

static void return_latest(void)
{
    return_frames(KEY_ID, cloud.emitter.info.counter);
}

/* ---- the device ---- */

static cm_aided_plan bfv_plan(cm_number number, cm_bfv_sums sums)
{
    const cm_aided_plan plan = {
        .scheme = CM_BFV, .rounds = ROUNDS, .bfv = {CM_BFV_BATCH, number, sums, 1, T}};
    return plan;
}

static cm_aided_plan ckks_plan(void)
{
    const cm_aided_plan plan = {.scheme = CM_CKKS,
                                .rounds = ROUNDS,
                                .ckks = {CM_SLOTS_REAL, BUILD_PRECISION, CM_FLOAT32, 0, 1, T / 2048},
                                .precision = BUILD_PRECISION,
                                .log2_scale = LOG2_SCALE,
                                .largest = T / 2048};
    return plan;
}

static cm_status begin_session(cm_aided *session, const cm_aided_plan *plan, size_t arena_bytes)
{
    static cm_secret_key key; /* the decryption outlives this function */
    key = test_secret_key(params, KEY_ID, ternary);
    const cm_encryptor_setup setup = {.device = &device,
                                      .emitter = &cloud.emitter,
                                      .arena = arena,
                                      .arena_bytes = arena_bytes,
                                      .xof = CM_XOF_CHACHA20,
                                      .log2_tiles = BUILD_LOG2_TILES};
    return cm_aided_begin(session, &key, plan, &setup);
}

static void open_session(const cm_aided_plan *plan)
{
    const uint8_t seed[CM_SEED_BYTES] = {3, 1, 4};
    CHECK(cm_secret_key_generate(params, seed, ternary) == CM_OK);
    memset(&platform, 0, sizeof platform);
    CHECK(test_device_start(&device, &platform) == CM_OK);
    start_server();
    CHECK(begin_session(&aided, plan, sizeof arena) == CM_OK);
}

/* value(i), from -T/2 to T/2 */
static int32_t value(uint32_t i)
{
    return (int32_t)((i * 7919u + 5u) % T) - T / 2;
}

static void fill(cm_number number, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (number == CM_INT16) {
            ((int16_t *)(void *)arena)[i] = (int16_t)value(i);
        } else if (number == CM_INT32) {
            ((int32_t *)(void *)arena)[i] = value(i);
        } else {
            ((float *)(void *)arena)[i] = (float)value(i) / 1024.0f;
        }
    }
}

static bool arena_is_zero(void)
{
    uint64_t any = 0;
    for (size_t i = 0; i < sizeof arena / sizeof arena[0]; i++) {
        any |= arena[i];
    }
    return any == 0;
}

/* What the step was called with, and what it is to return. */
typedef struct seen {
    unsigned calls;
    unsigned round;
    uint32_t count;
    cm_status status;
} seen;

static cm_status negate(void *context, unsigned round, void *values, uint32_t count)
{
    seen *told = (seen *)context;
    told->calls++;
    told->round = round;
    told->count = count;
    for (uint32_t i = 0; i < count; i++) {
        ((int16_t *)values)[i] = (int16_t) - ((int16_t *)values)[i];
    }
    return told->status;
}

static cm_status leave(void *context, unsigned round, void *values, uint32_t count)
{
    (void)round;
    (void)values;
    *(uint32_t *)context = count;
    return CM_OK;
}

static cm_status feed_in_pieces(size_t piece)
{
    cm_status status = CM_OK;
    for (size_t at = 0; at < cloud.length && status == CM_OK; at += piece) {
        const size_t rest = cloud.length - at;
        status = cm_aided_feed(&aided, cloud.stream + at, rest < piece ? rest : piece);
    }
    return status;
}

/* ---- behaviours ---- */

static void integers_pass_all_rounds_and_the_step_changes_them_between(void)
{
    const cm_aided_plan plan = bfv_plan(CM_INT16, CM_BFV_SUMS_24);
    seen told = {0, 0, 0, CM_OK};
    open_session(&plan);
    fill(CM_INT16, N);
    CHECK(cm_aided_send(&aided, N) == CM_OK);
    for (unsigned round = 0; round + 1u < ROUNDS; round++) {
        return_latest();
        CHECK(feed_in_pieces(100 + round) == CM_OK);
        CHECK(cm_aided_answer(&aided, negate, &told) == CM_OK);
        CHECK(told.calls == round + 1u && told.round == round && told.count == N);
    }
    return_latest();
    CHECK(feed_in_pieces(1) == CM_OK);
    CHECK(cm_aided_finish(&aided) == CM_OK);
    CHECK(aided.round == ROUNDS);
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < N; i++) {
        wrong += ((const int16_t *)(const void *)arena)[i] != value(i); /* negated twice */
    }
    CHECK(wrong == 0);
}

static void wide_integers_and_real_numbers_pass_too(void)
{
    const cm_aided_plan plans[2] = {bfv_plan(CM_INT32, CM_BFV_SUMS_32), ckks_plan()};
    for (unsigned kind = 0; kind < 2; kind++) {
        const uint32_t slots = kind == 0 ? N : N / 2;
        open_session(&plans[kind]);
        fill(kind == 0 ? CM_INT32 : CM_FLOAT32, slots);
        CHECK(cm_aided_send(&aided, slots) == CM_OK);
        for (unsigned round = 0; round + 1u < ROUNDS; round++) {
            uint32_t count = 0;
            return_latest();
            CHECK(feed_in_pieces(STREAM_BYTES) == CM_OK);
            CHECK(cm_aided_answer(&aided, leave, &count) == CM_OK);
            CHECK(count == slots);
        }
        return_latest();
        CHECK(feed_in_pieces(STREAM_BYTES) == CM_OK);
        CHECK(cm_aided_finish(&aided) == CM_OK);
        uint32_t wrong = 0;
        for (uint32_t i = 0; i < slots; i++) {
            const float off = ((const float *)(const void *)arena)[i] - (float)value(i) / 1024.0f;
            wrong += kind == 0 ? ((const int32_t *)(const void *)arena)[i] != value(i)
                               : off > 0.01f || off < -0.01f;
        }
        CHECK(wrong == 0);
    }
}

/* A session that awaits the result of its second ciphertext; returns the counter of the first. */
static uint64_t second_round(void)
{
    const cm_aided_plan plan = bfv_plan(CM_INT16, CM_BFV_SUMS_24);
    seen told = {0, 0, 0, CM_OK};
    open_session(&plan);
    fill(CM_INT16, N);
    CHECK(cm_aided_send(&aided, N) == CM_OK);
    const uint64_t first = cloud.emitter.info.counter;
    return_latest();
    CHECK(feed_in_pieces(STREAM_BYTES) == CM_OK);
    CHECK(cm_aided_answer(&aided, negate, &told) == CM_OK);
    CHECK(cloud.emitter.info.counter > first);
    return first;
}

/* However it ended, a session accepts and returns nothing more. */
static void check_over(void)
{
    seen told = {0, 0, 0, CM_OK};
    CHECK(arena_is_zero());
    CHECK(cm_aided_feed(&aided, cloud.stream, 1) == CM_ERR_ARGUMENT);
    CHECK(cm_aided_answer(&aided, negate, &told) == CM_ERR_ARGUMENT);
    CHECK(cm_aided_finish(&aided) == CM_ERR_ARGUMENT);
    CHECK(cm_aided_send(&aided, 1) == CM_ERR_ARGUMENT);
    CHECK(told.calls == 0);
}

static void a_result_of_an_earlier_round_is_out_of_order(void)
{
    const uint64_t first = second_round();
    return_frames(KEY_ID, first);
    CHECK(feed_in_pieces(STREAM_BYTES) == CM_ERR_FRAME_ORDER);
    check_over();
}

static void a_result_of_no_round_or_of_another_key_is_foreign(void)
{
    const uint64_t first = second_round();
    return_frames(KEY_ID, first - 1u);
    CHECK(feed_in_pieces(STREAM_BYTES) == CM_ERR_FRAME_FOREIGN);
    check_over();
    (void)second_round();
    return_frames(KEY_ID, cloud.emitter.info.counter + 1u);
    CHECK(feed_in_pieces(STREAM_BYTES) == CM_ERR_FRAME_FOREIGN);
    check_over();
    (void)second_round();
    return_frames(KEY_ID + 1, cloud.emitter.info.counter);
    CHECK(feed_in_pieces(STREAM_BYTES) == CM_ERR_FRAME_FOREIGN);
    check_over();
}

static void a_result_that_is_cut_or_damaged_is_not_answered(void)
{
    seen told = {0, 0, 0, CM_OK};
    (void)second_round();
    return_latest();
    cloud.length--;
    CHECK(feed_in_pieces(STREAM_BYTES) == CM_OK);
    CHECK(cm_aided_answer(&aided, negate, &told) == CM_ERR_FRAME_SHORT);
    CHECK(aided.round == 1);
    check_over();
    (void)second_round();
    return_latest();
    cloud.stream[cloud.length / 2 + 5] ^= 1u;
    CHECK(feed_in_pieces(STREAM_BYTES) != CM_OK);
    check_over();
    CHECK(told.calls == 0);
}

static void a_step_that_fails_ends_the_session_before_anything_leaves(void)
{
    const cm_aided_plan plan = bfv_plan(CM_INT16, CM_BFV_SUMS_24);
    seen told = {0, 0, 0, CM_ERR_VALUE_RANGE};
    open_session(&plan);
    fill(CM_INT16, N);
    CHECK(cm_aided_send(&aided, N) == CM_OK);
    const uint64_t sent = cloud.emitter.info.counter;
    return_latest();
    CHECK(feed_in_pieces(STREAM_BYTES) == CM_OK);
    CHECK(cm_aided_answer(&aided, negate, &told) == CM_ERR_VALUE_RANGE);
    CHECK(cloud.emitter.info.counter == sent);
    check_over();
}

static void a_device_that_cannot_encrypt_anew_says_so(void)
{
    const cm_aided_plan plan = bfv_plan(CM_INT16, CM_BFV_SUMS_24);
    seen told = {0, 0, 0, CM_OK};
    open_session(&plan);
    fill(CM_INT16, N);
    CHECK(cm_aided_send(&aided, N) == CM_OK);
    return_latest();
    CHECK(feed_in_pieces(STREAM_BYTES) == CM_OK);
    platform.mode = RANDOM_FAILS;
    CHECK(cm_aided_answer(&aided, negate, &told) == CM_ERR_RANDOM);
    check_over();
}

static void no_more_rounds_are_answered_than_agreed_and_none_is_left_out(void)
{
    cm_aided_plan plan = bfv_plan(CM_INT16, CM_BFV_SUMS_24);
    seen told = {0, 0, 0, CM_OK};
    (void)second_round();
    return_latest();
    CHECK(feed_in_pieces(STREAM_BYTES) == CM_OK);
    CHECK(cm_aided_finish(&aided) == CM_ERR_ARGUMENT);
    CHECK(cm_aided_answer(&aided, negate, &told) == CM_OK);
    return_latest();
    CHECK(feed_in_pieces(STREAM_BYTES) == CM_OK);
    CHECK(cm_aided_answer(&aided, negate, &told) == CM_ERR_ARGUMENT);
    CHECK(cm_aided_finish(&aided) == CM_OK);
    CHECK(cm_aided_feed(&aided, cloud.stream, 1) == CM_ERR_ARGUMENT);
    plan.rounds = 0;
    CHECK(begin_session(&aided, &plan, sizeof arena) == CM_ERR_ARGUMENT);
    plan.rounds = 1;
    plan.scheme = CM_PUBLIC_KEY;
    CHECK(begin_session(&aided, &plan, sizeof arena) == CM_ERR_ARGUMENT);
    CHECK(begin_session(NULL, &plan, sizeof arena) == CM_ERR_ARGUMENT);
}

static void a_plan_whose_results_could_not_be_taken_is_refused_at_the_start(void)
{
    cm_aided_plan plan = bfv_plan(CM_INT16, CM_BFV_SUMS_24);
    memset(arena, 0x5A, sizeof arena);
    CHECK(begin_session(&aided, &plan, 2 * N) == CM_ERR_ARENA);
    plan.bfv.plain_modulus = T + 1;
    CHECK(begin_session(&aided, &plan, sizeof arena) == CM_ERR_PLAIN_MODULUS);
    cm_aided_plan real = ckks_plan();
    real.ckks.exponent = 128;
    CHECK(begin_session(&aided, &real, sizeof arena) == CM_ERR_ARGUMENT);
    CHECK(cm_aided_send(&aided, 1) == CM_ERR_ARGUMENT);
    CHECK(((const uint8_t *)arena)[0] == 0x5A && ((const uint8_t *)arena)[sizeof arena - 1] == 0x5A);
}

static void a_session_that_is_given_up_leaves_nothing(void)
{
    (void)second_round();
    return_latest();
    CHECK(cm_aided_feed(&aided, cloud.stream, cloud.length / 2) == CM_OK);
    CHECK(!arena_is_zero());
    cm_aided_wipe(&aided);
    check_over();
    cm_aided_wipe(NULL);
}

static void a_session_that_fails_for_its_caller_leaves_nothing_either(void)
{
    const cm_aided_plan plan = bfv_plan(CM_INT16, CM_BFV_SUMS_24);
    (void)second_round();
    return_latest();
    CHECK(cm_aided_feed(&aided, cloud.stream, cloud.length / 2) == CM_OK);
    CHECK(cm_aided_feed(&aided, NULL, 1) == CM_ERR_ARGUMENT);
    check_over();
    /* Enough for its results, but in builds with large tiles not for its encryptions. */
    const size_t few = CM_BFV_DECRYPT_ARENA_BYTES(N, CM_BFV_SUMS_24, plan.bfv.log2_tiles);
    if (few >= build_bfv_arena_bytes(params->log2_n, CM_XOF_CHACHA20, CM_BFV_16, CM_DOMAIN_NTT)) {
        return;
    }
    open_session(&plan);
    fill(CM_INT16, N);
    memset((uint8_t *)arena + few, 0, sizeof arena - few);
    const cm_status begun = begin_session(&aided, &plan, few);
    CHECK(begun == CM_OK || begun == CM_ERR_ARENA);
    if (begun == CM_OK) {
        CHECK(cm_aided_send(&aided, N) == CM_ERR_ARENA);
        check_over();
    }
}

/* ---- tagged sessions ---- */

static cm_frame_expected results;
static cm_frame_sender signer; /* the server's */

static void open_tagged_session(void)
{
    const cm_aided_plan plan = bfv_plan(CM_INT16, CM_BFV_SUMS_24);
    for (unsigned i = 0; i < sizeof result_key; i++) {
        result_key[i] = (uint8_t)(7u * i + 1u);
    }
    open_session(&plan);
    names_windows = true;
    cm_frame_sender_init(&sender, result_key, DEVICE, EPOCH);
    cm_frame_expected_init(&results, result_key, DEVICE, EPOCH);
    cm_frame_sender_init(&signer, result_key, DEVICE, EPOCH);
    signs_cloud = &signer;
    CHECK(cm_aided_tag(&aided, &sender, &results) == CM_OK);
    fill(CM_INT16, N);
    CHECK(cm_aided_send(&aided, N) == CM_OK);
}

static void return_tagged(void)
{
    signer.window = sender.window;
    return_latest();
}

static void tagged_rounds_are_windows_of_their_own(void)
{
    seen told = {0, 0, 0, CM_OK};
    open_tagged_session();
    for (unsigned round = 0; round + 1u < ROUNDS; round++) {
        CHECK(sender.window == cloud.emitter.info.counter);
        CHECK(results.window == sender.window && results.counter == sender.window);
        return_tagged();
        CHECK(feed_in_pieces(100 + round) == CM_OK);
        CHECK(cm_aided_answer(&aided, negate, &told) == CM_OK);
    }
    return_tagged();
    CHECK(feed_in_pieces(1) == CM_OK);
    CHECK(cm_aided_finish(&aided) == CM_OK);
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < N; i++) {
        wrong += ((const int16_t *)(const void *)arena)[i] != value(i); /* negated twice */
    }
    CHECK(wrong == 0);
}

static void a_tagged_session_takes_no_other_results(void)
{
    open_tagged_session();
    signs_cloud = NULL;
    return_latest();
    CHECK(feed_in_pieces(STREAM_BYTES) == CM_ERR_FRAME_VERSION);
    check_over();
    open_tagged_session();
    return_tagged();
    result_key[0] ^= 1;
    CHECK(feed_in_pieces(STREAM_BYTES) == CM_ERR_FRAME_TAG);
    check_over();
    for (unsigned change = 0; change < 5; change++) {
        open_tagged_session();
        signer.device ^= change == 0;
        signer.epoch ^= change == 1;
        signer.window = sender.window;
        results.window += change == 2;
        cloud.emitter.info.seed[7] ^= change == 3;
        return_frames(KEY_ID, cloud.emitter.info.counter + (change == 4));
        CHECK(feed_in_pieces(STREAM_BYTES) == CM_ERR_FRAME_FOREIGN);
        check_over();
    }
}

/* The first round's, kept and sent again in the second. */
static void a_tagged_result_is_taken_once(void)
{
    static uint8_t first[STREAM_BYTES];
    seen told = {0, 0, 0, CM_OK};
    open_tagged_session();
    return_tagged();
    const size_t length = cloud.length;
    memcpy(first, cloud.stream, length);
    CHECK(feed_in_pieces(STREAM_BYTES) == CM_OK);
    CHECK(cm_aided_answer(&aided, negate, &told) == CM_OK);
    CHECK(cm_aided_feed(&aided, first, length) == CM_ERR_FRAME_FOREIGN);
    check_over();
}

static void tags_are_agreed_on_before_anything_is_sent(void)
{
    const cm_aided_plan plan = bfv_plan(CM_INT16, CM_BFV_SUMS_24);
    cm_frame_expected unset = {0};
    open_tagged_session();
    CHECK(cm_aided_tag(&aided, &sender, &results) == CM_ERR_ARGUMENT);
    open_session(&plan);
    CHECK(cm_aided_tag(NULL, &sender, &results) == CM_ERR_ARGUMENT);
    CHECK(cm_aided_tag(&aided, NULL, &results) == CM_ERR_ARGUMENT);
    CHECK(cm_aided_tag(&aided, &sender, NULL) == CM_ERR_ARGUMENT);
    CHECK(cm_aided_tag(&aided, &sender, &unset) == CM_ERR_ARGUMENT);
    CHECK(cm_aided_tag(&aided, (cm_frame_sender *)(void *)arena, &results) == CM_ERR_ARENA);
    /* A sender that no writer has: frames would leave untagged. */
    CHECK(cm_aided_tag(&aided, &sender, &results) == CM_OK);
    fill(CM_INT16, N);
    CHECK(cm_aided_send(&aided, N) == CM_ERR_ARGUMENT);
    check_over();
}

void test_aided(void)
{
    RUN(integers_pass_all_rounds_and_the_step_changes_them_between);
    RUN(wide_integers_and_real_numbers_pass_too);
    RUN(a_result_of_an_earlier_round_is_out_of_order);
    RUN(a_result_of_no_round_or_of_another_key_is_foreign);
    RUN(a_result_that_is_cut_or_damaged_is_not_answered);
    RUN(a_step_that_fails_ends_the_session_before_anything_leaves);
    RUN(a_device_that_cannot_encrypt_anew_says_so);
    RUN(no_more_rounds_are_answered_than_agreed_and_none_is_left_out);
    RUN(a_plan_whose_results_could_not_be_taken_is_refused_at_the_start);
    RUN(a_session_that_is_given_up_leaves_nothing);
    RUN(a_session_that_fails_for_its_caller_leaves_nothing_either);
    RUN(tagged_rounds_are_windows_of_their_own);
    RUN(a_tagged_session_takes_no_other_results);
    RUN(a_tagged_result_is_taken_once);
    RUN(tags_are_agreed_on_before_anything_is_sent);
}
