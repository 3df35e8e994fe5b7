/* SPDX-License-Identifier: Apache-2.0 */
/* Portable C arithmetic in Z_q[x]/(x^n + 1): the reference that every back-end must match. Never branches on
   data. */
#include "ring/ring.h"

#include <stddef.h>

#include "arch/backends.h"

#ifdef __AVR__
#include <avr/pgmspace.h>
#endif

const cm_root_table *cmi_root_table_for(const cm_root_table *tables, uint32_t q)
{
    if (!CM_CONFIG_NTT_ROOTS || !tables) {
        return NULL;
    }
    while (tables->q != q && tables->q != 0) {
        tables++;
    }
    return tables->q == 0 ? NULL : tables;
}

#if CM_CONFIG_NTT_ROOTS

/* Null for a table of another root or degree: entry n/2, the first of the last level, is psi itself. */
static const cm_root *roots_for(const cm_root_table *tables, const cm_prime *prime, unsigned log2_n)
{
    const cm_root_table *table = cmi_root_table_for(tables, prime->q);
    const bool fits = table && table->psi == prime->psi &&
                      table->roots[(size_t)1 << (log2_n - 1u)].root == cmi_centred(prime->psi, prime->q);
    return fits ? table->roots : NULL;
}

#endif

/*
 * The twiddle of block i at level l is psi^bitrev(2^l + i), bits reversed over log2 n. From i to i + 1, where
 * i ends in t ones, its exponent grows by n / 2^(t+1) - (n - n / 2^t) = 3n / 2^(t+1) - n, and psi^n = -1: so
 * one product by step[t] = -psi^(3n / 2^(t+1)) = -first[t]^3 gives the next twiddle, and no table of n roots
 * is needed.
 */
void cmi_ring_init(cmi_ring *ring, const cm_prime *prime, unsigned log2_n, const cm_root_table *tables)
{
    ring->prime = prime;
    ring->log2_n = (uint8_t)log2_n;
#if CM_CONFIG_NTT_ROOTS
    ring->roots = roots_for(tables, prime, log2_n);
#else
    (void)tables;
#endif
    cmi_ring_select_tile(ring, 0, 0);
    for (unsigned level = 0; level < log2_n; level++) {
        uint32_t square = cmi_montgomery_residue(ring->first[level], ring->first[level], prime);
        ring->step[level] = prime->q - cmi_montgomery_residue(square, ring->first[level], prime);
    }
}

/*
 * The first twiddle of a tile's blocks at the last level. At level l the tile's first block is number tile
 * 2^(l-k), and bitrev(2^l + tile 2^(l-k)) is 1 + 2 bitrev_k(tile) at the last level, twice that at the one
 * before it, and so on.
 */
static uint32_t last_root(const cm_prime *prime, unsigned log2_tiles, unsigned tile)
{
    uint32_t square = cmi_montgomery_residue(prime->psi, prime->r2, prime);
    uint32_t root = square;
    for (unsigned b = log2_tiles; b-- > 0;) {
        square = cmi_montgomery_residue(square, square, prime);
        if (tile >> b & 1u) {
            root = cmi_montgomery_residue(root, square, prime);
        }
    }
    return root;
}

void cmi_ring_select_tile(cmi_ring *ring, unsigned log2_tiles, unsigned tile)
{
    const cm_prime *prime = ring->prime;
    ring->log2_tiles = (uint8_t)log2_tiles;
    ring->tile = (uint8_t)tile;
    uint32_t root = last_root(prime, log2_tiles, tile);
    for (unsigned level = ring->log2_n; level-- > log2_tiles;) {
        ring->first[level] = root;
        root = cmi_montgomery_residue(root, root, prime);
    }
}

/* The tile splits further as x^(n/T) - w^2 = (x^(n/2T) - w) (x^(n/2T) + w), w its twiddle: so r = w^2. */
uint32_t cmi_ring_fold_ratio(const cmi_ring *ring)
{
    const uint32_t w = ring->first[ring->log2_tiles];
    return cmi_montgomery_residue(w, w, ring->prime);
}

void cmi_ring_fold_powers(const cmi_ring *ring, uint32_t factor, int32_t *powers)
{
    const cm_prime *prime = ring->prime;
    const uint32_t r = cmi_ring_fold_ratio(ring);
    uint32_t power = factor;
    for (unsigned j = 0; j < 1u << ring->log2_tiles; j++) {
        powers[j] = cmi_centred(power, prime->q);
        power = cmi_montgomery_residue(power, r, prime);
    }
}

/* One block of one level of Cooley-Tukey butterflies. */
static void transform_block(uint32_t *low, uint32_t half, uint32_t twiddle, const cm_prime *prime)
{
    const uint32_t twice_q = 2u * prime->q;
    uint32_t *high = low + half;
    for (uint32_t j = 0; j < half; j++) {
        uint32_t product = cmi_montgomery_multiply(high[j], twiddle, prime);
        high[j] = low[j] + twice_q - product;
        low[j] += product;
    }
}

#if CM_CONFIG_NTT_ROOTS

/*
 * The same with Shoup's products. quotient / 2^32 is root / q to within 2^-33, so b quotient / 2^32 and b
 * root / q differ by less than 1/2. Rounded to h, the first differs by less than 1: b root - h q lies within
 * +-q, and with q added within 0 .. 2q.
 */
static void transform_block_by(uint32_t *low, uint32_t half, const cm_root *root, const cm_prime *prime)
{
    const uint32_t q = prime->q;
    uint32_t *high = low + half;
    for (uint32_t j = 0; j < half; j++) {
        const int64_t scaled = cmi_product_mixed(high[j], root->quotient) + ((int64_t)1 << 31);
        uint32_t product = high[j] * (uint32_t)root->root - (uint32_t)(scaled >> 32) * q + q;
        high[j] = low[j] + 2u * q - product;
        low[j] += product;
    }
}

#endif

static void transform_level(uint32_t *a, const cmi_ring *ring, unsigned level)
{
    const cm_prime *prime = ring->prime;
    const uint32_t blocks = (uint32_t)1 << (level - ring->log2_tiles);
    const uint32_t half = (uint32_t)1 << (ring->log2_n - level - 1u);
#if CM_CONFIG_NTT_ROOTS
    if (ring->roots) {
        const cm_root *roots = cmi_ring_roots(ring, level);
        for (uint32_t i = 0; i < blocks; i++) {
            transform_block_by(a + (size_t)i * 2u * half, half, roots + i, prime);
        }
        return;
    }
#endif
    uint32_t twiddle = ring->first[level];
    for (uint32_t i = 0; i < blocks; i++) {
        transform_block(a + (size_t)i * 2u * half, half, twiddle, prime);
        twiddle = cmi_montgomery_residue(twiddle, ring->step[cmi_trailing_ones(i)], prime);
    }
}

/* Nothing is reduced: values grow by 2q a level, which 27-bit primes leave room for. */
void cmi_ntt_forward(uint32_t *a, const cmi_ring *ring)
{
    if (CM_ARCH_TRY(ntt_forward, a, ring)) {
        return;
    }
    for (unsigned level = ring->log2_tiles; level < ring->log2_n; level++) {
        transform_level(a, ring, level);
    }
}

/*
 * Gentleman-Sande butterflies, all values below 2q. The inverse twiddle of block i at a level of m blocks is
 * minus the forward twiddle of block m - 1 - i, because their exponents add up to n; that block is in the
 * opposite tile. So the blocks are taken backwards, the opposite tile's roots forwards, and the difference is
 * negated.
 */
void cmi_ntt_inverse_lazy(uint32_t *a, const cmi_ring *ring)
{
    if (CM_ARCH_TRY(ntt_inverse_lazy, a, ring)) {
        return;
    }
    const cm_prime *prime = ring->prime;
    const uint32_t twice_q = 2u * prime->q;
    const uint32_t points = cmi_ring_points(ring);
    const unsigned across = (1u << ring->log2_tiles) - 1u - ring->tile;
    uint32_t root = last_root(prime, ring->log2_tiles, across);
    for (unsigned level = ring->log2_n; level-- > ring->log2_tiles;) {
        const uint32_t blocks = (uint32_t)1 << (level - ring->log2_tiles);
        const uint32_t half = (uint32_t)1 << (ring->log2_n - level - 1u);
        uint32_t twiddle = root;
        uint32_t *high = a + points;
        for (uint32_t i = 0; i < blocks; i++) {
            high -= half;
            uint32_t *low = high - half;
            for (uint32_t j = 0; j < half; j++) {
                uint32_t difference = high[j] + twice_q - low[j];
                low[j] = cmi_subtract_once(low[j] + high[j], twice_q);
                high[j] = cmi_montgomery_multiply(difference, twiddle, prime);
            }
            high = low;
            twiddle = cmi_montgomery_residue(twiddle, ring->step[cmi_trailing_ones(i)], prime);
        }
        root = cmi_montgomery_residue(root, root, prime);
    }
}

/* T times n^-1 is the inverse of n/T; a few doublings, for q below 2^27. */
void cmi_ntt_inverse(uint32_t *a, const cmi_ring *ring)
{
    if (CM_ARCH_TRY(ntt_inverse, a, ring)) {
        return;
    }
    const cm_prime *prime = ring->prime;
    const uint32_t points = cmi_ring_points(ring);
    const uint32_t inverse = cmi_montgomery_residue(prime->n_inv << ring->log2_tiles, prime->r2, prime);
    cmi_ntt_inverse_lazy(a, ring);
    for (uint32_t i = 0; i < points; i++) {
        a[i] = cmi_montgomery_residue(a[i] + 4u * prime->q, inverse, prime);
    }
}

void cmi_multiply(uint32_t *out, const uint32_t *a, const uint32_t *b, uint32_t count, const cm_prime *prime)
{
    if (CM_ARCH_TRY(multiply, out, a, b, count, prime)) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        out[i] = cmi_montgomery_residue(a[i], b[i], prime);
    }
}

/* The sum of both products is below 2^32 q + 2^32 q, so its reduction is below 3q. */
void cmi_multiply_add(uint32_t *out, const uint32_t *a, const uint32_t *b, uint32_t count,
                      const cm_prime *prime)
{
    if (CM_ARCH_TRY(multiply_add, out, a, b, count, prime)) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t sum = cmi_product(out[i], prime->r1) + cmi_product(a[i], b[i]);
        out[i] = cmi_subtract_once(cmi_subtract_once(cmi_montgomery_reduce(sum, prime), prime->q), prime->q);
    }
}

void cmi_reduce_all(uint32_t *a, uint32_t count, const cm_prime *prime)
{
    for (uint32_t i = 0; i < count; i++) {
        a[i] = cmi_reduce(a[i], prime);
    }
}

#ifdef __AVR__

void cmi_multiply_add_flash(uint32_t *out, const uint32_t *a, const uint32_t *b, uint32_t count,
                            const cm_prime *prime)
{
    if (CM_ARCH_TRY(multiply_add_flash, out, a, b, count, prime)) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t word = pgm_read_dword(a + i);
        cmi_multiply_add(out + i, &word, b + i, 1, prime);
    }
}

#endif

void cmi_add(uint32_t *out, const uint32_t *b, uint32_t count, const cm_prime *prime)
{
    for (uint32_t i = 0; i < count; i++) {
        out[i] = cmi_subtract_once(cmi_reduce(out[i], prime) + b[i], prime->q);
    }
}

/*
 * Digits are d = coefficient + 1: a sum of T terms (d - 1) p is minus the sum of p, which is public, plus
 * that of d p; partial sums may wrap round. Adding T q / 2 makes it positive, because each p is below q/2 in
 * magnitude. Four coefficients share a byte.
 */
static inline void fold_digits(uint32_t *a, const uint8_t *packed, const cmi_ring *ring,
                               const int32_t *powers, unsigned tiles)
{
    const cm_prime *prime = ring->prime;
    const uint32_t points = cmi_ring_points(ring);
    uint32_t start = tiles == 1 ? prime->q : tiles / 2u * prime->q;
    for (unsigned j = 0; j < tiles; j++) {
        start -= (uint32_t)powers[j];
    }
    for (uint32_t i = 0; i < points; i += 4u) {
        uint32_t sums[4] = {start, start, start, start};
        const uint8_t *next = packed + i / 4u;
        for (unsigned j = 0; j < tiles; j++) {
            const uint32_t digits = *next;
            for (unsigned b = 0; b < 4; b++) {
                sums[b] += (digits >> 2u * b & 3u) * (uint32_t)powers[j];
            }
            next += points / 4u;
        }
        for (unsigned b = 0; b < 4; b++) {
            a[i + b] = tiles <= 4 ? sums[b] : cmi_montgomery_multiply(sums[b], prime->r1, prime);
        }
    }
}

void cmi_ternary_fold(uint32_t *a, const uint8_t *packed, uint32_t factor, const cmi_ring *ring)
{
    int32_t powers[CM_MAX_TILES];
    cmi_ring_fold_powers(ring, factor, powers);
    if (ring->log2_tiles == 0) {
        fold_digits(a, packed, ring, powers, 1);
    } else if (ring->log2_tiles == 1) {
        fold_digits(a, packed, ring, powers, 2);
    } else {
        fold_digits(a, packed, ring, powers, 1u << ring->log2_tiles);
    }
}

void cmi_ternary_transform(uint32_t *a, const uint8_t *packed, uint32_t factor, const cmi_ring *ring)
{
    if (CM_ARCH_TRY(ternary_transform, a, packed, factor, ring)) {
        return;
    }
    cmi_ternary_fold(a, packed, factor, ring);
    cmi_ntt_forward(a, ring);
}

void cmi_double_product(uint32_t *out0, uint32_t *out1, const uint8_t *u, const uint32_t *p0,
                        const uint32_t *p1, const cmi_ring *ring)
{
    if (CM_ARCH_TRY(double_product, out0, out1, u, p0, p1, ring)) {
        return;
    }
    const uint32_t n = cmi_ring_points(ring);
    cmi_ternary_transform(out1, u, ring->prime->r1, ring);
    cmi_multiply(out0, out1, p0, n, ring->prime);
    cmi_multiply(out1, out1, p1, n, ring->prime);
}
