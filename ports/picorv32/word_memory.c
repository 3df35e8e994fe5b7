/* SPDX-License-Identifier: Apache-2.0 */
/* The C library's own go byte by byte. Compiled so that no loop here becomes a call of what it is. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

void *memset(void *to, int value, size_t length)
{
    uint8_t *byte = to;
    const uint32_t four = (uint8_t)value * 0x01010101u;
    for (; length > 0 && (uintptr_t)byte % 4u != 0; length--) {
        *byte++ = (uint8_t)value;
    }
    uint32_t *word = (uint32_t *)(void *)byte;
    for (; length >= 16u; length -= 16u, word += 4) {
        word[0] = word[1] = word[2] = word[3] = four;
    }
    for (; length >= 4u; length -= 4u) {
        *word++ = four;
    }
    for (byte = (uint8_t *)word; length > 0; length--) {
        *byte++ = (uint8_t)value;
    }
    return to;
}

void *memcpy(void *restrict to, const void *restrict from, size_t length)
{
    uint8_t *byte = to;
    const uint8_t *source = from;
    if (((uintptr_t)to | (uintptr_t)from) % 4u == 0) {
        uint32_t *word = to;
        const uint32_t *source_word = from;
        for (; length >= 16u; length -= 16u, word += 4, source_word += 4) {
            const uint32_t a = source_word[0];
            const uint32_t b = source_word[1];
            const uint32_t c = source_word[2];
            const uint32_t d = source_word[3];
            word[0] = a;
            word[1] = b;
            word[2] = c;
            word[3] = d;
        }
        byte = (uint8_t *)word;
        source = (const uint8_t *)source_word;
    }
    for (; length > 0; length--) {
        *byte++ = *source++;
    }
    return to;
}
