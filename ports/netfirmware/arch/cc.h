/* SPDX-License-Identifier: Apache-2.0 */
/* What lwIP asks of a compiler and a board. */
#ifndef ARCH_CC_H
#define ARCH_CC_H

#include <stdint.h>

uint32_t network_random(void);
_Noreturn void network_assert(const char *sentence);

#define LWIP_NO_INTTYPES_H 1
#define LWIP_NO_CTYPE_H 1
#define X8_F "x"
#define U16_F "u"
#define S16_F "d"
#define X16_F "x"
#define U32_F "u"
#define S32_F "d"
#define X32_F "x"
#define SZT_F "u"
#define LWIP_RAND() network_random()
#define LWIP_PLATFORM_DIAG(x) ((void)0)
#define LWIP_PLATFORM_ASSERT(sentence) network_assert(sentence)

#endif
