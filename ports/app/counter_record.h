/*
 * How a port keeps the counter of cm_device: 8 bytes and their CRC-32C, so that a torn or damaged record is
 * noticed instead of read as a smaller counter, which would repeat seeds.
 */
#ifndef APP_COUNTER_RECORD_H
#define APP_COUNTER_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#define COUNTER_RECORD_BYTES 12

void counter_record_pack(uint8_t record[COUNTER_RECORD_BYTES], uint64_t counter);

/* False, and counter 0, if the record is damaged. */
bool counter_record_unpack(const uint8_t record[COUNTER_RECORD_BYTES], uint64_t *counter);

#endif
