/* SPDX-License-Identifier: Apache-2.0 */
/* The wire: frames are read back as they were sent, hostile ones are refused, and sizes are as promised. */
#include <string.h>

#include "build.h"
#include "check.h"
#include "ciphermote/receipt.h"
#include "common/bytes.h"
#include "encrypting.h"
#include "platform.h"
#include "secret_key.h"

enum {
    N = 1024,
    FRAME_BYTES = CM_FRAME_HEADER_BYTES + N / 8 * 26 + CM_FRAME_CRC_BYTES,
    TILE_OVERHEAD = ((1 << BUILD_LOG2_TILES) - 1) * (CM_FRAME_HEADER_BYTES + CM_FRAME_CRC_BYTES)
};

/* One of SEAL's own, which the build has if it has any. */

static const cm_params *const params = &cm_n1024_q26;

static uint8_t bytes[8 * FRAME_BYTES];
static size_t length;
static size_t sink_room;

static int store(void *context, const uint8_t *data, size_t count)
{
    (void)context;
    if (length + count > sink_room) {
        return -1;
    }
    memcpy(bytes + length, data, count);
    length += count;
    return 0;
}

static int count_only(void *context, const uint8_t *data, size_t count)
{
    (void)context;
    (void)data;
    length += count;
    return 0;
}

static void reset_sink(size_t room)
{
    length = 0;
    sink_room = room;
}

/* One frame of residues 0, 1, q - 1 and a pattern. */
static const uint32_t *send_one_frame(cm_frame_writer *writer)
{
    static uint32_t residues[N];
    const cm_sink sink = {store, NULL};
    for (uint32_t i = 0; i < N; i++) {
        residues[i] = (i * 2654435761u >> 3) % params->primes[0].q;
    }
    residues[1] = 0;
    residues[2] = params->primes[0].q - 1;
    cm_frame_writer_init(writer, sink);
    cm_ciphertext_info *info = &writer->emitter.info;
    info->params = params;
    info->scheme = CM_CKKS;
    info->ntt_form = true;
    info->components = 2;
    info->primes = 1;
    info->key_id = 0x1122334455667788u;
    info->counter = 0x99AABBCCDDEEFF00u;
    info->scale_bits = (uint64_t)(1023 + 18) << 52;
    reset_sink(sizeof bytes);
    CHECK(writer->emitter.begin(&writer->emitter, info) == CM_OK);
    CHECK(writer->emitter.residues(&writer->emitter, 1, 0, 0, residues) == CM_OK);
    CHECK(writer->emitter.end(&writer->emitter) == CM_OK);
    return residues;
}

static void check_sum_is_castagnoli(void)
{
    CHECK(cm_crc32c(0, (const uint8_t *)"123456789", 9) == 0xE3069283u);
    CHECK(cm_crc32c(cm_crc32c(0, (const uint8_t *)"1234", 4), (const uint8_t *)"56789", 5) == 0xE3069283u);
}

/* A back-end takes a long message in several streams. */
static void check_sum_of_any_length_is_that_of_its_bits(void)
{
    enum { LONGEST = 2400 };
    static uint8_t message[LONGEST + 1];
    for (unsigned i = 0; i < sizeof message; i++) {
        message[i] = (uint8_t)(i * i >> 3 ^ i);
    }
    uint32_t bit_by_bit = ~UINT32_C(0);
    for (unsigned count = 0; count < LONGEST; count++) {
        if (count % 64 < 3 || count % 64 > 61) {
            CHECK(cm_crc32c(0, message + 1, count) == ~bit_by_bit);
        }
        bit_by_bit ^= message[1 + count];
        for (unsigned bit = 0; bit < 8; bit++) {
            bit_by_bit = bit_by_bit >> 1 ^ (bit_by_bit & 1 ? UINT32_C(0x82F63B78) : 0);
        }
    }
}

static void a_frame_comes_back_as_it_was_sent(void)
{
    static uint32_t back[N];
    cm_frame_writer writer;
    cm_frame frame;
    const uint32_t *residues = send_one_frame(&writer);
    CHECK(length == FRAME_BYTES);
    CHECK(cm_frame_parse(bytes, length, params, &frame) == CM_OK);
    CHECK(frame.frame_bytes == length && frame.residue_count == N && frame.payload == CM_PAYLOAD_RESIDUES);
    CHECK(frame.component == 1 && frame.prime == 0 && frame.tile == 0 && frame.log2_tiles == 0);
    CHECK(frame.info.params == params && frame.info.scheme == CM_CKKS && frame.info.ntt_form);
    CHECK(frame.info.key_id == 0x1122334455667788u && frame.info.counter == 0x99AABBCCDDEEFF00u);
    CHECK(frame.info.components == 2 && frame.info.primes == 1 && frame.info.xof == CM_XOF_NONE);
    CHECK(cm_frame_unpack(&frame, back) == CM_OK);
    CHECK_BYTES(back, residues, sizeof back);
    CHECK(cm_frame_parse(bytes, length, NULL, &frame) == CM_OK && frame.info.params == params);
}

static void a_seed_frame_carries_the_seed(void)
{
    const cm_sink sink = {store, NULL};
    cm_frame_writer writer;
    cm_frame frame;
    (void)send_one_frame(&writer);
    cm_ciphertext_info info = writer.emitter.info;
    for (unsigned xof = CM_XOF_BLAKE2XB; xof <= CM_XOF_CHACHA20; xof++) {
        info.xof = (cm_xof_kind)xof;
        memset(info.seed, (int)xof, sizeof info.seed);
        cm_frame_writer_init(&writer, sink);
        writer.emitter.info = info;
        reset_sink(sizeof bytes);
        CHECK(writer.emitter.begin(&writer.emitter, &writer.emitter.info) == CM_OK);
        if (!build_has_xof(info.xof)) {
            CHECK(cm_frame_parse(bytes, length, params, &frame) != CM_OK);
            continue;
        }
        CHECK(length == CM_FRAME_HEADER_BYTES + cm_public_seed_bytes(info.xof) + CM_FRAME_CRC_BYTES);
        CHECK(cm_frame_parse(bytes, length, params, &frame) == CM_OK);
        CHECK(frame.payload == CM_PAYLOAD_SEED && frame.residue_count == 0);
        CHECK_BYTES(frame.info.seed, info.seed, cm_public_seed_bytes(info.xof));
        CHECK(cm_frame_unpack(&frame, (uint32_t[1]){0}) == CM_ERR_ARGUMENT);
    }
}

static void every_truncation_is_short(void)
{
    cm_frame_writer writer;
    cm_frame frame;
    (void)send_one_frame(&writer);
    unsigned wrong = 0;
    for (size_t cut = 0; cut < length; cut++) {
        wrong += cm_frame_parse(bytes, cut, params, &frame) != CM_ERR_FRAME_SHORT;
    }
    CHECK(wrong == 0);
}

static void every_flipped_bit_is_noticed(void)
{
    cm_frame_writer writer;
    cm_frame frame;
    (void)send_one_frame(&writer);
    unsigned accepted = 0;
    for (size_t bit = 0; bit < 8 * length; bit += bit < 8 * CM_FRAME_HEADER_BYTES ? 1 : 61) {
        bytes[bit / 8] = (uint8_t)(bytes[bit / 8] ^ 1u << bit % 8);
        accepted += cm_frame_parse(bytes, length, params, &frame) == CM_OK;
        bytes[bit / 8] = (uint8_t)(bytes[bit / 8] ^ 1u << bit % 8);
    }
    CHECK(accepted == 0);
    CHECK(cm_frame_parse(bytes, length, params, &frame) == CM_OK);
}

/* With a corrected checksum, as an attacker would send it. */
static cm_status parse_changed(size_t offset, uint8_t value)
{
    static uint8_t copy[FRAME_BYTES];
    cm_frame frame;
    memcpy(copy, bytes, sizeof copy);
    copy[offset] = value;
    cmi_store32(copy + sizeof copy - 4, cm_crc32c(0, copy, sizeof copy - 4));
    return cm_frame_parse(copy, sizeof copy, params, &frame);
}

static void fields_that_the_format_forbids_are_refused_whatever_the_check_sum(void)
{
    cm_frame_writer writer;
    (void)send_one_frame(&writer);
    CHECK(parse_changed(0, 'C') == CM_OK);
    CHECK(parse_changed(0, 'D') == CM_ERR_FRAME_MAGIC);
    CHECK(parse_changed(2, 3) == CM_ERR_FRAME_VERSION);
    CHECK(parse_changed(3, 1) == CM_ERR_FRAME_FIELD); /* a seed without an XOF */
    CHECK(parse_changed(3, 2) == CM_ERR_FRAME_FIELD);
    CHECK(parse_changed(4, 0) == CM_ERR_FRAME_FIELD);
    CHECK(parse_changed(4, 3) == CM_ERR_FRAME_FIELD);
    CHECK(parse_changed(5, 0) == CM_ERR_FRAME_FIELD); /* CKKS coefficients */
    CHECK(parse_changed(5, 2) == CM_ERR_FRAME_FIELD);
    CHECK(parse_changed(6, 0) == CM_ERR_FRAME_FIELD);
    CHECK(parse_changed(6, 4) == CM_ERR_FRAME_FIELD);
    CHECK(parse_changed(7, 0) == CM_ERR_FRAME_FIELD);
    CHECK(parse_changed(7, 2) == CM_ERR_FRAME_FIELD); /* more primes than the set has */
    CHECK(parse_changed(8, 0) == CM_ERR_PARAMS);
    CHECK(parse_changed(35, 0x7F) == CM_ERR_FRAME_FIELD); /* a scale beyond 2^512 */
    CHECK(parse_changed(35, 0xC1) == CM_ERR_FRAME_FIELD); /* a negative scale */
    CHECK(parse_changed(35, 0x40) == CM_OK);
    CHECK(parse_changed(35, 0x3F) == CM_ERR_FRAME_FIELD); /* below 1 */
    CHECK(parse_changed(36, 3) == CM_ERR_FRAME_FIELD);    /* component 1 besides a seed */
    CHECK(parse_changed(36, 4) == CM_ERR_FRAME_FIELD);
    CHECK(parse_changed(37, 2) == CM_ERR_FRAME_FIELD);
    CHECK(parse_changed(38, 1) == CM_ERR_FRAME_FIELD);
    CHECK(parse_changed(39, 5) == CM_ERR_FRAME_FIELD);
    CHECK(parse_changed(39, 0x10) == CM_ERR_FRAME_FIELD);
    CHECK(parse_changed(39, 1) == CM_ERR_FRAME_FIELD); /* two tiles, but a whole polynomial's length */
    CHECK(parse_changed(40, 1) == CM_ERR_FRAME_FIELD);
    CHECK(parse_changed(43, 0xFF) == CM_ERR_FRAME_FIELD);
}

/* ---- version 2 ---- */

static uint8_t tag_key[CM_TAG_KEY_BYTES];
static cm_frame_sender sender;

static int refuse(void *context, const uint8_t *from, size_t count)
{
    (void)context;
    (void)from;
    (void)count;
    return -1;
}

/* One frame of residues, of a sender whose counter is in the writer. */
static cm_status send_one_tagged_frame(uint64_t counter, uint64_t window)
{
    const cm_sink sink = {store, NULL};
    static uint32_t zeros[N];
    cm_frame_writer writer;
    (void)send_one_frame(&writer);
    cm_ciphertext_info info = writer.emitter.info;
    info.counter = counter;
    for (unsigned i = 0; i < sizeof tag_key; i++) {
        tag_key[i] = (uint8_t)(i + 1u);
    }
    cm_frame_writer_init(&writer, sink);
    cm_frame_sender_init(&sender, tag_key, 77, 3);
    cm_frame_writer_tag(&writer, &sender);
    cm_frame_sender_resume_window(&sender, window);
    writer.emitter.info = info;
    reset_sink(sizeof bytes);
    const cm_status status = writer.emitter.begin(&writer.emitter, &writer.emitter.info);
    return status == CM_OK ? writer.emitter.residues(&writer.emitter, 0, 0, 0, zeros) : status;
}

static void a_tagged_frame_says_who_sent_it(void)
{
    cm_frame frame;
    CHECK(send_one_tagged_frame(9, CM_NEW_WINDOW) == CM_OK && sender.window == 9);
    CHECK(cm_frame_parse(bytes, length, params, &frame) == CM_OK && frame.frame_bytes == length);
    CHECK(frame.version == 2 && frame.device == 77 && frame.epoch == 3 && frame.since_window == 0);
    CHECK(cm_frame_verify(&frame, tag_key) == CM_OK);
    CHECK(send_one_tagged_frame(9, 4) == CM_OK && sender.window == 4);
    CHECK(cm_frame_parse(bytes, length, params, &frame) == CM_OK && frame.since_window == 5);
    tag_key[5] ^= 1;
    CHECK(cm_frame_verify(&frame, tag_key) == CM_ERR_FRAME_TAG);
    CHECK(cm_frame_verify(&frame, NULL) == CM_ERR_ARGUMENT);
    cm_frame_writer writer;
    (void)send_one_frame(&writer);
    CHECK(cm_frame_parse(bytes, length, params, &frame) == CM_OK && frame.version == 1);
    CHECK(cm_frame_verify(&frame, tag_key) == CM_ERR_FRAME_VERSION);
}

/* A receipt has this sum. */
static void a_sender_adds_up_the_tags_of_a_ciphertext(void)
{
    static uint32_t zeros[N];
    CHECK(send_one_tagged_frame(9, CM_NEW_WINDOW) == CM_OK);
    cm_frame_writer writer;
    cm_frame frame;
    CHECK(cm_frame_parse(bytes, length, params, &frame) == CM_OK);
    cm_frame_writer_init(&writer, (cm_sink){store, NULL});
    cm_frame_writer_tag(&writer, &sender);
    writer.emitter.info = frame.info;
    for (unsigned i = 0; i < 3; i++) {
        cm_frame_sender_begin_window(&sender);
        zeros[i] = 1;
        reset_sink(sizeof bytes);
        CHECK(writer.emitter.begin(&writer.emitter, &writer.emitter.info) == CM_OK && sender.tags == 0);
        CHECK(writer.emitter.residues(&writer.emitter, 1, 0, 0, zeros) == CM_OK);
        CHECK(writer.emitter.residues(&writer.emitter, 0, 0, 0, zeros) == CM_OK);
        uint64_t sum = 0;
        for (size_t at = 0; at < length; at += frame.frame_bytes) {
            CHECK(cm_frame_parse(bytes + at, length - at, params, &frame) == CM_OK);
            CHECK(cm_frame_verify(&frame, tag_key) == CM_OK);
            sum += cmi_load64(bytes + at + frame.frame_bytes - CM_FRAME_CRC_BYTES - CM_TAG_BYTES);
        }
        CHECK(sender.tags == sum);
        const cm_attempt sent = cm_frame_writer_attempt(&writer);
        CHECK(sent.tags == sum && sent.window == 9 && sent.counter == 9);
        CHECK(sent.device == 77 && sent.epoch == 3);
    }
}

/* 64 residues of 27 bits are 13 and a half. */
static void a_payload_that_is_no_whole_blocks_is_tagged_to_its_end(void)
{
    static uint32_t residues[N];
    const cm_params *const odd = &cm_std2018_n1024_q27;
    cm_frame_writer writer;
    cm_frame frame;
    CHECK(send_one_tagged_frame(9, CM_NEW_WINDOW) == CM_OK);
    CHECK(cm_frame_parse(bytes, length, params, &frame) == CM_OK);
    cm_frame_writer_init(&writer, (cm_sink){store, NULL});
    cm_frame_writer_tag(&writer, &sender);
    writer.emitter.info = frame.info;
    writer.emitter.info.params = odd;
    writer.emitter.info.log2_tiles = 4;
    for (uint32_t i = 0; i < N; i++) {
        residues[i] = odd->primes[0].q - 1 - i;
    }
    reset_sink(sizeof bytes);
    CHECK(writer.emitter.residues(&writer.emitter, 0, 0, 3, residues) == CM_OK);
    CHECK(cm_frame_parse(bytes, length, odd, &frame) == CM_OK && frame.payload_bytes % 16 == 8);
    CHECK(cm_frame_verify(&frame, tag_key) == CM_OK);
    CHECK(cm_frame_unpack(&frame, residues) == CM_OK && residues[63] == odd->primes[0].q - 64);
}

static void a_counter_outside_the_window_is_refused(void)
{
    CHECK(send_one_tagged_frame(9, 10) == CM_ERR_ARGUMENT && length == 0);
    CHECK(send_one_tagged_frame(0x100000009u, 9) == CM_ERR_ARGUMENT && length == 0);
    CHECK(send_one_tagged_frame(0x100000008u, 9) == CM_OK);
}

/* Its tag would cover what was sent of the frame that failed. */
static void a_frame_after_one_that_failed_has_a_tag_of_its_own(void)
{
    cm_frame frame;
    CHECK(send_one_tagged_frame(9, CM_NEW_WINDOW) == CM_OK);
    const cm_sink failing = {refuse, NULL}, sound = {store, NULL};
    static uint32_t zeros[N];
    cm_frame_writer writer;
    (void)send_one_frame(&writer);
    cm_ciphertext_info info = writer.emitter.info;
    cm_frame_writer_init(&writer, failing);
    cm_frame_writer_tag(&writer, &sender);
    writer.emitter.info = info;
    cm_frame_sender_begin_window(&sender);
    CHECK(writer.emitter.begin(&writer.emitter, &writer.emitter.info) == CM_OK);
    CHECK(writer.emitter.residues(&writer.emitter, 0, 0, 0, zeros) == CM_ERR_SINK);
    uint8_t any = 0;
    for (unsigned i = 0; i < sizeof sender.state; i++) {
        any |= ((const uint8_t *)&sender.state)[i];
    }
    CHECK(any == 0);
    writer.sink = sound;
    reset_sink(sizeof bytes);
    CHECK(writer.emitter.residues(&writer.emitter, 0, 0, 0, zeros) == CM_OK);
    CHECK(cm_frame_parse(bytes, length, params, &frame) == CM_OK);
    CHECK(cm_frame_verify(&frame, tag_key) == CM_OK);
}

/* As an attacker would, with a checksum that matches. */
static void a_changed_tagged_frame_is_noticed(void)
{
    cm_frame frame;
    CHECK(send_one_tagged_frame(9, CM_NEW_WINDOW) == CM_OK);
    unsigned accepted = 0;
    for (size_t bit = 0; bit < 8 * (length - 4); bit += bit < 8 * CM_FRAME_TAGGED_HEADER_BYTES ? 1 : 61) {
        bytes[bit / 8] = (uint8_t)(bytes[bit / 8] ^ 1u << bit % 8);
        cmi_store32(bytes + length - 4, cm_crc32c(0, bytes, length - 4));
        accepted += cm_frame_parse(bytes, length, params, &frame) == CM_OK &&
                    cm_frame_verify(&frame, tag_key) != CM_ERR_FRAME_TAG &&
                    frame.version == CM_FRAME_TAGGED_VERSION;
        bytes[bit / 8] = (uint8_t)(bytes[bit / 8] ^ 1u << bit % 8);
    }
    CHECK(accepted == 0);
    for (size_t cut = 0; cut < length; cut++) {
        accepted += cm_frame_parse(bytes, cut, params, &frame) != CM_ERR_FRAME_SHORT;
    }
    CHECK(accepted == 0);
}

static void residues_not_below_the_prime_are_refused_and_zeroed(void)
{
    static uint32_t back[N];
    cm_frame_writer writer;
    cm_frame frame;
    (void)send_one_frame(&writer);
    memset(bytes + CM_FRAME_HEADER_BYTES + 100, 0xFF, 8);
    cmi_store32(bytes + length - 4, cm_crc32c(0, bytes, length - 4));
    CHECK(cm_frame_parse(bytes, length, params, &frame) == CM_OK);
    memset(back, 0x5A, sizeof back);
    CHECK(cm_frame_unpack(&frame, back) == CM_ERR_RESIDUE);
    uint32_t any = 0;
    for (unsigned i = 0; i < N; i++) {
        any |= back[i];
    }
    CHECK(any == 0);
}

static void a_sink_that_fails_anywhere_ends_the_encryption(void)
{
    static uint64_t
        arena[CM_CKKS_SYMMETRIC_ARENA_BYTES(N, CM_SLOTS_REAL, BUILD_PRECISION, BUILD_LOG2_TILES) / 8];
    static uint8_t ternary[CM_TERNARY_BYTES(N)];
    const uint8_t seed[CM_SEED_BYTES] = {1};
    const float one = 1;
    const cm_sink sink = {store, NULL};
    cm_ckks_values values;
    test_platform platform = {0};
    cm_device device;
    memset(&values, 0, sizeof values);
    values.data = &one;
    values.count = 1;
    values.number = CM_FLOAT32;
    values.slots = CM_SLOTS_REAL;
    values.log2_scale = 18;
    values.precision = BUILD_PRECISION;
    values.largest = 1;
    CHECK(cm_secret_key_generate(params, seed, ternary) == CM_OK);
    const cm_secret_key key = test_secret_key(params, 1, ternary);
    CHECK(test_device_start(&device, &platform) == CM_OK);
    const size_t all = 80 + FRAME_BYTES + TILE_OVERHEAD;
    const size_t rooms[] = {0, 63, 80, 100, 2000, all - 1};
    for (unsigned i = 0; i < sizeof rooms / sizeof rooms[0]; i++) {
        cm_frame_writer frames;
        cm_frame_writer_init(&frames, sink);
        reset_sink(rooms[i]);
        CHECK(test_ckks_symmetric(&device, &key, CM_XOF_CHACHA20, &values, arena, sizeof arena,
                                  &frames.emitter) == CM_ERR_SINK);
        cm_seal_writer seal;
        cm_seal_writer_init(&seal, CM_SEAL_FULL, sink);
        reset_sink(rooms[i]);
        CHECK(test_ckks_symmetric(&device, &key, CM_XOF_CHACHA20, &values, arena, sizeof arena,
                                  &seal.emitter) == CM_ERR_SINK);
    }
    cm_frame_writer frames;
    cm_frame_writer_init(&frames, sink);
    reset_sink(all);
    CHECK(test_ckks_symmetric(&device, &key, CM_XOF_CHACHA20, &values, arena, sizeof arena,
                              &frames.emitter) == CM_OK);
    CHECK(length == all);

    cm_seal_writer seal;
    cm_seal_writer_init(&seal, CM_SEAL_SEEDED, sink);
    reset_sink(sizeof bytes);
    CHECK(test_ckks_symmetric(&device, &key, CM_XOF_CHACHA20, &values, arena, sizeof arena, &seal.emitter) ==
          CM_ERR_UNSUPPORTED);
    CHECK(length == 0);
}

static void sizes_are_as_promised(void)
{
    static uint64_t
        arena[CM_CKKS_SYMMETRIC_ARENA_BYTES(4096, CM_SLOTS_REAL, BUILD_PRECISION, BUILD_LOG2_TILES) / 8];
    static uint8_t ternary[CM_TERNARY_BYTES(4096)];
    const uint8_t seed[CM_SEED_BYTES] = {1};
    const float one = 1;
    const cm_sink sink = {count_only, NULL};
    cm_ckks_values values;
    test_platform platform = {0};
    cm_device device;
    memset(&values, 0, sizeof values);
    values.data = &one;
    values.count = 1;
    values.number = CM_FLOAT32;
    values.slots = CM_SLOTS_REAL;
    values.log2_scale = 25;
    values.precision = BUILD_PRECISION;
    values.largest = 1;
    CHECK(cm_seal_ciphertext_bytes(&cm_n4096_q26x3_p27, CM_SEAL_FULL) == 196713);
    CHECK(cm_seal_ciphertext_bytes(&cm_n4096_q26x3_p27, CM_SEAL_SEEDED) == 98490);
    CHECK(cm_secret_key_generate(&cm_n4096_q26x3_p27, seed, ternary) == CM_OK);
    const cm_secret_key key = test_secret_key(&cm_n4096_q26x3_p27, 1, ternary);
    CHECK(test_device_start(&device, &platform) == CM_OK);
    cm_frame_writer frames;
    cm_frame_writer_init(&frames, sink);
    reset_sink(0);
    CHECK(test_ckks_symmetric(&device, &key, CM_XOF_CHACHA20, &values, arena, sizeof arena,
                              &frames.emitter) == CM_OK);
    CHECK(length == 4 * 48 + 32 + 39936 + 3 * TILE_OVERHEAD);
    cm_seal_writer seal;
    cm_seal_writer_init(&seal, CM_SEAL_SEEDED, sink);
    reset_sink(0);
    const cm_status expected = CM_CONFIG_SEAL_XOFS ? CM_OK : CM_ERR_UNSUPPORTED;
    CHECK(test_ckks_symmetric(&device, &key, CM_XOF_SHAKE256, &values, arena, sizeof arena, &seal.emitter) ==
          expected);
    CHECK(length == (expected == CM_OK ? 98490 : 0));
}

static void every_status_has_a_sentence_of_its_own(void)
{
    for (unsigned i = 0; i <= CM_ERR_PUBLIC_KEY; i++) {
        CHECK(strlen(cm_status_text((cm_status)i)) > 1);
        for (unsigned j = 0; j < i; j++) {
            CHECK(strcmp(cm_status_text((cm_status)i), cm_status_text((cm_status)j)) != 0);
        }
    }
    CHECK(cm_status_text((cm_status)999) != NULL);
}

/* Sizes depend on them: a residue of 31 bits would not fit the reader's piece. */
static void a_reader_refuses_a_set_whose_primes_or_degree_are_none(void)
{
    cm_prime prime = params->primes[0];
    cm_params set = *params;
    cm_frame frame;
    cm_frame_writer writer;
    (void)send_one_frame(&writer);
    set.primes = &prime;
    CHECK(cm_frame_parse(bytes, length, &set, &frame) == CM_OK);
    const uint32_t wrong[] = {(uint32_t)1 << 27, 0x40000001u, UINT32_MAX};
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        prime.q = wrong[i];
        CHECK(cm_frame_parse(bytes, length, &set, &frame) == CM_ERR_PARAMS);
    }
    /* The special prime determines the size of public keys' frames. */
    cm_prime primes[2] = {params->primes[0], params->primes[0]};
    set.primes = primes;
    set.key_primes = 2;
    CHECK(cm_frame_parse(bytes, length, &set, &frame) == CM_OK);
    primes[1].q = 0x40000001u;
    CHECK(cm_frame_parse(bytes, length, &set, &frame) == CM_ERR_PARAMS);
    set = *params;
    set.log2_n = 200;
    CHECK(cm_frame_parse(bytes, length, &set, &frame) == CM_ERR_PARAMS);
    set.log2_n = params->log2_n;
    set.data_primes = set.key_primes = 200;
    CHECK(cm_frame_parse(bytes, length, &set, &frame) == CM_ERR_PARAMS);
}

void test_wire(void)
{
    RUN(check_sum_is_castagnoli);
    RUN(check_sum_of_any_length_is_that_of_its_bits);
    RUN(a_frame_comes_back_as_it_was_sent);
    RUN(a_seed_frame_carries_the_seed);
    RUN(a_reader_refuses_a_set_whose_primes_or_degree_are_none);
    RUN(every_truncation_is_short);
    RUN(every_flipped_bit_is_noticed);
    RUN(fields_that_the_format_forbids_are_refused_whatever_the_check_sum);
    RUN(a_tagged_frame_says_who_sent_it);
    RUN(a_sender_adds_up_the_tags_of_a_ciphertext);
    RUN(a_payload_that_is_no_whole_blocks_is_tagged_to_its_end);
    RUN(a_counter_outside_the_window_is_refused);
    RUN(a_frame_after_one_that_failed_has_a_tag_of_its_own);
    RUN(a_changed_tagged_frame_is_noticed);
    RUN(residues_not_below_the_prime_are_refused_and_zeroed);
    RUN(a_sink_that_fails_anywhere_ends_the_encryption);
    RUN_IF(CM_CONFIG_MAX_LOG2_N >= 12, sizes_are_as_promised);
    RUN(every_status_has_a_sentence_of_its_own);
}
