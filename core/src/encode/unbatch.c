/*
 * The inverse of batching: coefficients modulo t become the slots, the polynomial's values at the 2n-th roots of unity
 * modulo t, in place and in SEAL's order.
 */
#include "encode/unbatch.h"

#include <stddef.h>
#include <string.h>

#include "encode/plain.h"

/* Cooley-Tukey butterflies as in cm_ntt_forward, but every number is a residue, which 16 bits hold. */
static void transform_16(uint16_t *a, const cm_ring *ring)
{
    const cm_prime prime = *ring->prime; /* a copy, which a cannot alias */
    for (unsigned level = 0; level < ring->log2_n; level++) {
        const uint32_t half = (uint32_t)1 << (ring->log2_n - level - 1u);
        uint32_t twiddle = ring->first[level];
        uint16_t *low = a;
        for (uint32_t i = 0; i < (uint32_t)1 << level; i++) {
            uint16_t *const high = low + half;
            for (uint32_t j = 0; j < half; j++) {
                const uint32_t product = cm_montgomery_residue(high[j], twiddle, &prime);
                const uint32_t x = low[j];
                high[j] = (uint16_t)cm_subtract_once(x + prime.q - product, prime.q);
                low[j] = (uint16_t)cm_subtract_once(x + product, prime.q);
            }
            low = high + half;
            twiddle = cm_montgomery_residue(twiddle, ring->step[cm_trailing_ones(i)], &prime);
        }
    }
}

static void transform_32(uint32_t *a, const cm_ring *ring)
{
    cm_ntt_forward(a, ring);
    for (uint32_t i = 0; i < cm_ring_points(ring); i++) {
        a[i] = cm_reduce(a[i], ring->prime);
    }
}

/* By bytes where a place holds numbers of both widths. */
static void transform_32_to_16(uint32_t *a, const cm_ring *ring)
{
    const cm_prime prime = *ring->prime;
    uint8_t *out = (uint8_t *)a;
    cm_ntt_forward(a, ring);
    for (uint32_t i = 0; i < cm_ring_points(ring); i++, out += 2) {
        const uint16_t narrow = (uint16_t)cm_reduce(a[i], &prime);
        memcpy(out, &narrow, sizeof narrow);
    }
}

void cm_unbatch(void *data, cm_bfv_width from, cm_bfv_width to, const cm_ring *ring, uint8_t *scratch)
{
    if (from == CM_BFV_16) {
        transform_16(data, ring);
    } else if (to == CM_BFV_16) {
        transform_32_to_16(data, ring);
    } else {
        transform_32(data, ring);
    }
    cm_slots_restore_columns(data, to, ring->log2_n, (uint16_t *)(void *)scratch);
}
