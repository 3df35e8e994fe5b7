/*
 * The Keccak permutation on a state kept in the form it likes best: portable C keeps lanes as they are,
 * assembly for 32-bit machines bit-interleaves and rotates them. A sponge enters and leaves only the lanes of
 * its rate.
 */
#ifndef CM_RANDOM_KECCAK_H
#define CM_RANDOM_KECCAK_H

#include <stdint.h>

#include "ciphermote/config.h"

/* Keccak-f[1600] on 25 entered lanes. 0 enters as 0. */
void cm_keccak_permute(uint64_t state[25]);

#if CM_ARMV7EM

/*
 * By how much the words of each lane are rotated to the right as it leaves: the even bits in the low byte,
 * the odd ones in the high byte (arch/armv7em/keccak.S).
 */
extern const uint16_t cm_keccak_turns[25];

static inline uint32_t cm_keccak_rotate32(uint32_t word, unsigned bits)
{
    return word >> (bits & 31) | word << ((0U - bits) & 31);
}

/* Exchange the bits of x at mask << shift for those of y at mask. */
static inline void cm_keccak_exchange(uint32_t *x, uint32_t *y, unsigned shift, uint32_t mask)
{
    uint32_t difference = (*x >> shift ^ *y) & mask;
    *y ^= difference;
    *x ^= difference << shift;
}

/*
 * A bit's place in a pair of words is 6 index bits, the word's number above 5 within it. Interleaving rotates
 * the six by one place, which takes five exchanges of the topmost with another.
 */
static inline uint64_t cm_keccak_enter(uint64_t lane, unsigned index)
{
    uint32_t x = (uint32_t)lane;
    uint32_t y = (uint32_t)(lane >> 32);
    cm_keccak_exchange(&x, &y, 16, 0x0000FFFFu);
    cm_keccak_exchange(&x, &y, 8, 0x00FF00FFu);
    cm_keccak_exchange(&x, &y, 4, 0x0F0F0F0Fu);
    cm_keccak_exchange(&x, &y, 2, 0x33333333u);
    cm_keccak_exchange(&x, &y, 1, 0x55555555u);
    unsigned turns = cm_keccak_turns[index];
    x = cm_keccak_rotate32(x, 0U - turns);
    y = cm_keccak_rotate32(y, 0U - (turns >> 8));
    return x | (uint64_t)y << 32;
}

static inline uint64_t cm_keccak_leave(uint64_t entered, unsigned index)
{
    unsigned turns = cm_keccak_turns[index];
    uint32_t x = cm_keccak_rotate32((uint32_t)entered, turns);
    uint32_t y = cm_keccak_rotate32((uint32_t)(entered >> 32), turns >> 8);
    cm_keccak_exchange(&x, &y, 1, 0x55555555u);
    cm_keccak_exchange(&x, &y, 2, 0x33333333u);
    cm_keccak_exchange(&x, &y, 4, 0x0F0F0F0Fu);
    cm_keccak_exchange(&x, &y, 8, 0x00FF00FFu);
    return (x & 0xFFFFu) | y << 16 | (uint64_t)(x >> 16 | (y & 0xFFFF0000u)) << 32;
}

#else

static inline uint64_t cm_keccak_enter(uint64_t lane, unsigned index)
{
    (void)index;
    return lane;
}

static inline uint64_t cm_keccak_leave(uint64_t entered, unsigned index)
{
    (void)index;
    return entered;
}

#endif

#endif
