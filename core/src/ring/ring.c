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
    ring->log2_n = log2_n;
    uint32_t root = multiply_residue(prime->psi, prime->r2, prime);
    for (unsigned level = log2_n; level-- > 0;) {
        uint32_t square = multiply_residue(root, root, prime);
        ring->first[level] = root;
        ring->step[level] = prime->q - multiply_residue(square, root, prime);
        root = square;
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
    for (unsigned level = 0; level < ring->log2_n; level++) {
        const uint32_t blocks = (uint32_t)1 << level;
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

void cm_multiply(uint32_t *out, const uint32_t *a, const uint32_t *b, const cm_ring *ring)
{
    if (CM_ARCH_TRY(multiply, out, a, b, ring)) {
        return;
    }
    const uint32_t n = (uint32_t)1 << ring->log2_n;
    for (uint32_t i = 0; i < n; i++) {
        out[i] = multiply_residue(a[i], b[i], ring->prime);
    }
}

void cm_add(uint32_t *out, const uint32_t *a, const uint32_t *b, const cm_ring *ring)
{
    if (CM_ARCH_TRY(add, out, a, b, ring)) {
        return;
    }
    const uint32_t n = (uint32_t)1 << ring->log2_n;
    for (uint32_t i = 0; i < n; i++) {
        out[i] = cm_subtract_once(cm_reduce(a[i], ring->prime) + b[i], ring->prime->q);
    }
}

void cm_ternary_expand(uint32_t *a, const uint8_t *packed, uint32_t factor, const cm_ring *ring)
{
    const uint32_t n = (uint32_t)1 << ring->log2_n;
    const uint32_t minus_factor = ring->prime->q - factor;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t digit = ((uint32_t)packed[i / 4u] >> (2u * (i & 3u))) & 3u;
        uint32_t is_plus = 0u - (digit >> 1);
        uint32_t is_minus = ((digit | digit >> 1) & 1u) - 1u;
        a[i] = (factor & is_plus) | (minus_factor & is_minus);
    }
}

void cm_double_product(uint32_t *out0, uint32_t *out1, const uint8_t *u, const uint32_t *p0,
                       const uint32_t *p1, const cm_ring *ring)
{
    if (CM_ARCH_TRY(double_product, out0, out1, u, p0, p1, ring)) {
        return;
    }
    cm_ternary_expand(out1, u, ring->prime->r1, ring);
    cm_ntt_forward(out1, ring);
    cm_multiply(out0, out1, p0, ring);
    cm_multiply(out1, out1, p1, ring);
}
