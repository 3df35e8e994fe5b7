/* SPDX-License-Identifier: Apache-2.0 */
/* Where the RP2350 has the CryptoCell generator. */
#ifndef CC_TRNG_H
#define CC_TRNG_H

#include <stdbool.h>

#define CC_TRNG_BASE 0x400F0000u

/* It needs no clock of its own. */
static inline void cc_trng_power(bool on)
{
    (void)on;
}

#endif
