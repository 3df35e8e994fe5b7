/* SPDX-License-Identifier: Apache-2.0 */
/* The compact lane: pinned windows, packets and their tags, and what is refused. */
#include <string.h>

#include "../vectors/compact_vectors.h"
#include "check.h"
#include "ciphermote/ciphermote.h"
#include "common/bytes.h"
#include "pinned.h"
#include "platform.h"
#include "random/sample.h"
#include "scheme/compact.h"
#include "wire/tag.h"

#define MOST_LOG2_N (CM_CONFIG_MAX_LOG2_N < 11 ? CM_CONFIG_MAX_LOG2_N : 11)
#define MOST ((size_t)1 << MOST_LOG2_N)
#define MOST_PACKET_BYTES CM_COMPACT_PACKET_BYTES(MOST, 35)
#define ARENA_BYTES (CM_COMPACT_TRANSFORM_ARENA_BYTES(MOST, 2, MOST, MOST_PACKET_BYTES) + MOST_PACKET_BYTES)

static uint64_t arena[ARENA_BYTES / 8u];
static uint8_t ternary[CM_TERNARY_BYTES(MOST)];
static uint8_t material[CM_COMPACT_MATERIAL_BYTES];
static uint16_t values[MOST];
static uint64_t sent_values[MOST];

/* ---- a device ---- */

/* What its radio has taken. */
typedef struct taken {
    bool encrypts_again;              /* with the same encryptor, from within */
    uint8_t bytes[MOST_PACKET_BYTES]; /* of the last packet */
    size_t length;
    unsigned packets;
    chained_digest digest;
    bool refuses;
} taken;

static taken radio;
static test_platform memory;
static cm_counter counter;
static cm_compact_key key;
static cm_compact_setup setup;
static cm_compact_encryptor encryptor;

/* Whatever else uses the arena leaves zeros: the values would be next, in the clear. */
static int take(void *context, const uint8_t *bytes, size_t length)
{
    taken *self = (taken *)context;
    if (self->refuses || length > sizeof self->bytes) {
        return -1;
    }
    if (self->encrypts_again) {
        self->encrypts_again = false;
        uint64_t window = CM_NEW_WINDOW;
        CHECK(cm_compact_encrypt(&encryptor, values, 0, 1, &window) == CM_OK);
    }
    memcpy(self->bytes, bytes, length);
    self->length = length;
    self->packets++;
    return digest_write(&self->digest, bytes, length);
}

/* A device of set A10 that works, with an arena for 16 values at a time. */
static void start(void)
{
    memset(&radio, 0, sizeof radio);
    memset(&memory, 0, sizeof memory);
    memory.mode = RANDOM_GOOD;
    memory.stored = 5;
    const cm_platform platform = {test_random_bytes, test_counter_read, test_counter_write, &memory};
    CHECK(cm_counter_init(&counter, &platform) == CM_OK);
    uint8_t seed[CM_SEED_BYTES];
    consecutive_bytes(seed, sizeof seed, 64);
    cmi_stream stream;
    cmi_stream_init(&stream, seed, (const uint32_t[3]){CM_LABEL_TERNARY, 0, 0});
    cmi_sample_ternary(&stream, ternary, (uint32_t)MOST);
    consecutive_bytes(material, sizeof material, 1);
    key = (cm_compact_key){&cm_compact_a10, ternary, material, 0x01020304u, 7, 4090};
    setup = (cm_compact_setup){.counter = &counter,
                               .sink = {take, &radio},
                               .arena = arena,
                               .arena_bytes = CM_COMPACT_ARENA_BYTES(1, 16, 67),
                               .packet_bytes = 67};
    for (unsigned i = 0; i < MOST; i++) {
        values[i] = (uint16_t)(i * 37u % 4091u);
    }
}

static cm_status begin(void)
{
    return cm_compact_init(&encryptor, &key, &setup);
}

static cm_status encrypt(uint16_t first, uint16_t count)
{
    uint64_t window = CM_NEW_WINDOW;
    return cm_compact_encrypt(&encryptor, values, first, count, &window);
}

/* A good packet of 8 values in the radio. */
static void send_eight(void)
{
    start();
    CHECK(begin() == CM_OK);
    CHECK(encrypt(3, 8) == CM_OK);
    CHECK(radio.length == CM_COMPACT_PACKET_BYTES(8, 16));
}

/* ---- pinned windows ---- */

static uint64_t vector_counter(unsigned index)
{
    return ((uint64_t)index << 32) + 0xFFFFFFFFu - index;
}

static int vector_random(void *context, uint8_t *out, size_t length)
{
    consecutive_bytes(out, length, *(const unsigned *)context);
    return 0;
}

static int vector_counter_read(void *context, uint64_t *value)
{
    *value = vector_counter(*(const unsigned *)context);
    return 0;
}

static int vector_counter_write(void *context, uint64_t value)
{
    (void)context;
    (void)value;
    return 0;
}

static uint8_t nibble(char digit)
{
    return (uint8_t)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

/* The persistent counter is never asked for again here: it is as good as reserved. */
static cm_status send_vector(const cm_compact_vector *vector, unsigned *index, size_t arena_bytes)
{
    const cm_platform platform = {vector_random, vector_counter_read, vector_counter_write, index};
    cm_status status = cm_counter_init(&counter, &platform);
    counter.reserved += 100;
    memset(&radio, 0, sizeof radio);
    setup.arena_bytes = arena_bytes;
    setup.packet_bytes = vector->packet_bytes;
    if (status == CM_OK) {
        status = begin();
    }
    uint64_t window = *index == 0 ? CM_NEW_WINDOW : vector_counter(*index) - *index;
    return status == CM_OK ? cm_compact_encrypt(&encryptor, values, vector->first, vector->count, &window)
                           : status;
}

static void open_vector(const cm_compact_vector *vector, unsigned index)
{
    start();
    for (unsigned i = 0; i < sizeof material; i++) {
        material[i] =
            (uint8_t)(nibble(vector->material[2u * i]) << 4 | nibble(vector->material[2u * i + 1u]));
    }
    key = (cm_compact_key){vector->set,
                           ternary,
                           material,
                           0x01020304u + index,
                           (uint16_t)(7u + index),
                           vector->set->largest_value};
    uint32_t x = index;
    for (unsigned i = 0; i < vector->count; i++) {
        x = x * 1664525u + 1013904223u;
        values[i] = (uint16_t)((uint64_t)x * (vector->set->largest_value + 1u) >> 32);
    }
}

/* Whether the build is for keys of this set. */
static bool built_for(const cm_compact_set *set)
{
    return CM_CONFIG_COMPACT_SET == CM_CONFIG_COMPACT_SET_ANY || set->id == CM_CONFIG_COMPACT_SET;
}

static void windows_are_as_pinned(void)
{
    for (unsigned i = 0; i < sizeof cm_compact_vectors / sizeof cm_compact_vectors[0]; i++) {
        const cm_compact_vector *vector = &cm_compact_vectors[i];
        BEHAVIOUR(vector->title);
        const bool fits = vector->set != NULL && vector->first + vector->count <= 1u << vector->set->log2_n &&
                          vector->count <= MOST && vector->packet_bytes <= MOST_PACKET_BYTES &&
                          cm_is_hex_of(vector->material, sizeof material) &&
                          cm_is_hex_of(vector->emitted, DIGEST_BYTES);
        if (!cm_check_in_step(fits, "tests/vectors/compact_vectors.h")) {
            continue;
        }
        if (vector->set->log2_n > CM_CONFIG_MAX_LOG2_N) {
            continue;
        }
        const size_t primes = vector->set->prime_count;
        const size_t few = CM_COMPACT_ARENA_BYTES(primes, vector->count, vector->packet_bytes);
        open_vector(vector, i);
        if (!built_for(vector->set)) {
            CHECK(send_vector(vector, &i, few) == CM_ERR_PARAMS);
            continue;
        }
        CHECK(send_vector(vector, &i, few) == CM_OK);
        CHECK_HEX(digest_end(&radio.digest), vector->emitted);
        CHECK(send_vector(vector, &i, sizeof arena) == CM_OK);
        CHECK_HEX(digest_end(&radio.digest), vector->emitted);
        cm_compact_frame frame;
        CHECK(cm_compact_frame_parse(radio.bytes, radio.length, &frame) == CM_OK);
        CHECK(frame.set == vector->set && frame.epoch == 7u + i && frame.device == 0x01020304u + i);
        CHECK(frame.counter_low == (uint32_t)vector_counter(i) && frame.since_window == i);
        CHECK(frame.first + frame.count == vector->first + vector->count);
        CHECK(cm_compact_frame_verify(&frame, material + CM_TAG_KEY, i) == CM_OK);
        CHECK(cm_compact_frame_verify(&frame, material + CM_TAG_KEY, i + 1u) == CM_ERR_FRAME_TAG);
    }
}

/* Fewer values at a time give more packets, with the same coefficients. */
static void a_small_arena_gives_the_same_coefficients(void)
{
    start();
    setup.arena_bytes = CM_COMPACT_ARENA_BYTES(1, 40, 222);
    setup.packet_bytes = 222;
    CHECK(begin() == CM_OK && encrypt(100, 40) == CM_OK && radio.packets == 1);
    cm_compact_frame frame;
    CHECK(cm_compact_frame_parse(radio.bytes, radio.length, &frame) == CM_OK);
    cm_compact_frame_values(&frame, sent_values);
    start();
    setup.arena_bytes = CM_COMPACT_ARENA_BYTES(1, 7, 222);
    setup.packet_bytes = 222;
    CHECK(begin() == CM_OK && encrypt(100, 40) == CM_OK && radio.packets == 5);
    CHECK(cm_compact_frame_parse(radio.bytes, radio.length, &frame) == CM_OK);
    CHECK(frame.first == 132 && frame.count == 8);
    cm_compact_frame_values(&frame, sent_values + 40);
    CHECK_BYTES(sent_values + 40, sent_values + 32, 8 * sizeof *sent_values);
}

/* ---- tags ---- */

/* RFC 8439, 2.5.2: the tag less s, which is added in the end. */
static void the_hash_is_poly1305(void)
{
    uint8_t r[16];
    static const char r_digits[] = "85d6be7857556d337f4452fe42d506a8";
    for (unsigned i = 0; i < sizeof r; i++) {
        r[i] = (uint8_t)(nibble(r_digits[2 * i]) << 4 | nibble(r_digits[2 * i + 1]));
    }
    static const uint8_t text[] = "Cryptographic Forum Research Group";
    for (size_t cut = 0; cut < sizeof text; cut++) {
        cmi_tagger tagger;
        uint32_t position[4];
        cmi_tagger_init(&tagger, r);
        cmi_tagger_update(&tagger, text, cut);
        cmi_tagger_update(&tagger, text + cut, sizeof text - 1 - cut);
        cmi_tagger_finish(&tagger, position);
        uint8_t hash[16];
        for (unsigned i = 0; i < 4; i++) {
            cmi_store32(hash + 4 * i, position[i]);
        }
        CHECK_HEX(hash, "a7039d36354384c8776c94ffcab7318d");
    }
}

/* Messages and keys of ones are where carries go furthest; the tags are the golden model's. */
static void tags_carry_to_the_end(void)
{
    uint8_t ones[64], tag_key[CM_TAG_KEY_BYTES];
    memset(ones, 0xFF, sizeof ones);
    memset(tag_key, 0xFF, sizeof tag_key);
    static const char *const expected[] = {"37dfff703bc9594e", "97fd55fd1ae4f695", "f8cf9d812f38d58a",
                                           "d2eb4eeff60e29b8"};
    for (unsigned blocks = 0; blocks < 4; blocks++) {
        cmi_tagger tagger;
        cmi_stream stream;
        uint32_t position[4];
        cmi_tagger_init(&tagger, tag_key + 32);
        cmi_tagger_update(&tagger, ones, 16u * blocks + 16u - blocks);
        cmi_tagger_finish(&tagger, position);
        cmi_stream_derive(&stream, tag_key, position);
        CHECK_HEX(stream.block, expected[blocks]);
    }
}

static void every_changed_bit_is_noticed(void)
{
    send_eight();
    uint8_t packet[CM_COMPACT_PACKET_BYTES(8, 16)];
    memcpy(packet, radio.bytes, sizeof packet);
    for (unsigned bit = 0; bit < 8u * sizeof packet; bit++) {
        packet[bit / 8u] ^= (uint8_t)(1u << bit % 8u);
        cm_compact_frame frame;
        const cm_status status = cm_compact_frame_parse(packet, sizeof packet, &frame);
        CHECK(status != CM_OK ||
              cm_compact_frame_verify(&frame, material + CM_TAG_KEY, 0) == CM_ERR_FRAME_TAG);
        packet[bit / 8u] ^= (uint8_t)(1u << bit % 8u);
    }
}

/* ---- packets that are refused ---- */

static cm_status parsed(const uint8_t *bytes, size_t length)
{
    cm_compact_frame frame;
    return cm_compact_frame_parse(bytes, length, &frame);
}

static void packets_that_cannot_be_are_refused(void)
{
    send_eight();
    uint8_t *p = radio.bytes;
    const size_t length = radio.length;
    cm_compact_frame frame;
    CHECK(parsed(p, length) == CM_OK);
    CHECK(cm_compact_frame_parse(NULL, length, &frame) == CM_ERR_ARGUMENT);
    CHECK(cm_compact_frame_parse(p, length, NULL) == CM_ERR_ARGUMENT);
    for (size_t cut = 0; cut < length; cut++) {
        CHECK(parsed(p, cut) == CM_ERR_FRAME_SHORT);
    }
    CHECK(parsed(p, length + 1) == CM_ERR_FRAME_FIELD);
    p[0] = 'C';
    CHECK(parsed(p, length) == CM_ERR_FRAME_VERSION);
    p[0] = 0x21;
    p[1] = 0;
    CHECK(parsed(p, length) == CM_ERR_PARAMS);
    p[1] = 7;
    CHECK(parsed(p, length) == CM_ERR_PARAMS);
    p[1] = 1;
    p[24] = 0xFB; /* from 1019 on: the 8 are past the end */
    p[25] |= 3;
    CHECK(parsed(p, length) == CM_ERR_FRAME_FIELD);
    p[24] = 0xF8;
    CHECK(parsed(p, length) == CM_OK);
    p[25] &= 0x0F; /* none */
    CHECK(parsed(p, length) == CM_ERR_FRAME_FIELD);
    p[25] |= 0x80;
    p[27] = 0x81; /* 64897 = 0xFD81, and (q - 1) / 16 = 64896 */
    p[28] = 0xFD;
    CHECK(parsed(p, length) == CM_ERR_RESIDUE);
    p[27] = 0x80;
    CHECK(parsed(p, length) == CM_OK);
}

static void padding_that_is_not_zero_is_refused(void)
{
    start();
    key.set = &cm_compact_a16;
    key.largest_value = 255;
    if (!built_for(key.set)) {
        CHECK(begin() == CM_ERR_PARAMS);
        return;
    }
    memset(values, 0, sizeof values);
    CHECK(begin() == CM_OK && encrypt(0, 3) == CM_OK);
    const size_t last = radio.length - CM_TAG_BYTES - 1; /* 51 bits: five of padding */
    CHECK(parsed(radio.bytes, radio.length) == CM_OK);
    for (unsigned bit = 3; bit < 8; bit++) {
        radio.bytes[last] ^= (uint8_t)(1u << bit);
        CHECK(parsed(radio.bytes, radio.length) == CM_ERR_FRAME_FIELD);
        radio.bytes[last] ^= (uint8_t)(1u << bit);
    }
}

/* ---- setups and values that are refused ---- */

static void setups_that_cannot_work_are_refused(void)
{
    start();
    CHECK(cm_compact_init(NULL, &key, &setup) == CM_ERR_ARGUMENT);
    CHECK(cm_compact_init(&encryptor, NULL, &setup) == CM_ERR_ARGUMENT);
    CHECK(cm_compact_init(&encryptor, &key, NULL) == CM_ERR_ARGUMENT);
    setup.packet_bytes = 36; /* 16 bits take 37 */
    CHECK(begin() == CM_ERR_ARGUMENT);
    setup.packet_bytes = 37;
    CHECK(begin() == CM_OK);
    setup.packet_bytes = 67;
    setup.arena_bytes = CM_COMPACT_ARENA_BYTES(1, 1, 67) - 1;
    CHECK(begin() == CM_ERR_ARENA);
    setup.arena_bytes++;
    CHECK(begin() == CM_OK);
    setup.arena = (uint8_t *)arena + 4;
    CHECK(begin() == CM_ERR_ARENA);
    setup.arena = arena;
    key.largest_value = 4091;
    CHECK(begin() == CM_ERR_ARGUMENT);
    key.largest_value = 0;
    CHECK(begin() == CM_ERR_ARGUMENT);
    key.largest_value = 4090;
    memset(material, 0xFF, sizeof material);
    CHECK(begin() == CM_ERR_ARGUMENT);
    CHECK(encrypt(0, 1) == CM_ERR_ARGUMENT); /* nothing was set up */
}

static void values_that_do_not_fit_are_refused_before_a_counter_is_taken(void)
{
    start();
    key.largest_value = 409;
    memset(values, 0, sizeof values);
    CHECK(begin() == CM_OK);
    const uint64_t next = counter.next;
    values[7] = 410;
    CHECK(encrypt(0, 8) == CM_ERR_VALUE_RANGE);
    CHECK(encrypt(1017, 8) == CM_ERR_TOO_MANY);
    CHECK(encrypt(0, 0) == CM_ERR_ARGUMENT);
    uint64_t window = counter.next;
    CHECK(cm_compact_encrypt(&encryptor, values, 0, 1, &window) == CM_ERR_ARGUMENT); /* not yet begun */
    CHECK(cm_compact_encrypt(&encryptor, values, 0, 1, NULL) == CM_ERR_ARGUMENT);
    CHECK(counter.next == next && radio.packets == 0);
    values[7] = 409;
    CHECK(encrypt(1016, 8) == CM_OK);
}

static bool wiped(void)
{
    uint8_t any = 0;
    for (size_t i = 0; i < setup.arena_bytes; i++) {
        any |= ((const uint8_t *)arena)[i];
    }
    return any == 0;
}

static void a_sink_that_uses_the_arena_ends_the_call(void)
{
    start();
    setup.packet_bytes = 51;
    CHECK(begin() == CM_OK);
    radio.encrypts_again = true;
    CHECK(encrypt(0, 16) == CM_ERR_ARENA && wiped());
    CHECK(radio.packets == 2); /* the inner call's, and the one that was being sent */
    CHECK(encrypt(0, 16) == CM_OK);
}

/* Packets of every size from the least on: the packet behind the residues stays within. */
static void arenas_of_every_size_are_kept_to(void)
{
    static uint8_t guarded[2600 + 8];
    for (uint16_t count = 1; count <= 24; count++) {
        start();
        setup.packet_bytes = 1037;
        setup.arena = guarded + (8u - (uintptr_t)guarded % 8u) % 8u;
        setup.arena_bytes = CM_COMPACT_ARENA_BYTES(1, count, 1037);
        memset(guarded, 0xA5, sizeof guarded);
        CHECK(begin() == CM_OK && encryptor.at_once == count + (count & 1u));
        CHECK(encrypt(0, 24) == CM_OK);
        const uint8_t *end = (const uint8_t *)setup.arena + setup.arena_bytes;
        CHECK(end[0] == 0xA5 && end[1] == 0xA5 && end[3] == 0xA5);
    }
}

static void what_is_in_the_arena_is_refused(void)
{
    start();
    key.material = (const uint8_t *)arena + 16;
    memcpy(arena + 2, material, sizeof material);
    CHECK(begin() == CM_ERR_ARENA);
    start();
    memcpy(arena, ternary, 256);
    key.ternary = (const uint8_t *)arena;
    CHECK(begin() == CM_ERR_ARENA);
    start();
    CHECK(begin() == CM_OK);
    arena[0] = CM_NEW_WINDOW;
    CHECK(cm_compact_encrypt(&encryptor, values, 0, 1, arena) == CM_ERR_ARENA);
}

static void a_counter_that_was_wiped_is_refused(void)
{
    start();
    CHECK(begin() == CM_OK);
    memset(&counter, 0, sizeof counter);
    CHECK(encrypt(0, 1) == CM_ERR_ARGUMENT);
}

static void a_transform_arena_is_used_for_transforms(void)
{
    start();
    setup.packet_bytes = 222;
    setup.arena_bytes = CM_COMPACT_TRANSFORM_ARENA_BYTES(1024, 1, 94, 222);
    CHECK(begin() == CM_OK && encryptor.at_once == 93); /* a whole packet's, and not 1024 by masked sums */
}

static void failures_leave_nothing_behind(void)
{
    start();
    CHECK(begin() == CM_OK);
    memory.mode = RANDOM_FAILS;
    CHECK(encrypt(0, 8) == CM_ERR_RANDOM && wiped());
    memory.mode = RANDOM_REPEATS;
    CHECK(encrypt(0, 8) == CM_OK && wiped());
    CHECK(encrypt(0, 8) == CM_ERR_RANDOM && wiped());
    memory.mode = RANDOM_GOOD;
    radio.refuses = true;
    CHECK(encrypt(0, 8) == CM_ERR_SINK && wiped());
    radio.refuses = false;
    counter.reserved = counter.next;
    memory.write_fails = true;
    CHECK(encrypt(0, 8) == CM_ERR_COUNTER && wiped());
}

/* ---- windows ---- */

static void another_attempt_keeps_the_windows_number_and_takes_a_new_counter(void)
{
    start();
    CHECK(begin() == CM_OK);
    uint64_t window = CM_NEW_WINDOW;
    CHECK(cm_compact_encrypt(&encryptor, values, 0, 8, &window) == CM_OK && window == 5);
    CHECK(cm_compact_encrypt(&encryptor, values, 0, 8, &window) == CM_OK && window == 5);
    cm_compact_frame frame;
    CHECK(cm_compact_frame_parse(radio.bytes, radio.length, &frame) == CM_OK);
    CHECK(frame.counter_low == 6 && frame.since_window == 1);
}

/* As docs/wire-format.md says: block(random key, counter | salt). The random key is the material's third. */
static void derive_from_salt(uint8_t random[8], const uint8_t salt[8])
{
    cmi_stream stream;
    uint32_t position[4] = {5, 0, 0, 0};
    cmi_load_words(position + 2, salt, 2);
    cmi_stream_derive(&stream, material + CM_RANDOM_KEY, position);
    memcpy(random, stream.block, 8);
}

static void a_salt_takes_the_place_of_random_bytes(void)
{
    uint8_t derived[8];
    uint8_t salt[8] = {1};
    uint8_t random[2][8];
    cm_compact_frame frame;
    for (unsigned i = 0; i < 2; i++) {
        start();
        counter.platform.random = NULL;
        CHECK(begin() == (CM_CONFIG_COMPACT_COUNTER_ONLY ? CM_OK : CM_ERR_RANDOM));
        setup.salt = salt;
        salt[7] = (uint8_t)i;
        derive_from_salt(derived, salt);
        CHECK(begin() == CM_OK);
        memset(salt, 0, sizeof salt); /* it was copied */
        CHECK(encrypt(0, 8) == CM_OK);
        CHECK(cm_compact_frame_parse(radio.bytes, radio.length, &frame) == CM_OK);
        CHECK(cm_compact_frame_verify(&frame, material + CM_TAG_KEY, 0) == CM_OK);
        CHECK_BYTES(frame.random, derived, 8);
        memcpy(random[i], frame.random, 8);
    }
    CHECK(memcmp(random[0], random[1], 8) != 0);
}

static int stuck_random(void *context, uint8_t *out, size_t length)
{
    (void)context;
    memset(out, 0, length);
    return 0;
}

static void a_stuck_random_source_is_refused_at_once(void)
{
    start();
    counter.platform.random = stuck_random;
    CHECK(begin() == CM_OK);
    CHECK(encrypt(0, 8) == CM_ERR_RANDOM && radio.packets == 0);
}

static void packets_are_at_most_a_whole_window(void)
{
    start();
    setup.packet_bytes = UINT16_MAX;
    setup.arena_bytes = sizeof arena;
    CHECK(begin() == CM_OK);
    CHECK(encryptor.setup.packet_bytes == CM_COMPACT_PACKET_BYTES(1024, 16) && encryptor.in_packet == 1024);
}

void test_compact(void)
{
    windows_are_as_pinned();
    RUN(a_small_arena_gives_the_same_coefficients);
    RUN(the_hash_is_poly1305);
    RUN(tags_carry_to_the_end);
    RUN(every_changed_bit_is_noticed);
    RUN(packets_that_cannot_be_are_refused);
    RUN(padding_that_is_not_zero_is_refused);
    RUN(setups_that_cannot_work_are_refused);
    RUN(values_that_do_not_fit_are_refused_before_a_counter_is_taken);
    RUN(a_sink_that_uses_the_arena_ends_the_call);
    RUN(arenas_of_every_size_are_kept_to);
    RUN(what_is_in_the_arena_is_refused);
    RUN(a_counter_that_was_wiped_is_refused);
    RUN(a_transform_arena_is_used_for_transforms);
    RUN(failures_leave_nothing_behind);
    RUN(another_attempt_keeps_the_windows_number_and_takes_a_new_counter);
    RUN(a_salt_takes_the_place_of_random_bytes);
    RUN(a_stuck_random_source_is_refused_at_once);
    RUN(packets_are_at_most_a_whole_window);
}
