/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a device keeps across resets, in one record: the counter of cm_device, and how many client-aided
 * sessions its keys have begun. It ends in a CRC-32C, so that a torn or damaged record is noticed instead of
 * read as a smaller counter, which would repeat seeds, or as fewer sessions.
 */
#ifndef APP_DEVICE_RECORD_H
#define APP_DEVICE_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "ciphermote/status.h"

/* Enough for a device that goes back to a key after three others to find the budget that was left. */
#define DEVICE_RECORD_KEYS 4u
#define DEVICE_RECORD_BYTES (8u + 12u * DEVICE_RECORD_KEYS + 4u)

typedef struct key_sessions {
    uint64_t key_id;
    uint32_t begun;
} key_sessions;

typedef struct device_record {
    uint64_t counter;
    key_sessions keys[DEVICE_RECORD_KEYS]; /* most recently used first */
} device_record;

void device_record_pack(uint8_t bytes[DEVICE_RECORD_BYTES], const device_record *record);

/* False, with a record of zeros, if the bytes are damaged. */
bool device_record_unpack(const uint8_t bytes[DEVICE_RECORD_BYTES], device_record *record);

/* cm_platform's counter callbacks, for ports that have port_record_read and port_record_write. */
int device_counter_read(void *context, uint64_t *value);
int device_counter_write(void *context, uint64_t value);

/*
 * Spend one of a key's sessions: CM_OK once that is stored for good, so that a session begun afterwards is
 * counted whatever happens. CM_ERR_SESSIONS if none is left; CM_ERR_COUNTER if the record cannot be read,
 * written or verified.
 */
CM_MUST_CHECK cm_status device_session_spend(uint64_t key_id, uint32_t budget);

#endif
