/* SPDX-License-Identifier: Apache-2.0 */
/* BFV's numbers in arrays of either width. */
#ifndef CM_ENCODE_BFV_NUMBERS_H
#define CM_ENCODE_BFV_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

#include "ciphermote/values.h"

/*
 * Functions for both widths are written once: where the width is known at compile time, the choice costs
 * nothing.
 */
static inline uint32_t cmi_plain_get(const void *data, cm_bfv_width width, size_t i)
{
    return width == CM_BFV_16 ? ((const uint16_t *)data)[i] : ((const uint32_t *)data)[i];
}

static inline int32_t cmi_plain_get_signed(const void *data, cm_bfv_width width, size_t i)
{
    return width == CM_BFV_16 ? ((const int16_t *)data)[i] : ((const int32_t *)data)[i];
}

/* A coefficient as encoded, below 2t. */
static inline uint32_t cmi_plain_residue(const void *data, cm_bfv_width width, size_t i, uint32_t t)
{
    return width == CM_BFV_16 ? (uint32_t)cmi_plain_get_signed(data, width, i) + t
                              : cmi_plain_get(data, width, i);
}

static inline void cmi_plain_put(void *data, cm_bfv_width width, size_t i, uint32_t x)
{
    if (width == CM_BFV_16) {
        ((uint16_t *)data)[i] = (uint16_t)x;
    } else {
        ((uint32_t *)data)[i] = x;
    }
}

#endif
