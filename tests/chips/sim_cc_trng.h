/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_CC_TRNG_H
#define SIM_CC_TRNG_H

#include <stdint.h>

uint32_t cc_trng_read(uint32_t offset);
void cc_trng_write(uint32_t offset, uint32_t value);

#endif
