/* SPDX-License-Identifier: Apache-2.0 */
/* The salt and its checksum, written once in a board's life. */
#include "salt.h"

#include <avr/eeprom.h>
#include <string.h>

#include "ciphermote/frame.h"

#define CHECK_START 0x026D14C2u /* the checksum of "CMSA", so that an erased record is not valid */

static uint16_t address_of(const cm_counter_log *log)
{
    return (uint16_t)(log->start + (uint16_t)log->slots * CM_COUNTER_LOG_SLOT_BYTES);
}

bool cm_salt_write(const cm_counter_log *log, const uint8_t salt[CM_SALT_BYTES])
{
    const uint16_t address = address_of(log);
    uint8_t stored[CM_SALT_BYTES];
    eeprom_update_block(salt, (void *)address, CM_SALT_BYTES);
    eeprom_update_dword((uint32_t *)(address + CM_SALT_BYTES), cm_crc32c(CHECK_START, salt, CM_SALT_BYTES));
    eeprom_busy_wait();
    return cm_salt_read(log, stored) && memcmp(stored, salt, CM_SALT_BYTES) == 0;
}

bool cm_salt_read(const cm_counter_log *log, uint8_t salt[CM_SALT_BYTES])
{
    const uint16_t address = address_of(log);
    eeprom_read_block(salt, (const void *)address, CM_SALT_BYTES);
    if (eeprom_read_dword((const uint32_t *)(address + CM_SALT_BYTES)) ==
        cm_crc32c(CHECK_START, salt, CM_SALT_BYTES)) {
        return true;
    }
    memset(salt, 0, CM_SALT_BYTES);
    return false;
}
