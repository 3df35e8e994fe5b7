/* SPDX-License-Identifier: Apache-2.0 */
/* Where the nRF5340 has the CryptoCell generator: in the application core's secure domain. */
#ifndef CC_TRNG_H
#define CC_TRNG_H

#include <stdbool.h>

#define CC_TRNG_BASE 0x50845000u

void cc_trng_power(bool on);

#endif
