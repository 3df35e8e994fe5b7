/* SPDX-License-Identifier: Apache-2.0 */
/* Writing frames, piece by piece: docs/wire-format.md has the layout. */
#include "wire/frame.h"

#include <string.h>

#include "arch/backends.h"
#include "common/bytes.h"
#include "common/wipe.h"
#include "ring/prime.h"
#include "wire/frame_layout.h"
#include "wire/tag.h"

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
