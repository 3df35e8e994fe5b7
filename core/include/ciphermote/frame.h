/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames: the compact wire format, specified in docs/wire-format.md.
 *
 * A frame is a 44-byte header, a payload and a CRC-32C. A residue frame carries one component at one prime,
 * or one tile of it, each residue in as many bits as the prime has. A seed frame replaces component 1 of a
 * symmetric ciphertext. The CRC detects accidents, not attacks: send frames over an authenticated channel.
 */
#ifndef CIPHERMOTE_FRAME_H
#define CIPHERMOTE_FRAME_H

#include "ciphermote/config.h"
#include "ciphermote/emitter.h"
#include "ciphermote/receiver.h"

#ifdef __cplusplus
extern "C" {
#endif

CM_REFUSE_PACKING(frame);

#define CM_FRAME_VERSION 1
#define CM_FRAME_HEADER_BYTES 44
#define CM_FRAME_CRC_BYTES 4

typedef enum cm_payload { CM_PAYLOAD_RESIDUES = 0, CM_PAYLOAD_SEED = 1 } cm_payload;

/* An emitter that writes frames to a sink, in pieces of at most CM_FRAME_PIECE_BYTES. */
#ifdef __AVR__
#define CM_FRAME_PIECE_BYTES 48
#else
#define CM_FRAME_PIECE_BYTES 64
#endif
typedef struct cm_frame_writer {
    cm_emitter emitter; /* first: hand &writer.emitter to the encryptor */
    cm_sink sink;
    uint32_t crc;
    uint8_t piece[CM_FRAME_PIECE_BYTES];
    uint8_t filled;
} cm_frame_writer;

void cm_frame_writer_init(cm_frame_writer *writer, cm_sink sink);

/* A parsed header. */
typedef struct cm_frame {
    cm_ciphertext_info info; /* info.seed is a seed frame's payload, otherwise zero */
    cm_payload payload;
    uint8_t component;
    uint8_t prime;
    uint8_t log2_tiles;
    uint8_t tile;
    uint32_t residue_count; /* n >> log2_tiles, or 0 for a seed frame */
    uint32_t payload_bytes;
    size_t frame_bytes;          /* header, payload and CRC */
    const uint8_t *payload_data; /* points into the caller's bytes */
} cm_frame;

/*
 * Check a header, the first CM_FRAME_HEADER_BYTES of a frame, against the parameter set it must be for (null:
 * any of cm_params_all). Fills frame except payload_data. CM_ERR_FRAME_SHORT if fewer bytes are given.
 */
CM_MUST_CHECK cm_status cm_frame_parse_header(const uint8_t *bytes, size_t length, const cm_params *params,
                                              cm_frame *frame);

/* Check a whole frame: header, length, CRC. Bytes may follow it: frame->frame_bytes says where it ends. */
CM_MUST_CHECK cm_status cm_frame_parse(const uint8_t *bytes, size_t length, const cm_params *params,
                                       cm_frame *frame);

/* Unpack a parsed residue frame into residue_count words. CM_ERR_RESIDUE if one is not below its prime. */
CM_MUST_CHECK cm_status cm_frame_unpack(const cm_frame *frame, uint32_t *residues);

/*
 * A frame reader passes frames to a receiver as they arrive, in pieces of any size: each residue once it is
 * known to be below its prime, and the frame's end once its checksum has matched. After a fault it accepts
 * nothing more.
 */
#define CM_FRAME_GROUP (CM_CONFIG_SMALL ? 32u : 128u)        /* most residues passed on at once */
#define CM_FRAME_GROUP_MAX_BYTES (CM_FRAME_GROUP / 8u * 27u) /* packed, at 27 bits each */
typedef struct cm_frame_reader {
    cm_receiver *receiver;
    const cm_params *params;
    uint32_t crc;
    uint32_t prime;         /* the frame's */
    uint16_t residues_left; /* of the frame */
    uint8_t group;          /* residues passed on at once: CM_FRAME_GROUP, or a tile if that is smaller */
    uint8_t bits;
    uint16_t wanted;
    uint16_t filled;
    uint8_t part; /* of the frame: header, residues, seed or checksum */
    uint8_t piece[CM_FRAME_GROUP_MAX_BYTES];
    cm_status status;
} cm_frame_reader;

/* Frames of other parameter sets than params are refused; params and receiver must outlive the reader. */
void cm_frame_reader_init(cm_frame_reader *reader, const cm_params *params, cm_receiver *receiver);

/*
 * Take the next bytes of the stream. After the first fault this call and all later ones return its status:
 * the reader's (CM_ERR_FRAME_*, CM_ERR_PARAMS, CM_ERR_RESIDUE, or CM_ERR_UNSUPPORTED for the seed of an XOF
 * that the build leaves out) or the receiver's. CM_ERR_ARGUMENT for null bytes, which change nothing.
 */
CM_MUST_CHECK cm_status cm_frame_reader_feed(cm_frame_reader *reader, const uint8_t *bytes, size_t length);

/* The CRC-32C (Castagnoli) of bytes, continuing from crc; start with 0. */
uint32_t cm_crc32c(uint32_t crc, const uint8_t *bytes, size_t length);

#ifdef __cplusplus
}
#endif
#endif
