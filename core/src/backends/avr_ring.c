/* SPDX-License-Identifier: Apache-2.0 */
/* The back-end for AVR, the transform: around the assembly of this folder. */
#include "arch/backends.h"

#if CM_AVR_MUL

#include "ring/ring.h"

CMI_HIDDEN_BEGIN

/*
 * A level of the forward transform: blocks of 2 half signed values. *first is the first block's root; step[t]
 * takes the root of block i to that of block i + 1, where i ends in t ones.
 */
void cmi_avr_forward_level26(uint32_t *a, uint16_t half, uint16_t blocks, const uint32_t *first,
                             const uint32_t *step);

CMI_HIDDEN_END

/*
 * The assembly's values are signed, above -11 q (avr_residues.S). To make them positive, 12 q is added to the
 * first coefficient alone, and through it to every result: the first value of a block is never multiplied.
 */
int cmi_avr_ntt_forward(uint32_t *a, const cmi_ring *ring)
{
    if (ring->prime->q != CM_AVR_Q) {
        return 0;
    }
    a[0] += 12u * CM_AVR_Q;
    for (unsigned level = ring->log2_tiles; level < ring->log2_n; level++) {
        cmi_avr_forward_level26(a, (uint16_t)1 << (ring->log2_n - level - 1u),
                                (uint16_t)1 << (level - ring->log2_tiles), &ring->first[level], ring->step);
    }
    return 1;
}

#endif
