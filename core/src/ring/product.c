/* SPDX-License-Identifier: Apache-2.0 */
/* 64-bit products for cores without them, from four smaller ones. */
#include "ring/product.h"

#include "ciphermote/config.h"

#if CM_NO_LONG_PRODUCT && !CM_AVR

/* No carry is lost, and none has to be tested: (2^16 - 1)^2 + 2^16 - 1 is below 2^32. */
uint64_t cmi_product(uint32_t a, uint32_t b)
{
    const uint32_t low = (a & 0xFFFFu) * (b & 0xFFFFu);
    const uint32_t middle = (a >> 16) * (b & 0xFFFFu) + (low >> 16);
    const uint32_t cross = (a & 0xFFFFu) * (b >> 16) + (middle & 0xFFFFu);
    const uint32_t high = (a >> 16) * (b >> 16) + (middle >> 16) + (cross >> 16);
    return (uint64_t)high << 32 | (cross << 16 | (low & 0xFFFFu));
}

/*
 * The same with signed upper halves: a product of a signed and an unsigned half lies above -2^31, and below
 * 2^31 - 2^16, so nothing is lost here either. Right shifts keep the sign (the tests of core/ check that).
 */
int64_t cmi_product_signed(int32_t a, int32_t b)
{
    const int32_t a_low = (int32_t)((uint32_t)a & 0xFFFFu);
    const int32_t b_low = (int32_t)((uint32_t)b & 0xFFFFu);
    const uint32_t low = (uint32_t)a_low * (uint32_t)b_low;
    const int32_t middle = (a >> 16) * b_low + (int32_t)(low >> 16);
    const int32_t cross = a_low * (b >> 16) + (int32_t)((uint32_t)middle & 0xFFFFu);
    const uint32_t high = (uint32_t)((a >> 16) * (b >> 16) + (middle >> 16) + (cross >> 16));
    return (int64_t)((uint64_t)high << 32 | ((uint32_t)cross << 16 | (low & 0xFFFFu)));
}

#endif
