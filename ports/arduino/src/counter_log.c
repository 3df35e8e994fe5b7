/* SPDX-License-Identifier: Apache-2.0 */
/* The counter in EEPROM: counter_log.h explains how it survives power cuts. */
#include "counter_log.h"

#include <avr/eeprom.h>

#include "ciphermote/frame.h"

#define VALUE_BYTES 4
#define CHECK_START 0x8280A990u /* the checksum of "CMCL", so that an erased slot is not valid */

/* The contents of a log. */
typedef struct summary {
    uint32_t newest; /* the largest valid value */
    uint8_t at;      /* its slot */
    uint8_t invalid; /* slots */
} summary;

static uint16_t address_of(const cm_counter_log *log, uint8_t slot)
{
    return (uint16_t)(log->start + (uint16_t)slot * CM_COUNTER_LOG_SLOT_BYTES);
}

static uint32_t check_of(uint32_t value)
{
    return cm_crc32c(CHECK_START, (const uint8_t *)&value, VALUE_BYTES);
}

static bool slot_read(const cm_counter_log *log, uint8_t slot, uint32_t *value)
{
    const uint16_t address = address_of(log, slot);
    *value = eeprom_read_dword((const uint32_t *)address);
    return eeprom_read_dword((const uint32_t *)(address + VALUE_BYTES)) == check_of(*value);
}

static bool slot_write(const cm_counter_log *log, uint8_t slot, uint32_t value)
{
    const uint16_t address = address_of(log, slot);
    const uint32_t check = check_of(value);
    eeprom_update_dword((uint32_t *)address, value);
    eeprom_update_dword((uint32_t *)(address + VALUE_BYTES), check);
    eeprom_busy_wait();
    return eeprom_read_dword((const uint32_t *)address) == value &&
           eeprom_read_dword((const uint32_t *)(address + VALUE_BYTES)) == check;
}

/* Write a pair from its first slot on; a slot that already holds the value is not written again. */
static bool pair_write(const cm_counter_log *log, uint8_t slot, uint32_t value)
{
    return slot_write(log, slot, value) && slot_write(log, (uint8_t)(slot + 1u), value);
}

static summary summarize(const cm_counter_log *log)
{
    summary found = {0, 0, 0};
    for (uint8_t slot = 0; slot < log->slots; slot++) {
        uint32_t value;
        if (!slot_read(log, slot, &value)) {
            found.invalid++;
        } else if (value >= found.newest) {
            found.newest = value;
            found.at = slot;
        }
    }
    return found;
}

bool cm_counter_log_create(const cm_counter_log *log)
{
    if (summarize(log).newest != 0) {
        return false;
    }
    for (uint8_t slot = 0; slot < log->slots; slot++) {
        if (!slot_write(log, slot, 0)) {
            return false;
        }
    }
    return true;
}

int cm_counter_log_read(void *context, uint64_t *value)
{
    const summary found = summarize(context);
    *value = found.newest;
    return found.invalid > 1;
}

static bool append(const cm_counter_log *log, uint32_t value)
{
    const summary found = summarize(log);
    if (found.invalid > 1 || value <= found.newest) {
        return false;
    }
    const uint8_t newest = (uint8_t)(found.at & ~1u);
    const uint8_t next = (uint8_t)(newest + 2u);
    /*
     * A power cut may have left the newest pair half written: it is completed before another slot can become
     * invalid.
     */
    return pair_write(log, newest, found.newest) && pair_write(log, next < log->slots ? next : 0, value);
}

int cm_counter_log_write(void *context, uint64_t value)
{
    return value > UINT32_MAX || !append(context, (uint32_t)value);
}
