/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receipts, the device's side: a gateway answers each attempt to send a window that has arrived whole, once
 * it is stored durably. docs/wire-format.md has the layout.
 *
 *     status = cm_ckks_encrypt(&encryptor, &values);
 *     cm_attempt sent = cm_frame_writer_attempt(&frames);
 *     ...
 *     status = cm_receipt_check(bytes, CM_RECEIPT_BYTES, cm_provisioned_receipt_key, &sent, &verdict);
 *
 * A sender of compact packets fills the attempt itself, and adds up its tags: cm_tags_add(&sent.tags, tag).
 *
 * Until then, keep the window's readings or the bytes. Whatever the verdict, nothing of the window has to be
 * sent again.
 */
#ifndef CIPHERMOTE_RECEIPT_H
#define CIPHERMOTE_RECEIPT_H

#include <stddef.h>
#include <stdint.h>

#include "ciphermote/frame.h"
#include "ciphermote/status.h"

#ifdef __cplusplus
extern "C" {
#endif

CM_REFUSE_PACKING(receipt);

#define CM_RECEIPT_BYTES 40

typedef enum cm_verdict {
    CM_VERDICT_NONE = 0, /* no receipt of this attempt */
    CM_VERDICT_COUNTED = 1,
    CM_VERDICT_ANOTHER_COUNTS = 2, /* another attempt of the same window does */
    CM_VERDICT_TOO_OLD = 3         /* the gateway no longer knows whether one does, and has dropped it */
} cm_verdict;

/* An attempt as it was sent: what its receipt names. */
typedef struct cm_attempt {
    uint64_t window;
    uint64_t counter;
    uint64_t tags; /* the sum of its packets' or frames' */
    uint32_t device;
    uint16_t epoch;
} cm_attempt;

/* The attempt that a writer with a sender (cm_frame_writer_tag) has just sent: call it after CM_OK. */
static inline cm_attempt cm_frame_writer_attempt(const cm_frame_writer *writer)
{
    const cm_frame_sender *sender = writer->sender;
    cm_attempt sent;
    sent.window = sender->window;
    sent.counter = writer->emitter.info.counter;
    sent.tags = sender->tags;
    sent.device = sender->device;
    sent.epoch = sender->epoch;
    return sent;
}

/*
 * Add a tag, wherever its packet or frame is kept: a packet ends in it, and a frame in it and 4 bytes of
 * checksum. The sum starts at 0 and does not depend on the order.
 */
void cm_tags_add(uint64_t *tags, const uint8_t tag[CM_TAG_BYTES]);

/*
 * Check what may be a receipt of an attempt. receipt_key: CM_TAG_KEY_BYTES; on AVR in flash (PROGMEM). The
 * verdict is CM_VERDICT_NONE after any error:
 *
 *     CM_ERR_ARGUMENT       a null pointer
 *     CM_ERR_FRAME_SHORT    fewer than CM_RECEIPT_BYTES
 *     CM_ERR_FRAME_FIELD    more of them; or a verdict, properly tagged, that this build does not know
 *     CM_ERR_FRAME_VERSION  no receipt of version 2
 *     CM_ERR_FRAME_TAG      forged, altered, or for a device with another receipt key
 *     CM_ERR_FRAME_FOREIGN  the gateway's, but of another attempt: keep the readings, and wait on
 *
 * A device that waits for several receipts compares each with every attempt that it waits for. The time does
 * not depend on where tags differ.
 */
CM_MUST_CHECK cm_status cm_receipt_check(const uint8_t *bytes, size_t length, const uint8_t *receipt_key,
                                         const cm_attempt *sent, cm_verdict *verdict);

#ifdef __cplusplus
}
#endif
#endif
