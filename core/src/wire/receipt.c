/* SPDX-License-Identifier: Apache-2.0 */
/* Receipts: their tag is checked first, then whether they are of the attempt that was sent. */
#include "ciphermote/receipt.h"

#include <stdbool.h>
#include <string.h>

#include "common/bytes.h"
#include "wire/tag.h"

#define RECEIPT 0x22u /* version 2, kind 2 */

enum receipt_offsets { AT_VERDICT = 1, AT_RECEIPT_EPOCH = 2, AT_RECEIPT_DEVICE = 4, AT_RECEIPT_TAG = 32 };

void cm_tags_add(uint64_t *tags, const uint8_t tag[CM_TAG_BYTES])
{
    uint32_t words[2];
    uint64_t number;
    cmi_load_words(words, tag, 2);
    cmi_join64(&number, words);
    *tags += number;
}

/* Whether the receipt says all that the attempt does. */
static bool receipt_is_of(const uint8_t *bytes, const cm_attempt *sent)
{
    uint8_t said[AT_RECEIPT_TAG];
    uint32_t words[7] = {sent->device};
    cmi_split64(words + 1, &sent->window);
    cmi_split64(words + 3, &sent->counter);
    cmi_split64(words + 5, &sent->tags);
    said[AT_RECEIPT_EPOCH] = (uint8_t)sent->epoch;
    said[AT_RECEIPT_EPOCH + 1] = (uint8_t)(sent->epoch >> 8);
    cmi_store_words(said + AT_RECEIPT_DEVICE, words, 7);
    return memcmp(bytes + AT_RECEIPT_EPOCH, said + AT_RECEIPT_EPOCH, AT_RECEIPT_TAG - AT_RECEIPT_EPOCH) == 0;
}

cm_status cm_receipt_check(const uint8_t *bytes, size_t length, const uint8_t *receipt_key,
                           const cm_attempt *sent, cm_verdict *verdict)
{
    if (!verdict) {
        return CM_ERR_ARGUMENT;
    }
    *verdict = CM_VERDICT_NONE;
    if (!bytes || !receipt_key || !sent) {
        return CM_ERR_ARGUMENT;
    }
    if (length != CM_RECEIPT_BYTES) {
        return length < CM_RECEIPT_BYTES ? CM_ERR_FRAME_SHORT : CM_ERR_FRAME_FIELD;
    }
    if (bytes[0] != RECEIPT) {
        return CM_ERR_FRAME_VERSION;
    }
    const cm_status status =
        cmi_tag_verify(bytes, AT_RECEIPT_TAG, NULL, 0, receipt_key, bytes + AT_RECEIPT_TAG);
    if (status != CM_OK) {
        return status;
    }
    if (bytes[AT_VERDICT] < CM_VERDICT_COUNTED || bytes[AT_VERDICT] > CM_VERDICT_TOO_OLD) {
        return CM_ERR_FRAME_FIELD;
    }
    if (!receipt_is_of(bytes, sent)) {
        return CM_ERR_FRAME_FOREIGN;
    }
    *verdict = (cm_verdict)bytes[AT_VERDICT];
    return CM_OK;
}
