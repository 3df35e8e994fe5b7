/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The back-end interface: where a back-end accepts, its result is used; where it declines, the portable code
 * does the work; and the output never changes. Built with CM_ARCH_HEADER, all other tests and the pinned
 * vectors run through this back-end too.
 */
#include "check.h"
#include "ciphermote/ciphermote.h"
#include "platform.h"

#ifndef CM_ARCH_HEADER

void test_arch(void)
{
}

#else

#include "arch/backends.h"
#include "protocol/decryptor.h"
#include "ring/ring.h"
#include "scheme/decryption.h"

recording_calls recorded;

/*
 * Accepts n = 1024 only, and works in another order than the portable code: one output of a level at a time.
 */
static int forward(uint32_t *a, const cmi_ring *ring)
{
    if (ring->log2_n != 10 || ring->log2_tiles != 0) {
        recorded.ntt_declined++;
        return 0;
    }
    recorded.ntt_taken++;
    const cm_prime *prime = ring->prime;
    const uint32_t n = 1024;
    for (uint32_t half = n / 2, blocks = 1; half > 0; half /= 2, blocks *= 2) {
        for (uint32_t block = 0; block < blocks; block++) {
            uint64_t twiddle = 1;
            uint32_t exponent = 0;
            for (uint32_t i = blocks + block, bit = n / 2; i > 0; i /= 2, bit /= 2) {
                exponent += i & 1u ? bit : 0;
            }
            for (uint32_t i = 0; i < exponent; i++) {
                twiddle = twiddle * prime->psi % prime->q;
            }
            for (uint32_t j = 2 * half * block; j < 2 * half * block + half; j++) {
                const uint32_t product = (uint32_t)(a[j + half] % prime->q * twiddle % prime->q);
                const uint32_t low = a[j] % prime->q;
                a[j] = low + product;
                a[j + half] = low + prime->q - product;
            }
        }
    }
    return 1;
}

/* Accepts every second product. */
static int double_product(uint32_t *out0, uint32_t *out1, const uint8_t *u, const uint32_t *p0,
                          const uint32_t *p1, const cmi_ring *ring)
{
    static unsigned calls;
    if (calls++ % 2u) {
        recorded.product_declined++;
        return 0;
    }
    recorded.product_taken++;
    cmi_ternary_fold(out0, u, 1, ring);
    cmi_ntt_forward(out0, ring);
    for (uint32_t i = 0; i < (uint32_t)1 << ring->log2_n; i++) {
        const uint64_t transformed = cmi_reduce(out0[i], ring->prime);
        out0[i] = (uint32_t)(transformed * p0[i] % ring->prime->q);
        out1[i] = (uint32_t)(transformed * p1[i] % ring->prime->q);
    }
    return 1;
}

/* Declines whole encryptions, unless it is told what to answer; remembers what it was offered. */
static const cm_status *answers;
static const void *offered_key;
static bool offered_public_key;

static int whole_encryption(cm_status *status, const void *key, bool public_key,
                            const cm_encryptor_setup *setup, const cm_message_source *source)
{
    (void)setup;
    (void)source;
    if (!answers) {
        recorded.encryption_declined++;
        return 0;
    }
    offered_key = key;
    offered_public_key = public_key;
    *status = *answers;
    return 1;
}

/* Declines whole decryptions, unless it is told to gather; then it hands back, or gives numbers. */
static struct {
    bool wanted;
    bool gives;
    bool tries; /* before it hands back, it uses the arena */
    bool finished;
    const cm_decryptor *decryptor;
    uint8_t bytes[64];
    size_t length;
} gathers;

static int begin_decryption(cm_decryptor *decryptor, bool expected)
{
    if (gathers.decryptor == decryptor) {
        gathers.decryptor = NULL;
    }
    if (!gathers.wanted || !expected) {
        recorded.decryption_declined++;
        return 0;
    }
    gathers.decryptor = decryptor;
    gathers.length = 0;
    return 1;
}

static int hand_back(cm_decryptor *decryptor)
{
    gathers.decryptor = NULL;
    (void)!cmi_decryptor_feed(decryptor, gathers.bytes, gathers.length);
    return 0;
}

static int feed_decryption(cm_decryptor *decryptor, const uint8_t *bytes, size_t length)
{
    if (gathers.decryptor != decryptor) {
        return 0;
    }
    if (length > sizeof gathers.bytes - gathers.length) {
        return hand_back(decryptor);
    }
    memcpy(gathers.bytes + gathers.length, bytes, length);
    gathers.length += length;
    return 1;
}

#define GIVEN_COUNTER 0x123456789ABCu
#define GIVEN_SCALE ((uint64_t)(1023 + 12) << 52)

/* Coefficient i is i, in as many bits as t has, or it is -i; a value of CKKS is its bits. */
static int end_decryption(cm_status *status, cm_decryptor *decryptor)
{
    cm_decryption *decryption = &decryptor->decryption;
    if (gathers.decryptor != decryptor) {
        return 0;
    }
    const bool is_ckks = decryption->scheme == CM_CKKS;
    if (!status || !(gathers.gives || gathers.tries) || !cmi_decryption_untouched(decryption)) {
        return hand_back(decryptor);
    }
    const size_t size = !is_ckks && decryption->plain_modulus <= 0x10000u ? 2u : 4u;
    const uint32_t count = is_ckks ? 512u : 1024u;
    memset(decryption->arena, 0, cmi_decryption_room(decryption));
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t value = !is_ckks && gathers.finished ? 0u - i : i;
        memcpy(decryption->arena + size * i, &value, size);
    }
    if (!gathers.gives) {
        cmi_decryption_restore(decryption);
        return hand_back(decryptor);
    }
    gathers.decryptor = NULL;
    *status = is_ckks ? cmi_ckks_decryption_given(decryption, GIVEN_COUNTER, GIVEN_SCALE)
                      : cmi_bfv_decryption_given(decryption, GIVEN_COUNTER, gathers.finished);
    return 1;
}

/* Keys of its own are named by 64 digits of 3 with a zero behind them, which erased memory has not. */
#define MADE_KEY_ID 0x1122334455667788u
static struct {
    bool wanted;
    unsigned published;
    const uint8_t *published_key;
} keys;

static int names_key(const uint8_t *ternary)
{
    return ternary[0] == 0xC3 && ternary[16] == 0;
}

static int make_secret_key(cm_status *status, cm_device *device, const cm_params *params, uint8_t *ternary,
                           uint64_t *key_id)
{
    (void)device;
    if (!keys.wanted || params->log2_n != 10) {
        return 0;
    }
    memset(ternary, 0xC3, 16); /* the rest is zeros */
    *key_id = MADE_KEY_ID;
    *status = CM_OK;
    return 1;
}

static int emit_public_key(cm_status *status, const cm_encryptor_setup *setup, const cm_params *params,
                           const uint8_t *ternary, uint64_t key_id)
{
    (void)setup;
    (void)params;
    (void)key_id;
    if (!keys.wanted) {
        return 0;
    }
    keys.published++;
    keys.published_key = ternary;
    *status = CM_OK;
    return 1;
}

static const cmi_arch recording_arch = {.names_key = names_key,
                                        .make_secret_key = make_secret_key,
                                        .emit_public_key = emit_public_key,
                                        .encrypt = whole_encryption,
                                        .decrypt_begin = begin_decryption,
                                        .decrypt_feed = feed_decryption,
                                        .decrypt_end = end_decryption,
                                        .ntt_forward = forward,
                                        .double_product = double_product};
const cmi_arch *chosen_arch = &recording_arch;

static void the_other_tests_went_through_the_back_end(void)
{
    CHECK(recorded.ntt_taken > 0);
    CHECK(recorded.ntt_declined > 0);
    CHECK(recorded.product_taken > 0);
    CHECK(recorded.encryption_declined > 0);
    CHECK(recorded.decryption_declined > 0);
#if CM_CONFIG_ACCELERATOR
    CHECK(recorded.product_declined > 0);
#endif
}

#define N 1024u
#define UNTOUCHED 0xA5

static int refuse(void *context, const uint8_t *bytes, size_t length)
{
    (void)context;
    (void)bytes;
    (void)length;
    return 1;
}

/* A whole encryption that is taken is over: no byte, no counter, and the arena as it was. */
static void what_it_answers_to_a_whole_encryption_is_the_call_s(void)
{
    static uint8_t ternary[CM_TERNARY_BYTES(N)];
    static uint32_t residues[2 * N];
    static uint8_t arena[CM_BFV_ASYMMETRIC_ARENA_BYTES(N, CM_BFV_16, 0)] __attribute__((aligned(8)));
    const uint16_t numbers[1] = {1};
    const cm_bfv_values values = {.data = numbers,
                                  .count = 1,
                                  .number = CM_UINT16,
                                  .encoding = CM_BFV_COEFFICIENTS,
                                  .width = CM_BFV_16,
                                  .plain_modulus = 17,
                                  .largest = 16};
    test_platform platform = {RANDOM_GOOD};
    cm_device device;
    cm_frame_writer writer;
    cm_encryptor encryptor;
    const cm_sink sink = {refuse, NULL};
    memset(ternary, 0x12, sizeof ternary);
    memset(residues, 1, sizeof residues);
    CHECK(test_device_start(&device, &platform) == CM_OK);
    cm_frame_writer_init(&writer, sink);
    cm_encryptor_setup setup = {
        .device = &device, .emitter = &writer.emitter, .arena = arena, .arena_bytes = sizeof arena};
    const cm_secret_key secret = {
        .params = &cm_n1024_q26, .key_id = 7, .ternary = ternary, .transformed = residues};
    cm_flat_public_key flat = {residues, N};
    const cm_public_key public_key = {
        .params = &cm_n1024_q26, .key_id = 7, .polynomial = cm_flat_public_key_polynomial, .context = &flat};
    for (unsigned under = 0; under < 2; under++) {
        setup.xof = under ? CM_XOF_NONE : CM_XOF_CHACHA20;
        const cm_status opened = under ? cm_encryptor_init_asymmetric(&encryptor, &public_key, &setup)
                                       : cm_encryptor_init_symmetric(&encryptor, &secret, &setup);
        CHECK(opened == CM_OK);
        const cm_status either[2] = {CM_OK, CM_ERR_VALUE_RANGE};
        memset(arena, UNTOUCHED, sizeof arena);
        for (unsigned i = 0; i < 2; i++) {
            answers = &either[i];
            CHECK(cm_bfv_encrypt(&encryptor, &values) == either[i]);
            CHECK(offered_public_key == (under == 1));
            CHECK(offered_key == (under ? (const void *)&public_key : (const void *)&secret));
        }
        CHECK(device.counter.next == 0);
        for (size_t i = 0; i < sizeof arena; i++) {
            CHECK(arena[i] == UNTOUCHED);
        }
        answers = NULL;
        CHECK(cm_bfv_encrypt(&encryptor, &values) == CM_ERR_SINK);
        CHECK(arena[0] == 0 && device.counter.next == 1);
        device.counter.next = 0;
    }
}

/* A decryptor of its own, under a key of its own. */
static struct {
    uint8_t arena[CM_BFV_DECRYPT_ARENA_BYTES(N, CM_BFV_SUMS_32, 0)] __attribute__((aligned(8)));
    uint8_t ternary[CM_TERNARY_BYTES(N)];
    uint32_t transformed[N];
    cm_secret_key key;
    cm_decryptor decryptor;
} receiver;

static void start_receiver(void)
{
    const cm_decryptor_setup setup = {.arena = receiver.arena, .arena_bytes = sizeof receiver.arena};
    memset(receiver.ternary, 0x12, sizeof receiver.ternary);
    receiver.key = (cm_secret_key){.params = &cm_n1024_q26,
                                   .key_id = 7,
                                   .ternary = receiver.ternary,
                                   .transformed = receiver.transformed};
    CHECK(cm_decryptor_init(&receiver.decryptor, &receiver.key, &setup) == CM_OK);
}

static cm_status expect_numbers(cm_number number, uint32_t t)
{
    const cm_bfv_expected expected = {
        .encoding = CM_BFV_COEFFICIENTS, .number = number, .sums = CM_BFV_SUMS_32, .plain_modulus = t};
    return cm_bfv_expect(&receiver.decryptor, &expected);
}

/* The status of a decryption of these bytes, in two pieces. */
static cm_status decrypt_bytes(cm_number number, uint32_t t, const uint8_t *bytes, size_t length)
{
    CHECK(expect_numbers(number, t) == CM_OK);
    (void)!cm_decryptor_feed(&receiver.decryptor, bytes, length / 2u);
    (void)!cm_decryptor_feed(&receiver.decryptor, bytes + length / 2u, length - length / 2u);
    return cm_bfv_decrypt(&receiver.decryptor);
}

/* All of the arena from a byte on is wiped. */
static bool wiped_from(size_t first)
{
    uint8_t left = 0;
    for (size_t i = first; i < sizeof receiver.arena; i++) {
        left |= receiver.arena[i];
    }
    return left == 0;
}

static void what_it_decrypts_becomes_the_numbers_expected(void)
{
    static const uint8_t frames[60] = {1};
    const struct {
        cm_number number;
        uint32_t t;
        int32_t thousand; /* what 1000 stands for */
    } kinds[] = {{CM_INT16, 1500, -500},  {CM_UINT16, 1500, 1000},  {CM_INT32, 1500, -500},
                 {CM_UINT32, 1500, 1000}, {CM_INT32, 100003, 1000}, {CM_UINT32, 100003, 1000}};
    start_receiver();
    gathers.wanted = gathers.gives = true;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        const bool wide = kinds[k].number == CM_INT32 || kinds[k].number == CM_UINT32;
        CHECK(decrypt_bytes(kinds[k].number, kinds[k].t, frames, sizeof frames) == CM_OK);
        CHECK(gathers.length == sizeof frames && memcmp(gathers.bytes, frames, sizeof frames) == 0);
        const int32_t found =
            wide ? ((int32_t *)(void *)receiver.arena)[1000] : ((int16_t *)(void *)receiver.arena)[1000];
        CHECK(found == kinds[k].thousand);
        CHECK(receiver.decryptor.decryption.counter == GIVEN_COUNTER);
        CHECK(wiped_from((wide ? 4u : 2u) * (size_t)N));
        CHECK(cm_bfv_decrypt(&receiver.decryptor) == CM_ERR_ARGUMENT);
    }
    gathers.wanted = gathers.gives = false;
}

/* Numbers that are already those expected are only widened. */
static void what_is_finished_stays_as_it_is(void)
{
    static const uint8_t frames[60] = {1};
    const cm_number kinds[] = {CM_INT16, CM_INT32};
    start_receiver();
    gathers.wanted = gathers.gives = gathers.finished = true;
    for (unsigned k = 0; k < 2; k++) {
        CHECK(decrypt_bytes(kinds[k], 1500, frames, sizeof frames) == CM_OK);
        const int32_t found =
            k ? ((int32_t *)(void *)receiver.arena)[300] : ((int16_t *)(void *)receiver.arena)[300];
        CHECK(found == -300);
        CHECK(wiped_from((k ? 4u : 2u) * (size_t)N));
    }
    gathers.wanted = gathers.gives = gathers.finished = false;
}

static cm_status expect_slots(void)
{
    const cm_ckks_expected expected = {
        .slots = CM_SLOTS_REAL, .precision = CM_FIXED_31, .number = CM_FLOAT32, .largest = 1};
    return cm_ckks_expect(&receiver.decryptor, &expected);
}

static void what_it_decrypts_of_ckks_is_left_as_it_is(void)
{
    static const uint8_t frames[60] = {1};
    start_receiver();
    gathers.wanted = gathers.gives = true;
    CHECK(expect_slots() == CM_OK);
    CHECK(cm_decryptor_feed(&receiver.decryptor, frames, sizeof frames) == CM_OK);
    CHECK(cm_bfv_decrypt(&receiver.decryptor) == CM_ERR_ARGUMENT);
    CHECK(cm_ckks_decrypt(&receiver.decryptor) == CM_OK);
    CHECK(((uint32_t *)(void *)receiver.arena)[300] == 300u);
    CHECK(receiver.decryptor.decryption.counter == GIVEN_COUNTER);
    CHECK(receiver.decryptor.decryption.scale_bits == GIVEN_SCALE);
    CHECK(wiped_from(2u * (size_t)N));
    CHECK(cm_ckks_decrypt(&receiver.decryptor) == CM_ERR_ARGUMENT);
    gathers.wanted = gathers.gives = false;
}

/* Noise for values that are shared is portable C's. */
static void what_is_shared_is_handed_back(void)
{
    static const uint8_t frames[60] = {'C', 'M', 9};
    test_platform platform = {RANDOM_GOOD};
    cm_device device;
    CHECK(test_device_start(&device, &platform) == CM_OK);
    start_receiver();
    gathers.gives = true;
    cm_status either[2];
    for (unsigned i = 0; i < 2; i++) {
        gathers.wanted = i;
        CHECK(expect_slots() == CM_OK);
        (void)!cm_decryptor_feed(&receiver.decryptor, frames, sizeof frames);
        either[i] = cm_ckks_decrypt_shared(&receiver.decryptor, &device, 10);
        CHECK(wiped_from(0));
    }
    CHECK(either[0] == either[1] && either[0] != CM_OK);
    gathers.wanted = gathers.gives = false;
}

/* Whether it hands back because its room is full or at the end, the library says what it says without it. */
static void what_it_hands_back_has_the_library_s_status(void)
{
    static const uint8_t frames[200] = {'C', 'M', 9};
    start_receiver();
    for (size_t length = 0; length <= sizeof frames; length += 40u) {
        gathers.wanted = false;
        const cm_status plain = decrypt_bytes(CM_UINT16, 1500, frames, length);
        gathers.wanted = true;
        CHECK(plain != CM_OK);
        for (unsigned i = 0; i < 2; i++) {
            gathers.tries = i;
            CHECK(decrypt_bytes(CM_UINT16, 1500, frames, length) == plain);
            CHECK(gathers.decryptor == NULL && wiped_from(0));
        }
    }
    gathers.wanted = gathers.tries = false;
}

static void it_forgets_what_is_abandoned(void)
{
    gathers.wanted = true;
    for (unsigned way = 0; way < 3; way++) {
        start_receiver();
        CHECK(expect_numbers(CM_UINT16, 1500) == CM_OK);
        CHECK(gathers.decryptor == &receiver.decryptor);
        if (way == 0) {
            cm_decryptor_wipe(&receiver.decryptor);
        } else if (way == 1) {
            start_receiver();
        } else {
            (void)!cm_bfv_expect_noise(&receiver.decryptor, 1500, 0);
        }
        CHECK(gathers.decryptor == NULL);
    }
    gathers.wanted = false;
}

/* With a key that only the back-end has, portable C does nothing in its place, and the arena stays clean. */
static void a_key_that_the_back_end_keeps_is_used_by_it_alone(void)
{
    static uint8_t ternary[CM_TERNARY_BYTES(N)];
    static uint8_t arena[CM_BFV_SYMMETRIC_ARENA_BYTES(N, CM_BFV_16, 0) + CM_PUBLIC_KEY_ARENA_BYTES(N, 0)]
        __attribute__((aligned(8)));
    const uint16_t numbers[1] = {1};
    const uint8_t byte = 0;
    const cm_status done = CM_OK;
    const cm_bfv_values values = {.data = numbers,
                                  .count = 1,
                                  .number = CM_UINT16,
                                  .encoding = CM_BFV_COEFFICIENTS,
                                  .width = CM_BFV_16,
                                  .plain_modulus = 17,
                                  .largest = 16};
    test_platform platform = {RANDOM_GOOD};
    cm_device device;
    cm_frame_writer writer;
    cm_encryptor encryptor;
    uint64_t key_id = 0;
    const cm_sink sink = {refuse, NULL};
    CHECK(test_device_start(&device, &platform) == CM_OK);
    cm_frame_writer_init(&writer, sink);
    const cm_encryptor_setup setup = {.device = &device,
                                      .emitter = &writer.emitter,
                                      .arena = arena,
                                      .arena_bytes = sizeof arena,
                                      .xof = CM_XOF_CHACHA20};
    keys.wanted = true;
    CHECK(cm_device_make_secret_key(&device, &cm_n1024_q26, ternary, &key_id) == CM_OK);
    CHECK(key_id == MADE_KEY_ID && device.counter.next == 0);
    CHECK(cm_device_emit_public_key(&setup, &cm_n1024_q26, ternary, key_id) == CM_OK);
    CHECK(keys.published == 1 && keys.published_key == ternary);
    keys.wanted = false;
    CHECK(cm_device_emit_public_key(&setup, &cm_n1024_q26, ternary, key_id) == CM_ERR_UNSUPPORTED);

    const cm_secret_key key = {.params = &cm_n1024_q26, .key_id = key_id, .ternary = ternary};
    CHECK(cm_encryptor_init_symmetric(&encryptor, &key, &setup) == CM_OK);
    answers = &done;
    CHECK(cm_bfv_encrypt(&encryptor, &values) == CM_OK && offered_key == &key);
    answers = NULL;
    CHECK(cm_bfv_encrypt(&encryptor, &values) == CM_ERR_UNSUPPORTED);
    CHECK(device.counter.next == 0);

    start_receiver();
    receiver.key = key;
    const cm_decryptor_setup lent = {.arena = receiver.arena, .arena_bytes = sizeof receiver.arena};
    CHECK(cm_decryptor_init(&receiver.decryptor, &receiver.key, &lent) == CM_OK);
    CHECK(expect_numbers(CM_UINT16, 17) == CM_OK);
    CHECK(cm_decryptor_feed(&receiver.decryptor, &byte, 1) == CM_ERR_UNSUPPORTED);
    CHECK(cm_bfv_decrypt(&receiver.decryptor) == CM_ERR_UNSUPPORTED);

    ternary[0] = 0; /* neither a key nor a name */
    CHECK(cm_encryptor_init_symmetric(&encryptor, &key, &setup) == CM_ERR_ARGUMENT);
    CHECK(cm_device_emit_public_key(&setup, &cm_n1024_q26, ternary, key_id) == CM_ERR_ARGUMENT);
}

static int take(void *context, const uint8_t *bytes, size_t length)
{
    (void)context;
    (void)bytes;
    (void)length;
    return 0;
}

static cm_status clear_values(void *context, unsigned round, void *values, uint32_t count)
{
    (void)round;
    memset(values, 0, 2u * count);
    *(uint32_t *)context += count;
    return CM_OK;
}

/* What a back-end decrypts in a session answers this round, or it is wiped before the step sees it. */
static void an_answer_to_another_round_ends_the_session(void)
{
    static uint8_t arena[CM_AIDED_BFV_ARENA_BYTES(N, CM_BFV_16, CM_BFV_SUMS_32, 0)]
        __attribute__((aligned(8)));
    static cm_aided aided;
    static const struct {
        uint64_t counter;
        cm_status status;
    } sent[] = {{GIVEN_COUNTER, CM_OK}, {GIVEN_COUNTER + 1, CM_ERR_FRAME_FOREIGN}};
    const cm_aided_plan plan = {.scheme = CM_BFV,
                                .rounds = 2,
                                .bfv = {.encoding = CM_BFV_COEFFICIENTS,
                                        .number = CM_UINT16,
                                        .sums = CM_BFV_SUMS_32,
                                        .plain_modulus = 17}};
    const uint8_t bytes[8] = {0};
    start_receiver();
    for (unsigned i = 0; i < sizeof sent / sizeof sent[0]; i++) {
        test_platform platform = {RANDOM_GOOD, .stored = sent[i].counter};
        cm_device device;
        cm_frame_writer writer;
        uint32_t stepped = 0;
        CHECK(test_device_start(&device, &platform) == CM_OK);
        cm_frame_writer_init(&writer, (cm_sink){take, NULL});
        const cm_encryptor_setup setup = {.device = &device,
                                          .emitter = &writer.emitter,
                                          .arena = arena,
                                          .arena_bytes = sizeof arena,
                                          .xof = CM_XOF_CHACHA20};
        memset(arena, 0, sizeof arena);
        CHECK(cm_aided_begin(&aided, &receiver.key, &plan, &setup) == CM_OK);
        gathers.wanted = gathers.gives = true;
        CHECK(cm_aided_send(&aided, N) == CM_OK);
        CHECK(gathers.decryptor == &aided.decryptor);
        CHECK(cm_aided_feed(&aided, bytes, sizeof bytes) == CM_OK && gathers.length == sizeof bytes);
        CHECK(cm_aided_answer(&aided, clear_values, &stepped) == sent[i].status);
        CHECK(stepped == (sent[i].status == CM_OK ? N : 0u));
        cm_aided_wipe(&aided);
        CHECK(gathers.decryptor == NULL);
        for (size_t j = 0; j < sizeof arena; j++) {
            CHECK(arena[j] == 0);
        }
        gathers.wanted = gathers.gives = false;
    }
}

void test_arch(void)
{
    RUN(an_answer_to_another_round_ends_the_session);
    RUN(a_key_that_the_back_end_keeps_is_used_by_it_alone);
    RUN(what_it_decrypts_becomes_the_numbers_expected);
    RUN(what_is_finished_stays_as_it_is);
    RUN(what_it_decrypts_of_ckks_is_left_as_it_is);
    RUN(what_is_shared_is_handed_back);
    RUN(what_it_hands_back_has_the_library_s_status);
    RUN(it_forgets_what_is_abandoned);
    RUN(the_other_tests_went_through_the_back_end);
    RUN(what_it_answers_to_a_whole_encryption_is_the_call_s);
}

#endif
