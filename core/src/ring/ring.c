/* Portable C arithmetic in Z_q[x]/(x^n + 1): the reference that every back-end must match. Never branches on data. */
#include "ring/ring.h"

#include <stddef.h>

#include "ring/arch/api.h"

static uint32_t multiply_residue(uint32_t a, uint32_t b, const cm_prime *prime)
{
    return cm_subtract_once(cm_montgomery_multiply(a, b, prime), prime->q);
}

/*
 * The twiddle of block i at level l is psi^bitrev(2^l + i), bits reversed over log2 n. From i to i + 1, where i ends in
 * t ones, its exponent grows by n / 2^(t+1) - (n - n / 2^t) = 3n / 2^(t+1) - n, and psi^n = -1: so one product by
 * step[t] = -psi^(3n / 2^(t+1)) = -first[t]^3 gives the next twiddle, and no table of n roots is needed.
 */
void cm_ring_init(cm_ring *ring, const cm_prime *prime, unsigned log2_n)
{
    ring->prime = prime;
    ring->log2_n = (uint8_t)log2_n;
    cm_ring_select_tile(ring, 0, 0);
    for (unsigned level = 0; level < log2_n; level++) {
        uint32_t square = multiply_residue(ring->first[level], ring->first[level], prime);
        ring->step[level] = prime->q - multiply_residue(square, ring->first[level], prime);
    }
}

/*
 * At level l the tile's first block is number tile 2^(l-k), and bitrev(2^l + tile 2^(l-k)) is 1 + 2 bitrev_k(tile)
 * at the last level, twice that at the one before it, and so on.
 */
void cm_ring_select_tile(cm_ring *ring, unsigned log2_tiles, unsigned tile)
{
    const cm_prime *prime = ring->prime;
    ring->log2_tiles = (uint8_t)log2_tiles;
    ring->tile = (uint8_t)tile;
    uint32_t square = multiply_residue(prime->psi, prime->r2, prime);
    uint32_t root = square;
    for (unsigned b = log2_tiles; b-- > 0;) {
        square = multiply_residue(square, square, prime);
        if (tile >> b & 1u) {
            root = multiply_residue(root, square, prime);
        }
    }
    for (unsigned level = ring->log2_n; level-- > log2_tiles;) {
        ring->first[level] = root;
        root = multiply_residue(root, root, prime);
    }
}

/* The tile splits further as x^(n/T) - w^2 = (x^(n/2T) - w) (x^(n/2T) + w), w its twiddle: so r = w^2. */
void cm_ring_fold_powers(const cm_ring *ring, uint32_t powers[CM_MAX_TILES])
{
    const cm_prime *prime = ring->prime;
    const uint32_t w = ring->first[ring->log2_tiles];
    const uint32_t r = multiply_residue(w, w, prime);
    powers[0] = prime->r1;
    for (unsigned j = 1; j < 1u << ring->log2_tiles; j++) {
        powers[j] = multiply_residue(powers[j - 1u], r, prime);
    }
}

static unsigned trailing_ones(uint32_t i)
{
    unsigned count = 0;
    while (i & 1u) {
        i >>= 1;
        count++;
    }
    return count;
}

/* Cooley-Tukey butterflies with no reduction: values grow by 2q a level, which 27-bit primes leave room for. */
void cm_ntt_forward(uint32_t *a, const cm_ring *ring)
{
    if (CM_ARCH_TRY(ntt_forward, a, ring)) {
        return;
    }
    const cm_prime *prime = ring->prime;
    const uint32_t twice_q = 2u * prime->q;
    for (unsigned level = ring->log2_tiles; level < ring->log2_n; level++) {
        const uint32_t blocks = (uint32_t)1 << (level - ring->log2_tiles);
        const uint32_t half = (uint32_t)1 << (ring->log2_n - level - 1u);
        uint32_t twiddle = ring->first[level];
        uint32_t *low = a;
        for (uint32_t i = 0; i < blocks; i++) {
            uint32_t *high = low + half;
            for (uint32_t j = 0; j < half; j++) {
                uint32_t product = cm_montgomery_multiply(high[j], twiddle, prime);
                high[j] = low[j] + twice_q - product;
                low[j] += product;
            }
            low = high + half;
            twiddle = multiply_residue(twiddle, ring->step[trailing_ones(i)], prime);
        }
    }
}

/*
 * Gentleman-Sande butterflies, all values below 2q. The inverse twiddle of block i at a level of m blocks is minus
 * the forward twiddle of block m - 1 - i, for their exponents add up to n; so the blocks are taken backwards and the
 * difference with its sign turned.
 */
void cm_ntt_inverse(uint32_t *a, const cm_ring *ring)
{
    if (CM_ARCH_TRY(ntt_inverse, a, ring)) {
        return;
    }
    const cm_prime *prime = ring->prime;
    const uint32_t twice_q = 2u * prime->q;
    const uint32_t n = (uint32_t)1 << ring->log2_n;
    for (unsigned level = ring->log2_n; level-- > 0;) {
        const uint32_t blocks = (uint32_t)1 << level;
        const uint32_t half = (uint32_t)1 << (ring->log2_n - level - 1u);
        uint32_t twiddle = ring->first[level];
        uint32_t *high = a + n;
        for (uint32_t i = 0; i < blocks; i++) {
            high -= half;
            uint32_t *low = high - half;
            for (uint32_t j = 0; j < half; j++) {
                uint32_t difference = high[j] + twice_q - low[j];
                low[j] = cm_subtract_once(low[j] + high[j], twice_q);
                high[j] = cm_montgomery_multiply(difference, twiddle, prime);
            }
            high = low;
            twiddle = multiply_residue(twiddle, ring->step[trailing_ones(i)], prime);
        }
    }
    const uint32_t n_inv = multiply_residue(prime->n_inv, prime->r2, prime);
    for (uint32_t i = 0; i < n; i++) {
        a[i] = multiply_residue(a[i], n_inv, prime);
    }
}

void cm_multiply(uint32_t *out, const uint32_t *a, const uint32_t *b, uint32_t count, const cm_prime *prime)
{
    if (CM_ARCH_TRY(multiply, out, a, b, count, prime)) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        out[i] = multiply_residue(a[i], b[i], prime);
    }
}

/* The sum of both products is below 2^32 q + 2^32 q, so its reduction is below 3q. */
void cm_multiply_add(uint32_t *out, const uint32_t *a, const uint32_t *b, uint32_t count,
                     const cm_prime *prime)
{
    if (CM_ARCH_TRY(multiply_add, out, a, b, count, prime)) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t sum = (uint64_t)out[i] * prime->r1 + (uint64_t)a[i] * b[i];
        out[i] = cm_subtract_once(cm_subtract_once(cm_montgomery_reduce(sum, prime), prime->q), prime->q);
    }
}

void cm_add(uint32_t *out, const uint32_t *b, uint32_t count, const cm_prime *prime)
{
    for (uint32_t i = 0; i < count; i++) {
        out[i] = cm_subtract_once(cm_reduce(out[i], prime) + b[i], prime->q);
    }
}

/* Sixteen terms below q at the most stay below 2^31. */
void cm_ternary_fold(uint32_t *a, const uint8_t *packed, uint32_t factor, const cm_ring *ring)
{
    const cm_prime *prime = ring->prime;
    const uint32_t points = cm_ring_points(ring);
    const unsigned tiles = 1u << ring->log2_tiles;
    uint32_t powers[CM_MAX_TILES];
    cm_ring_fold_powers(ring, powers);
    for (unsigned j = 0; j < tiles; j++) {
        powers[j] = multiply_residue(powers[j], factor, prime);
    }
    for (uint32_t i = 0; i < points; i++) {
        uint32_t sum = 0;
        for (unsigned j = 0; j < tiles; j++) {
            const uint32_t k = j * points + i;
            const uint32_t digit = (uint32_t)packed[k / 4u] >> (2u * (k & 3u)) & 3u;
            const uint32_t is_plus = 0u - (digit >> 1);
            const uint32_t is_minus = ((digit | digit >> 1) & 1u) - 1u;
            sum += (powers[j] & is_plus) | ((prime->q - powers[j]) & is_minus);
        }
        a[i] = tiles == 1 ? sum : cm_montgomery_multiply(sum, prime->r1, prime);
    }
}

void cm_double_product(uint32_t *out0, uint32_t *out1, const uint8_t *u, const uint32_t *p0,
                       const uint32_t *p1, const cm_ring *ring)
{
    if (CM_ARCH_TRY(double_product, out0, out1, u, p0, p1, ring)) {
        return;
    }
    const uint32_t n = cm_ring_points(ring);
    cm_ternary_fold(out1, u, ring->prime->r1, ring);
    cm_ntt_forward(out1, ring);
    cm_multiply(out0, out1, p0, n, ring->prime);
    cm_multiply(out1, out1, p1, n, ring->prime);
}
