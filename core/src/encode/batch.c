/*
 * Batching: the slots are a polynomial's values at the 2n-th roots of unity modulo t, in SEAL's order; its coefficients
 * come from the inverse transform modulo t, in an array of 16 or 32 bits a number.
 */
#include <stddef.h>

#include "encode/plain.h"

/*
 * Gentleman-Sande butterflies as in cm_ntt_inverse, but every number is a residue, which 16 bits hold.
 */
static void transform_16(uint16_t *a, const cm_ring *ring)
{
    const cm_prime prime = *ring->prime;
    const uint32_t n = (uint32_t)1 << ring->log2_n;
    for (unsigned level = ring->log2_n; level-- > 0;) {
        const uint32_t blocks = (uint32_t)1 << level;
        const uint32_t half = (uint32_t)1 << (ring->log2_n - level - 1u);
        uint32_t twiddle = ring->first[level];
        uint16_t *high = a + n;
        for (uint32_t i = 0; i < blocks; i++) {
            high -= half;
            uint16_t *const low = high - half;
            for (uint32_t j = 0; j < half; j++) {
                const uint32_t x = low[j];
                const uint32_t y = high[j];
                low[j] = (uint16_t)cm_subtract_once(x + y, prime.q);
                high[j] = (uint16_t)cm_montgomery_residue(y + prime.q - x, twiddle, &prime);
            }
            high = low;
            twiddle = cm_montgomery_residue(twiddle, ring->step[cm_trailing_ones(i)], &prime);
        }
    }
    const uint32_t n_inv = cm_montgomery_residue(prime.n_inv, prime.r2, &prime);
    for (uint32_t i = 0; i < n; i++) {
        a[i] = (uint16_t)cm_montgomery_residue(a[i], n_inv, &prime);
    }
}

void cm_batch(void *data, cm_bfv_width width, const cm_ring *ring, uint8_t *scratch)
{
    cm_slots_permute_columns(data, width, ring->log2_n, (uint16_t *)(void *)scratch);
    if (width == CM_BFV_16) {
        transform_16(data, ring);
    } else {
        cm_ntt_inverse(data, ring);
    }
}
