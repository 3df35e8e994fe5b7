/* SPDX-License-Identifier: Apache-2.0 */
/* The record that survives resets. Every change writes all of it, in the port's single atomic step. */
#include "device_record.h"

#include <string.h>

#include "bytes.h"
#include "ciphermote/frame.h"
#include "port.h"

#define CRC_AT (DEVICE_RECORD_BYTES - 4u)

void device_record_pack(uint8_t bytes[DEVICE_RECORD_BYTES], const device_record *record)
{
    store64(bytes, record->counter);
    for (unsigned i = 0; i < DEVICE_RECORD_KEYS; i++) {
        store64(bytes + 8u + 12u * i, record->keys[i].key_id);
        store32(bytes + 16u + 12u * i, record->keys[i].begun);
    }
    store32(bytes + CRC_AT, cm_crc32c(0, bytes, CRC_AT));
}

bool device_record_unpack(const uint8_t bytes[DEVICE_RECORD_BYTES], device_record *record)
{
    memset(record, 0, sizeof *record);
    if (cm_crc32c(0, bytes, CRC_AT) != load32(bytes + CRC_AT)) {
        return false;
    }
    record->counter = load64(bytes);
    for (unsigned i = 0; i < DEVICE_RECORD_KEYS; i++) {
        record->keys[i].key_id = load64(bytes + 8u + 12u * i);
        record->keys[i].begun = load32(bytes + 16u + 12u * i);
    }
    return true;
}

int device_counter_read(void *context, uint64_t *value)
{
    (void)context;
    device_record record;
    const int failed = port_record_read(&record);
    *value = failed ? 0 : record.counter;
    return failed;
}

int device_counter_write(void *context, uint64_t value)
{
    (void)context;
    device_record record;
    if (port_record_read(&record) != 0) {
        return -1;
    }
    record.counter = value;
    return port_record_write(&record);
}

/*
 * The key's sessions, moved to the front. A key that is not in the record starts with none, in place of the
 * least recently used one.
 */
static key_sessions *sessions_of(device_record *record, uint64_t key_id)
{
    key_sessions found = {.key_id = key_id};
    unsigned place = 0;
    while (place + 1u < DEVICE_RECORD_KEYS && record->keys[place].key_id != key_id) {
        place++;
    }
    if (record->keys[place].key_id == key_id) {
        found = record->keys[place];
    }
    memmove(&record->keys[1], &record->keys[0], place * sizeof found);
    record->keys[0] = found;
    return &record->keys[0];
}

cm_status device_session_spend(uint64_t key_id, uint32_t budget)
{
    device_record record;
    device_record stored;
    if (port_record_read(&record) != 0) {
        return CM_ERR_COUNTER;
    }
    key_sessions *const sessions = sessions_of(&record, key_id);
    if (sessions->begun >= budget) {
        return CM_ERR_SESSIONS;
    }
    sessions->begun++;
    if (port_record_write(&record) != 0 || port_record_read(&stored) != 0 ||
        stored.keys[0].key_id != key_id || stored.keys[0].begun != sessions->begun) {
        return CM_ERR_COUNTER;
    }
    return CM_OK;
}
