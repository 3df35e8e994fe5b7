/* SPDX-License-Identifier: Apache-2.0 */
/* Reading frames as their bytes come, every byte checked: docs/wire-format.md has the layout. */
#include "wire/frame.h"

#include <string.h>

#include "arch/backends.h"
#include "common/bytes.h"
#include "common/compiler.h"
#include "common/wipe.h"
#include "ring/prime.h"
#include "wire/frame_layout.h"

enum { PART_HEADER, PART_RESIDUES, PART_SEED, PART_END };

static void await_part(cm_frame_reader *reader, unsigned part, unsigned bytes)
{
    reader->part = (uint8_t)part;
    reader->wanted = (uint16_t)bytes;
    reader->filled = 0;
}

static void await_header(cm_frame_reader *reader)
{
    await_part(reader, PART_HEADER, reader->expected ? CM_FRAME_TAGGED_HEADER_BYTES : CM_FRAME_HEADER_BYTES);
}

/* The tag, if it has one, and the checksum. */
static void await_end(cm_frame_reader *reader)
{
    await_part(reader, PART_END, CM_FRAME_CRC_BYTES + (reader->expected ? CM_TAG_BYTES : 0u));
}

/* The tag covers what the checksum does. */
static void absorb_part(cm_frame_reader *reader, const uint8_t *bytes)
{
    if (reader->expected) {
        reader->expected->absorb(reader->expected, bytes, reader->wanted);
    }
}

void cm_frame_reader_init(cm_frame_reader *reader, const cm_params *params, cm_receiver *receiver)
{
    memset(reader, 0, sizeof *reader);
    reader->params = params;
    reader->receiver = receiver;
    reader->status = params && receiver && receiver->begin ? CM_OK : CM_ERR_ARGUMENT;
    await_header(reader);
}

void cm_frame_reader_expect(cm_frame_reader *reader, cm_frame_expected *expected)
{
    reader->expected = expected;
    if (expected && !expected->begin) {
        reader->status = CM_ERR_ARGUMENT;
    }
    await_header(reader);
}

void cm_frame_expect_answer(cm_frame_expected *expected, const cm_frame_sender *sender,
                            const cm_ciphertext_info *info)
{
    expected->window = sender->window;
    expected->counter = info->counter;
    memcpy(expected->random, info->seed, sizeof expected->random);
}

void cmi_frame_reader_wipe(cm_frame_reader *reader)
{
    if (reader->expected) { /* half of the result key is in it while a frame is under way */
        cmi_wipe(reader->expected->state, sizeof reader->expected->state);
    }
}

/* Each part is out of line, so that none pays for the others' variables on the stack. */
static CM_NOINLINE cm_status take_header(cm_frame_reader *reader, const uint8_t *bytes)
{
    cm_frame frame;
    cm_frame_expected *expected = reader->expected;
    if (!expected && bytes[AT_VERSION] == CM_FRAME_TAGGED_VERSION) {
        return CM_ERR_FRAME_VERSION;
    }
    cm_status status = cm_frame_parse_header(bytes, reader->wanted, reader->params, &frame);
    if (status == CM_OK && expected) {
        status = frame.version == CM_FRAME_TAGGED_VERSION ? expected->begin(expected, &frame)
                                                          : CM_ERR_FRAME_VERSION;
    }
    if (status != CM_OK) {
        return status;
    }
    frame.info.log2_tiles = frame.log2_tiles;
    reader->crc = cm_crc32c(0, bytes, reader->wanted);
    absorb_part(reader, bytes);
    if (frame.payload == CM_PAYLOAD_SEED) {
        await_part(reader, PART_SEED, frame.payload_bytes);
    } else {
        reader->prime = reader->params->primes[frame.prime].q;
        reader->bits = (uint8_t)cmi_bits_of(reader->prime);
        reader->residues_left = (uint16_t)frame.residue_count;
        reader->group =
            (uint8_t)(frame.residue_count < CM_FRAME_GROUP ? frame.residue_count : CM_FRAME_GROUP);
        await_part(reader, PART_RESIDUES, reader->group / 8u * reader->bits);
    }
    return reader->receiver->begin(reader->receiver, &frame.info, frame.component, frame.prime, frame.tile);
}

/* A group of residues, a multiple of 32, is whole words. Returns whether all are below q. */
static bool unpack_group(const uint8_t *bytes, unsigned bits, uint32_t q, uint32_t *residues, unsigned count)
{
    const uint32_t mask = ((uint32_t)1 << bits) - 1u;
    uint32_t word = 0;
    uint32_t borrows = 0xFFFFFFFFu;
    int left = 0; /* bits in word */
    for (unsigned i = 0; i < count; i++) {
        uint32_t residue = word;
        left -= (int)bits;
        if (left < 0) {
            word = cmi_load32(bytes);
            bytes += 4;
            residue |= word << (left + (int)bits);
            word >>= -left;
            left += 32;
        } else {
            word >>= bits;
        }
        residue &= mask;
        residues[i] = residue;
        borrows &= residue - q;
    }
    return borrows >> 31 != 0;
}

static bool unpack_summed(cm_frame_reader *reader, const uint8_t *bytes, uint32_t *residues)
{
    bool below;
    if (CM_ARCH_TRY(unpack, &below, residues, reader->group, bytes, reader->bits, reader->prime,
                    &reader->crc)) {
        return below;
    }
    reader->crc = cm_crc32c(reader->crc, bytes, reader->wanted);
    return unpack_group(bytes, reader->bits, reader->prime, residues, reader->group);
}

static CM_NOINLINE cm_status take_group(cm_frame_reader *reader, const uint8_t *bytes)
{
    uint32_t residues[CM_FRAME_GROUP];
    if (!unpack_summed(reader, bytes, residues)) {
        return CM_ERR_RESIDUE;
    }
    absorb_part(reader, bytes);
    reader->residues_left = (uint16_t)(reader->residues_left - reader->group);
    if (reader->residues_left == 0) {
        await_end(reader);
    }
    return reader->receiver->residues(reader->receiver, residues, reader->group);
}

static CM_NOINLINE cm_status take_seed(cm_frame_reader *reader, const uint8_t *bytes)
{
    uint32_t words[CM_MAX_PUBLIC_SEED_BYTES / 4u];
    const uint32_t count = reader->wanted / 4u;
    reader->crc = cm_crc32c(reader->crc, bytes, reader->wanted);
    absorb_part(reader, bytes);
    for (uint32_t i = 0; i < count; i++) {
        words[i] = cmi_load32(bytes + 4u * i);
    }
    await_end(reader);
    return reader->receiver->residues(reader->receiver, words, count);
}

/* Damage is told from forgery: the checksum is looked at first. */
static cm_status take_end(cm_frame_reader *reader, const uint8_t *bytes)
{
    cm_frame_expected *expected = reader->expected;
    const uint8_t *crc = bytes;
    if (expected) {
        crc += CM_TAG_BYTES;
        reader->crc = cm_crc32c(reader->crc, bytes, CM_TAG_BYTES);
    }
    if (cmi_load32(crc) != reader->crc) {
        return CM_ERR_FRAME_CRC;
    }
    if (expected) {
        const cm_status status = expected->end(expected, bytes);
        if (status != CM_OK) {
            return status;
        }
    }
    await_header(reader);
    return reader->receiver->end(reader->receiver);
}

static cm_status take(cm_frame_reader *reader, const uint8_t *bytes)
{
    if (reader->part == PART_RESIDUES) {
        return take_group(reader, bytes);
    }
    if (reader->part == PART_END) {
        return take_end(reader, bytes);
    }
    return reader->part == PART_HEADER ? take_header(reader, bytes) : take_seed(reader, bytes);
}

/* A part that is complete in bytes is used in place; others are gathered in piece. */
cm_status cm_frame_reader_feed(cm_frame_reader *reader, const uint8_t *bytes, size_t length)
{
    if (!reader || reader->wanted == 0 || (!bytes && length > 0)) {
        return CM_ERR_ARGUMENT;
    }
    while (length > 0 && reader->status == CM_OK) {
        const size_t missing = (size_t)(reader->wanted - reader->filled);
        const size_t step = length < missing ? length : missing;
        const uint8_t *part = bytes;
        if (step < reader->wanted) {
            memcpy(reader->piece + reader->filled, bytes, step);
            part = reader->piece;
        }
        bytes += step;
        length -= step;
        reader->filled = (uint16_t)(reader->filled + step);
        if (reader->filled == reader->wanted) {
            reader->filled = 0;
            reader->status = take(reader, part);
            if (reader->status != CM_OK) {
                cmi_frame_reader_wipe(reader);
                reader->receiver->fail(reader->receiver, reader->status);
            }
        }
    }
    return reader->status;
}
