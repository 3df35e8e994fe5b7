/* SPDX-License-Identifier: Apache-2.0 */
/* The persistent counter's record. */
#include "counter_record.h"

#include "bytes.h"
#include "ciphermote/frame.h"

#define COUNTER_BYTES 8

void counter_record_pack(uint8_t record[COUNTER_RECORD_BYTES], uint64_t counter)
{
    store64(record, counter);
    store32(record + COUNTER_BYTES, cm_crc32c(0, record, COUNTER_BYTES));
}

bool counter_record_unpack(const uint8_t record[COUNTER_RECORD_BYTES], uint64_t *counter)
{
    const bool intact = cm_crc32c(0, record, COUNTER_BYTES) == load32(record + COUNTER_BYTES);
    *counter = intact ? load64(record) : 0;
    return intact;
}
