/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A board's salt in EEPROM, after its counter: it distinguishes the board from another with the same device
 * secret, even if a start's entropy is less than claimed. It is not secret, and it is restored together with
 * the EEPROM, so it does not keep seeds distinct on its own.
 */
#ifndef CM_SALT_H
#define CM_SALT_H

#include <stdbool.h>
#include <stdint.h>

#include "counter_log.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CM_SALT_BYTES 16
/* With its checksum; it follows the counter's slots. */
#define CM_SALT_RECORD_BYTES (CM_SALT_BYTES + 4)

/* False if the EEPROM fails. */
bool cm_salt_write(const cm_counter_log *log, const uint8_t salt[CM_SALT_BYTES]);

/* False, and the salt is zero, if there is none or it is damaged. */
bool cm_salt_read(const cm_counter_log *log, uint8_t salt[CM_SALT_BYTES]);

#ifdef __cplusplus
}
#endif
#endif
