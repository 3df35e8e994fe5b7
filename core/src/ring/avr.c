/* The ring's back-end for AVR around the assembly in arch/avr, for one prime. */
#include "ring/arch/api.h"

#if CM_AVR && !defined(CM_ARCH_HEADER)

/*
 * The assembly's values are signed, above -11 q (ring26.S). To lift them over 0, 12 q is added to the first coefficient
 * alone, and through it to every result: the first value of a block is never multiplied.
 */
int cm_avr_ntt_forward(uint32_t *a, const cm_ring *ring)
{
    if (ring->prime->q != CM_AVR_Q) {
        return 0;
    }
    a[0] += 12u * CM_AVR_Q;
    for (unsigned level = ring->log2_tiles; level < ring->log2_n; level++) {
        cm_avr_forward_level26(a, (uint16_t)1 << (ring->log2_n - level - 1u),
                               (uint16_t)1 << (level - ring->log2_tiles), &ring->first[level], ring->step);
    }
    return 1;
}

int cm_avr_multiply(uint32_t *out, const uint32_t *a, const uint32_t *b, uint32_t count, const cm_prime *prime)
{
    if (prime->q != CM_AVR_Q || count == 0) {
        return 0;
    }
    cm_avr_multiply26(out, a, b, (uint16_t)count);
    return 1;
}

int cm_avr_multiply_add(uint32_t *out, const uint32_t *a, const uint32_t *b, uint32_t count,
                        const cm_prime *prime)
{
    if (prime->q != CM_AVR_Q || count == 0) {
        return 0;
    }
    cm_avr_multiply_add26(out, a, b, (uint16_t)count);
    return 1;
}

#endif
