/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the constants that an owner provisions, such as keys, have been filled in. */
#ifndef CM_COMMON_PROVISIONED_H
#define CM_COMMON_PROVISIONED_H

#include <stdbool.h>
#include <stdint.h>

#include "common/bytes.h"
#include "common/declassify.h"

/* Whether some of these bytes, which are stored with the constants (common/bytes.h), differ: so they are
   neither zeros nor the ones of erased flash. */
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
