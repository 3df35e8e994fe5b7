/* SPDX-License-Identifier: Apache-2.0 */
/* BFV decryption's sums: fractions x/q in fixed point, without big integers. Never branches on data. */
#include "scheme/sums.h"

#include "arch/backends.h"
#include "common/bytes.h"
#include "ring/prime.h"

/* r^T = -1 makes r^-j = -r^(T-j). */
void cmi_sums_weights(const cmi_ring *ring, uint32_t factor, uint32_t weights[CM_MAX_TILES])
{
    const cm_prime *prime = ring->prime;
    const unsigned tiles = 1u << ring->log2_tiles;
    int32_t powers[CM_MAX_TILES];
    const uint32_t scaled =
        cmi_montgomery_residue(factor, cmi_montgomery_residue(prime->n_inv, prime->r2, prime), prime);
    cmi_ring_fold_powers(ring, scaled, powers);
    weights[0] = scaled;
    for (unsigned j = 1; j < tiles; j++) {
        const int32_t weight = -powers[tiles - j];
        weights[j] = (uint32_t)(weight < 0 ? weight + (int32_t)prime->q : weight);
    }
}

uint32_t cmi_bfv_sums_weight(const cm_prime *prime, const cm_prime *primes, unsigned count)
{
    uint32_t others = prime->r1;
    for (unsigned i = 0; i < count; i++) {
        if (primes[i].q != prime->q) {
            const uint32_t other = cmi_montgomery_residue(cmi_reduce(primes[i].q, prime), prime->r2, prime);
            others = cmi_montgomery_residue(others, other, prime);
        }
    }
    return cmi_montgomery_power(others, prime->q - 2u, prime);
}

/* 2^64 w / q rounded down, as high 2^32 + low with a signed low part. */
typedef struct fraction {
    uint32_t high;
    int32_t low;
} fraction;

/*
 * For w in Montgomery form. floor(2^32 y / q) is (2^32 y - z) / q for z = 2^32 y mod q, and modulo 2^32 that
 * is -z / q, which is z times -q^-1. The upper half is this for y = w, where z is w in Montgomery form; the
 * lower half is this for y = that z.
 */
static fraction fraction_of(uint32_t w, const cm_prime *prime)
{
    fraction f;
    f.low = (int32_t)(cmi_montgomery_residue(w, prime->r2, prime) * prime->neg_q_inv);
    f.high = w * prime->neg_q_inv + ((uint32_t)f.low >> 31);
    return f;
}

/*
 * x w / q modulo 1 in units of 2^-32, for |x| up to 4q, to within 1/2 from rounding and 1/8 from f, which is
 * less than one unit of 2^-64 too small.
 */
static inline uint32_t multiple(uint32_t x, fraction f)
{
    const int64_t low = cmi_product_signed((int32_t)x, f.low) + ((int64_t)1 << 31);
    return x * f.high + (uint32_t)((uint64_t)low >> 32);
}

static void add_32(uint8_t *sums, const uint32_t *tile, uint32_t points, fraction f)
{
    uint32_t *const out = (uint32_t *)(void *)sums;
    if (CM_ARCH_TRY(add_multiples, out, tile, points, f.high, f.low)) {
        return;
    }
    for (uint32_t i = 0; i < points; i++) {
        out[i] += multiple(tile[i], f);
    }
}

/* Four sums of 24 bits are three words. A sum is rounded to 24 bits whenever something is added. */
static void add_24(uint8_t *sums, const uint32_t *tile, uint32_t points, fraction f)
{
    const uint32_t half = 128u;
    for (uint32_t i = 0; i < points; i += 4u, sums += 12) {
        const uint32_t a = cmi_load32(sums);
        const uint32_t b = cmi_load32(sums + 4);
        const uint32_t c = cmi_load32(sums + 8);
        const uint32_t s0 = (a << 8) + multiple(tile[i], f) + half;
        const uint32_t s1 = ((a >> 16 & 0xFF00u) | b << 16) + multiple(tile[i + 1u], f) + half;
        const uint32_t s2 = ((b >> 8 & 0xFFFF00u) | c << 24) + multiple(tile[i + 2u], f) + half;
        const uint32_t s3 = (c & 0xFFFFFF00u) + multiple(tile[i + 3u], f) + half;
        cmi_store32(sums, s0 >> 8 | (s1 >> 8) << 24);
        cmi_store32(sums + 4, s1 >> 16 | s2 >> 8 << 16);
        cmi_store32(sums + 8, s2 >> 24 | (s3 & 0xFFFFFF00u));
    }
}

void cmi_bfv_sums_add(uint8_t *sums, cm_bfv_sums bits, const uint32_t *tile, const cmi_ring *ring,
                      const cm_prime *primes, unsigned count)
{
    const uint32_t points = cmi_ring_points(ring);
    const cm_prime *prime = ring->prime;
    uint32_t weights[CM_MAX_TILES];
    cmi_sums_weights(ring, prime->q - cmi_bfv_sums_weight(prime, primes, count), weights);
    for (unsigned j = 0; j < 1u << ring->log2_tiles; j++) {
        const fraction f = fraction_of(weights[j], prime);
        uint8_t *const part = sums + (size_t)j * points / 8u * (unsigned)bits;
        if (bits == CM_BFV_SUMS_24) {
            add_24(part, tile, points, f);
        } else {
            add_32(part, tile, points, f);
        }
    }
}

/* The sum's upper bits, and zeros below. */
static inline uint32_t load_sum(const uint8_t *sums, cm_bfv_sums bits, uint32_t i)
{
    if (bits == CM_BFV_SUMS_32) {
        return cmi_aligned_word(sums + (size_t)i * 4u);
    }
    const uint8_t *at = sums + (size_t)i * 3u;
    return (uint32_t)at[0] << 8 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 24;
}

/* A sum taken as a signed number gives a result within t/2 of 0. */
static inline uint32_t round_sum(uint32_t sum, uint32_t t)
{
    const int64_t product = cmi_product_signed((int32_t)sum, (int32_t)t) + ((int64_t)1 << 31);
    const uint32_t m = (uint32_t)((uint64_t)product >> 32);
    return cmi_add_if_negative(m, t);
}

static void round_words(uint32_t *sums, uint32_t n, uint32_t t)
{
    if (CM_ARCH_TRY(round_sums, sums, n, t)) {
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        sums[i] = round_sum(sums[i], t);
    }
}

/* Forwards: numbers are no wider than their sums, so that none is overwritten before it is read. */
void cmi_bfv_sums_round(uint8_t *sums, cm_bfv_sums bits, cm_bfv_width width, uint32_t n, uint32_t t)
{
    if (width == CM_BFV_16) {
        for (uint32_t i = 0; i < n; i++) {
            const uint32_t m = round_sum(load_sum(sums, bits, i), t);
            ((uint16_t *)(void *)sums)[i] = (uint16_t)m;
        }
    } else {
        round_words((uint32_t *)(void *)sums, n, t);
    }
}
