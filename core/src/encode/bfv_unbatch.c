/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inverse of batching: coefficients modulo t become the slots, the polynomial's values at the 2n-th roots
 * of unity modulo t, in place and in SEAL's order.
 */
#include "encode/bfv.h"

#include <stddef.h>
#include <string.h>

#include "arch/backends.h"
#include "encode/slots.h"

/* Cooley-Tukey butterflies as in cmi_ntt_forward, but every number is kept a residue, which fits 16 bits. */
static void forward_transform_16(uint16_t *a, const cmi_ring *ring)
{
    const cm_prime prime = *ring->prime; /* a copy, which a cannot alias */
    for (unsigned level = 0; level < ring->log2_n; level++) {
        const uint32_t half = (uint32_t)1 << (ring->log2_n - level - 1u);
        uint32_t twiddle = ring->first[level];
        uint16_t *low = a;
        for (uint32_t i = 0; i < (uint32_t)1 << level; i++) {
            uint16_t *const high = low + half;
            for (uint32_t j = 0; j < half; j++) {
                const uint32_t product = cmi_montgomery_residue(high[j], twiddle, &prime);
                const uint32_t x = low[j];
                high[j] = (uint16_t)cmi_subtract_once(x + prime.q - product, prime.q);
                low[j] = (uint16_t)cmi_subtract_once(x + product, prime.q);
            }
            low = high + half;
            twiddle = cmi_montgomery_residue(twiddle, ring->step[cmi_trailing_ones(i)], &prime);
        }
    }
}

static void forward_transform_32(uint32_t *a, const cmi_ring *ring)
{
    cmi_ntt_forward(a, ring);
    cmi_reduce_all(a, cmi_ring_points(ring), ring->prime);
}

/* By memcpy, because the array holds numbers of both widths. */
static void narrow(uint32_t *a, uint32_t count, const cm_prime *prime)
{
    if (CM_ARCH_TRY(narrow, a, count, prime->q, cmi_prime_inverse(prime))) {
        return;
    }
    const cm_prime modulus = *prime;
    uint8_t *out = (uint8_t *)a;
    for (uint32_t i = 0; i < count; i++, out += 2) {
        const uint16_t residue = (uint16_t)cmi_reduce(a[i], &modulus);
        memcpy(out, &residue, sizeof residue);
    }
}

/* q has 16 bits, so the transform's output is below 2^21. */
static void forward_transform_32_to_16(uint32_t *a, const cmi_ring *ring)
{
    cmi_ntt_forward(a, ring);
    narrow(a, cmi_ring_points(ring), ring->prime);
}

void cmi_bfv_unbatch(void *data, cm_bfv_width from, cm_bfv_width to, const cmi_ring *ring)
{
    if (from == CM_BFV_16) {
        forward_transform_16(data, ring);
    } else if (to == CM_BFV_16) {
        forward_transform_32_to_16(data, ring);
    } else {
        forward_transform_32(data, ring);
    }
    cmi_slots_restore_columns(data, to, ring->log2_n);
}
