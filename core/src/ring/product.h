/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The 64-bit product of two words, in time that depends on neither, provided that the core's own
 * multiplications are constant-time.
 */
#ifndef CM_RING_PRODUCT_H
#define CM_RING_PRODUCT_H

#include <stdint.h>

#include "common/masks.h"
#include "common/names.h"

CMI_HIDDEN_BEGIN

#if defined(__ARM_ARCH_6M__) || defined(__ARM_ARCH_8M_BASE__) || defined(__AVR__)
#define CM_NO_LONG_PRODUCT 1
#else
#define CM_NO_LONG_PRODUCT 0
#endif

#if CM_NO_LONG_PRODUCT

/*
 * These cores have no multiplication with a 64-bit result, and gcc's library function branches on a carry:
 * see product.c, backends/avr_product.S.
 */
uint64_t cmi_product(uint32_t a, uint32_t b);
int64_t cmi_product_signed(int32_t a, int32_t b);

/* The unsigned product less 2^32 a for b < 0. */
static inline int64_t cmi_product_mixed(uint32_t a, int32_t b)
{
    return (int64_t)(cmi_product(a, (uint32_t)b) - ((uint64_t)(a & cmi_mask_of_sign(b)) << 32));
}

#else

static inline uint64_t cmi_product(uint32_t a, uint32_t b)
{
    return (uint64_t)a * b;
}

static inline int64_t cmi_product_mixed(uint32_t a, int32_t b)
{
    return (int64_t)a * b;
}

static inline int64_t cmi_product_signed(int32_t a, int32_t b)
{
    return (int64_t)a * b;
}

#endif

/* x / 2^32, rounded down. AVR shifts bit by bit, and has no bits to align to. */
static inline uint32_t cmi_upper_word(uint64_t x)
{
#ifdef __AVR__
    const union {
        uint64_t whole;
        uint32_t words[2];
    } parts = {x};
    return parts.words[1];
#else
    return (uint32_t)(x >> 32);
#endif
}

CMI_HIDDEN_END

#endif
