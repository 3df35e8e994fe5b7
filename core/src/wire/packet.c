/* SPDX-License-Identifier: Apache-2.0 */
/* Compact packets: made from a window's values, and read. docs/wire-format.md. */
#include "ciphermote/compact.h"

#include <stdbool.h>
#include <string.h>

#include "common/bytes.h"
#include "common/compiler.h"
#include "common/declassify.h"
#include "common/provisioned.h"
#include "common/wipe.h"
#include "ring/prime.h"
#include "scheme/compact.h"
#include "scheme/seeds.h"
#include "scheme/usable.h"
#include "wire/tag.h"

#define COMPACT_FRAME 0x21u /* version 2, kind 1 */

enum compact_offsets {
    AT_SET = 1,
    AT_EPOCH = 2,
    AT_DEVICE = 4,
    AT_COMPACT_COUNTER = 8,
    AT_SINCE_WINDOW = 12,
    AT_RANDOM = 16,
    AT_POSITIONS = 24
};

_Static_assert(sizeof(cmi_compact_work) <= CM_COMPACT_WORKSPACE_BYTES,
               "CM_COMPACT_WORKSPACE_BYTES has room for the workspace");

/* ---- a window's place in its key streams: its counter and its random bytes ---- */

typedef struct compact_window {
    uint32_t position[4];  /* two words of the counter, the lower one first, and two of random bytes */
    uint32_t since_window; /* the counter less the window's number */
} compact_window;

static void set_random(compact_window *window, const uint8_t random[8])
{
    cmi_load_words(window->position + 2, random, 2);
}

/* From the salt and the counter, where there is no random source; public either way. */
static void derive_random(const cm_compact_encryptor *encryptor, compact_window *window)
{
    cmi_stream *stream = encryptor->setup.arena;
    set_random(window, encryptor->last_random); /* zeros without a salt */
    cmi_stream_derive(stream, encryptor->key->material + CM_RANDOM_KEY, window->position);
    cmi_declassify(stream->block, 8);
    set_random(window, stream->block);
    cmi_wipe(stream, sizeof *stream);
}

/* Two draws are the same by chance once in 2^64. */
static cm_status draw_random(cm_compact_encryptor *encryptor, compact_window *window)
{
    const cm_platform *const platform = &encryptor->setup.counter->platform;
    uint8_t random[8] = {0};
    if (platform->random(platform->context, random, sizeof random) != 0) {
        return CM_ERR_RANDOM;
    }
    cmi_declassify(random, sizeof random);
    if (memcmp(random, encryptor->last_random, sizeof random) ==
        0) { /* zeros at first, from a stuck source */
        return CM_ERR_RANDOM;
    }
    memcpy(encryptor->last_random, random, sizeof random);
    set_random(window, random);
    return CM_OK;
}

CM_NOINLINE static cm_status window_random(cm_compact_encryptor *encryptor, compact_window *window)
{
    if (encryptor->setup.counter->platform.random) {
        return draw_random(encryptor, window);
    }
    derive_random(encryptor, window);
    return CM_OK;
}

/* ---- setting up ---- */

/* What a packet may take: no more than a whole window's, so that no sum of sizes overflows. */
static uint16_t most_in_packet(const cm_compact_set *set, uint16_t packet_bytes)
{
    const size_t window = CM_COMPACT_PACKET_BYTES((uint32_t)1 << set->log2_n, set->wire_bits);
    return packet_bytes < window ? packet_bytes : (uint16_t)window;
}

/* Values in a packet of so many bytes. */
static uint16_t packet_values(const cm_compact_set *set, uint16_t packet_bytes)
{
    const uint16_t n = (uint16_t)((uint16_t)1 << set->log2_n);
    if (packet_bytes <= CM_COMPACT_OVERHEAD_BYTES) {
        return 0;
    }
    uint16_t values = 0, room = (uint16_t)(packet_bytes - CM_COMPACT_OVERHEAD_BYTES);
    uint8_t bits = 0; /* used of the room's first byte */
    while (values < n && (bits + set->wire_bits + 7u) / 8u <= room) {
        bits = (uint8_t)(bits + set->wire_bits);
        room = (uint16_t)(room - bits / 8u);
        bits %= 8u;
        values++;
    }
    return values;
}

/* Values whose residues, in whole pairs of words, so many bytes hold beside the rest; at most n. */
static size_t values_in(const cm_compact_set *set, size_t bytes, size_t rest)
{
    const size_t n = (size_t)1 << set->log2_n;
    const size_t values = bytes < rest ? 0
                                       : (bytes - rest) / CM_COMPACT_ALIGNMENT * CM_COMPACT_ALIGNMENT /
                                             (sizeof(uint32_t) * set->prime_count);
    return values < n ? values : n;
}

/*
 * Values that are computed at a time, in the room that transforms leave, if that is enough for them to pay;
 * whole packets' of them if there are several.
 */
static uint16_t arena_values(const cm_compact_set *set, const cm_compact_setup *setup, uint16_t in_packet)
{
    const size_t sending = CM_COMPACT_SENDING_BYTES(setup->packet_bytes);
    const size_t rest = CM_COMPACT_MARK_BYTES + CM_COMPACT_LARGER(CM_COMPACT_WORKSPACE_BYTES, sending);
    size_t values;
#ifdef __AVR__
    /* What one packet takes of one prime: it lies where the residues did. */
    if (set->prime_count == 1 && setup->arena_bytes >= CM_COMPACT_MARK_BYTES + sending) {
        values = values_in(set, setup->arena_bytes, CM_COMPACT_MARK_BYTES + CM_COMPACT_WORKSPACE_BYTES);
        if (values <= in_packet) {
            return (uint16_t)values;
        }
    }
    values = values_in(set, setup->arena_bytes, rest);
#else
    values = values_in(set, setup->arena_bytes, rest + CM_COMPACT_RING_BYTES + ((size_t)8 << set->log2_n));
    if (values < CM_COMPACT_FROM_TRANSFORMS) {
        values = values_in(set, setup->arena_bytes, rest);
    }
#endif
    uint16_t whole = 0;
    while ((size_t)whole + in_packet <= values) {
        whole = (uint16_t)(whole + in_packet);
    }
    return whole > 0 ? whole : (uint16_t)values;
}

/* The largest value must leave the sum of one below t. */
static bool compact_key_usable(const cm_compact_key *key)
{
    if (!key->ternary || !key->material || key->largest_value == 0 ||
        key->largest_value > cmi_compact_set_of(key)->largest_value) {
        return false;
    }
    for (unsigned at = 0; at < CM_COMPACT_MATERIAL_BYTES; at += 16) {
        if (!cmi_flash_filled_in(key->material + at, 16)) {
            return false;
        }
    }
    return cmi_flash_filled_in(key->ternary, 16);
}

static bool compact_set_usable(const cm_compact_set *set)
{
#ifdef CM_COMPACT_ONLY_SET
    return set == &CM_COMPACT_ONLY_SET;
#else
    if (set->log2_n < 10 || set->log2_n > CM_CONFIG_MAX_LOG2_N || set->prime_count < 1 ||
        set->prime_count > 2) {
        return false;
    }
    for (unsigned i = 0; i < set->prime_count; i++) {
        if (set->primes[i].q >> 26 || !cmi_prime_usable(&set->primes[i], set->log2_n)) {
            return false;
        }
    }
    return true;
#endif
}

static bool counter_ready(const cm_counter *counter)
{
    return counter && counter->platform.counter_read && counter->platform.counter_write;
}

/* On AVR, keys are in flash, a separate address space. */
static bool overlaps_arena(const cm_compact_key *key, const cm_compact_setup *setup)
{
    void *const arena = setup->arena;
    const size_t bytes = setup->arena_bytes;
#ifndef __AVR__
    if (cmi_in_arena(key, sizeof *key, arena, bytes) ||
        cmi_in_arena(key->material, CM_COMPACT_MATERIAL_BYTES, arena, bytes) ||
        cmi_in_arena(key->ternary, (size_t)1 << (key->set->log2_n - 2u), arena, bytes)) {
        return true;
    }
#else
    (void)key;
#endif
    return cmi_in_arena(setup->counter, sizeof *setup->counter, arena, bytes);
}

CM_NOINLINE static cm_status check_compact(const cm_compact_key *key, const cm_compact_setup *setup)
{
    if (!key || !key->set || !setup || !counter_ready(setup->counter) || !setup->sink.write) {
        return CM_ERR_ARGUMENT;
    }
    if (!compact_set_usable(key->set)) {
        return CM_ERR_PARAMS;
    }
    if (!compact_key_usable(key)) {
        return CM_ERR_ARGUMENT;
    }
    if (!setup->arena || (uintptr_t)setup->arena % CM_COMPACT_ALIGNMENT != 0 || overlaps_arena(key, setup)) {
        return CM_ERR_ARENA;
    }
    const bool repeats = !setup->counter->platform.random && !setup->salt;
    return repeats && !CM_CONFIG_COMPACT_COUNTER_ONLY ? CM_ERR_RANDOM : CM_OK;
}

CM_NOINLINE cm_status cm_compact_init(cm_compact_encryptor *encryptor, const cm_compact_key *key,
                                      const cm_compact_setup *setup)
{
    if (!encryptor) {
        return CM_ERR_ARGUMENT;
    }
    memset(encryptor, 0, sizeof *encryptor);
    const cm_status status = check_compact(key, setup);
    if (status != CM_OK) {
        return status;
    }
    const cm_compact_set *set = cmi_compact_set_of(key);
    encryptor->setup = *setup;
    encryptor->setup.packet_bytes = most_in_packet(set, setup->packet_bytes);
    const uint16_t in_packet = packet_values(set, encryptor->setup.packet_bytes);
    if (in_packet == 0) {
        return CM_ERR_ARGUMENT;
    }
    const uint16_t at_once = arena_values(set, &encryptor->setup, in_packet);
    if (at_once == 0) {
        return CM_ERR_ARENA;
    }
    encryptor->key = key; /* now it is set up */
    if (!setup->counter->platform.random && setup->salt) {
        memcpy(encryptor->last_random, setup->salt, sizeof encryptor->last_random);
    }
    encryptor->at_once = at_once;
    encryptor->in_packet = in_packet;
    return CM_OK;
}

/* ---- encrypting ---- */

CM_NOINLINE static cm_status check_compact_values(const cm_compact_encryptor *encryptor,
                                                  const uint16_t *values, uint16_t first, uint16_t count,
                                                  const uint64_t *window)
{
    if (!encryptor || !encryptor->key || !counter_ready(encryptor->setup.counter) || !values || !window ||
        count == 0) {
        return CM_ERR_ARGUMENT;
    }
    const cm_compact_key *key = encryptor->key;
    const uint16_t n = (uint16_t)((uint16_t)1 << cmi_compact_set_of(key)->log2_n);
    if (count > n || first > n - count) {
        return CM_ERR_TOO_MANY;
    }
    const cm_compact_setup *setup = &encryptor->setup;
    if (cmi_in_arena(values, sizeof *values * count, setup->arena, setup->arena_bytes) ||
        cmi_in_arena(window, sizeof *window, setup->arena, setup->arena_bytes)) {
        return CM_ERR_ARENA;
    }
    uint16_t wrong = 0;
    for (uint16_t i = 0; i < count; i++) {
        wrong |= (uint16_t)(values[i] | (key->largest_value - values[i]));
    }
    /* The status reveals whether a value is too large; largest values are below 2^15. */
    return cmi_declassified(wrong >> 15 != 0) ? CM_ERR_VALUE_RANGE : CM_OK;
}

/*
 * The window's place at the next counter, and its number, which is that counter for a new one.
 * CM_ERR_ARGUMENT for a number that is no counter before, or too far back.
 */
CM_NOINLINE static cm_status place_window(const cm_counter *counter, uint64_t *number, compact_window *window)
{
    uint32_t *const next = window->position;
    uint32_t first[2];
    cmi_split64(next, &counter->next);
    cmi_split64(first, number);
    window->since_window = next[0] - first[0];
    if ((first[0] & first[1]) == UINT32_MAX) {
        window->since_window = 0;
        cmi_join64(number, next);
    } else if (window->since_window == 0 || next[1] < first[1] ||
               next[1] - first[1] != (next[0] < first[0])) { /* not from 1 to 2^32 - 1 */
        return CM_ERR_ARGUMENT;
    }
    return CM_OK;
}

/* Take a counter and random bytes for the window. */
static cm_status open_window(cm_compact_encryptor *encryptor, uint64_t *number, compact_window *window)
{
    cm_counter *const counter = encryptor->setup.counter;
    cm_status status = place_window(counter, number, window);
    if (status != CM_OK) {
        return status;
    }
    status = cmi_counter_take(counter);
    if (status != CM_OK) {
        if (window->since_window == 0) {
            memset(number, 0xFF, sizeof *number); /* CM_NEW_WINDOW again */
        }
        return status;
    }
    return window_random(encryptor, window);
}

static void put_compact_header(uint8_t *packet, const cm_compact_key *key, const compact_window *window,
                               uint16_t first, uint16_t count)
{
    packet[0] = COMPACT_FRAME;
    packet[AT_SET] = cmi_compact_set_of(key)->id;
    packet[AT_EPOCH] = (uint8_t)key->epoch;
    packet[AT_EPOCH + 1] = (uint8_t)(key->epoch >> 8);
    cmi_store_words(packet + AT_DEVICE, &key->device, 1);
    cmi_store_words(packet + AT_COMPACT_COUNTER, window->position, 1);
    cmi_store_words(packet + AT_SINCE_WINDOW, &window->since_window, 1);
    cmi_store_words(packet + AT_RANDOM, window->position + 2, 2);
    packet[AT_POSITIONS] = (uint8_t)first;
    packet[AT_POSITIONS + 1] = (uint8_t)(first >> 8 | count << 4);
    packet[AT_POSITIONS + 2] = (uint8_t)(count >> 4);
}

/* Appends numbers of a few bits each, low bits first. */
typedef struct bit_writer {
    uint8_t *at;
    uint8_t used; /* bits of *at */
} bit_writer;

static void put_bits(bit_writer *writer, uint32_t value, uint8_t bits)
{
    while (bits > 0) {
        const uint8_t room = (uint8_t)(8u - writer->used);
        const uint8_t step = bits < room ? bits : room;
        if (writer->used == 0) {
            *writer->at = 0;
        }
        *writer->at |= (uint8_t)(value << writer->used);
        value >>= step;
        bits = (uint8_t)(bits - step);
        writer->used = (uint8_t)(writer->used + step);
        if (writer->used == 8u) {
            writer->used = 0;
            writer->at++;
        }
    }
}

static void put_coefficient(bit_writer *writer, uint64_t value, uint8_t bits)
{
    put_bits(writer, (uint32_t)value, bits < 32u ? bits : 32u);
    if (bits > 32u) {
        put_bits(writer, cmi_upper_word(value), (uint8_t)(bits - 32u));
    }
}

_Static_assert(sizeof(cmi_tagger) <= CM_CHACHA20_BLOCK_BYTES &&
                   sizeof(cmi_stream) <= CM_COMPACT_TAG_WORKSPACE_BYTES,
               "a tag takes a stream, and before that, its block");

/*
 * The tag of a packet, behind its first bytes, and behind that, what it takes. The upper word of the counter,
 * which it covers too, comes in between in its place.
 */
CM_NOINLINE static void put_tag(uint8_t *packet, uint16_t bytes, uint32_t counter_high, const uint8_t *key)
{
    cmi_stream *stream = (cmi_stream *)(void *)(packet + CM_COMPACT_ALIGNED(bytes + CM_TAG_BYTES));
    uint32_t *const position = stream->input + CM_CHACHA20_COUNTER;
    cmi_tagger *tagger = (cmi_tagger *)(void *)stream->block;
    cmi_store32(packet + bytes, counter_high);
    cmi_flash_copy(tagger->block, key + 32, sizeof tagger->block);
    cmi_tagger_init(tagger, tagger->block);
    cmi_tagger_start(tagger, packet, (size_t)bytes + 4u);
    cmi_tagger_finish(tagger, position);
    cmi_stream_derive(stream, key, position);
    memcpy(packet + bytes, stream->block, CM_TAG_BYTES);
}

/*
 * The arena begins with a mark. Whoever else uses it, from a sink, wipes it in the end, and with it the
 * residues: what was sent next would be the values in the clear.
 */
#define MARK 0x5Au

static bool marked(const cm_compact_setup *setup)
{
    return *(const volatile uint8_t *)setup->arena == MARK;
}

/* Coefficients that have been computed: the values', from first on. */
typedef struct compact_batch {
    const uint16_t *values;
    uint32_t *residues; /* [prime][count] */
    uint16_t first;
    uint16_t count;
} compact_batch;

/*
 * A packet with those at .. at + count - 1 of a batch, as yet without its tag; returns its bytes. Of one
 * prime, it may lie where the residues do: no coefficient takes more bytes than its residue.
 */
CM_NOINLINE static uint16_t make_packet(const cm_compact_key *key, const compact_window *window,
                                        const compact_batch *batch, uint16_t at, uint16_t count,
                                        uint8_t *packet)
{
    const cm_compact_set *set = cmi_compact_set_of(key);
    bit_writer writer = {packet, 0};
    for (uint16_t i = at; i < at + count; i++) {
        put_coefficient(&writer,
                        cmi_compact_coefficient(set, batch->residues, batch->count, i, batch->values[i]),
                        set->wire_bits);
    }
    const uint16_t bytes = (uint16_t)(writer.at + (writer.used > 0) - packet);
    memmove(packet + CM_COMPACT_HEADER_BYTES, packet, bytes);
    put_compact_header(packet, key, window, (uint16_t)(batch->first + at), count);
    return (uint16_t)(bytes + CM_COMPACT_HEADER_BYTES);
}

static cm_status send_compact_packet(const cm_compact_encryptor *encryptor, const compact_window *window,
                                     const compact_batch *batch, uint16_t at, uint16_t count, uint8_t *packet)
{
    const uint16_t bytes = make_packet(encryptor->key, window, batch, at, count, packet);
    put_tag(packet, bytes, window->position[1], encryptor->key->material + CM_TAG_KEY);
    cmi_declassify(packet, bytes + CM_TAG_BYTES);
    const cm_sink *const sink = &encryptor->setup.sink;
    if (sink->write(sink->context, packet, (size_t)bytes + CM_TAG_BYTES) != 0) {
        return CM_ERR_SINK;
    }
    return marked(&encryptor->setup) ? CM_OK : CM_ERR_ARENA;
}

static uint16_t smaller(uint16_t a, uint16_t b)
{
    return a < b ? a : b;
}

/* As many coefficients as are computed at a time: count and place of a batch, and its values. */
static cm_status send_batch(const cm_compact_encryptor *encryptor, const compact_window *window,
                            compact_batch *batch)
{
    const cm_compact_setup *setup = &encryptor->setup;
    const uint8_t primes = cmi_compact_set_of(encryptor->key)->prime_count;
    uint8_t *packet = (uint8_t *)setup->arena + CM_COMPACT_MARK_BYTES;
    batch->residues = (uint32_t *)(void *)packet;
    uint8_t *const behind = packet + CM_COMPACT_ALIGNED(sizeof *batch->residues * primes * batch->count);
    cmi_compact_residues(encryptor->key, window->position, batch->first, batch->count, batch->residues,
                         behind, setup->arena_bytes - (size_t)(behind - (uint8_t *)setup->arena));
    if (primes > 1 || batch->count > encryptor->in_packet) {
        packet = behind;
    }
    cm_status status = CM_OK;
    for (uint16_t at = 0; at < batch->count && status == CM_OK;) {
        const uint16_t some = smaller((uint16_t)(batch->count - at), encryptor->in_packet);
        status = send_compact_packet(encryptor, window, batch, at, some, packet);
        at = (uint16_t)(at + some);
    }
    return status;
}

cm_status cm_compact_encrypt(cm_compact_encryptor *encryptor, const uint16_t *values, uint16_t first,
                             uint16_t count, uint64_t *number)
{
    cm_status status = check_compact_values(encryptor, values, first, count, number);
    if (status != CM_OK) {
        return status;
    }
    compact_window window;
    status = open_window(encryptor, number, &window);
    *(volatile uint8_t *)encryptor->setup.arena = MARK;
    compact_batch batch = {.values = values, .first = first};
    while (count > 0 && status == CM_OK) {
        batch.count = smaller(count, encryptor->at_once);
        status = send_batch(encryptor, &window, &batch);
        batch.values += batch.count;
        batch.first = (uint16_t)(batch.first + batch.count);
        count = (uint16_t)(count - batch.count);
    }
    cmi_wipe(encryptor->setup.arena, encryptor->setup.arena_bytes);
    cmi_wipe_stack();
    return status;
}

/* ---- reading ---- */

typedef struct bit_reader {
    const uint8_t *at;
    uint8_t used;
} bit_reader;

static uint64_t take_bits(bit_reader *reader, unsigned bits)
{
    uint64_t value = 0;
    for (unsigned got = 0; got < bits;) {
        const unsigned step = bits - got < 8u - reader->used ? bits - got : 8u - reader->used;
        const uint64_t part = (*reader->at >> reader->used) & ((1u << step) - 1u);
        value |= part << got;
        got += step;
        reader->used = (uint8_t)(reader->used + step);
        if (reader->used == 8u) {
            reader->used = 0;
            reader->at++;
        }
    }
    return value;
}

static uint64_t modulus_of(const cm_compact_set *set)
{
    const uint64_t q = set->primes[0].q;
    return set->prime_count == 1 ? q : q * set->primes[1].q;
}

/* Whether no value is above the largest one of the set, and what follows the last one is zero. */
static cm_status check_payload(const cm_compact_frame *frame)
{
    const cm_compact_set *set = frame->set;
    const uint64_t largest = (modulus_of(set) - 1u) >> set->dropped_bits;
    bit_reader reader = {frame->payload, 0};
    for (uint16_t i = 0; i < frame->count; i++) {
        if (take_bits(&reader, set->wire_bits) > largest) {
            return CM_ERR_RESIDUE;
        }
    }
    return reader.used > 0 && *reader.at >> reader.used ? CM_ERR_FRAME_FIELD : CM_OK;
}

cm_status cm_compact_frame_parse(const uint8_t *bytes, size_t length, cm_compact_frame *frame)
{
    if (!frame) {
        return CM_ERR_ARGUMENT;
    }
    memset(frame, 0, sizeof *frame);
    if (!bytes) {
        return CM_ERR_ARGUMENT;
    }
    if (length <= CM_COMPACT_OVERHEAD_BYTES) {
        return CM_ERR_FRAME_SHORT;
    }
    if (bytes[0] != COMPACT_FRAME) {
        return CM_ERR_FRAME_VERSION;
    }
    cm_compact_frame found;
    found.set = cm_compact_set_by_id(bytes[AT_SET]);
    if (!found.set) {
        return CM_ERR_PARAMS;
    }
    found.epoch = (uint16_t)(bytes[AT_EPOCH] | (uint16_t)bytes[AT_EPOCH + 1] << 8);
    found.device = cmi_load32(bytes + AT_DEVICE);
    found.counter_low = cmi_load32(bytes + AT_COMPACT_COUNTER);
    found.since_window = cmi_load32(bytes + AT_SINCE_WINDOW);
    memcpy(found.random, bytes + AT_RANDOM, 8);
    const uint32_t positions = bytes[AT_POSITIONS] | (uint32_t)bytes[AT_POSITIONS + 1] << 8 |
                               (uint32_t)bytes[AT_POSITIONS + 2] << 16;
    found.first = (uint16_t)(positions & 0xFFFu);
    found.count = (uint16_t)(positions >> 12);
    found.payload = bytes + CM_COMPACT_HEADER_BYTES;
    found.packet = bytes;
    found.packet_bytes = length;
    if (found.count == 0 || (uint32_t)found.first + found.count > (uint32_t)1 << found.set->log2_n) {
        return CM_ERR_FRAME_FIELD;
    }
    const size_t expected = CM_COMPACT_PACKET_BYTES(found.count, found.set->wire_bits);
    if (length != expected) {
        return length < expected ? CM_ERR_FRAME_SHORT : CM_ERR_FRAME_FIELD;
    }
    const cm_status status = check_payload(&found);
    if (status == CM_OK) {
        *frame = found;
    }
    return status;
}

cm_status cm_compact_frame_verify(const cm_compact_frame *frame, const uint8_t tag_key[CM_TAG_KEY_BYTES],
                                  uint32_t counter_high)
{
    if (!frame || !frame->packet || !tag_key) {
        return CM_ERR_ARGUMENT;
    }
    uint8_t high[4];
    const size_t bytes = frame->packet_bytes - CM_TAG_BYTES;
    cmi_store32(high, counter_high);
    return cmi_tag_verify(frame->packet, bytes, high, sizeof high, tag_key, frame->packet + bytes);
}

void cm_compact_frame_values(const cm_compact_frame *frame, uint64_t *values)
{
    bit_reader reader = {frame->payload, 0};
    for (uint16_t i = 0; i < frame->count; i++) {
        values[i] = take_bits(&reader, frame->set->wire_bits);
    }
}
