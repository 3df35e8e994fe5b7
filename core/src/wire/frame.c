/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing whole frames, every byte checked: docs/wire-format.md has the layout. */
#include "wire/frame.h"

#include <string.h>

#include "common/bytes.h"
#include "ring/prime.h"
#include "wire/frame_layout.h"
#include "wire/tag.h"

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
