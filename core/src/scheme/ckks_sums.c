/* SPDX-License-Identifier: Apache-2.0 */
/* CKKS decryption's sums: residues of the coefficients that the slots depend on. Never branches on data. */
#include "common/bytes.h"
#include "encode/ckks_fixed.h"
#include "ring/prime.h"
#include "scheme/sums.h"

/*
 * Where coefficient k stands among those of real slots, 0 <= k < n/2, and of complex ones
 * (encode/ckks_fold.h).
 */
static inline size_t real_place(size_t k, size_t n)
{
    if (k < n / 4u) {
        return 2u * k;
    }
    return k == n / 4u ? 1u : n - 2u * k + 1u;
}

static inline size_t complex_place(size_t k, size_t n)
{
    return k < n / 2u ? 2u * k : 2u * k - n + 1u;
}

/*
 * Coefficient k = j n/T + i, i > 0, is subtracted at n - k, which is (T-1-j) n/T + (n/T - i), so one step
 * handles both. At i = 0 the other one is (T-j) n/T, or none at all for k = 0.
 */
static void add_real(uint32_t *sums, unsigned words, const uint32_t *tile, const cmi_ring *ring,
                     const uint32_t *weights)
{
    const cm_prime *prime = ring->prime;
    const uint32_t points = cmi_ring_points(ring);
    const size_t n = (size_t)1 << ring->log2_n;
    const unsigned tiles = 1u << ring->log2_tiles;
    const unsigned rows = tiles == 1u ? 1u : tiles / 2u;
    const uint32_t end = tiles == 1u ? points / 2u : points;
    const uint32_t first = cmi_sums_lifted(tile[0], prime);
    cmi_sums_add(sums, cmi_product(first, weights[0]), prime);
    for (unsigned j = 1; j < rows; j++) {
        const uint64_t products =
            cmi_product(first, weights[j]) + cmi_product(first, prime->q - weights[tiles - j]);
        cmi_sums_add(sums + real_place((size_t)j * points, n) * words, products, prime);
    }
    for (unsigned j = 0; j < rows; j++) {
        const uint32_t plus = weights[j];
        const uint32_t minus = prime->q - weights[tiles - 1u - j];
        for (uint32_t i = 1; i < end; i++) {
            const uint64_t products = cmi_product(cmi_sums_lifted(tile[i], prime), plus) +
                                      cmi_product(cmi_sums_lifted(tile[points - i], prime), minus);
            cmi_sums_add(sums + real_place((size_t)j * points + i, n) * words, products, prime);
        }
    }
}

static void add_complex(uint32_t *sums, unsigned words, const uint32_t *tile, const cmi_ring *ring,
                        const uint32_t *weights)
{
    const cm_prime *prime = ring->prime;
    const uint32_t points = cmi_ring_points(ring);
    const size_t n = (size_t)1 << ring->log2_n;
    for (unsigned j = 0; j < 1u << ring->log2_tiles; j++) {
        for (uint32_t i = 0; i < points; i++) {
            cmi_sums_add(sums + complex_place((size_t)j * points + i, n) * words,
                         cmi_product(cmi_sums_lifted(tile[i], prime), weights[j]), prime);
        }
    }
}

void cmi_ckks_sums_add(uint32_t *sums, cm_precision precision, cm_slots slots, const uint32_t *tile,
                       const cmi_ring *ring, unsigned index)
{
    const unsigned words = precision == CM_FIXED_31 ? 1u : 2u;
    uint32_t weights[CM_MAX_TILES];
    cmi_sums_weights(ring, ring->prime->q - ring->prime->r1, weights);
    if (slots == CM_SLOTS_COMPLEX) {
        add_complex(sums + index, words, tile, ring, weights);
    } else {
        add_real(sums + index, words, tile, ring, weights);
    }
}

/* As cmi_centred, for products of two primes. */
static inline int64_t centred_64(uint64_t x, uint64_t modulus)
{
    return (int64_t)(x - cmi_if_negative_64(modulus / 2u - x, modulus));
}

static void join_31(uint32_t *sums, uint32_t count, uint32_t q)
{
    for (uint32_t i = 0; i < count; i++) {
        const int32_t x = cmi_centred(sums[i], q);
        sums[i] = (uint32_t)x << CM_GUARD_BITS_31;
    }
}

/* x = x0 + q0 ((x1 - x0) / q0 mod q1): Garner. A place's two words become one number. */
static void join_63(uint32_t *sums, uint32_t count, const cm_prime *primes, unsigned prime_count)
{
    const cm_prime *second = &primes[prime_count - 1u];
    const uint64_t modulus = prime_count == 1u ? second->q : (uint64_t)primes[0].q * second->q;
    const uint32_t q0 = cmi_reduce(primes[0].q, second);
    const uint32_t inverse =
        cmi_montgomery_power(cmi_montgomery_residue(q0, second->r2, second), second->q - 2u, second);
    int64_t *const out = (int64_t *)(void *)sums;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t first = sums[2u * (size_t)i];
        uint64_t x = first;
        if (prime_count == 2u) {
            const uint32_t difference = sums[2u * (size_t)i + 1u] + 4u * second->q - first;
            x += cmi_product(primes[0].q, cmi_montgomery_residue(difference, inverse, second));
        }
        out[i] = (int64_t)((uint64_t)centred_64(x, modulus) << CM_GUARD_BITS_63);
    }
}

void cmi_ckks_sums_join(uint32_t *sums, cm_precision precision, uint32_t count, const cm_prime *primes,
                        unsigned prime_count)
{
    if (precision == CM_FIXED_31) {
        join_31(sums, count, primes[0].q);
    } else {
        join_63(sums, count, primes, prime_count);
    }
}

void cmi_ckks_sums_flood(uint64_t *sums, uint32_t count, cmi_stream *stream, unsigned log2_noise)
{
    const uint64_t bound = (uint64_t)1 << log2_noise;
    for (uint32_t i = 0; i < count; i++) {
        uint8_t bytes[8];
        cmi_stream_read(stream, bytes, sizeof bytes);
        const uint64_t noise = (cmi_load64(bytes) & (2u * bound - 1u)) - bound;
        sums[i] += noise << CM_GUARD_BITS_63;
    }
}
