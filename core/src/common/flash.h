/* SPDX-License-Identifier: Apache-2.0 */
/* Constants that the owner provisions: on AVR they stay in flash, which plain pointers do not reach. */
#ifndef CM_COMMON_FLASH_H
#define CM_COMMON_FLASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __AVR__
#include <avr/pgmspace.h>
#endif

#include "common/declassify.h"

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

/* Whether some bytes differ: not zeros, nor the ones of erased flash. */
static inline bool cmi_flash_filled_in(const uint8_t *flash, unsigned bytes)
{
    uint8_t any = 0;
    const uint8_t like = cmi_flash_byte(flash);
    for (unsigned i = 1; i < bytes; i++) {
        any |= cmi_flash_byte(flash + i) ^ like;
    }
    /* Whether a key was provisioned is no secret. */
    return cmi_declassified(any != 0);
}

#endif
