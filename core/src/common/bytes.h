/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads and stores of little-endian words on any machine; where the target allows it, each compiles to one
 * access.
 */
#ifndef CM_COMMON_BYTES_H
#define CM_COMMON_BYTES_H

#include <stddef.h>
#include <stdint.h>

static inline uint32_t cmi_load32(const uint8_t bytes[4])
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static inline void cmi_store32(uint8_t bytes[4], uint32_t word)
{
    bytes[0] = (uint8_t)word;
    bytes[1] = (uint8_t)(word >> 8);
    bytes[2] = (uint8_t)(word >> 16);
    bytes[3] = (uint8_t)(word >> 24);
}

static inline uint64_t cmi_load64(const uint8_t bytes[8])
{
    return cmi_load32(bytes) | (uint64_t)cmi_load32(bytes + 4) << 32;
}

static inline void cmi_store64(uint8_t bytes[8], uint64_t word)
{
    cmi_store32(bytes, (uint32_t)word);
    cmi_store32(bytes + 4, (uint32_t)(word >> 32));
}

/* Store the first count bytes of word, at most eight. */
static inline void cmi_store64_first(uint8_t *bytes, uint64_t word, size_t count)
{
    if (count >= 8u) {
        cmi_store64(bytes, word);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        bytes[i] = (uint8_t)(word >> 8u * i);
    }
}

#endif
