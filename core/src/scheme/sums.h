/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a decryption keeps of a ciphertext: for each coefficient a sum of a few bytes, to which every tile at
 * every prime adds. A tile's coefficients t[i], of the polynomial's x folded, give back the polynomial as
 *     x[j n/T + i] = 1/T sum over the tiles of t[i] r^-j,
 * because the T tiles' r are the roots of r^T = -1. So a tile is added to all coefficients as soon as it is
 * complete.
 */
#ifndef CM_SCHEME_SUMS_H
#define CM_SCHEME_SUMS_H

#include <stdint.h>

#include "ciphermote/decryption.h"
#include "common/names.h"
#include "random/xof.h"
#include "ring/ring.h"

CMI_HIDDEN_BEGIN

/*
 * factor / n r^-j for each j below 2^log2_tiles, as residues in Montgomery form, as factor is: the weights in
 * coefficient j n/T + i of a tile's coefficients times n/T, as cmi_ntt_inverse_lazy leaves them.
 */
void cmi_sums_weights(const cmi_ring *ring, uint32_t factor, uint32_t weights[CM_MAX_TILES]);

/* For |x| up to 4q, as cmi_ntt_inverse_lazy leaves it: positive, and below 8q. */
static inline uint32_t cmi_sums_lifted(uint32_t x, const cm_prime *prime)
{
    return x + 4u * prime->q;
}

/* sum += product / 2^32 mod q, a residue, for a product below 16 q^2: its reduction is below q/2 + q. */
static inline void cmi_sums_add(uint32_t *sum, uint64_t product, const cm_prime *prime)
{
    const uint32_t total = *sum + cmi_montgomery_reduce(product, prime);
    *sum = cmi_subtract_once(cmi_subtract_once(total, prime->q), prime->q);
}

/* ---- BFV ---- */

/*
 * A sum of n numbers of 24 or 32 bits is x/q modulo 1 in units of 2^-bits, q the product of all primes: x is
 * sum x_i (q_i/q mod q_i) q/q_i, so x/q is sum (x_i (q_i/q mod q_i) mod q_i) / q_i up to an integer. Wrapping
 * round removes that integer, and no number larger than a word is needed.
 * Adds -x for a tile as cmi_ntt_inverse_lazy leaves it, at one of the ciphertext's primes.
 */
void cmi_bfv_sums_add(uint8_t *sums, cm_bfv_sums bits, const uint32_t *tile, const cmi_ring *ring,
                      const cm_prime *primes, unsigned count);

/* q_i/q mod q_i in Montgomery form, q being the product of count primes and q_i one of them. */
uint32_t cmi_bfv_sums_weight(const cm_prime *prime, const cm_prime *primes, unsigned count);

/* In place, from sums to round(t x / q) modulo t: n numbers of 16 bits, or 32 if the sums have as many. */
void cmi_bfv_sums_round(uint8_t *sums, cm_bfv_sums bits, cm_bfv_width width, uint32_t n, uint32_t t);

/* ---- BFV, noise alone ---- */

/*
 * Sums are the residues of all n coefficients at all of the ciphertext's primes, prime after prime. Adds -t x
 * for a tile as cmi_ntt_inverse_lazy leaves it, at prime number index.
 */
void cmi_noise_sums_add(uint32_t *sums, uint32_t t, const uint32_t *tile, const cmi_ring *ring,
                        unsigned index);

/*
 * SEAL's invariant noise budget: the bits of q, the product of count primes, less those of the largest of n
 * coefficients t x in magnitude, less 1; or 0. As secret as the noise.
 */
unsigned cmi_noise_sums_budget(const uint32_t *sums, uint32_t n, const cm_prime *primes, unsigned count);

/* ---- CKKS ---- */

/*
 * Sums are residues, in the order of an encoded polynomial (encode/ckks.h): m[k] - m[n-k] for real slots,
 * m[k] for complex ones. A place has one word, with 63 bits two: one a prime.
 * Adds -x for a tile as cmi_ntt_inverse_lazy leaves it, at prime number index.
 */
void cmi_ckks_sums_add(uint32_t *sums, cm_precision precision, cm_slots slots, const uint32_t *tile,
                       const cmi_ring *ring, unsigned index);

/*
 * In place, from count places of residues at 1 or (63 bits) 2 primes to the numbers that cmi_embed_31 or
 * cmi_embed_63 takes.
 */
void cmi_ckks_sums_join(uint32_t *sums, cm_precision precision, uint32_t count, const cm_prime *primes,
                        unsigned prime_count);

/*
 * Add uniform noise from -2^log2_noise to 2^log2_noise - 1, in units of one coefficient, to each of count
 * such 63-bit numbers.
 */
void cmi_ckks_sums_flood(uint64_t *sums, uint32_t count, cmi_stream *stream, unsigned log2_noise);

CMI_HIDDEN_END

#endif
