/* SPDX-License-Identifier: Apache-2.0 */
/* Compact packets: made from a window's values, and read. docs/wire-format.md. */
#include "ciphermote/compact.h"

#include <stdbool.h>
#include <string.h>

#include "common/bytes.h"
#include "common/declassify.h"
#include "common/flash.h"
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

static void set_window_position(uint32_t position[4], uint64_t counter, const uint8_t random[8])
{
    position[0] = (uint32_t)counter;
    position[1] = cmi_upper_word(counter);
    position[2] = cmi_load32(random);
    position[3] = cmi_load32(random + 4);
}

/* From the salt and the counter, where there is no random source; public either way. */
static void derive_random(cmi_stream *stream, const cm_compact_encryptor *encryptor, uint64_t counter,
                          uint8_t random[8])
{
    uint32_t position[4];
    set_window_position(position, counter, encryptor->last_random); /* zeros without a salt */
    cmi_compact_derive(stream, encryptor->key->material + CM_RANDOM_KEY, position);
    memcpy(random, stream->block, 8);
    cmi_declassify(random, 8);
    cmi_wipe(stream, sizeof *stream);
}

/* Two draws are the same by chance once in 2^64. */
static cm_status draw_random(cm_compact_encryptor *encryptor, uint8_t random[8])
{
    const cm_platform *const platform = &encryptor->setup.counter->platform;
    memset(random, 0, 8);
    if (platform->random(platform->context, random, 8) != 0) {
        return CM_ERR_RANDOM;
    }
    cmi_declassify(random, 8);
    if (encryptor->drawn && memcmp(random, encryptor->last_random, 8) == 0) {
        return CM_ERR_RANDOM;
    }
    memcpy(encryptor->last_random, random, 8);
    encryptor->drawn = 1;
    return CM_OK;
}

/* ---- setting up ---- */

/* Values in a packet of so many bytes. */
static uint16_t packet_values(const cm_compact_set *set, uint16_t packet_bytes)
{
    const uint16_t n = (uint16_t)((uint16_t)1 << set->log2_n);
    if (packet_bytes <= CM_COMPACT_OVERHEAD_BYTES) {
        return 0;
    }
    uint32_t rest;
    const uint32_t bits = 8u * ((uint32_t)packet_bytes - CM_COMPACT_OVERHEAD_BYTES);
    const uint32_t values = (uint32_t)cmi_quotient(bits, set->wire_bits, &rest);
    return values < n ? (uint16_t)values : n;
}

/* Values whose residues, in whole pairs of words, so many bytes hold beside the rest; at most n. */
static size_t values_in(const cm_compact_set *set, size_t bytes, size_t rest)
{
    const size_t n = (size_t)1 << set->log2_n;
    const size_t values = bytes < rest ? 0 : (bytes - rest) / 8u * 8u / (sizeof(uint32_t) * set->prime_count);
    return values < n ? values : n;
}

/*
 * Values that are computed at a time, in the room that transforms leave, if that is enough for them to pay;
 * whole packets' of them if there are several.
 */
static uint16_t arena_values(const cm_compact_set *set, const cm_compact_setup *setup)
{
    const size_t rest =
        CM_COMPACT_MARK_BYTES + CM_COMPACT_LARGER(CM_COMPACT_WORKSPACE_BYTES, setup->packet_bytes);
    const uint16_t in_packet = packet_values(set, setup->packet_bytes);
    const size_t transforms = CM_COMPACT_RING_BYTES + ((size_t)8 << set->log2_n);
    size_t values = values_in(set, setup->arena_bytes, rest + transforms);
    if (values < CM_COMPACT_FROM_TRANSFORMS) {
        values = values_in(set, setup->arena_bytes, rest);
    }
    return (uint16_t)(values < in_packet ? values : values - values % in_packet);
}

/* Whether some bytes differ: not zeros, nor the ones of erased flash. */
static bool filled_in(const uint8_t *flash, unsigned bytes)
{
    uint8_t any = 0;
    const uint8_t like = cmi_flash_byte(flash);
    for (unsigned i = 1; i < bytes; i++) {
        any |= cmi_flash_byte(flash + i) ^ like;
    }
    /* Whether a key was provisioned is no secret. */
    return cmi_declassified(any != 0);
}

/* The largest value must leave the sum of one below t. */
static bool compact_key_usable(const cm_compact_key *key)
{
    if (!key->set || !key->ternary || !key->material || key->largest_value == 0 ||
        key->largest_value > key->set->largest_value) {
        return false;
    }
    for (unsigned at = 0; at < CM_COMPACT_MATERIAL_BYTES; at += 16) {
        if (!filled_in(key->material + at, 16)) {
            return false;
        }
    }
    return filled_in(key->ternary, 16);
}

static bool compact_set_usable(const cm_compact_set *set)
{
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

static cm_status check_compact(const cm_compact_key *key, const cm_compact_setup *setup)
{
    if (!key || !setup || !counter_ready(setup->counter) || !setup->sink.write || !compact_key_usable(key)) {
        return CM_ERR_ARGUMENT;
    }
    if (!compact_set_usable(key->set)) {
        return CM_ERR_PARAMS;
    }
    if (packet_values(key->set, setup->packet_bytes) == 0) {
        return CM_ERR_ARGUMENT;
    }
    if (!setup->arena || (uintptr_t)setup->arena % 8u != 0 || arena_values(key->set, setup) == 0 ||
        overlaps_arena(key, setup)) {
        return CM_ERR_ARENA;
    }
    const bool repeats = !setup->counter->platform.random && !setup->salt;
    return repeats && !CM_CONFIG_COMPACT_COUNTER_ONLY ? CM_ERR_RANDOM : CM_OK;
}

cm_status cm_compact_init(cm_compact_encryptor *encryptor, const cm_compact_key *key,
                          const cm_compact_setup *setup)
{
    if (!encryptor) {
        return CM_ERR_ARGUMENT;
    }
    memset(encryptor, 0, sizeof *encryptor);
    const cm_status status = check_compact(key, setup);
    if (status == CM_OK) {
        encryptor->setup = *setup;
        encryptor->key = key;
        if (!setup->counter->platform.random && setup->salt) {
            memcpy(encryptor->last_random, setup->salt, sizeof encryptor->last_random);
        }
        encryptor->at_once = arena_values(key->set, setup);
        encryptor->in_packet = packet_values(key->set, setup->packet_bytes);
    }
    return status;
}

/* ---- encrypting ---- */

/* A window as its packets say it. */
typedef struct compact_window {
    uint64_t counter;
    uint32_t since_window;
    uint8_t random[8];
} compact_window;

static cm_status check_compact_values(const cm_compact_encryptor *encryptor, const uint16_t *values,
                                      uint16_t first, uint16_t count, const uint64_t *window)
{
    if (!encryptor || !encryptor->key || !counter_ready(encryptor->setup.counter) || !values || !window ||
        count == 0) {
        return CM_ERR_ARGUMENT;
    }
    const cm_compact_key *key = encryptor->key;
    if ((uint32_t)first + count > (uint32_t)1 << key->set->log2_n) {
        return CM_ERR_TOO_MANY;
    }
    const cm_compact_setup *setup = &encryptor->setup;
    if (cmi_in_arena(values, sizeof *values * count, setup->arena, setup->arena_bytes) ||
        cmi_in_arena(window, sizeof *window, setup->arena, setup->arena_bytes)) {
        return CM_ERR_ARENA;
    }
    uint32_t wrong = 0;
    for (uint16_t i = 0; i < count; i++) {
        wrong |= (uint32_t)key->largest_value - values[i];
    }
    /* The status reveals whether a value is too large. */
    return cmi_declassified(wrong >> 31 != 0) ? CM_ERR_VALUE_RANGE : CM_OK;
}

/* Take a counter and random bytes for the window, whose number is its first counter. */
static cm_status open_window(cm_compact_encryptor *encryptor, uint64_t *number, compact_window *window)
{
    const uint64_t next = encryptor->setup.counter->next;
    if (*number != CM_NEW_WINDOW && (*number >= next || next - *number > UINT32_MAX)) {
        return CM_ERR_ARGUMENT;
    }
    cm_status status = cmi_counter_take(encryptor->setup.counter, &window->counter);
    if (status != CM_OK) {
        return status;
    }
    if (*number == CM_NEW_WINDOW) {
        *number = window->counter;
    }
    window->since_window = (uint32_t)(window->counter - *number);
    if (encryptor->setup.counter->platform.random) {
        return draw_random(encryptor, window->random);
    }
    derive_random(encryptor->setup.arena, encryptor, window->counter, window->random);
    return CM_OK;
}

static void put_compact_header(uint8_t *packet, const cm_compact_key *key, const compact_window *window,
                               uint16_t first, uint16_t count)
{
    packet[0] = COMPACT_FRAME;
    packet[AT_SET] = key->set->id;
    packet[AT_EPOCH] = (uint8_t)key->epoch;
    packet[AT_EPOCH + 1] = (uint8_t)(key->epoch >> 8);
    cmi_store32(packet + AT_DEVICE, key->device);
    cmi_store32(packet + AT_COMPACT_COUNTER, (uint32_t)window->counter);
    cmi_store32(packet + AT_SINCE_WINDOW, window->since_window);
    memcpy(packet + AT_RANDOM, window->random, 8);
    packet[AT_POSITIONS] = (uint8_t)first;
    packet[AT_POSITIONS + 1] = (uint8_t)(first >> 8 | count << 4);
    packet[AT_POSITIONS + 2] = (uint8_t)(count >> 4);
}

/* Appends numbers of a few bits each, low bits first. */
typedef struct bit_writer {
    uint8_t *at;
    uint8_t used; /* bits of *at */
} bit_writer;

static void put_bits(bit_writer *writer, uint64_t value, unsigned bits)
{
    while (bits > 0) {
        const unsigned step = bits < 8u - writer->used ? bits : 8u - writer->used;
        if (writer->used == 0) {
            *writer->at = 0;
        }
        *writer->at |= (uint8_t)((uint8_t)value << writer->used);
        value >>= step;
        bits -= step;
        writer->used = (uint8_t)(writer->used + step);
        if (writer->used == 8u) {
            writer->used = 0;
            writer->at++;
        }
    }
}

/* The tag of a packet of so many bytes before it, in tag. */
static void compute_tag(const uint8_t *packet, size_t bytes, uint32_t counter_high, const uint8_t *key,
                        cmi_tagger *tagger, cmi_stream *stream)
{
    uint8_t high[4];
    cmi_flash_copy(stream->block, key, CM_TAG_KEY_BYTES);
    cmi_stream_set_key(stream, stream->block);
    cmi_tagger_init(tagger, stream->block + 32);
    cmi_tagger_update(tagger, packet, bytes);
    cmi_store32(high, counter_high);
    cmi_tagger_update(tagger, high, sizeof high);
    cmi_tagger_finish(tagger, stream);
}

static void put_tag(uint8_t *packet, size_t bytes, uint32_t counter_high, const uint8_t *key)
{
    cmi_tagger tagger;
    cmi_stream stream;
    compute_tag(packet, bytes, counter_high, key, &tagger, &stream);
    memcpy(packet + bytes, stream.block, CM_TAG_BYTES);
    cmi_wipe(&tagger, sizeof tagger);
    cmi_wipe(&stream, sizeof stream);
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

/* A packet with the coefficients at .. at + count - 1 of those that were computed from first on. */
static cm_status send_compact_packet(const cm_compact_encryptor *encryptor, const compact_window *window,
                                     const uint32_t *residues, uint16_t computed, const uint16_t *values,
                                     uint16_t first, uint16_t at, uint16_t count, uint8_t *packet)
{
    const cm_compact_key *key = encryptor->key;
    const cm_compact_set *set = key->set;
    put_compact_header(packet, key, window, (uint16_t)(first + at), count);
    bit_writer writer = {packet + CM_COMPACT_HEADER_BYTES, 0};
    for (uint16_t i = at; i < at + count; i++) {
        put_bits(&writer, cmi_compact_coefficient(set, residues, computed, i, values[i]), set->wire_bits);
    }
    const size_t bytes = CM_COMPACT_PACKET_BYTES(count, set->wire_bits) - CM_TAG_BYTES;
    put_tag(packet, bytes, cmi_upper_word(window->counter), key->material + CM_TAG_KEY);
    cmi_declassify(packet, bytes + CM_TAG_BYTES);
    const cm_sink *const sink = &encryptor->setup.sink;
    if (sink->write(sink->context, packet, bytes + CM_TAG_BYTES) != 0) {
        return CM_ERR_SINK;
    }
    return marked(&encryptor->setup) ? CM_OK : CM_ERR_ARENA;
}

static uint16_t smaller(uint16_t a, uint16_t b)
{
    return a < b ? a : b;
}

/* As many coefficients as are computed at a time. */
static cm_status send_some(const cm_compact_encryptor *encryptor, const compact_window *window,
                           const uint16_t *values, uint16_t first, uint16_t count)
{
    const cm_compact_setup *setup = &encryptor->setup;
    const cm_compact_set *set = encryptor->key->set;
    uint32_t *residues = (uint32_t *)(void *)((uint8_t *)setup->arena + CM_COMPACT_MARK_BYTES);
    const size_t bytes = sizeof *residues * set->prime_count * count;
    uint8_t *behind = (uint8_t *)residues + (bytes + 7u) / 8u * 8u;
    uint32_t position[4];
    set_window_position(position, window->counter, window->random);
    cmi_compact_residues(encryptor->key, position, first, count, residues, behind,
                         setup->arena_bytes - (size_t)(behind - (uint8_t *)setup->arena));
    const uint16_t most = encryptor->in_packet;
    cm_status status = CM_OK;
    for (uint16_t at = 0; at < count && status == CM_OK; at = (uint16_t)(at + most)) {
        const uint16_t some = smaller((uint16_t)(count - at), most);
        status = send_compact_packet(encryptor, window, residues, count, values, first, at, some, behind);
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
    const uint16_t most = encryptor->at_once;
    for (uint16_t at = 0; at < count && status == CM_OK; at = (uint16_t)(at + most)) {
        const uint16_t some = smaller((uint16_t)(count - at), most);
        status = send_some(encryptor, &window, values + at, (uint16_t)(first + at), some);
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
    found.epoch = (uint16_t)(bytes[AT_EPOCH] | bytes[AT_EPOCH + 1] << 8);
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
