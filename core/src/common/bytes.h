/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads and stores of little-endian words on any machine; where the target allows it, each compiles to one
 * access. And constants that the owner provisions: on AVR they stay in flash, which plain pointers do not
 * reach.
 */
#ifndef CM_COMMON_BYTES_H
#define CM_COMMON_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __AVR__
#include <avr/pgmspace.h>
#endif

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

/* As many words; on AVR, whose words are little-endian, in a loop that takes little code. */
static inline void cmi_load_words(uint32_t *words, const uint8_t *bytes, unsigned count)
{
#ifdef __AVR__
    memcpy(words, bytes, 4u * count);
#else
    for (unsigned i = 0; i < count; i++) {
        words[i] = cmi_load32(bytes + 4u * i);
    }
#endif
}

static inline void cmi_store_words(uint8_t *bytes, const uint32_t *words, unsigned count)
{
#ifdef __AVR__
    memcpy(bytes, words, 4u * count);
#else
    for (unsigned i = 0; i < count; i++) {
        cmi_store32(bytes + 4u * i, words[i]);
    }
#endif
}

static inline uint64_t cmi_load64(const uint8_t bytes[8])
{
    return cmi_load32(bytes) | (uint64_t)cmi_load32(bytes + 4) << 32;
}

static inline void cmi_store64(uint8_t bytes[8], uint64_t word)
{
#ifdef __AVR__
    memcpy(bytes, &word, sizeof word);
#else
    cmi_store32(bytes, (uint32_t)word);
    cmi_store32(bytes + 4, (uint32_t)(word >> 32));
#endif
}

/* A word in the machine's byte order, at an address that is a multiple of 4. */
static inline uint32_t cmi_aligned_word(const void *at)
{
#ifdef __GNUC__
    at = __builtin_assume_aligned(at, 4);
#endif
    uint32_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

/*
 * The words of a number, the lower one first, and back. AVR has few registers: there, arithmetic on 64 bits
 * takes several times the code.
 */
static inline void cmi_split64(uint32_t words[2], const uint64_t *number)
{
#ifdef __AVR__
    memcpy(words, number, sizeof *number);
#else
    words[0] = (uint32_t)*number;
    words[1] = (uint32_t)(*number >> 32);
#endif
}

static inline void cmi_join64(uint64_t *number, const uint32_t words[2])
{
#ifdef __AVR__
    memcpy(number, words, sizeof *number);
#else
    *number = words[0] | (uint64_t)words[1] << 32;
#endif
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

static inline void cmi_flash_copy(void *out, const uint8_t *flash, size_t bytes)
{
#ifdef __AVR__
    memcpy_P(out, flash, bytes);
#else
    memcpy(out, flash, bytes);
#endif
}

static inline uint8_t cmi_flash_byte(const uint8_t *flash)
{
#ifdef __AVR__
    return pgm_read_byte(flash);
#else
    return *flash;
#endif
}

#endif
