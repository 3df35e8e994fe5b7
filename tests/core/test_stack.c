/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls leave nothing on the stack that depends on a secret. Each call runs twice on the test's own stack,
 * with the same public inputs and different secrets - device secret, randomness, keys, values - and any byte
 * that differs afterwards depends on them. This needs a system whose stacks it can change, and no sanitizer,
 * which would keep frames elsewhere.
 */
#include "check.h"
#include "decrypting.h"
#include "encrypting.h"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#define SANITIZED __has_feature(address_sanitizer) /* how clang says so */
#else
#define SANITIZED 0
#endif

/* Without an operating system, where there is memory for this: RISC-V of 32 bits, and Cortex-M from ARMv7-M
   on. */
#if !defined(__linux__) && \
    ((defined(__riscv_xlen) && __riscv_xlen == 32) || (defined(__ARM_ARCH) && __ARM_ARCH >= 7))
#define BARE 1
#else
#define BARE 0
#endif

#if (defined(__linux__) || BARE) && !SANITIZED && !defined(CM_TEST_NO_STACK)
#define SEARCHES_STACK 1
#else
#define SEARCHES_STACK 0
#endif

#if SEARCHES_STACK

#if !BARE
#include <ucontext.h>
#endif

#include "build.h"
#include "common/bytes.h"
#include "common/compiler.h"
#include "common/wipe.h"
#include "platform.h"
#include "scheme/compact.h"
#include "secret_key.h"
#include "wire/tag.h"

/* A preset's own depth, with its own tiles. The public residues lie deeper, and are left out. */
#if BARE && CM_CONFIG_PRESET != CM_CONFIG_PRESET_NONE && !defined(CM_TEST_LOG2_TILES) && \
    (CM_CONFIG_PRESET == CM_CONFIG_PRESET_TINY || defined(CM_TEST_FEW_RESIDUES))
#define WIPES_AS_PRESET 1
#else
#define WIPES_AS_PRESET 0
#endif
/* How deep polynomials of any tiles need it, and eighths of one at 31 bits on cores of 32 bits, without
   sessions: the micro:bit's port. */
#define WIPES_WHOLE (CM_CONFIG_WIPE_STACK_BYTES >= 4096 || WIPES_AS_PRESET)
#define WIPES_EIGHTHS \
    (CM_CONFIG_WIPE_STACK_BYTES >= 744 && BARE && BUILD_LOG2_TILES == 3 && !CM_CONFIG_PRECISION_63)

enum { N = 1024, T = 12289, KEY_ID = 1, LOG2_SCALE = 18, FILL = 0xA5 };
#if defined(__ARM_ARCH) && BARE
enum { STACK_BYTES = 32 * 1024 }; /* the board has no room for more beside the other tests */
#else
enum { STACK_BYTES = 256 * 1024 };
#endif

/* A system's switch back to the test's own stack uses this much above the call's frames: it puts registers
   there, and with them what the call left in those that it need not keep. */
enum { SWITCH_BYTES = BARE ? 0 : 256 };

static const cm_params *const params = &cm_n1024_q26;

/* What calls work on is outside the stack, so that its own bytes do not count. */
static uint64_t arena[BUILD_MOST_ARENA_BYTES(N) / 8];
static uint8_t ternary[CM_TERNARY_BYTES(N)];
static uint32_t public_words[2 * N];
static uint32_t output[2 * N];
static uint32_t integers[N];
static uint16_t readings[N];
static float reals[N / 2];
static uint8_t seed[CM_SEED_BYTES];
static uint8_t device_secret[CM_DEVICE_SECRET_BYTES];
static cm_secret_key secret_key;
static cm_flat_public_key flat = {public_words, N};
static cm_device device;
static test_platform platform;
static cm_frame_writer frames;
static cm_frame_reader reader;
static cm_decryption decryption;
static cm_aided aided;
static cm_encryptor encryptor;
static cm_decryptor decryptor;
static cm_compact_encryptor compact;
static uint8_t compact_material[CM_COMPACT_MATERIAL_BYTES];
static uint16_t compact_readings[8];
static uint64_t key_id;
static unsigned budget;
static cm_status outcome;

static int drop(void *context, const uint8_t *bytes, size_t count)
{
    (void)context;
    (void)bytes;
    (void)count;
    return 0;
}

static int refuse(void *context, const uint8_t *bytes, size_t count)
{
    (void)context;
    (void)bytes;
    return count > CM_FRAME_HEADER_BYTES ? -1 : 0;
}

static cm_emitter *open_writer(int (*write)(void *, const uint8_t *, size_t))
{
    cm_frame_writer_init(&frames, (cm_sink){write, NULL});
    return &frames.emitter;
}

/*
 * ---- a server, whose results are the same in both worlds ----
 *
 * c0 = 0 and c1 = factor, in NTT form: what decrypts is the secret times that.
 */

static uint8_t sent[8 * N + 256];
static size_t sent_bytes;
static cm_emitter server; /* takes what a session sends, and discards it */

static cm_status take_ciphertext(cm_emitter *self, const cm_ciphertext_info *info)
{
    (void)self;
    (void)info;
    return CM_OK;
}

static cm_status take_residues(cm_emitter *self, unsigned component, unsigned prime, unsigned tile,
                               const uint32_t *residues)
{
    (void)self;
    (void)component;
    (void)prime;
    (void)tile;
    (void)residues;
    return CM_OK;
}

static cm_status end_ciphertext(cm_emitter *self)
{
    (void)self;
    return CM_OK;
}

static cm_emitter *open_server(void)
{
    memset(&server, 0, sizeof server);
    server.begin = take_ciphertext;
    server.residues = take_residues;
    server.end = end_ciphertext;
    return &server;
}

static int store(void *context, const uint8_t *bytes, size_t count)
{
    (void)context;
    memcpy(sent + sent_bytes, bytes, count);
    sent_bytes += count;
    return 0;
}

static size_t frame_bytes; /* of each of a result's two */

static void return_result_of(cm_scheme scheme, uint64_t counter, cm_frame_sender *tagging)
{
    static uint32_t residues[2][N];
    const uint32_t factor = scheme == CM_BFV ? params->primes[0].q / T * 1000u : (uint32_t)1 << LOG2_SCALE;
    cm_ciphertext_info *info = &frames.emitter.info;
    cm_frame_writer_init(&frames, (cm_sink){store, NULL});
    cm_frame_writer_tag(&frames, tagging);
    info->params = params;
    info->scheme = scheme;
    info->ntt_form = true;
    info->components = 2;
    info->primes = 1;
    info->key_id = KEY_ID;
    info->counter = counter;
    if (scheme == CM_BFV) {
        info->plain_modulus = T;
    } else {
        info->scale_bits = (uint64_t)(1023 + LOG2_SCALE) << 52;
    }
    for (uint32_t i = 0; i < N; i++) {
        residues[1][i] = factor;
    }
    sent_bytes = 0;
    for (unsigned component = 2; component-- > 0;) {
        CHECK(frames.emitter.residues(&frames.emitter, component, 0, 0, residues[component]) == CM_OK);
    }
    frame_bytes = sent_bytes / 2u;
}

static void return_result(cm_scheme scheme, uint64_t counter)
{
    return_result_of(scheme, counter, NULL);
}

static void return_integers(void)
{
    return_result(CM_BFV, 0);
}

static void return_reals(void)
{
    return_result(CM_CKKS, 0);
}

typedef void call_function(void);

/* ---- the calls, each as it runs on the stack that is inspected ---- */

static void start_device(void)
{
    const cm_platform callbacks = {test_random_bytes, test_counter_read, test_counter_write, &platform};
    outcome = cm_device_init(&device, device_secret, &callbacks);
}

static void draw_key(void)
{
    outcome = cm_secret_key_generate(params, seed, ternary);
}

static void find_residues(void)
{
    outcome = cm_secret_key_residues(params, ternary, 0, output);
}

static void transform_key(void)
{
    outcome = cm_secret_key_transform(params, ternary, 0, output);
}

static void encrypt_zero(void)
{
    outcome = cm_zero_encryption(params, ternary, seed, 0, output, output + N);
}

static void make_key(void)
{
    outcome = cm_device_make_secret_key(&device, params, ternary, &key_id);
}

static void make_key_without_counter(void)
{
    device.counter.reserved = device.counter.next; /* the next one takes a reservation */
    platform.write_fails = true;
    make_key();
}

static void make_key_from_a_stuck_source(void)
{
    platform.mode = RANDOM_EQUAL_HALVES;
    make_key();
}

static void export_key(void)
{
    outcome = test_emit_public_key(&device, params, ternary, KEY_ID, CM_XOF_CHACHA20, arena, sizeof arena,
                                   open_writer(drop));
}

static void export_key_to_a_full_sink(void)
{
    outcome = test_emit_public_key(&device, params, ternary, KEY_ID, CM_XOF_CHACHA20, arena, sizeof arena,
                                   open_writer(refuse));
}

static cm_public_key public_key(void)
{
    return (cm_public_key){params, KEY_ID, cm_flat_public_key_polynomial, &flat, NULL};
}

static cm_ckks_values real_values(cm_precision precision)
{
    return (cm_ckks_values){.data = reals,
                            .count = N / 2,
                            .number = CM_FLOAT32,
                            .slots = CM_SLOTS_REAL,
                            .log2_scale = LOG2_SCALE,
                            .precision = precision,
                            .largest = 16};
}

static void encrypt_reals_to(cm_emitter *emitter, cm_precision precision)
{
    const cm_ckks_values values = real_values(precision);
    outcome =
        test_ckks_symmetric(&device, &secret_key, CM_XOF_CHACHA20, &values, arena, sizeof arena, emitter);
}

static void encrypt_reals_at_31_bits(void)
{
    encrypt_reals_to(open_writer(drop), CM_FIXED_31);
}

static void encrypt_reals_at_63_bits(void)
{
    encrypt_reals_to(open_writer(drop), CM_FIXED_63);
}

static void encrypt_reals_to_a_full_sink(void)
{
    encrypt_reals_to(open_writer(refuse), BUILD_PRECISION);
}

static void encrypt_reals_with_the_public_key(void)
{
    const cm_ckks_values values = real_values(BUILD_PRECISION);
    const cm_public_key key = public_key();
    outcome = test_ckks_asymmetric(&device, &key, &values, arena, sizeof arena, open_writer(drop));
}

static void encrypt_a_real_out_of_range(void)
{
    cm_ckks_values values = real_values(BUILD_PRECISION);
    values.largest = 0.001f;
    outcome = test_ckks_symmetric(&device, &secret_key, CM_XOF_CHACHA20, &values, arena, sizeof arena,
                                  open_writer(drop));
}

static cm_bfv_values integer_values(void)
{
    return (cm_bfv_values){.data = integers,
                           .count = N,
                           .number = CM_UINT32,
                           .encoding = CM_BFV_BATCH,
                           .width = CM_BFV_32,
                           .plain_modulus = T,
                           .largest = T - 1};
}

static void encrypt_integers_to(cm_emitter *emitter, cm_domain domain)
{
    cm_bfv_values values = integer_values();
    values.domain = domain;
    outcome =
        test_bfv_symmetric(&device, &secret_key, CM_XOF_CHACHA20, &values, arena, sizeof arena, emitter);
}

static void encrypt_integers(void)
{
    encrypt_integers_to(open_writer(drop), CM_DOMAIN_NTT);
}

static void encrypt_integers_into_coefficients(void)
{
    encrypt_integers_to(open_writer(drop), CM_DOMAIN_COEFFICIENTS);
}

static void encrypt_integers_with_the_public_key(void)
{
    const cm_bfv_values values = integer_values();
    const cm_public_key key = public_key();
    outcome = test_bfv_asymmetric(&device, &key, &values, arena, sizeof arena, open_writer(drop));
}

static uint16_t read_integer(void *context, uint16_t index)
{
    return ((const uint16_t *)context)[index];
}

static void encrypt_readings(void)
{
    const cm_bfv_reader values = {
        .read = read_integer, .context = readings, .count = N, .plain_modulus = T, .largest = T - 1};
    outcome =
        test_bfv_read(&device, &secret_key, CM_XOF_CHACHA20, &values, arena, sizeof arena, open_writer(drop));
}

/* ---- calls that look at keys and values, to open or to refuse ---- */

static void open_encryptor(void)
{
    const cm_encryptor_setup setup = {.device = &device,
                                      .emitter = open_writer(drop),
                                      .arena = arena,
                                      .arena_bytes = sizeof arena,
                                      .xof = CM_XOF_CHACHA20,
                                      .log2_tiles = BUILD_LOG2_TILES};
    outcome = cm_encryptor_init_symmetric(&encryptor, &secret_key, &setup);
}

static void open_decryptor(void)
{
    const cm_decryptor_setup setup = {.arena = arena, .arena_bytes = sizeof arena};
    outcome = cm_decryptor_init(&decryptor, &secret_key, &setup);
}

static void open_compact(void)
{
    static cm_compact_key key;
    key = (cm_compact_key){&cm_compact_a10, ternary, compact_material, 7, 3, 4090};
    const cm_compact_setup setup = {.counter = &device.counter,
                                    .sink = {drop, NULL},
                                    .arena = arena,
                                    .arena_bytes = CM_COMPACT_ARENA_BYTES(1, 8, 67),
                                    .packet_bytes = 67};
    outcome = cm_compact_init(&compact, &key, &setup);
}

static void encrypt_compact_readings(void)
{
    uint64_t window = CM_NEW_WINDOW;
    platform.state = 0;
    open_compact();
    if (outcome == CM_OK) {
        outcome = cm_compact_encrypt(&compact, compact_readings, 0, 8, &window);
    }
}

static void encrypt_a_compact_reading_out_of_range(void)
{
    compact_readings[7] = 4091;
    encrypt_compact_readings();
}

/* ---- decryptions of what the server returned ---- */

static void feed(size_t length)
{
    cm_frame_reader_init(&reader, params, &decryption.receiver);
    if (outcome == CM_OK) {
        outcome = cm_frame_reader_feed(&reader, sent, length);
    }
}

static cm_bfv_expected expected_integers(void)
{
    return (cm_bfv_expected){
        .encoding = CM_BFV_BATCH, .number = CM_UINT32, .sums = CM_BFV_SUMS_32, .plain_modulus = T};
}

static void begin_integers(void)
{
    const cm_bfv_expected expected = expected_integers();
    outcome = test_bfv_begin(&decryption, &secret_key, &expected, arena, sizeof arena);
}

static void decrypt_integers(void)
{
    begin_integers();
    feed(sent_bytes);
    if (outcome == CM_OK) {
        outcome = cmi_bfv_decryption_end(&decryption);
    }
}

static void give_up_a_decryption(void)
{
    begin_integers();
    feed(sent_bytes * 3u / 4u);
    cmi_decryption_wipe(&decryption);
}

static void end_a_decryption_too_early(void)
{
    begin_integers();
    feed(sent_bytes * 3u / 4u);
    outcome = cmi_bfv_decryption_end(&decryption);
}

static void decrypt_a_damaged_frame(void)
{
    sent[sent_bytes - 1u] ^= 1u;
    begin_integers();
    feed(sent_bytes);
}

static void tell_noise_budget(void)
{
    outcome = test_noise_begin(&decryption, &secret_key, T, 0, arena, sizeof arena);
    feed(sent_bytes);
    if (outcome == CM_OK) {
        outcome = cmi_noise_budget(&decryption, &budget);
    }
}

static cm_ckks_expected expected_reals(cm_precision precision, cm_number number)
{
    return (cm_ckks_expected){
        .slots = CM_SLOTS_REAL, .precision = precision, .number = number, .largest = 60};
}

static void begin_reals(cm_precision precision, cm_number number, int16_t exponent)
{
    cm_ckks_expected expected = expected_reals(precision, number);
    expected.exponent = exponent;
    outcome = test_ckks_begin(&decryption, &secret_key, &expected, arena, sizeof arena);
    feed(sent_bytes);
}

static void decrypt_reals(void)
{
    begin_reals(BUILD_PRECISION, CM_FLOAT32, 0);
    if (outcome == CM_OK) {
        outcome = cmi_ckks_decryption_end(&decryption);
    }
}

/* In units of 2^-60 no integer of 32 bits holds it. */
static void decrypt_a_real_out_of_range(void)
{
    begin_reals(BUILD_PRECISION, CM_INT32, -60);
    if (outcome == CM_OK) {
        outcome = cmi_ckks_decryption_end(&decryption);
    }
}

static void decrypt_reals_for_others(void)
{
    begin_reals(CM_FIXED_63, CM_FLOAT32, 0);
    if (outcome == CM_OK) {
        outcome = cmi_ckks_decryption_end_shared(&decryption, &device, 20);
    }
}

static void decrypt_reals_for_others_without_counter(void)
{
    begin_reals(CM_FIXED_63, CM_FLOAT32, 0);
    device.counter.reserved = device.counter.next;
    platform.write_fails = true;
    if (outcome == CM_OK) {
        outcome = cmi_ckks_decryption_end_shared(&decryption, &device, 20);
    }
}

/* ---- client-aided sessions ---- */

static cm_status add_one(void *context, unsigned round, void *values, uint32_t count)
{
    (void)context;
    (void)round;
    for (uint32_t i = 0; i < count; i++) {
        ((uint32_t *)values)[i] = (((uint32_t *)values)[i] + 1u) % T;
    }
    return CM_OK;
}

static cm_status fail(void *context, unsigned round, void *values, uint32_t count)
{
    (void)add_one(context, round, values, count);
    return CM_ERR_ARGUMENT;
}

static void begin_session(void)
{
    const cm_aided_plan plan = {.scheme = CM_BFV, .rounds = 2, .bfv = expected_integers()};
    const cm_encryptor_setup setup = {.device = &device,
                                      .emitter = open_server(),
                                      .arena = arena,
                                      .arena_bytes = sizeof arena,
                                      .xof = CM_XOF_CHACHA20,
                                      .log2_tiles = BUILD_LOG2_TILES};
    memcpy(arena, integers, sizeof integers);
    outcome = cm_aided_begin(&aided, &secret_key, &plan, &setup);
    if (outcome == CM_OK) {
        outcome = cm_aided_send(&aided, N);
        return_result(CM_BFV, server.info.counter);
    }
}

static void feed_session(size_t length)
{
    if (outcome == CM_OK) {
        outcome = cm_aided_feed(&aided, sent, length);
    }
}

static void answer_session(cm_aided_step step)
{
    feed_session(sent_bytes);
    if (outcome == CM_OK) {
        (void)open_server();
        outcome = cm_aided_answer(&aided, step, NULL);
        return_result(CM_BFV, server.info.counter);
    }
}

static void send_in_a_session(void)
{
    begin_session();
}

static void answer_in_a_session(void)
{
    begin_session();
    answer_session(add_one);
}

static void hold_a_session(void)
{
    begin_session();
    answer_session(add_one);
    feed_session(sent_bytes);
    if (outcome == CM_OK) {
        outcome = cm_aided_finish(&aided);
    }
}

static void give_up_a_session(void)
{
    begin_session();
    feed_session(sent_bytes * 3u / 4u);
    cm_aided_wipe(&aided);
}

static void step_wrong_in_a_session(void)
{
    begin_session();
    answer_session(fail);
}

static void damage_a_frame_of_a_session(void)
{
    begin_session();
    sent[sent_bytes - 1u] ^= 1u;
    feed_session(sent_bytes);
}

/* ---- tags that are checked ---- */

enum { RECEIPT_MESSAGE = CM_RECEIPT_BYTES - CM_TAG_BYTES, RESULT_DEVICE = 7, RESULT_EPOCH = 3 };

static uint8_t tag_key[CM_TAG_KEY_BYTES];
static cm_frame_sender sender;
static cm_frame_expected results;
static cm_frame parsed;
static cm_attempt attempt;
static cm_verdict verdict;

/* The tag of what has been sent, behind it. */
static void tag_what_was_sent(size_t length, uint32_t more)
{
    cmi_tagger tagger;
    cmi_stream stream;
    uint32_t position[4];
    uint8_t last[4];
    cmi_store32(last, more);
    cmi_tagger_begin(&tagger, tag_key);
    cmi_tagger_update(&tagger, sent, length);
    cmi_tagger_update(&tagger, last, more ? sizeof last : 0u);
    cmi_tagger_finish(&tagger, position);
    cmi_stream_derive(&stream, tag_key, position);
    memcpy(sent + length, stream.block, CM_TAG_BYTES);
    sent_bytes = length + CM_TAG_BYTES;
}

/* What comes back for the attempt that was sent: a receipt, a packet's bytes or a frame of a result. */
static void return_receipt(void)
{
    memset(&attempt, 0, sizeof attempt);
    memset(sent, 0, RECEIPT_MESSAGE);
    sent[0] = 0x22;
    sent[1] = CM_VERDICT_COUNTED;
    tag_what_was_sent(RECEIPT_MESSAGE, 0);
}

static void return_packet(void)
{
    memset(sent, 0x31, 100);
    tag_what_was_sent(100, 9);
}

static void return_tagged_result(void)
{
    const cm_ciphertext_info *info = &frames.emitter.info;
    cm_frame_sender_init(&sender, tag_key, RESULT_DEVICE, RESULT_EPOCH);
    sender.window = 0;
    return_result_of(CM_BFV, 0, &sender);
    cm_frame_expected_init(&results, tag_key, RESULT_DEVICE, RESULT_EPOCH);
    cm_frame_expect_answer(&results, &sender, info);
}

static void check_receipt(void)
{
    outcome = cm_receipt_check(sent, sent_bytes, tag_key, &attempt, &verdict);
}

static void check_packet(void)
{
    const cm_compact_frame packet = {.packet = sent, .packet_bytes = sent_bytes};
    outcome = cm_compact_frame_verify(&packet, tag_key, 9);
}

static void check_frame(void)
{
    outcome = cm_frame_parse(sent + sent_bytes - frame_bytes, frame_bytes, params, &parsed);
    if (outcome == CM_OK) {
        outcome = cm_frame_verify(&parsed, tag_key);
    }
}

static void decrypt_a_tagged_result(void)
{
    begin_integers();
    cm_frame_reader_init(&reader, params, &decryption.receiver);
    cm_frame_reader_expect(&reader, &results);
    if (outcome == CM_OK) {
        outcome = cm_frame_reader_feed(&reader, sent, sent_bytes);
    }
    if (outcome == CM_OK) {
        outcome = cmi_bfv_decryption_end(&decryption);
    }
}

static void forge(void)
{
    sent[sent_bytes - 1u] ^= 1u;
}

static void check_a_forged_receipt(void)
{
    forge();
    check_receipt();
}

static void check_a_forged_packet(void)
{
    forge();
    check_packet();
}

/* The checksum is the sender's own. */
static void forge_the_frame(void)
{
    const size_t covered = sent_bytes - CM_FRAME_CRC_BYTES;
    sent[covered - 1u] ^= 1u;
    cmi_store32(sent + covered, cm_crc32c(0, sent + covered - frame_bytes + CM_FRAME_CRC_BYTES,
                                          frame_bytes - CM_FRAME_CRC_BYTES));
}

static void check_a_forged_frame(void)
{
    forge_the_frame();
    check_frame();
}

static void decrypt_a_forged_result(void)
{
    forge_the_frame();
    decrypt_a_tagged_result();
}

static _Alignas(16) uint8_t stack[STACK_BYTES];

#if BARE

/* With zeros in the registers that a call may save for its caller. */
#if defined(__ARM_ARCH)
#if defined(__ARM_FP)
#define SAVE_FLOATS "vpush {s16-s31}\n\t"
#define CLEAR_FLOATS \
    "vmov d8, r5, r5; vmov d9, r5, r5; vmov d10, r5, r5; vmov d11, r5, r5\n\t" \
    "vmov d12, r5, r5; vmov d13, r5, r5; vmov d14, r5, r5; vmov d15, r5, r5\n\t"
#define RESTORE_FLOATS "vpop {s16-s31}\n\t"
#else
#define SAVE_FLOATS
#define CLEAR_FLOATS
#define RESTORE_FLOATS
#endif

static __attribute__((naked, noinline)) void call_with_stack(call_function *call, uint8_t *top)
{
    (void)call;
    (void)top;
    __asm__("push {r4-r11, lr}\n\t" SAVE_FLOATS "mov r4, sp; mov sp, r1; movs r5, #0\n\t" CLEAR_FLOATS
            "mov r6, r5; mov r7, r5; mov r8, r5; mov r9, r5; mov r10, r5; mov r11, r5\n\t"
            "blx r0\n\t"
            "mov sp, r4\n\t" RESTORE_FLOATS "pop {r4-r11, pc}");
}
#else
static __attribute__((naked, noinline)) void call_with_stack(call_function *call, uint8_t *top)
{
    __asm__("addi sp, sp, -64\n\t"
            "sw ra, 0(sp); sw s0, 4(sp); sw s1, 8(sp); sw s2, 12(sp); sw s3, 16(sp); sw s4, 20(sp)\n\t"
            "sw s5, 24(sp); sw s6, 28(sp); sw s7, 32(sp); sw s8, 36(sp); sw s9, 40(sp)\n\t"
            "sw s10, 44(sp); sw s11, 48(sp)\n\t"
            "mv s0, sp; mv sp, a1; li s1, 0; li s2, 0; li s3, 0; li s4, 0; li s5, 0; li s6, 0\n\t"
            "li s7, 0; li s8, 0; li s9, 0; li s10, 0; li s11, 0\n\t"
            "jalr a0\n\t"
            "mv sp, s0\n\t"
            "lw ra, 0(sp); lw s0, 4(sp); lw s1, 8(sp); lw s2, 12(sp); lw s3, 16(sp); lw s4, 20(sp)\n\t"
            "lw s5, 24(sp); lw s6, 28(sp); lw s7, 32(sp); lw s8, 36(sp); lw s9, 40(sp)\n\t"
            "lw s10, 44(sp); lw s11, 48(sp)\n\t"
            "addi sp, sp, 64\n\t"
            "ret");
}
#endif

static void run_on_stack(call_function *call)
{
    memset(stack, FILL, sizeof stack);
    call_with_stack(call, stack + sizeof stack);
}

#else

static ucontext_t test_context;
static ucontext_t call_context;
static call_function *called;

static CM_NOINLINE void call_below_switch(void)
{
    uint8_t room[SWITCH_BYTES];
    __asm__ volatile("" : : "r"(room) : "memory");
    called();
    __asm__ volatile("" : : "r"(room) : "memory");
}

/* From the same register contents each time, because a call may save its caller's registers. */
static void run_on_stack(call_function *call)
{
    static ucontext_t first_context;
    static bool known;
    if (!known) {
        known = true;
        getcontext(&first_context);
    }
    memset(stack, FILL, sizeof stack);
    call_context = first_context;
    call_context.uc_stack.ss_sp = stack;
    call_context.uc_stack.ss_size = sizeof stack;
    call_context.uc_link = &test_context;
    called = call;
    makecontext(&call_context, call_below_switch, 0);
    swapcontext(&test_context, &call_context);
}

#endif

/* Switch to other secrets. */
static void enter_world(unsigned number)
{
    for (uint32_t i = 0; i < N; i++) {
        integers[i] = (i * 7919u + number * 1234u) % T;
        readings[i] = (uint16_t)integers[i];
        reals[i / 2u] = (float)integers[i] / 4096.0f - 1.5f;
    }
    for (uint32_t i = 0; i < 8; i++) {
        compact_readings[i] = (uint16_t)(readings[i] % 4091u);
    }
    for (uint32_t i = 0; i < sizeof compact_material; i++) {
        /* The header's random bytes stay, for they are public. */
        const unsigned differs = i >= CM_RANDOM_KEY && i < CM_TAG_KEY ? 0 : number;
        compact_material[i] = (uint8_t)(i * 13u + differs * 57u + 1u);
    }
    memset(&platform, 0, sizeof platform);
    platform.state = number * 77u;
    memset(seed, (int)(number + 3u), sizeof seed);
    for (uint32_t i = 0; i < sizeof tag_key; i++) {
        tag_key[i] = (uint8_t)(i * 11u + number * 101u + 5u);
    }
    memset(device_secret, (int)(number + 9u), sizeof device_secret);
    device_secret[0] = 1;
    memset(arena, 0, sizeof arena);
    start_device();
    draw_key();
    encrypt_zero();
    CHECK(outcome == CM_OK);
    memcpy(public_words, output, sizeof output);
    secret_key = test_secret_key(params, KEY_ID, ternary);
}

/* How many bytes of the stack differ between the worlds. */
static size_t bytes_that_tell(call_function *call, cm_status expected, call_function *answer)
{
    static uint8_t first[STACK_BYTES];
    size_t count = 0;
    for (unsigned number = 0; number < 2; number++) {
        memcpy(first, stack, sizeof first);
        enter_world(number);
        answer();
        run_on_stack(call);
        CHECK(outcome == expected);
    }
    for (size_t i = 0; i < STACK_BYTES - SWITCH_BYTES; i++) {
        count += first[i] != stack[i] ? 1u : 0u;
    }
    return count;
}

typedef struct named_call {
    const char *name;
    call_function *call;
    cm_status expected;
} named_call;

#define ENDS(call, status) \
    { \
#call, call, status \
    }

static void check_calls(const named_call *calls, size_t count, call_function *answer)
{
    for (size_t i = 0; i < count; i++) {
        const size_t telling = bytes_that_tell(calls[i].call, calls[i].expected, answer);
        if (!CHECK(telling == 0)) {
            printf("    %s: %lu bytes\n", calls[i].name, (unsigned long)telling);
        }
    }
}

#define CHECK_CALLS(calls, answer) check_calls(calls, sizeof(calls) / sizeof(calls)[0], answer)

static void keys_leave_no_trace_on_the_stack(void)
{
    const named_call calls[] = {
        ENDS(start_device, CM_OK),
        ENDS(draw_key, CM_OK),
        ENDS(find_residues, CM_OK),
        ENDS(transform_key, CM_OK),
        ENDS(encrypt_zero, CM_OK),
        ENDS(make_key, CM_OK),
        ENDS(make_key_without_counter, CM_ERR_COUNTER),
        ENDS(make_key_from_a_stuck_source, CM_ERR_RANDOM),
        ENDS(export_key, CM_OK),
        ENDS(export_key_to_a_full_sink, CM_ERR_SINK),
    };
    CHECK_CALLS(calls, return_integers);
}

static void openings_leave_no_trace_on_the_stack(void)
{
    const named_call calls[] = {
        ENDS(open_encryptor, CM_OK),
        ENDS(open_decryptor, CM_OK),
        ENDS(open_compact, CM_OK),
    };
    CHECK_CALLS(calls, return_integers);
}

static void encryptions_leave_no_trace_on_the_stack(void)
{
    const named_call calls[] = {
        ENDS(encrypt_reals_at_31_bits, CM_CONFIG_PRECISION_31 ? CM_OK : CM_ERR_UNSUPPORTED),
        ENDS(encrypt_reals_at_63_bits, CM_CONFIG_PRECISION_63 ? CM_OK : CM_ERR_UNSUPPORTED),
        ENDS(encrypt_reals_to_a_full_sink, CM_ERR_SINK),
        ENDS(encrypt_a_real_out_of_range, CM_ERR_VALUE_RANGE),
        ENDS(encrypt_reals_with_the_public_key, CM_OK),
        ENDS(encrypt_integers, CM_OK),
        ENDS(encrypt_integers_into_coefficients, CM_OK),
        ENDS(encrypt_integers_with_the_public_key, CM_OK),
        ENDS(encrypt_readings, CM_OK),
        ENDS(encrypt_compact_readings, CM_OK),
        ENDS(encrypt_a_compact_reading_out_of_range, CM_ERR_VALUE_RANGE),
    };
    CHECK_CALLS(calls, return_integers);
}

static void decryptions_leave_no_trace_on_the_stack(void)
{
    const named_call of_integers[] = {
        ENDS(decrypt_integers, CM_OK),
        ENDS(give_up_a_decryption, CM_OK),
        ENDS(end_a_decryption_too_early, CM_ERR_FRAME_SHORT),
        ENDS(decrypt_a_damaged_frame, CM_ERR_FRAME_CRC),
        ENDS(tell_noise_budget, CM_OK),
    };
    const named_call of_reals[] = {
        ENDS(decrypt_reals, CM_OK),
        ENDS(decrypt_a_real_out_of_range, CM_ERR_VALUE_RANGE),
    };
    CHECK_CALLS(of_integers, return_integers);
    CHECK_CALLS(of_reals, return_reals);
}

static void decryptions_for_others_leave_no_trace_on_the_stack(void)
{
    const named_call calls[] = {
        ENDS(decrypt_reals_for_others, CM_OK),
        ENDS(decrypt_reals_for_others_without_counter, CM_ERR_COUNTER),
    };
    CHECK_CALLS(calls, return_reals);
}

static void sessions_leave_no_trace_on_the_stack(void)
{
    const named_call calls[] = {
        ENDS(send_in_a_session, CM_OK),
        ENDS(answer_in_a_session, CM_OK),
        ENDS(hold_a_session, CM_OK),
        ENDS(give_up_a_session, CM_OK),
        ENDS(step_wrong_in_a_session, CM_ERR_ARGUMENT),
        ENDS(damage_a_frame_of_a_session, CM_ERR_FRAME_CRC),
    };
    CHECK_CALLS(calls, return_integers);
}

static void checks_of_tags_leave_no_trace_on_the_stack(void)
{
    const named_call of_receipts[] = {ENDS(check_receipt, CM_OK),
                                      ENDS(check_a_forged_receipt, CM_ERR_FRAME_TAG)};
    const named_call of_packets[] = {ENDS(check_packet, CM_OK),
                                     ENDS(check_a_forged_packet, CM_ERR_FRAME_TAG)};
    const named_call of_frames[] = {ENDS(check_frame, CM_OK), ENDS(check_a_forged_frame, CM_ERR_FRAME_TAG),
                                    ENDS(decrypt_a_tagged_result, CM_OK),
                                    ENDS(decrypt_a_forged_result, CM_ERR_FRAME_TAG)};
    CHECK_CALLS(of_receipts, return_receipt);
    CHECK_CALLS(of_packets, return_packet);
    CHECK_CALLS(of_frames, return_tagged_result);
}

/* ---- planted traces that must be found ---- */

static CM_NOINLINE void leave_a_copy(void)
{
    uint8_t copy[16];
    memcpy(copy, seed, sizeof copy);
    __asm__ volatile("" : : "r"(copy) : "memory");
}

static void wipe_a_copy(void)
{
    leave_a_copy();
    cmi_wipe_stack();
}

static void a_trace_on_the_stack_is_found_unless_it_is_wiped(void)
{
    outcome = CM_OK;
    CHECK(bytes_that_tell(leave_a_copy, CM_OK, return_integers) == 16);
    CHECK(bytes_that_tell(wipe_a_copy, CM_OK, return_integers) == 0);
}

#endif

void test_stack(void)
{
#if SEARCHES_STACK
    RUN_IF(WIPES_WHOLE || WIPES_EIGHTHS, a_trace_on_the_stack_is_found_unless_it_is_wiped);
    RUN_IF(WIPES_WHOLE || WIPES_EIGHTHS, keys_leave_no_trace_on_the_stack);
    RUN_IF(WIPES_WHOLE || WIPES_EIGHTHS, openings_leave_no_trace_on_the_stack);
    RUN_IF(WIPES_WHOLE || WIPES_EIGHTHS, encryptions_leave_no_trace_on_the_stack);
    RUN_IF(WIPES_WHOLE || WIPES_EIGHTHS, decryptions_leave_no_trace_on_the_stack);
    RUN_IF(WIPES_WHOLE || WIPES_EIGHTHS, checks_of_tags_leave_no_trace_on_the_stack);
    RUN_IF(WIPES_WHOLE && CM_CONFIG_PRECISION_63, decryptions_for_others_leave_no_trace_on_the_stack);
    RUN_IF(WIPES_WHOLE, sessions_leave_no_trace_on_the_stack);
#endif
}
