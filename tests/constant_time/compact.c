/* SPDX-License-Identifier: Apache-2.0 */
/* The compact lane: encryption a few coefficients at a time and by transforms, and tags that are checked. */
#include "ciphermote/receipt.h"
#include "watch.h"

enum { FEW = 21, MANY = 100, PACKET_BYTES = 222 };

static const cm_compact_set *const sets[] = {&cm_compact_a10, &cm_compact_a16, &cm_compact_b,
                                             &cm_compact_c,   &cm_compact_d,   &cm_compact_l};

static uint8_t material[CM_COMPACT_MATERIAL_BYTES];
static uint16_t values[MANY];
static uint8_t packet[PACKET_BYTES];
static size_t packet_bytes;

/* Packets are public, all of them. */
static int take(void *context, const uint8_t *bytes, size_t length)
{
    static const uint8_t zeros[4];
    (void)context;
    for (size_t i = 0; i < length; i += 4) {
        uint32_t word = 0;
        memcpy(&word, i + 4 <= length ? bytes + i : zeros, sizeof word);
        CHECK(secret_words(&word, 1) == 0);
    }
    memcpy(packet, bytes, length);
    packet_bytes = length;
    return 0;
}

static cm_compact_key compact_key(const cm_compact_set *set)
{
    make_secret_key(set->log2_n == 10 ? &cm_n1024_q26 : &cm_n2048_q26_p27);
    draw_secret(material, sizeof material);
    mark_public(material, 32); /* the lane key */
    return (cm_compact_key){set, ternary, material, 1, 1, 1023};
}

static cm_status encrypt_values(const cm_compact_key *key, uint16_t count, uint16_t largest,
                                size_t arena_bytes, const uint8_t *salt)
{
    const cm_compact_setup setup = {.counter = &device.counter,
                                    .sink = {take, NULL},
                                    .arena = arena,
                                    .arena_bytes = arena_bytes,
                                    .packet_bytes = PACKET_BYTES,
                                    .salt = salt};
    const uint16_t last = (uint16_t)((1u << key->set->log2_n) - count);
    const uint16_t first = last < 1000 ? last : 1000;
    cm_compact_encryptor encryptor;
    uint64_t window = CM_NEW_WINDOW;
    for (unsigned i = 0; i < count; i++) {
        values[i] = (uint16_t)(i * 11u % (largest + 1u));
    }
    values[0] = largest;
    mark_secret(values, sizeof values);
    const cm_status status = cm_compact_init(&encryptor, key, &setup);
    return status == CM_OK ? cm_compact_encrypt(&encryptor, values, first, count, &window) : status;
}

static void a_few_compact_values_are_encrypted_in_constant_time(void)
{
    for (unsigned i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        const cm_compact_key key = compact_key(sets[i]);
        check_call(encrypt_values(&key, FEW, 1023, CM_COMPACT_ARENA_BYTES(2, FEW, PACKET_BYTES), NULL),
                   CM_OK);
    }
}

static void compact_values_are_encrypted_by_transforms_in_constant_time(void)
{
    for (unsigned i = 3; i < sizeof sets / sizeof sets[0]; i++) {
        const cm_compact_key key = compact_key(sets[i]);
        check_call(encrypt_values(&key, MANY, 1023, sizeof arena, NULL), CM_OK);
    }
}

static void random_bytes_are_derived_in_constant_time(void)
{
    static const uint8_t salt[8] = {1, 2, 3};
    const cm_compact_key key = compact_key(&cm_compact_a10);
    device.counter.platform.random = NULL;
    check_call(encrypt_values(&key, FEW, 1023, CM_COMPACT_ARENA_BYTES(1, FEW, PACKET_BYTES), salt), CM_OK);
}

static void a_compact_value_is_refused_without_telling_which(void)
{
    const cm_compact_key key = compact_key(&cm_compact_a10);
    check_call(encrypt_values(&key, FEW, 1024, sizeof arena, NULL), CM_ERR_VALUE_RANGE);
}

static void tags_are_checked_in_constant_time(void)
{
    const cm_compact_key key = compact_key(&cm_compact_a10);
    cm_compact_frame frame;
    check_call(encrypt_values(&key, FEW, 1023, sizeof arena, NULL), CM_OK);
    for (unsigned altered = 0; altered < 2; altered++) {
        check_call(cm_compact_frame_parse(packet, packet_bytes, &frame), CM_OK);
        check_call(cm_compact_frame_verify(&frame, material + 96, 0), altered ? CM_ERR_FRAME_TAG : CM_OK);
        packet[packet_bytes - 1] ^= 1;
    }
}

/* ---- full frames of version 2 ---- */

static uint8_t frame_bytes[8192];
static size_t frame_length;

static int take_frame(void *context, const uint8_t *bytes, size_t length)
{
    (void)context;
    memcpy(frame_bytes + frame_length, bytes, length);
    frame_length += length;
    return 0;
}

static void send_tagged_frame(void)
{
    cm_frame_writer writer;
    cm_frame_sender sender;
    draw_secret(material, sizeof material);
    memset(words, 0, sizeof words);
    frame_length = 0;
    cm_frame_writer_init(&writer, (cm_sink){take_frame, NULL});
    cm_frame_sender_init(&sender, material + 96, 1, 1);
    cm_frame_writer_tag(&writer, &sender);
    writer.emitter.info = (cm_ciphertext_info){.params = &cm_n1024_q26,
                                               .scheme = CM_BFV,
                                               .ntt_form = true,
                                               .components = 2,
                                               .primes = 1,
                                               .key_id = KEY_ID,
                                               .plain_modulus = SMALL_T};
    check_call(writer.emitter.begin(&writer.emitter, &writer.emitter.info), CM_OK);
    check_call(writer.emitter.residues(&writer.emitter, 0, 0, 0, words), CM_OK);
}

static void full_frames_are_tagged_and_checked_in_constant_time(void)
{
    cm_frame frame;
    send_tagged_frame();
    for (unsigned altered = 0; altered < 2; altered++) {
        check_call(cm_frame_parse(frame_bytes, frame_length, &cm_n1024_q26, &frame), CM_OK);
        check_call(cm_frame_verify(&frame, material + 96), altered ? CM_ERR_FRAME_TAG : CM_OK);
        material[96] ^= 1;
    }
}

static cm_status begin_frame(cm_receiver *self, const cm_ciphertext_info *info, unsigned component,
                             unsigned prime, unsigned tile)
{
    (void)self;
    (void)info;
    (void)component;
    (void)prime;
    (void)tile;
    return CM_OK;
}

static cm_status skip_residues(cm_receiver *self, const uint32_t *residues, uint32_t count)
{
    (void)self;
    (void)residues;
    (void)count;
    return CM_OK;
}

static cm_status end_frame(cm_receiver *self)
{
    (void)self;
    return CM_OK;
}

static void note_fault(cm_receiver *self, cm_status status)
{
    (void)self;
    (void)status;
}

static void results_are_checked_in_constant_time(void)
{
    cm_receiver receiver = {begin_frame, skip_residues, end_frame, note_fault};
    cm_frame_expected expected;
    cm_frame_reader reader;
    send_tagged_frame();
    for (unsigned altered = 0; altered < 2; altered++) {
        cm_frame_expected_init(&expected, material + 96, 1, 1);
        cm_frame_reader_init(&reader, &cm_n1024_q26, &receiver);
        cm_frame_reader_expect(&reader, &expected);
        check_call(cm_frame_reader_feed(&reader, frame_bytes, frame_length),
                   altered ? CM_ERR_FRAME_TAG : CM_OK);
        material[96] ^= 1;
    }
}

static void receipts_are_checked_in_constant_time(void)
{
    static const uint8_t receipt[CM_RECEIPT_BYTES] = {0x22, 1};
    const cm_attempt sent = {0};
    cm_verdict verdict;
    draw_secret(material, sizeof material);
    check_call(cm_receipt_check(receipt, sizeof receipt, material + 96, &sent, &verdict), CM_ERR_FRAME_TAG);
}

const behaviour compact_behaviours[] = {
    BEHAVIOUR_OF(a_few_compact_values_are_encrypted_in_constant_time),
    BEHAVIOUR_OF(compact_values_are_encrypted_by_transforms_in_constant_time),
    BEHAVIOUR_OF(random_bytes_are_derived_in_constant_time),
    BEHAVIOUR_OF(a_compact_value_is_refused_without_telling_which),
    BEHAVIOUR_OF(tags_are_checked_in_constant_time),
    BEHAVIOUR_OF(full_frames_are_tagged_and_checked_in_constant_time),
    BEHAVIOUR_OF(results_are_checked_in_constant_time),
    BEHAVIOUR_OF(receipts_are_checked_in_constant_time),
    {NULL, NULL},
};
