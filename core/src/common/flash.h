/* SPDX-License-Identifier: Apache-2.0 */
/* Constants that the owner provisions: on AVR they stay in flash, which plain pointers do not reach. */
#ifndef CM_COMMON_FLASH_H
#define CM_COMMON_FLASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __AVR__
#include <avr/pgmspace.h>
#endif

static inline void cmi_flash_copy(void *out, const uint8_t *flash, size_t bytes)
{
#ifdef __AVR__
    memcpy_P(out, flash, bytes);
#else
    memcpy(out, flash, bytes);
#endif
}

static inline uint8_t cmi_flash_byte(const uint8_t *flash)
{
#ifdef __AVR__
    return pgm_read_byte(flash);
#else
    return *flash;
#endif
}

#endif
