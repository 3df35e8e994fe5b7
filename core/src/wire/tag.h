/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tag of a frame: Poly1305's polynomial of the message, without a nonce, and ChaCha20 of that. A keyed
 * hash under a pseudo-random function (Wegman, Carter, "New hash functions and their use in authentication",
 * 1981; GCM-SIV has this structure) needs no nonce, so a counter that repeats gives nothing away. Two
 * messages of up to L bytes have one hash with probability 8 ceil(L / 16) / 2^106 (Bernstein, "The
 * Poly1305-AES message-authentication code", 2005).
 */
#ifndef CM_WIRE_TAG_H
#define CM_WIRE_TAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ciphermote/frame.h"
#include "common/names.h"
#include "random/xof.h"

CMI_HIDDEN_BEGIN

#define CM_POLY1305_BLOCK_BYTES 16

typedef struct cmi_tagger {
    uint32_t h[5]; /* below 2^130 + 2^32: the polynomial so far */
    uint32_t r[4]; /* clamped */
    uint8_t block[CM_POLY1305_BLOCK_BYTES];
    uint8_t filled;
} cmi_tagger;

/* r: the last 16 bytes of a tag key; they may be in the tagger's block. */
void cmi_tagger_init(cmi_tagger *tagger, const uint8_t r[16]);
/* The beginning of a message, and any number of bytes more. */
void cmi_tagger_start(cmi_tagger *tagger, const uint8_t *bytes, size_t length);
void cmi_tagger_update(cmi_tagger *tagger, const uint8_t *bytes, size_t length);
/* The tag is the beginning of the key stream's block at this position, under the first 32 bytes of the tag
   key. Both hold secrets. */
void cmi_tagger_finish(cmi_tagger *tagger, uint32_t position[4]);

/* Whether either part of a tag key was filled in: anyone can tag under zeros, or under erased flash. */
bool cmi_tag_key_usable(const uint8_t *key);

/*
 * Under a whole tag key, CM_TAG_KEY_BYTES that are stored with the constants (common/bytes.h): begin a
 * message, and check the tag of one that is complete, which wipes the tagger. The time does not depend on
 * where tags differ. CM_ERR_FRAME_TAG, or for a message at hand CM_ERR_ARGUMENT if the key is not usable.
 */
void cmi_tagger_begin(cmi_tagger *tagger, const uint8_t *key);
CM_MUST_CHECK cm_status cmi_tagger_verify(cmi_tagger *tagger, const uint8_t *key,
                                          const uint8_t tag[CM_TAG_BYTES]);
/* The same for a message that is at hand, in two parts, the second of which may be null. */
CM_MUST_CHECK cm_status cmi_tag_verify(const uint8_t *message, size_t length, const uint8_t *more,
                                       size_t more_length, const uint8_t *key,
                                       const uint8_t tag[CM_TAG_BYTES]);

CMI_HIDDEN_END

#endif
