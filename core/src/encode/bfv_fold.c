/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BFV's plaintexts at a prime: round(q m / t) of scaled coefficients, with noise or without, folded into a
 * tile.
 */
#include <stddef.h>

#include "common/compiler.h"
#include "encode/bfv.h"
#include "encode/bfv_numbers.h"
#include "ring/prime.h"

/*
 * A scaled coefficient w with noise e contributes w (-1/t) + e, times a power of r. In 16 bits this is (w - t
 * e) (-1/t), with |w - t e| at most 2^21.
 */
typedef struct fold_powers {
    int32_t scaled[CM_MAX_TILES]; /* r^j (-1/t) */
    int32_t noise[CM_MAX_TILES];  /* r^j, for 32 bits */
} fold_powers;

static CM_ALWAYS_INLINE int64_t fold_plain_add(int64_t sum, const cmi_plain *plain, cm_bfv_width width,
                                               const int8_t *noise, const fold_powers *powers, unsigned j,
                                               size_t at)
{
    const int32_t w = cmi_plain_get_signed(plain->data, width, at);
    if (!noise) {
        return sum + cmi_product_signed(w, powers->scaled[j]);
    }
    if (width == CM_BFV_16) {
        return sum + cmi_product_signed(w - (int32_t)plain->modulus * noise[at], powers->scaled[j]);
    }
    return sum + cmi_product_signed(w, powers->scaled[j]) + cmi_product_signed(noise[at], powers->noise[j]);
}

/*
 * The sums over j of the terms of w[j n/T + i], and of the noise there. At most sixteen terms, each below
 * 2^26 q / 2 in magnitude, are reduced to within q / 8 + q / 2 of 0; in 32 bits, noise adds next to nothing.
 */
static CM_ALWAYS_INLINE void fold_plain_tiles(const cmi_plain *plain, cm_bfv_width width, const int8_t *noise,
                                              const cmi_ring *ring, const fold_powers *powers, unsigned tiles,
                                              uint32_t *out)
{
    const cmi_plain source = *plain; /* copies, which out cannot alias */
    const cm_prime prime = *ring->prime;
    const uint32_t points = cmi_ring_points(ring);
    for (uint32_t i = 0; i < points; i++) {
        int64_t sum = 0;
        size_t at = i;
        for (unsigned j = 0; j < tiles; j++) {
            sum = fold_plain_add(sum, &source, width, noise, powers, j, at);
            at += points;
        }
        out[i] = (uint32_t)(cmi_montgomery_reduce_signed(sum, &prime) + (int32_t)prime.q);
    }
}

#if CM_CONFIG_STORE_NOISE

/* The same for two tiles with noise, in 16 bits: the case of a device that is set up for speed. */
static void fold_plain_halves(const cmi_plain *plain, const int8_t *noise, const cmi_ring *ring,
                              const fold_powers *powers, uint32_t *out)
{
    const cm_prime prime = *ring->prime;
    const uint32_t points = cmi_ring_points(ring);
    const int32_t t = (int32_t)plain->modulus;
    const int32_t one = powers->scaled[0];
    const int32_t r = powers->scaled[1];
    const int16_t *low = plain->data;
    const int16_t *high = low + points;
    const int8_t *low_noise = noise;
    const int8_t *high_noise = noise + points;
    const uint32_t *const end = out + points;
    while (out < end) {
        const int32_t a = *low++ - t * *low_noise++;
        const int32_t b = *high++ - t * *high_noise++;
        const int64_t sum = cmi_product_signed(a, one) + cmi_product_signed(b, r);
        *out++ = (uint32_t)(cmi_montgomery_reduce_signed(sum, &prime) + (int32_t)prime.q);
    }
}

#endif

uint32_t cmi_plain_factor(uint32_t t, const cm_prime *prime)
{
    const uint32_t montgomery = cmi_montgomery_residue(t, prime->r2, prime);
    return prime->q - cmi_montgomery_power(montgomery, prime->q - 2u, prime);
}

static CM_ALWAYS_INLINE void fold_plain(const cmi_plain *plain, cm_bfv_width width, const int8_t *noise,
                                        const cmi_ring *ring, uint32_t *out)
{
    const cm_prime *prime = ring->prime;
    fold_powers powers;
    cmi_ring_fold_powers(ring, cmi_plain_factor(plain->modulus, prime), powers.scaled);
    if (noise && width == CM_BFV_32) {
        cmi_ring_fold_powers(ring, prime->r1, powers.noise);
    }
    if (ring->log2_tiles == 0) {
        fold_plain_tiles(plain, width, noise, ring, &powers, 1, out);
#if CM_CONFIG_STORE_NOISE
    } else if (ring->log2_tiles == 1 && width == CM_BFV_16 && noise) {
        fold_plain_halves(plain, noise, ring, &powers, out);
#endif
    } else if (ring->log2_tiles == 1) {
        fold_plain_tiles(plain, width, noise, ring, &powers, 2, out);
    } else if (ring->log2_tiles == 2) {
        fold_plain_tiles(plain, width, noise, ring, &powers, 4, out);
    } else {
        fold_plain_tiles(plain, width, noise, ring, &powers, 1u << ring->log2_tiles, out);
    }
}

void cmi_plain_fold(const cmi_plain *plain, const cmi_ring *ring, uint32_t *out)
{
    if (plain->width == CM_BFV_16) {
        fold_plain(plain, CM_BFV_16, NULL, ring, out);
    } else {
        fold_plain(plain, CM_BFV_32, NULL, ring, out);
    }
}

#if CM_CONFIG_STORE_NOISE

void cmi_plain_fold_noisy(const cmi_plain *plain, const int8_t *noise, const cmi_ring *ring, uint32_t *out)
{
    if (plain->width == CM_BFV_16) {
        fold_plain(plain, CM_BFV_16, noise, ring, out);
    } else {
        fold_plain(plain, CM_BFV_32, noise, ring, out);
    }
}

#endif
