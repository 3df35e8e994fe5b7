/* SPDX-License-Identifier: Apache-2.0 */
#include "window.h"

#include <string.h>

#include "bytes.h"

#define RECORD_VERSION 1u

enum window_offsets {
    AT_SCALE = 5,
    AT_EPOCH = 6,
    AT_DEVICE = 8,
    AT_LENGTH = 12,
    AT_KEY = 16,
    AT_NUMBER = 24,
    AT_COUNTER = 32,
    AT_TAGS = 40
};

size_t window_pack(uint8_t *record, const window_head *head)
{
    const size_t covered = WINDOW_HEAD_BYTES + (size_t)head->value_bytes;
    memcpy(record, "CMWN", 4);
    record[4] = RECORD_VERSION;
    record[AT_SCALE] = head->log2_scale;
    store16(record + AT_EPOCH, head->sent.epoch);
    store32(record + AT_DEVICE, head->sent.device);
    store32(record + AT_LENGTH, head->value_bytes);
    store64(record + AT_KEY, head->key_id);
    store64(record + AT_NUMBER, head->sent.window);
    store64(record + AT_COUNTER, head->sent.counter);
    store64(record + AT_TAGS, head->sent.tags);
    store32(record + covered, cm_crc32c(0, record, covered));
    return covered + 4u;
}

bool window_unpack(const uint8_t *record, size_t length, window_head *head)
{
    if (length < WINDOW_RECORD_BYTES(0) || memcmp(record, "CMWN", 4) != 0 || record[4] != RECORD_VERSION ||
        load32(record + AT_LENGTH) != length - WINDOW_RECORD_BYTES(0) ||
        load32(record + length - 4u) != cm_crc32c(0, record, length - 4u)) {
        return false;
    }
    if (load16(record + AT_EPOCH) != head->sent.epoch || load32(record + AT_DEVICE) != head->sent.device ||
        load64(record + AT_KEY) != head->key_id) {
        return false;
    }
    head->log2_scale = record[AT_SCALE];
    head->value_bytes = load32(record + AT_LENGTH);
    head->sent.window = load64(record + AT_NUMBER);
    head->sent.counter = load64(record + AT_COUNTER);
    head->sent.tags = load64(record + AT_TAGS);
    return true;
}
