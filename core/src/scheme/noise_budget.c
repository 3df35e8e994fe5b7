/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exact noise budget of a BFV ciphertext: the only code that needs numbers as large as q. For tests; see
 * the warning in ciphermote/decryptor.h. Never branches on data.
 */
#include "common/masks.h"
#include "ring/prime.h"
#include "scheme/sums.h"

enum { WORDS = (27 * CM_MAX_PRIMES + 31) / 32 }; /* of a number up to q */

void cmi_noise_sums_add(uint32_t *sums, uint32_t t, const uint32_t *tile, const cmi_ring *ring,
                        unsigned index)
{
    const cm_prime *prime = ring->prime;
    const uint32_t points = cmi_ring_points(ring);
    uint32_t weights[CM_MAX_TILES];
    uint32_t *at = sums + ((size_t)index << ring->log2_n);
    const uint32_t factor = cmi_montgomery_residue(cmi_reduce(t, prime), prime->r2, prime);
    cmi_sums_weights(ring, prime->q - factor, weights);
    for (unsigned j = 0; j < 1u << ring->log2_tiles; j++) {
        for (uint32_t i = 0; i < points; i++) {
            cmi_sums_add(at++, cmi_product(cmi_sums_lifted(tile[i], prime), weights[j]), prime);
        }
    }
}

/* x = x factor + term */
static void multiply_add_word(uint32_t x[WORDS], uint32_t factor, uint32_t term)
{
    uint64_t carry = term;
    for (unsigned i = 0; i < WORDS; i++) {
        carry += cmi_product(x[i], factor);
        x[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

/* out = a - b; all ones if that is negative, else 0. */
static uint32_t subtract(uint32_t out[WORDS], const uint32_t a[WORDS], const uint32_t b[WORDS])
{
    uint64_t borrow = 0;
    for (unsigned i = 0; i < WORDS; i++) {
        const uint64_t difference = (uint64_t)a[i] - b[i] - borrow;
        out[i] = (uint32_t)difference;
        borrow = difference >> 63;
    }
    return cmi_mask_of_bit((uint32_t)borrow);
}

/* The bit length of x. */
static unsigned significant_bits(const uint32_t x[WORDS])
{
    uint32_t bits = 0;
    for (uint32_t i = 0; i < 32u * WORDS; i++) {
        const uint32_t set = cmi_mask_of_top(x[i / 32u] << (31u - i % 32u));
        bits = (bits & ~set) | ((i + 1u) & set);
    }
    return bits;
}

/* A number's digits to the bases of the primes, lowest first: d0 + q0 (d1 + q1 (d2 + ...)). */
typedef struct radix {
    const cm_prime *primes;
    unsigned count;
    uint32_t inverses[CM_MAX_PRIMES]; /* (q0 .. q(i-1))^-1 mod qi, in Montgomery form */
    uint32_t modulus[WORDS];          /* q */
} radix;

/* qj mod qi, in Montgomery form */
static uint32_t base_at(const radix *r, unsigned j, unsigned i)
{
    const cm_prime *prime = &r->primes[i];
    return cmi_montgomery_residue(cmi_reduce(r->primes[j].q, prime), prime->r2, prime);
}

static void open_radix(radix *r, const cm_prime *primes, unsigned count)
{
    *r = (radix){.primes = primes, .count = count, .modulus = {1}};
    for (unsigned i = 0; i < count; i++) {
        uint32_t product = primes[i].r1;
        for (unsigned j = 0; j < i; j++) {
            product = cmi_montgomery_residue(product, base_at(r, j, i), &primes[i]);
        }
        r->inverses[i] = cmi_montgomery_power(product, primes[i].q - 2u, &primes[i]);
        multiply_add_word(r->modulus, primes[i].q, 0);
    }
}

/* From residues, stride apart, to the number below q. */
static void compose(const radix *r, const uint32_t *residues, size_t stride, uint32_t x[WORDS])
{
    uint32_t digits[CM_MAX_PRIMES];
    for (unsigned i = 0; i < r->count; i++) {
        const cm_prime *prime = &r->primes[i];
        uint32_t below = 0;
        for (unsigned j = i; j-- > 0;) {
            below = cmi_montgomery_residue(below, base_at(r, j, i), prime) + digits[j];
        }
        const uint32_t rest = residues[i * stride] + prime->q - cmi_reduce(below, prime);
        digits[i] = cmi_montgomery_residue(rest, r->inverses[i], prime);
    }
    for (unsigned i = 0; i < WORDS; i++) {
        x[i] = 0;
    }
    for (unsigned i = r->count; i-- > 0;) {
        multiply_add_word(x, r->primes[i].q, digits[i]);
    }
}

/* The union of all magnitudes' bits is as long as the largest magnitude. */
unsigned cmi_noise_sums_budget(const uint32_t *sums, uint32_t n, const cm_prime *primes, unsigned count)
{
    radix r;
    uint32_t any[WORDS] = {0};
    open_radix(&r, primes, count);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t x[WORDS];
        uint32_t other[WORDS];
        uint32_t unused[WORDS];
        compose(&r, sums + i, n, x);
        (void)subtract(other, r.modulus, x);
        const uint32_t negative = subtract(unused, other, x);
        for (unsigned k = 0; k < WORDS; k++) {
            any[k] |= (other[k] & negative) | (x[k] & ~negative);
        }
    }
    const uint32_t budget = significant_bits(r.modulus) - significant_bits(any) - 1u;
    return budget & ~cmi_mask_of_top(budget);
}
