/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The persistent counter of cm_device (ciphermote/device.h) in an AVR's EEPROM: wear-levelled, and safe
 * against power cuts.
 *
 * Slots of 8 bytes, a 32-bit value and its checksum, form a ring of pairs. First the newest pair is
 * completed; then a value is written to both slots of the next pair, read back, and only then used. So a
 * power cut, even within a byte, leaves at most one slot invalid, and the newest value that was ever used is
 * in two slots. The counter is the largest valid value; two invalid slots are damage that no power cut
 * explains, and the counter then cannot be read, rather than going back.
 */
#ifndef CM_COUNTER_LOG_H
#define CM_COUNTER_LOG_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CM_COUNTER_LOG_SLOT_BYTES 8

/*
 * Where a log is. It takes slots * CM_COUNTER_LOG_SLOT_BYTES bytes of EEPROM, which nothing else may write
 * to. These must not change once a log has counted: with another start, or fewer slots, older values would be
 * taken for the newest.
 */
typedef struct cm_counter_log {
    uint16_t start; /* its first byte; not 0, the byte that a failing supply damages first */
    uint8_t slots;  /* even, at least 4; the EEPROM lasts for about 100,000 writes of each pair */
} cm_counter_log;

/*
 * Begin a new log at 0, once in a device's life. False, and nothing is written, if there is a log that has
 * counted. After an erasure, a new log with the same device secret repeats seeds: give the device a new
 * secret.
 */
bool cm_counter_log_create(const cm_counter_log *log);

/*
 * For cm_platform; context is a cm_counter_log. 0, or nonzero if there is no valid log, or the write failed.
 */
int cm_counter_log_read(void *context, uint64_t *value);
int cm_counter_log_write(void *context, uint64_t value);

#ifdef __cplusplus
}
#endif
#endif
