/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batching: the slots are a polynomial's values at the 2n-th roots of unity modulo t, in SEAL's order; its
 * coefficients come from the inverse transform modulo t, in an array of 16-bit or 32-bit numbers.
 */
#include <stddef.h>

#include "arch/backends.h"
#include "encode/bfv.h"
#include "encode/slots.h"

/*
 * The inverse transform in 16 bits, two levels of Gentleman-Sande butterflies at a time, the blocks in
 * descending order as in cmi_ntt_inverse. Numbers are signed: a product is reduced to within q/2 + 2 of 0,
 * because its factors are below 2^19 and q; so is a sum, as a product by one.
 */
static inline int32_t signed_residue(int32_t a, int32_t b, const cm_prime *prime)
{
    return cmi_montgomery_reduce_signed(cmi_product_signed(a, b), prime);
}

/* Four numbers, half places apart. */
static inline void butterflies(int16_t *at, size_t half, const cmi_batch_factors *by, const cm_prime *prime)
{
    const int32_t a = at[0];
    const int32_t b = at[half];
    const int32_t c = at[2u * half];
    const int32_t d = at[3u * half];
    const int32_t low = a + b;
    const int32_t high = c + d;
    const int32_t low_turned = signed_residue(b - a, by->inner[1], prime);
    const int32_t high_turned = signed_residue(d - c, by->inner[0], prime);
    at[0] = (int16_t)signed_residue(low + high, by->sum, prime);
    at[half] = (int16_t)signed_residue(low_turned + high_turned, by->sum, prime);
    at[2u * half] = (int16_t)signed_residue(high - low, by->outer, prime);
    at[3u * half] = (int16_t)signed_residue(high_turned - low_turned, by->outer, prime);
}

static void batch_two_levels(int16_t *at, size_t half, const cmi_batch_factors *by, const cm_prime *prime)
{
    if (CM_ARCH_TRY(batch_levels, at, half, by)) {
        return;
    }
    for (size_t j = 0; j < half; j++) {
        butterflies(at + j, half, by, prime);
    }
}

/*
 * Levels level and level - 1, all times factor (Montgomery form). The twiddle of block i of a level is the
 * square of that of block 2i at the next level.
 */
static void transform_two_levels(int16_t *a, const cmi_ring *ring, unsigned level, uint32_t factor)
{
    const cm_prime prime = *ring->prime; /* a copy, which a cannot alias */
    const uint32_t blocks = (uint32_t)1 << (level - 1u);
    const size_t half = (size_t)1 << (ring->log2_n - level - 1u);
    uint32_t inner = ring->first[level];
    int16_t *at = a + 4u * half * blocks;
    for (uint32_t i = 0; i < blocks; i++) {
        const uint32_t next = cmi_montgomery_residue(inner, ring->step[0], &prime);
        const uint32_t square = cmi_montgomery_residue(inner, inner, &prime);
        const uint32_t outer = level == 1u ? cmi_montgomery_residue(square, factor, &prime) : square;
        const cmi_batch_factors by = {
            {(int32_t)inner, (int32_t)next}, (int32_t)outer, (int32_t)factor, prime.neg_q_inv, prime.q};
        at -= 4u * half;
        batch_two_levels(at, half, &by, &prime);
        inner = cmi_montgomery_residue(next, ring->step[cmi_trailing_ones(i) + 1u], &prime);
    }
}

/* Level 0 alone, times factor. */
static void transform_last_level(int16_t *a, const cmi_ring *ring, uint32_t factor)
{
    const cm_prime prime = *ring->prime;
    const size_t half = (size_t)1 << (ring->log2_n - 1u);
    const int32_t outer = (int32_t)cmi_montgomery_residue(ring->first[0], factor, &prime);
    for (size_t j = 0; j < half; j++) {
        const int32_t x = a[j];
        const int32_t y = a[half + j];
        a[j] = (int16_t)signed_residue(x + y, (int32_t)factor, &prime);
        a[half + j] = (int16_t)signed_residue(y - x, outer, &prime);
    }
}

static void inverse_transform_16(int16_t *a, const cmi_ring *ring)
{
    const cm_prime *prime = ring->prime;
    const uint32_t n_inv = cmi_montgomery_residue(prime->n_inv, prime->r2, prime);
    unsigned level = ring->log2_n - 1u;
    for (; level > 1u; level -= 2u) {
        transform_two_levels(a, ring, level, prime->r1);
    }
    if (level == 1u) {
        transform_two_levels(a, ring, level, n_inv);
    } else {
        transform_last_level(a, ring, n_inv);
    }
}

void cmi_bfv_batch(void *data, cm_bfv_width width, const cmi_ring *ring)
{
    cmi_slots_permute_columns(data, width, ring->log2_n);
    if (width == CM_BFV_16) {
        inverse_transform_16(data, ring);
    } else {
        cmi_ntt_inverse(data, ring);
    }
}
