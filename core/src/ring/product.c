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

/* The unsigned product less 2^32 b for a < 0 and 2^32 a for b < 0. */
int64_t cmi_product_signed(int32_t a, int32_t b)
{
    const uint64_t excess = (uint64_t)((uint32_t)b & cmi_mask_of_sign(a)) << 32;
    return (int64_t)((uint64_t)cmi_product_mixed((uint32_t)a, b) - excess);
}

#endif
