/* SPDX-License-Identifier: Apache-2.0 */
/* The back-end for x86-64: tags in words of 64 bits, and the processor's CRC-32C, where it has one. */
#include "arch/backends.h"

#if CM_X86_64

#include <string.h>

__extension__ typedef unsigned __int128 word128;

static uint64_t load_word(const uint8_t *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

/* a + b modulo 2^64; carry goes up by one if that wraps. A sum of words of 128 bits would keep both halves of
   each word in memory (GCC 12), which takes twice as long. */
static uint64_t add(uint64_t a, uint64_t b, uint64_t *carry)
{
    const uint64_t sum = a + b;
    *carry += sum < a;
    return sum;
}

/*
 * As absorb_block of wire/tag.c, with h and r in two words of 64 bits and what is above 2^128. r1 is a
 * multiple of 4, so modulo 2^130 - 5, 2^128 r1 is 5 r1 / 4, which folded is. h2 is below 8 before the
 * product: each sum is below 2^128, and high below 2^63.5, five quarters of which is a word.
 */
int cmi_x86_64_poly1305_blocks(uint32_t h[5], const uint32_t r[4], const uint8_t *bytes, size_t blocks,
                               uint32_t top)
{
    const uint64_t r0 = r[0] | (uint64_t)r[1] << 32;
    const uint64_t r1 = r[2] | (uint64_t)r[3] << 32;
    const uint64_t folded = r1 + (r1 >> 2);
    uint64_t h0 = h[0] | (uint64_t)h[1] << 32;
    uint64_t h1 = h[2] | (uint64_t)h[3] << 32;
    uint64_t h2 = h[4];
    for (; blocks > 0; blocks--, bytes += 16) {
        uint64_t carry = 0;
        h0 = add(h0, load_word(bytes), &carry);
        h2 += top;
        h1 = add(h1, carry, &h2);
        h1 = add(h1, load_word(bytes + 8), &h2);

        const word128 low = (word128)h0 * r0 + (word128)h1 * folded;
        const word128 middle = (word128)h0 * r1 + (word128)h1 * r0;
        uint64_t high = h2 * r0 + (uint64_t)(middle >> 64);
        h1 = add((uint64_t)middle, h2 * folded, &high);
        h1 = add(h1, (uint64_t)(low >> 64), &high);

        carry = 0;
        h2 = high & 3;
        h0 = add((uint64_t)low, (high >> 2) * 5, &carry);
        h1 = add(h1, carry, &h2);
    }
    h[0] = (uint32_t)h0;
    h[1] = (uint32_t)(h0 >> 32);
    h[2] = (uint32_t)h1;
    h[3] = (uint32_t)(h1 >> 32);
    h[4] = (uint32_t)h2;
    return 1;
}

/*
 * A CRC step takes three cycles to come back and another can start in each, so three streams run side by
 * side. A carry-less product with x^(8k - 33) moves a remainder past k bytes: reflected words make it one x
 * more, and the step that reduces it x^32. The constants are x^2015 and x^4063 modulo the polynomial,
 * reflected.
 * (V. Gopal et al., Fast CRC Computation for iSCSI Polynomial Using CRC32 Instruction, Intel 2011.)
 */
#define CM_CRC_STREAM_BYTES 256u
#define CM_CRC_PAST_ONE UINT64_C(0xb9e02b86)
#define CM_CRC_PAST_TWO UINT64_C(0xdd7e3b0c)

typedef long long word_pair __attribute__((vector_size(16)));

__attribute__((target("sse4.2,pclmul"))) static uint64_t crc_moved(uint64_t remainder, uint64_t past)
{
    const word_pair product =
        __builtin_ia32_pclmulqdq128((word_pair){(long long)remainder, 0}, (word_pair){(long long)past, 0}, 0);
    return __builtin_ia32_crc32di(0, (uint64_t)product[0]);
}

__attribute__((target("sse4.2,pclmul"))) static uint32_t
crc32c_instructions(uint32_t crc, const uint8_t *bytes, size_t length)
{
    uint64_t wide = ~crc;
    for (; length >= 3 * CM_CRC_STREAM_BYTES; length -= 3 * CM_CRC_STREAM_BYTES) {
        const uint8_t *const end = bytes + CM_CRC_STREAM_BYTES;
        uint64_t second = 0, third = 0;
        for (; bytes < end; bytes += 8) {
            wide = __builtin_ia32_crc32di(wide, load_word(bytes));
            second = __builtin_ia32_crc32di(second, load_word(bytes + CM_CRC_STREAM_BYTES));
            third = __builtin_ia32_crc32di(third, load_word(bytes + 2 * CM_CRC_STREAM_BYTES));
        }
        wide = crc_moved(wide, CM_CRC_PAST_TWO) ^ crc_moved(second, CM_CRC_PAST_ONE) ^ third;
        bytes += 2 * CM_CRC_STREAM_BYTES;
    }
    for (; length >= 8; length -= 8, bytes += 8) {
        wide = __builtin_ia32_crc32di(wide, load_word(bytes));
    }
    uint32_t narrow = (uint32_t)wide;
    for (; length > 0; length--, bytes++) {
        narrow = __builtin_ia32_crc32qi(narrow, *bytes);
    }
    return ~narrow;
}

int cmi_x86_64_crc32c(uint32_t *crc, const uint8_t *bytes, size_t length)
{
    if (!__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("pclmul")) {
        return 0;
    }
    *crc = crc32c_instructions(*crc, bytes, length);
    return 1;
}

#endif
