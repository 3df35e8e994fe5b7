/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames: the compact wire format, specified in docs/wire-format.md.
 *
 * A frame is a 44-byte header, a payload and a CRC-32C. A residue frame carries one component at one prime,
 * or one tile of it, each residue in as many bits as the prime has. A seed frame replaces component 1 of a
 * symmetric ciphertext. The CRC detects accidents, not attacks: send frames over an authenticated channel, or
 * as version 2, whose header is 20 bytes longer and says which device sends them, and which have a tag.
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
#define CM_FRAME_TAGGED_VERSION 2
#define CM_FRAME_TAGGED_HEADER_BYTES 64
#define CM_TAG_KEY_BYTES 48
#define CM_TAG_BYTES 8
#define CM_TAG_WORDS 12 /* of a frame's piece, to compute its tag in */

typedef enum cm_payload { CM_PAYLOAD_RESIDUES = 0, CM_PAYLOAD_SEED = 1 } cm_payload;

/* An emitter that writes frames to a sink, in pieces of at most CM_FRAME_PIECE_BYTES. */
#ifdef __AVR__
#define CM_FRAME_PIECE_BYTES 48 /* a header, in whole blocks of a tag */
#else
#define CM_FRAME_PIECE_BYTES 64
#endif
typedef struct cm_frame_writer {
    cm_emitter emitter; /* first: hand &writer.emitter to the encryptor */
    cm_sink sink;
    struct cm_frame_sender *sender; /* null: version 1 */
    uint32_t crc;
    union {
        uint8_t piece[CM_FRAME_PIECE_BYTES];
        uint32_t words[CM_FRAME_PIECE_BYTES / 4]; /* to compute a tag in */
    };
    uint8_t filled;
} cm_frame_writer;

void cm_frame_writer_init(cm_frame_writer *writer, cm_sink sink);

/* For a window's number: the next ciphertext begins a new window. */
#define CM_NEW_WINDOW UINT64_MAX

/*
 * Who sends frames of version 2: set by cm_frame_sender_init, and handed to a writer by
 * cm_frame_writer_tag. window is the number of the window whose readings the next ciphertext holds, the
 * counter of its first attempt; CM_NEW_WINDOW is replaced by that counter as the ciphertext begins. tags is
 * the sum modulo 2^64 of the tags, as little-endian numbers, of the frames sent so far of the newest
 * ciphertext: a receipt for it has the same sum (docs/wire-format.md). Both are for reading; the calls below
 * and cm_frame_writer_attempt (receipt.h) say how they are used.
 */
typedef struct cm_frame_sender {
    uint64_t window;
    uint64_t tags;
    const uint8_t *tag_key; /* CM_TAG_KEY_BYTES; on AVR in flash (PROGMEM) */
    uint32_t device;
    uint16_t epoch;
    /* The rest is the library's. */
    void (*absorb)(struct cm_frame_sender *self, const uint8_t *bytes, size_t length);
    void (*turn)(struct cm_frame_sender *self, uint32_t *words); /* null: begin a tag; else end it there */
    struct {
        uint32_t hash[5];
        uint32_t factor[4];
    } state; /* of a frame's tag; zero between frames */
} cm_frame_sender;

/*
 * The owner derives the tag key, names the device and counts its epochs (docs/wire-format.md). Frames of a
 * key that was never filled in (zeros, or erased flash) are refused with CM_ERR_ARGUMENT.
 */
void cm_frame_sender_init(cm_frame_sender *sender, const uint8_t *tag_key, uint32_t device, uint16_t epoch);

/*
 * Call this before each ciphertext of new readings: it begins a window. A ciphertext without it is another
 * attempt to send the window before, and must hold the same readings: a gateway counts one attempt of each
 * window.
 */
static inline void cm_frame_sender_begin_window(cm_frame_sender *sender)
{
    sender->window = CM_NEW_WINDOW;
}

/* The next ciphertext is another attempt to send this window, which may have begun before a restart. */
static inline void cm_frame_sender_resume_window(cm_frame_sender *sender, uint64_t window)
{
    sender->window = window;
}

/*
 * Make the writer's frames version 2. The sender must stay as long as the writer is used. A ciphertext whose
 * counter is before its window, or 2^32 and more after it, ends with CM_ERR_ARGUMENT.
 */
void cm_frame_writer_tag(cm_frame_writer *writer, cm_frame_sender *sender);

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
    size_t frame_bytes;          /* header, payload, tag and CRC */
    const uint8_t *payload_data; /* points into the caller's bytes */
    uint8_t version;             /* 1, or 2, which alone has the rest */
    uint16_t epoch;
    uint32_t device;
    uint32_t since_window; /* the counter less the window's number */
    uint8_t random[8];
} cm_frame;

/*
 * Check a header, the first CM_FRAME_HEADER_BYTES of a frame, or CM_FRAME_TAGGED_HEADER_BYTES of version 2,
 * against the parameter set it must be for (null: any of cm_params_all). Fills frame except payload_data.
 * CM_ERR_FRAME_SHORT if fewer bytes are given.
 */
CM_MUST_CHECK cm_status cm_frame_parse_header(const uint8_t *bytes, size_t length, const cm_params *params,
                                              cm_frame *frame);

/* Check a whole frame: header, length, CRC. Bytes may follow it: frame->frame_bytes says where it ends. */
CM_MUST_CHECK cm_status cm_frame_parse(const uint8_t *bytes, size_t length, const cm_params *params,
                                       cm_frame *frame);

/*
 * Check the tag of a frame of version 2 that cm_frame_parse has accepted. The key is in flash (PROGMEM) on
 * AVR. The time does not depend on where tags differ. CM_ERR_FRAME_TAG; CM_ERR_FRAME_VERSION for version 1.
 */
CM_MUST_CHECK cm_status cm_frame_verify(const cm_frame *frame, const uint8_t tag_key[CM_TAG_KEY_BYTES]);

/* Unpack a parsed residue frame into residue_count words. CM_ERR_RESIDUE if one is not below its prime. */
CM_MUST_CHECK cm_status cm_frame_unpack(const cm_frame *frame, uint32_t *residues);

/*
 * What a device accepts as results: frames of version 2 under the result key, for this device, that answer
 * this attempt. Set by cm_frame_expected_init and cm_frame_expect_answer, and handed to a reader by
 * cm_frame_reader_expect (or to a decryptor with its setup).
 */
typedef struct cm_frame_expected {
    const uint8_t *result_key; /* CM_TAG_KEY_BYTES; on AVR in flash (PROGMEM) */
    uint64_t window;           /* of the attempt, as its counter and its random bytes */
    uint64_t counter;
    uint32_t device;
    uint16_t epoch;
    uint8_t random[8];
    /* The rest is the library's. */
    cm_status (*begin)(struct cm_frame_expected *self, const cm_frame *frame);
    void (*absorb)(struct cm_frame_expected *self, const uint8_t *bytes, size_t length);
    cm_status (*end)(struct cm_frame_expected *self, const uint8_t tag[CM_TAG_BYTES]);
    uint32_t state[14];
} cm_frame_expected;

/* The owner derives the result key, names the device and counts its epochs (docs/wire-format.md). */
void cm_frame_expected_init(cm_frame_expected *expected, const uint8_t *result_key, uint32_t device,
                            uint16_t epoch);

/* The attempt is the one that a sender has made last; info: its writer's, writer.emitter.info. */
void cm_frame_expect_answer(cm_frame_expected *expected, const cm_frame_sender *sender,
                            const cm_ciphertext_info *info);

/*
 * A frame reader passes frames to a receiver as they arrive, in pieces of any size: each residue once it is
 * known to be below its prime, and the frame's end once its checksum has matched, and its tag if it has one.
 * After a fault it accepts nothing more. It takes version 1 alone, or version 2 alone where
 * cm_frame_reader_expect says whose.
 */
#define CM_FRAME_GROUP (CM_CONFIG_SMALL ? 32u : 128u)        /* most residues passed on at once */
#define CM_FRAME_GROUP_MAX_BYTES (CM_FRAME_GROUP / 8u * 27u) /* packed, at 27 bits each */
typedef struct cm_frame_reader {
    cm_receiver *receiver;
    const cm_params *params;
    cm_frame_expected *expected; /* null: version 1 */
    uint32_t crc;
    uint32_t prime;         /* the frame's */
    uint16_t residues_left; /* of the frame */
    uint8_t group;          /* residues passed on at once: CM_FRAME_GROUP, or a tile if that is smaller */
    uint8_t bits;
    uint16_t wanted;
    uint16_t filled;
    uint8_t part; /* of the frame: header, residues, seed or its end */
    uint8_t piece[CM_FRAME_GROUP_MAX_BYTES];
    cm_status status;
} cm_frame_reader;

/* Frames of other parameter sets than params are refused; params and receiver must outlive the reader. */
void cm_frame_reader_init(cm_frame_reader *reader, const cm_params *params, cm_receiver *receiver);

/*
 * Before the first bytes: take only what is expected, which must outlive the reader; null: version 1. What
 * the receiver has taken of a frame must not be used before its end. Faults of the stream are then also:
 *
 *     CM_ERR_ARGUMENT       cm_frame_expected_init was not called, or had no key
 *     CM_ERR_FRAME_VERSION  version 1
 *     CM_ERR_FRAME_FOREIGN  another device, epoch, window, counter or random bytes
 *     CM_ERR_FRAME_TAG      forged, altered, or under another key
 */
void cm_frame_reader_expect(cm_frame_reader *reader, cm_frame_expected *expected);

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
