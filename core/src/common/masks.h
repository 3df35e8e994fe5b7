/* SPDX-License-Identifier: Apache-2.0 */
/* Masks that choose without a branch. */
#ifndef CM_COMMON_MASKS_H
#define CM_COMMON_MASKS_H

#include <stdint.h>

/*
 * All ones if x is negative. The compiler must not know that it is that or zero: clang 14 takes what follows
 * from such a mask for a choice, and branches.
 */
static inline int32_t cmi_mask_of_sign(int32_t x)
{
#if defined(__GNUC__)
    int32_t mask = x >> 31;
    __asm__("" : "+r"(mask));
#else
    const volatile int32_t mask = x >> 31;
#endif
    return mask;
}

/* All ones if x is zero. */
static inline uint32_t cmi_mask_of_zero(uint32_t x)
{
    return (uint32_t)cmi_mask_of_sign((int32_t)(~x & (x - 1u)));
}

#endif
