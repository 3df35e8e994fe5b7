/* SPDX-License-Identifier: Apache-2.0 */
/* The back-end for x86-64, which gateways run on: what checks frames, in wide words and its own checksum. */
#ifndef CM_ARCH_X86_64_ARCH_H
#define CM_ARCH_X86_64_ARCH_H

#include "arch/api.h"

#if CM_X86_64

CMI_HIDDEN_BEGIN

int cmi_x86_64_poly1305_blocks(uint32_t h[5], const uint32_t r[4], const uint8_t *bytes, size_t blocks,
                               uint32_t top);
int cmi_x86_64_crc32c(uint32_t *crc, const uint8_t *bytes, size_t length);

CMI_HIDDEN_END

#define CM_TARGET_poly1305_blocks cmi_x86_64_poly1305_blocks
#ifdef CM_TEST_CONSTANT_TIME /* which sees by the table's look-ups that a secret is sent */
#define CM_TARGET_crc32c CM_DECLINED
#else
#define CM_TARGET_crc32c cmi_x86_64_crc32c
#endif

#endif

#endif
