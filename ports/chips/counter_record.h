/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counter of cm_device: 8 bytes and their CRC-32C, so that a torn or damaged record is noticed instead of
 * read as a smaller counter, which would repeat seeds. A micro:bit decrypts nothing, so it has no sessions to
 * count (app/device_record.h).
 */
#ifndef COUNTER_RECORD_H
#define COUNTER_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#define COUNTER_RECORD_BYTES 12

void counter_record_pack(uint8_t record[COUNTER_RECORD_BYTES], uint64_t counter);

/* False, and counter 0, if the record is damaged. */
bool counter_record_unpack(const uint8_t record[COUNTER_RECORD_BYTES], uint64_t *counter);

#endif
