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
    cm_reduce_all(a, cm_ring_points(ring), ring->prime);
}

#if CM_ARMV7EM

/* arch/armv7em/unbatch.S; numbers below 2^31, of which there is a multiple of 4, not 0; inverse is 2^32 / q to the nearest */
void cm_armv7em_narrow(uint32_t *a, uint32_t count, uint32_t q, int32_t inverse);

static void narrow(uint32_t *a, uint32_t count, const cm_prime *prime)
{
    cm_armv7em_narrow(a, count, prime->q, cm_prime_inverse(prime));
}

#else

/* By bytes where a place holds numbers of both widths. */
static void narrow(uint32_t *a, uint32_t count, const cm_prime *prime)
{
    const cm_prime modulus = *prime;
    uint8_t *out = (uint8_t *)a;
    for (uint32_t i = 0; i < count; i++, out += 2) {
        const uint16_t residue = (uint16_t)cm_reduce(a[i], &modulus);
        memcpy(out, &residue, sizeof residue);
    }
}

#endif

/* A q of 16 bits: what the transform leaves is below 2^21. */
static void transform_32_to_16(uint32_t *a, const cm_ring *ring)
{
    cm_ntt_forward(a, ring);
    narrow(a, cm_ring_points(ring), ring->prime);
}

void cm_unbatch(void *data, cm_bfv_width from, cm_bfv_width to, const cm_ring *ring)
{
    if (from == CM_BFV_16) {
        transform_16(data, ring);
    } else if (to == CM_BFV_16) {
        transform_32_to_16(data, ring);
    } else {
        transform_32(data, ring);
    }
    cm_slots_restore_columns(data, to, ring->log2_n);
}
