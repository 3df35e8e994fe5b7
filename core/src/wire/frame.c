/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames: writing them piece by piece, and checking every byte of those received. docs/wire-format.md has the
 * layout.
 */
#include "wire/frame.h"

#include <string.h>

#include "arch/backends.h"
#include "common/bytes.h"
#include "common/compiler.h"
#include "common/wipe.h"
#include "ring/prime.h"
#include "wire/tag.h"

enum {
    MAGIC_0 = 'C',
    MAGIC_1 = 'M',
    AT_VERSION = 2,
    AT_PAYLOAD = 3,
    AT_SCHEME = 4,
    AT_DOMAIN = 5,
    AT_COMPONENTS = 6,
    AT_PRIMES = 7,
    AT_PARAMS = 8,
    AT_KEY = 12,
    AT_COUNTER = 20,
    AT_SCALE = 28,
    AT_XOF = 36,
    AT_COMPONENT = 37,
    AT_PRIME = 38,
    AT_TILES = 39,
    AT_LENGTH = 40,
    /* Version 2, in the 20 bytes behind. */
    MORE_DEVICE = 0,
    MORE_EPOCH = 4,
    MORE_SINCE_WINDOW = 8,
    MORE_RANDOM = 12,
    MORE_BYTES = 20
};

/* ---- writing ---- */

_Static_assert(CM_FRAME_PIECE_BYTES >= CM_FRAME_HEADER_BYTES + MORE_EPOCH &&
                   CM_FRAME_PIECE_BYTES % CM_POLY1305_BLOCK_BYTES == 0 &&
                   CM_FRAME_PIECE_BYTES >= 4 * CM_TAG_WORDS,
               "a piece holds a header, with the device behind it, whole blocks of a tag, and what it takes");

cm_status cmi_frame_send(cm_frame_writer *writer)
{
    const size_t length = writer->filled;
    writer->filled = 0;
    if (writer->sink.write(writer->sink.context, writer->piece, length) == 0) {
        return CM_OK;
    }
    if (writer->sender) { /* half of the tag key is in it */
        cmi_wipe(&writer->sender->state, sizeof writer->sender->state);
    }
    return CM_ERR_SINK;
}

void cmi_frame_fill(cm_frame_writer *writer, const uint8_t *from, const uint8_t *to)
{
    writer->crc = cm_crc32c(writer->crc, from, (size_t)(to - from));
    writer->filled = (uint8_t)(to - writer->piece);
    if (writer->sender) { /* at the end, with nothing left on the stack */
        writer->sender->absorb(writer->sender, from, (size_t)(to - from));
    }
}

static cm_status send_if_full(cm_frame_writer *writer)
{
    return writer->filled == CM_FRAME_PIECE_BYTES ? cmi_frame_send(writer) : CM_OK;
}

/*
 * What version 2 has behind version 1's header and the device. The public seed's first bytes are another
 * attempt's where no seed is sent, too. Header and pieces are whole blocks of the tag, and so the payload's
 * pieces are, except the last: the tag needs no memory for parts of blocks.
 */
static cm_status put_sender(cm_frame_writer *writer)
{
    const cm_frame_sender *sender = writer->sender;
    const cm_ciphertext_info *info = &writer->emitter.info;
    const cm_status status = send_if_full(writer);
    if (status != CM_OK) {
        return status;
    }
    uint8_t *const epoch = writer->piece + writer->filled;
    cmi_store32(epoch, sender->epoch);
    cmi_store32(epoch + MORE_SINCE_WINDOW - MORE_EPOCH, (uint32_t)(info->counter - sender->window));
    memcpy(epoch + MORE_RANDOM - MORE_EPOCH, info->seed, 8);
    cmi_frame_fill(writer, epoch, epoch + MORE_BYTES - MORE_EPOCH);
    return send_if_full(writer);
}

static cm_status put_header(cm_frame_writer *writer, cm_payload payload, unsigned component, unsigned prime,
                            unsigned tiles, uint32_t payload_bytes)
{
    const cm_ciphertext_info *info = &writer->emitter.info;
    uint8_t *header = writer->piece;
    header[0] = MAGIC_0;
    header[1] = MAGIC_1;
    header[AT_VERSION] = writer->sender ? CM_FRAME_TAGGED_VERSION : CM_FRAME_VERSION;
    header[AT_PAYLOAD] = (uint8_t)payload;
    header[AT_SCHEME] = (uint8_t)info->scheme;
    header[AT_DOMAIN] = info->ntt_form ? 1 : 0;
    header[AT_COMPONENTS] = info->components;
    header[AT_PRIMES] = info->primes;
    cmi_store32(header + AT_PARAMS, info->params->id);
    cmi_store64(header + AT_KEY, info->key_id);
    cmi_store64(header + AT_COUNTER, info->counter);
    cmi_store64(header + AT_SCALE, info->scale_bits);
    header[AT_XOF] = (uint8_t)info->xof;
    header[AT_COMPONENT] = (uint8_t)component;
    header[AT_PRIME] = (uint8_t)prime;
    header[AT_TILES] = (uint8_t)tiles;
    cmi_store32(header + AT_LENGTH, payload_bytes);
    uint8_t *end = header + CM_FRAME_HEADER_BYTES;
    writer->crc = 0;
    if (!writer->sender) {
        cmi_frame_fill(writer, header, end);
        return CM_OK;
    }
    writer->sender->turn(writer->sender, NULL);
    cmi_store32(end + MORE_DEVICE, writer->sender->device);
    cmi_frame_fill(writer, header, end + MORE_EPOCH);
    return put_sender(writer);
}

static cm_status close_frame(cm_frame_writer *writer)
{
    cm_status status = writer->filled ? cmi_frame_send(writer) : CM_OK;
    if (status == CM_OK) {
        uint8_t *end = writer->piece;
        if (writer->sender) {
            writer->sender->turn(writer->sender, writer->words);
            writer->crc = cm_crc32c(writer->crc, end, CM_TAG_BYTES);
            end += CM_TAG_BYTES;
        }
        cmi_store32(end, writer->crc);
        writer->filled = (uint8_t)(end + CM_FRAME_CRC_BYTES - writer->piece);
        status = cmi_frame_send(writer);
    }
    return status;
}

/* Whether the counter of a new ciphertext is less than 2^32 from the window on, which it begins if that is a
   new one. */
static bool window_begun(cm_frame_sender *sender, const uint64_t *counter)
{
    uint32_t window[2], at[2];
    sender->tags = 0;
    cmi_split64(at, counter);
    cmi_split64(window, &sender->window);
    if ((window[0] & window[1]) == UINT32_MAX) {
        memcpy(&sender->window, counter, sizeof *counter);
        return true;
    }
    return at[1] >= window[1] && at[1] - window[1] == (at[0] < window[0] ? 1u : 0u);
}

static cm_status write_seed_frame(cm_emitter *self, const cm_ciphertext_info *info)
{
    cm_frame_writer *writer = (cm_frame_writer *)(void *)self;
    cm_frame_sender *const sender = writer->sender;
    if (!writer->sink.write || (sender && (!sender->turn || !window_begun(sender, &info->counter)))) {
        return CM_ERR_ARGUMENT;
    }
    const size_t length = cm_public_seed_bytes(info->xof);
    if (length == 0) {
        return CM_OK;
    }
    cm_status status = put_header(writer, CM_PAYLOAD_SEED, 1, 0, 0, (uint32_t)length);
    if (status == CM_OK && writer->filled) {
        status = cmi_frame_send(writer);
    }
    if (status == CM_OK) {
        memcpy(writer->piece, info->seed, length);
        cmi_frame_fill(writer, writer->piece, writer->piece + length);
        status = close_frame(writer);
    }
    return status;
}

/*
 * Residues are packed low bits first, without gaps. Their number is a multiple of 32 and the header ends on a
 * word boundary, so everything is in whole words, and a piece never ends inside one.
 */
static cm_status pack(cm_frame_writer *writer, const uint32_t *residues, uint32_t count, unsigned bits)
{
    uint8_t *const end = writer->piece + CM_FRAME_PIECE_BYTES;
    uint8_t *at = writer->piece + writer->filled;
    const uint8_t *from = at;
    uint32_t word = 0;
    unsigned used = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t residue = residues[i];
        word |= residue << used;
        used += bits;
        if (used < 32u) {
            continue;
        }
        cmi_store32(at, word);
        used -= 32u;
        word = residue >> (bits - used);
        at += 4;
        if (at == end) {
            cmi_frame_fill(writer, from, end);
            const cm_status status = cmi_frame_send(writer);
            if (status != CM_OK) {
                return status;
            }
            at = writer->piece;
            from = at;
        }
    }
    cmi_frame_fill(writer, from, at);
    return CM_OK;
}

static cm_status write_residues(cm_emitter *self, unsigned component, unsigned prime, unsigned tile,
                                const uint32_t *residues)
{
    cm_frame_writer *writer = (cm_frame_writer *)(void *)self;
    const cm_params *params = self->info.params;
    const unsigned log2_tiles = self->info.log2_tiles;
    const uint32_t count = (uint32_t)1 << (params->log2_n - log2_tiles);
    const unsigned bits = cmi_bits_of(params->primes[prime].q);
    cm_status status =
        put_header(writer, CM_PAYLOAD_RESIDUES, component, prime, log2_tiles | tile << 4, count / 8u * bits);
    if (status != CM_OK) {
        return status;
    }
    if (!CM_ARCH_TRY(pack, &status, writer, residues, count, bits)) {
        status = pack(writer, residues, count, bits);
    }
    return status == CM_OK ? close_frame(writer) : status;
}

static cm_status write_nothing(cm_emitter *self)
{
    (void)self;
    return CM_OK;
}

void cm_frame_writer_tag(cm_frame_writer *writer, cm_frame_sender *sender)
{
    writer->sender = sender;
}

void cm_frame_writer_init(cm_frame_writer *writer, cm_sink sink)
{
    memset(writer, 0, sizeof *writer);
    writer->emitter.begin = write_seed_frame;
    writer->emitter.residues = write_residues;
    writer->emitter.end = write_nothing;
    writer->sink = sink;
}

/* ---- reading ---- */

/* Whether this is a binary64 from 1 to below 2^512. */
static bool scale_valid(uint64_t bits)
{
    const uint64_t exponent = bits >> 52;
    return exponent >= 1023 && exponent < 1023 + 512;
}

static bool scheme_fields_valid(const cm_ciphertext_info *info)
{
    if (info->scheme == CM_CKKS) {
        return info->ntt_form && scale_valid(info->scale_bits);
    }
    if (info->scheme == CM_PUBLIC_KEY) {
        return info->ntt_form && info->scale_bits == 0 && info->components == 2;
    }
    return info->scheme == CM_BFV && info->plain_modulus >= 2 && info->plain_modulus < (uint64_t)1 << 32;
}

static bool shape_valid(const cm_frame *frame)
{
    const cm_ciphertext_info *info = &frame->info;
    const bool is_key = info->scheme == CM_PUBLIC_KEY;
    const unsigned least = is_key ? info->params->key_primes : 1u;
    const unsigned most = is_key ? info->params->key_primes : info->params->data_primes;
    if (info->primes < least || info->primes > most || frame->prime >= info->primes) {
        return false;
    }
    if (info->components < 2 || info->components > 3 || frame->component >= info->components) {
        return false;
    }
    if (frame->log2_tiles > 4 || frame->tile >> frame->log2_tiles) {
        return false;
    }
    if (frame->payload == CM_PAYLOAD_SEED) {
        return frame->component == 1 && frame->prime == 0 && frame->log2_tiles == 0 &&
               info->components == 2 && info->xof != CM_XOF_NONE;
    }
    return frame->payload == CM_PAYLOAD_RESIDUES && (info->xof == CM_XOF_NONE || frame->component == 0);
}

/*
 * Whether the fields that sizes are computed from are in range. Any other fault in a user's own set shows as
 * wrong residues.
 */
static bool readable(const cm_params *params)
{
    if (!params->primes || params->log2_n < 10 || params->log2_n > 14 || params->key_primes > CM_MAX_PRIMES ||
        params->data_primes > params->key_primes) {
        return false;
    }
    uint32_t any = 0;
    for (unsigned i = 0; i < params->key_primes; i++) {
        any |= params->primes[i].q;
    }
    return any >> 27 == 0;
}

static cm_status parse_fields(const uint8_t *bytes, const cm_params *params, cm_frame *frame)
{
    cm_ciphertext_info *info = &frame->info;
    const uint32_t id = cmi_load32(bytes + AT_PARAMS);
    info->params = params ? params : cm_params_by_id(id);
    if (!info->params || info->params->id != id || !readable(info->params)) {
        return CM_ERR_PARAMS;
    }
    if (bytes[AT_DOMAIN] > 1 || bytes[AT_XOF] > CM_XOF_CHACHA20 || bytes[AT_PAYLOAD] > CM_PAYLOAD_SEED ||
        bytes[AT_SCHEME] > CM_CKKS) {
        return CM_ERR_FRAME_FIELD;
    }
    info->scheme = (cm_scheme)bytes[AT_SCHEME];
    info->ntt_form = bytes[AT_DOMAIN] == 1;
    info->components = bytes[AT_COMPONENTS];
    info->primes = bytes[AT_PRIMES];
    info->key_id = cmi_load64(bytes + AT_KEY);
    info->counter = cmi_load64(bytes + AT_COUNTER);
    info->scale_bits = cmi_load64(bytes + AT_SCALE);
    info->xof = (cm_xof_kind)bytes[AT_XOF];
    frame->payload = (cm_payload)bytes[AT_PAYLOAD];
    frame->component = bytes[AT_COMPONENT];
    frame->prime = bytes[AT_PRIME];
    frame->log2_tiles = bytes[AT_TILES] & 15u;
    frame->tile = bytes[AT_TILES] >> 4;
    frame->payload_bytes = cmi_load32(bytes + AT_LENGTH);
    return scheme_fields_valid(info) && shape_valid(frame) ? CM_OK : CM_ERR_FRAME_FIELD;
}

static size_t header_bytes(const cm_frame *frame)
{
    return frame->version == CM_FRAME_TAGGED_VERSION ? CM_FRAME_TAGGED_HEADER_BYTES : CM_FRAME_HEADER_BYTES;
}

/* What version 2 has behind version 1's header. */
static cm_status parse_sender(const uint8_t *more, cm_frame *frame)
{
    const uint32_t epoch = cmi_load32(more + MORE_EPOCH);
    frame->device = cmi_load32(more + MORE_DEVICE);
    frame->epoch = (uint16_t)epoch;
    frame->since_window = cmi_load32(more + MORE_SINCE_WINDOW);
    memcpy(frame->random, more + MORE_RANDOM, sizeof frame->random);
    return epoch >> 16 == 0 && frame->since_window <= frame->info.counter ? CM_OK : CM_ERR_FRAME_FIELD;
}

cm_status cm_frame_parse_header(const uint8_t *bytes, size_t length, const cm_params *params, cm_frame *frame)
{
    if (!frame) {
        return CM_ERR_ARGUMENT;
    }
    memset(frame, 0, sizeof *frame);
    if (!bytes) {
        return CM_ERR_ARGUMENT;
    }
    if (length < CM_FRAME_HEADER_BYTES) {
        return CM_ERR_FRAME_SHORT;
    }
    if (bytes[0] != MAGIC_0 || bytes[1] != MAGIC_1) {
        return CM_ERR_FRAME_MAGIC;
    }
    const bool tagged = bytes[AT_VERSION] == CM_FRAME_TAGGED_VERSION;
    if (!tagged && bytes[AT_VERSION] != CM_FRAME_VERSION) {
        return CM_ERR_FRAME_VERSION;
    }
    if (tagged && length < CM_FRAME_TAGGED_HEADER_BYTES) {
        return CM_ERR_FRAME_SHORT;
    }
    cm_status status = parse_fields(bytes, params, frame);
    if (status == CM_OK && tagged) {
        status = parse_sender(bytes + CM_FRAME_HEADER_BYTES, frame);
    }
    if (status == CM_OK) {
        uint32_t expected = (uint32_t)cm_public_seed_bytes(frame->info.xof);
        if (frame->payload == CM_PAYLOAD_RESIDUES) {
            frame->residue_count = (uint32_t)1 << (frame->info.params->log2_n - frame->log2_tiles);
            expected = frame->residue_count / 8u * cmi_bits_of(frame->info.params->primes[frame->prime].q);
        }
        if (expected == 0) {
            status = CM_ERR_UNSUPPORTED; /* the seed of an XOF that this build leaves out */
        } else if (frame->payload_bytes != expected) {
            status = CM_ERR_FRAME_FIELD;
        }
    }
    if (status != CM_OK) {
        memset(frame, 0, sizeof *frame);
        return status;
    }
    frame->version = bytes[AT_VERSION];
    frame->frame_bytes =
        header_bytes(frame) + frame->payload_bytes + (tagged ? CM_TAG_BYTES : 0) + CM_FRAME_CRC_BYTES;
    return CM_OK;
}

cm_status cm_frame_parse(const uint8_t *bytes, size_t length, const cm_params *params, cm_frame *frame)
{
    cm_status status = cm_frame_parse_header(bytes, length, params, frame);
    if (status != CM_OK) {
        return status;
    }
    const size_t covered = frame->frame_bytes - CM_FRAME_CRC_BYTES;
    if (length < frame->frame_bytes) {
        status = CM_ERR_FRAME_SHORT;
    } else if (cm_crc32c(0, bytes, covered) != cmi_load32(bytes + covered)) {
        status = CM_ERR_FRAME_CRC;
    }
    if (status != CM_OK) {
        memset(frame, 0, sizeof *frame);
        return status;
    }
    frame->payload_data = bytes + header_bytes(frame);
    if (frame->payload == CM_PAYLOAD_SEED) {
        memcpy(frame->info.seed, frame->payload_data, frame->payload_bytes);
    }
    return CM_OK;
}

cm_status cm_frame_verify(const cm_frame *frame, const uint8_t tag_key[CM_TAG_KEY_BYTES])
{
    if (!frame || !frame->payload_data || !tag_key) {
        return CM_ERR_ARGUMENT;
    }
    if (frame->version != CM_FRAME_TAGGED_VERSION) {
        return CM_ERR_FRAME_VERSION;
    }
    const uint8_t *bytes = frame->payload_data - CM_FRAME_TAGGED_HEADER_BYTES;
    const size_t length = (size_t)CM_FRAME_TAGGED_HEADER_BYTES + frame->payload_bytes;
    return cmi_tag_verify(bytes, length, NULL, 0, tag_key, bytes + length);
}

cm_status cm_frame_unpack(const cm_frame *frame, uint32_t *residues)
{
    if (!frame || !frame->payload_data || frame->payload != CM_PAYLOAD_RESIDUES || !residues) {
        return CM_ERR_ARGUMENT;
    }
    const uint32_t q = frame->info.params->primes[frame->prime].q;
    const unsigned bits = cmi_bits_of(q);
    const uint32_t mask = ((uint32_t)1 << bits) - 1u;
    const uint8_t *next = frame->payload_data;
    uint64_t pending = 0;
    unsigned pending_bits = 0;
    for (uint32_t i = 0; i < frame->residue_count; i++) {
        while (pending_bits < bits) {
            pending |= (uint64_t)*next++ << pending_bits;
            pending_bits += 8u;
        }
        residues[i] = (uint32_t)pending & mask;
        if (residues[i] >= q) {
            memset(residues, 0, sizeof *residues * frame->residue_count);
            return CM_ERR_RESIDUE;
        }
        pending >>= bits;
        pending_bits -= bits;
    }
    return CM_OK;
}

/* ---- reading as the bytes come ---- */

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
