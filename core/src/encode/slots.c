/* The order of the slots: SEAL puts slot j at zeta^(3^j), the transform wants them in the order of the exponents. */
#include <string.h>

#include "encode/encode.h"

static uint32_t reverse_bits(uint32_t x, unsigned bits)
{
    uint32_t reversed = 0;
    for (unsigned i = 0; i < bits; i++) {
        reversed = reversed << 1 | (x >> i & 1u);
    }
    return reversed;
}

/* 3^(2^b) mod 2^15, which is enough for 2n up to 2^15. */
static const uint16_t powers_of_three[13] = {3,     9,     81,    6561,  22337, 16001, 15617,
                                             31233, 29697, 26625, 20481, 8193,  16385};

/*
 * Slot j belongs to the exponents e = 3^j and -e; one of the two is 4v + 1, and the transform's sample v is the slot (its
 * conjugate, if 4v + 1 = -e). The transform reads samples in bit-reversed order: complex ones singly, real
 * ones in pairs that act as one complex sample.
 */
static uint32_t sample_position(uint32_t slot, unsigned log2_n, cm_slots slots)
{
    uint32_t exponent = 1;
    for (unsigned b = 0; b < log2_n - 1u; b++) {
        if (slot >> b & 1u) {
            exponent = (exponent * powers_of_three[b]) & 0x7FFFu;
        }
    }
    if ((exponent & 3u) == 3u) {
        exponent = 0u - exponent;
    }
    uint32_t sample = (exponent & (((uint32_t)2 << log2_n) - 1u)) >> 2;
    if (slots == CM_COMPLEX_SLOTS) {
        return reverse_bits(sample, log2_n - 1u);
    }
    return reverse_bits(sample >> 1, log2_n - 2u) << 1 | (sample & 1u);
}

static void swap_words(uint32_t *a, uint32_t *b, unsigned words)
{
    for (unsigned i = 0; i < words; i++) {
        uint32_t word = a[i];
        a[i] = b[i];
        b[i] = word;
    }
}

/* Follows the cycles of the permutation; positions are public, so only they steer. */
void cm_slots_permute(uint32_t *data, unsigned words, unsigned log2_n, cm_slots slots, uint8_t *visited)
{
    const uint32_t count = (uint32_t)1 << (log2_n - 1u);
    memset(visited, 0, count / 8u);
    for (uint32_t start = 0; start < count; start++) {
        if ((uint32_t)visited[start / 8u] >> (start & 7u) & 1u) {
            continue;
        }
        /* data[start] carries the slot whose turn it is; each swap puts it in its place and takes up the next. */
        uint32_t position = sample_position(start, log2_n, slots);
        while (position != start) {
            swap_words(data + (size_t)start * words, data + (size_t)position * words, words);
            visited[position / 8u] = (uint8_t)(visited[position / 8u] | 1u << (position & 7u));
            position = sample_position(position, log2_n, slots);
        }
    }
}
