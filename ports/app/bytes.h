/* SPDX-License-Identifier: Apache-2.0 */
/* Little-endian integers in byte strings, for records and files that are read on other machines. */
#ifndef APP_BYTES_H
#define APP_BYTES_H

#include <stdint.h>

static inline void store16(uint8_t *out, uint16_t value)
{
    out[0] = (uint8_t)value;
    out[1] = (uint8_t)(value >> 8);
}

static inline void store32(uint8_t *out, uint32_t value)
{
    store16(out, (uint16_t)value);
    store16(out + 2, (uint16_t)(value >> 16));
}

static inline void store64(uint8_t *out, uint64_t value)
{
    store32(out, (uint32_t)value);
    store32(out + 4, (uint32_t)(value >> 32));
}

static inline uint16_t load16(const uint8_t *in)
{
    return (uint16_t)((uint32_t)in[0] | (uint32_t)in[1] << 8);
}

static inline uint32_t load32(const uint8_t *in)
{
    return load16(in) | (uint32_t)load16(in + 2) << 16;
}

static inline uint64_t load64(const uint8_t *in)
{
    return load32(in) | (uint64_t)load32(in + 4) << 32;
}

#endif
