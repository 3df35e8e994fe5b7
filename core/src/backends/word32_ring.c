/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ring on cores of 32 bits: transforms, products, and folding small polynomials. A product modulo q is
 * the difference of two words, because what is subtracted has the same words above, or below, as what it is
 * subtracted from: nothing is carried.
 *
 * Bounds. The transform's values are signed. With a table of roots and their quotients, the product of |b|
 * <= x q and a root lies above -x q / 128 and below (1 + x / 128) q for q < 2^26, with 64 in place of 128 for
 * q < 2^27: the quotient is rounded down, and off by |b| / 2^33 before. Without, Montgomery products stay
 * within (x / 64 + 1/2) q. So twelve levels take values from 0 .. 4q to within 17.1 q of 0 for q < 2^26, and
 * from -2q .. 2q to within 15.6 q for larger ones, whose values are first moved; a computed root's fourteen
 * levels take them to within 13 q. A multiple of q that makes every result positive is added to the first
 * coefficient: no level multiplies it, so it reaches every result once. On ARMv6-M products, of roots from
 * tables alone, are within 1 1/7 q of 0, and twelve levels end between -14 q and 17.7 q.
 */
#include "arch/backends.h"

#if CM_WORD32

#include "common/compiler.h"
#include "ring/ring.h"

#include "backends/word32/products.h" /* behind ring.h */

CMI_HIDDEN_BEGIN

/* A level of blocks, whose roots are in order; armv6m_ntt.S depends on the order of the fields. */
typedef struct word32_level {
    int32_t *a;
    const int32_t *end;
    const cm_root *roots;
    uint32_t half_bytes;
    uint32_t q;
} word32_level;

void cmi_armv6m_ntt_level(const word32_level *level);

CMI_HIDDEN_END

#if CM_RV32

/* b times a root: from a table, or, computed, in Montgomery form with its product by 1/q for a quotient. */
static inline int32_t word32_times(int32_t b, word32_factor by, uint32_t q)
{
#if CM_CONFIG_NTT_ROOTS
    return (int32_t)((uint32_t)b * (uint32_t)by.factor - (uint32_t)word32_high(b, by.quotient) * q);
#else
    const int32_t multiple = (int32_t)((uint32_t)b * (uint32_t)by.quotient);
    return word32_high(b, by.factor) - word32_high(multiple, (int32_t)q);
#endif
}

/* a, b = a + b w, a - b w. The compiler must not take the product apart again, which adds a subtraction. */
static inline void word32_butterfly(int32_t *a, int32_t *b, word32_factor by, uint32_t q)
{
    uint32_t product = (uint32_t)word32_times(*b, by, q);
    __asm__("" : "+r"(product));
    *b = (int32_t)((uint32_t)*a - product);
    *a = (int32_t)((uint32_t)*a + product);
}

/* Two levels of a column of four: by[0] at the first, by[1] and by[2] at the second. */
static CM_ALWAYS_INLINE void word32_four(int32_t x[4], const word32_factor by[3], uint32_t q)
{
    word32_butterfly(&x[0], &x[2], by[0], q);
    word32_butterfly(&x[1], &x[3], by[0], q);
    word32_butterfly(&x[0], &x[1], by[1], q);
    word32_butterfly(&x[2], &x[3], by[2], q);
}

/* Columns of a block at, at + step and so on. */
static CM_ALWAYS_INLINE void word32_columns_of_four(int32_t *at, size_t step, const word32_factor by[3],
                                                    uint32_t q)
{
    int32_t *const end = at + step;
    int32_t *at1 = at + step;
    int32_t *at2 = at + 2u * step;
    int32_t *at3 = at + 3u * step;
    for (; at < end; at++, at1++, at2++, at3++) {
        int32_t x[4] = {*at, *at1, *at2, *at3};
        word32_four(x, by, q);
        *at = x[0];
        *at1 = x[1];
        *at2 = x[2];
        *at3 = x[3];
    }
}

#if CM_CONFIG_NTT_ROOTS

/* ---- roots from a table: three levels at a time, after one or two pairs ---- */

static inline word32_factor word32_root(const cm_root *root)
{
    return (word32_factor){root->root, root->quotient};
}

static void word32_two_levels(int32_t *a, const cmi_ring *ring, unsigned level)
{
    const uint32_t q = ring->prime->q;
    const size_t step = (size_t)1 << (ring->log2_n - level - 2u);
    const int32_t *const end = a + cmi_ring_points(ring);
    const cm_root *outer = cmi_ring_roots(ring, level);
    const cm_root *inner = cmi_ring_roots(ring, level + 1u);
    for (; a < end; a += 4u * step, outer++, inner += 2) {
        const word32_factor by[3] = {word32_root(outer), word32_root(inner), word32_root(inner + 1)};
        word32_columns_of_four(a, step, by, q);
    }
}

/* Three levels of blocks of eight times step; step is known when this is compiled. */
static CM_ALWAYS_INLINE void word32_three_levels(int32_t *a, const cmi_ring *ring, const size_t step)
{
    const uint32_t q = ring->prime->q;
    const unsigned level = ring->log2_n - (step == 1u ? 3u : step == 8u ? 6u : step == 64u ? 9u : 12u);
    const int32_t *const end = a + cmi_ring_points(ring);
    const cm_root *outer = cmi_ring_roots(ring, level);
    const cm_root *middle = cmi_ring_roots(ring, level + 1u);
    const cm_root *inner = cmi_ring_roots(ring, level + 2u);
    for (; a < end; a += 7u * step, outer++, middle += 2, inner += 4) {
        const word32_factor first = word32_root(outer);
        const word32_factor low[3] = {word32_root(middle), word32_root(inner), word32_root(inner + 1)};
        const word32_factor high[3] = {word32_root(middle + 1), word32_root(inner + 2),
                                       word32_root(inner + 3)};
        const int32_t *const next = a + step;
        for (; a < next; a++) {
            int32_t x[8] = {a[0],         a[step],      a[2u * step], a[3u * step],
                            a[4u * step], a[5u * step], a[6u * step], a[7u * step]};
            word32_butterfly(&x[0], &x[4], first, q);
            word32_butterfly(&x[1], &x[5], first, q);
            word32_butterfly(&x[2], &x[6], first, q);
            word32_butterfly(&x[3], &x[7], first, q);
            word32_four(x, low, q);
            word32_four(x + 4, high, q);
            a[0] = x[0];
            a[step] = x[1];
            a[2u * step] = x[2];
            a[3u * step] = x[3];
            a[4u * step] = x[4];
            a[5u * step] = x[5];
            a[6u * step] = x[6];
            a[7u * step] = x[7];
        }
    }
}

static void word32_levels(int32_t *a, const cmi_ring *ring, unsigned level)
{
    unsigned left = ring->log2_n - level;
    for (; left != 12u && left != 9u && left != 6u && left != 3u; left -= 2u) {
        word32_two_levels(a, ring, ring->log2_n - left);
    }
    if (left == 12u) {
        word32_three_levels(a, ring, 512);
    }
    if (left >= 9u) {
        word32_three_levels(a, ring, 64);
    }
    if (left >= 6u) {
        word32_three_levels(a, ring, 8);
    }
    word32_three_levels(a, ring, 1);
}

static inline bool word32_takes(const cmi_ring *ring)
{
    const unsigned levels = (unsigned)ring->log2_n - ring->log2_tiles;
    return ring->roots != NULL && levels >= 6u && levels <= 12u;
}

enum { WORD32_OFFSET = 14 }; /* multiples of q: for larger ones, with the 2q that were subtracted */

static void word32_move(int32_t *a, const cmi_ring *ring)
{
    const int32_t twice_q = 2 * (int32_t)ring->prime->q;
    for (const int32_t *end = a + cmi_ring_points(ring); a < end; a++) {
        *a -= twice_q;
    }
}

#else

/* ---- computed roots: two levels at a time, each block's roots from those of the block before ---- */

static inline word32_factor word32_computed(uint32_t root, const cm_prime *prime)
{
    const int32_t centred = cmi_centred(root, prime->q);
    return (word32_factor){centred, (int32_t)(0u - (uint32_t)centred * prime->neg_q_inv)};
}

static void word32_two_levels(int32_t *a, const cmi_ring *ring, unsigned level)
{
    const cm_prime *const prime = ring->prime;
    const size_t step = (size_t)1 << (ring->log2_n - level - 2u);
    const int32_t *const end = a + cmi_ring_points(ring);
    uint32_t inner = ring->first[level + 1u];
    for (uint32_t i = 0; a < end; i++, a += 4u * step) {
        const uint32_t outer = cmi_montgomery_residue(inner, inner, prime);
        const uint32_t second = cmi_montgomery_residue(inner, ring->step[0], prime);
        const word32_factor by[3] = {word32_computed(outer, prime), word32_computed(inner, prime),
                                     word32_computed(second, prime)};
        word32_columns_of_four(a, step, by, prime->q);
        inner = cmi_montgomery_residue(second, ring->step[cmi_trailing_ones(2u * i + 1u)], prime);
    }
}

static void word32_one_level(int32_t *a, const cmi_ring *ring, unsigned level)
{
    const cm_prime *const prime = ring->prime;
    const size_t half = (size_t)1 << (ring->log2_n - level - 1u);
    const int32_t *const end = a + cmi_ring_points(ring);
    uint32_t root = ring->first[level];
    for (uint32_t i = 0; a < end; i++, a += half) {
        const word32_factor by = word32_computed(root, prime);
        for (const int32_t *const next = a + half; a < next; a++) {
            word32_butterfly(a, a + half, by, prime->q);
        }
        root = cmi_montgomery_residue(root, ring->step[cmi_trailing_ones(i)], prime);
    }
}

static void word32_levels(int32_t *a, const cmi_ring *ring, unsigned level)
{
    if ((ring->log2_n - level) % 2u != 0) {
        word32_one_level(a, ring, level++);
    }
    for (; level < ring->log2_n; level += 2u) {
        word32_two_levels(a, ring, level);
    }
}

static inline bool word32_takes(const cmi_ring *ring)
{
    (void)ring;
    return true;
}

enum { WORD32_OFFSET = 12 };

static inline void word32_move(int32_t *a, const cmi_ring *ring)
{
    (void)a;
    (void)ring;
}

#endif

#elif CM_CONFIG_NTT_ROOTS

/* ---- ARMv6-M: a level at a time, in assembly ---- */

static void word32_levels(int32_t *a, const cmi_ring *ring, unsigned level)
{
    for (; level < ring->log2_n; level++) {
        const word32_level blocks = {a, a + cmi_ring_points(ring), cmi_ring_roots(ring, level),
                                     (uint32_t)2 << (ring->log2_n - level), ring->prime->q};
        cmi_armv6m_ntt_level(&blocks);
    }
}

static inline bool word32_takes(const cmi_ring *ring)
{
    return ring->roots != NULL && ring->prime->q >> 26 == 0 && ring->log2_n - ring->log2_tiles <= 12;
}

enum { WORD32_OFFSET = 14 };

static inline void word32_move(int32_t *a, const cmi_ring *ring)
{
    (void)a;
    (void)ring;
}

#endif

#if CM_RV32 || CM_CONFIG_NTT_ROOTS

/* From this level, whose blocks begin with a multiple of q. */
static void word32_transform(uint32_t *a, const cmi_ring *ring, unsigned level, uint32_t multiple)
{
    const uint32_t points = cmi_ring_points(ring);
    for (uint32_t first = 0; first < points; first += (uint32_t)1 << (ring->log2_n - level)) {
        a[first] += multiple * ring->prime->q;
    }
    word32_levels((int32_t *)a, ring, level);
}

int cmi_word32_ntt_forward(uint32_t *a, const cmi_ring *ring)
{
    if (!word32_takes(ring)) {
        return 0;
    }
    if (ring->prime->q >> 26) {
        word32_move((int32_t *)a, ring);
        word32_transform(a, ring, ring->log2_tiles, 16);
    } else {
        word32_transform(a, ring, ring->log2_tiles, WORD32_OFFSET);
    }
    return 1;
}

/* ---- small polynomials, folded into both quarters of a half (ring.h): values within 3 q of 0 ---- */

static inline bool word32_takes_halves(const cmi_ring *ring)
{
    return ring->log2_tiles == 1u && word32_takes(ring);
}

static inline void word32_put_quarters(int32_t *out, size_t quarter, uint32_t left, uint32_t right)
{
    out[0] = (int32_t)(left + right);
    out[quarter] = (int32_t)(left - right);
}

/* Digits are a coefficient + 1: what that adds is subtracted from each sum. */
static void word32_fold_ternary(int32_t *out, const uint8_t *packed, const int32_t powers[4], size_t quarter)
{
    const uint32_t p0 = (uint32_t)powers[0];
    const uint32_t p1 = (uint32_t)powers[1];
    const uint32_t p2 = (uint32_t)powers[2];
    const uint32_t p3 = (uint32_t)powers[3];
    const uint32_t left_excess = p0 + p2;
    const uint32_t right_excess = p1 + p3;
    const size_t stretch = quarter / 4u;
    for (const uint8_t *const end = packed + stretch; packed < end; packed++) {
        uint32_t first = packed[0];
        uint32_t second = packed[stretch];
        uint32_t third = packed[2u * stretch];
        uint32_t fourth = packed[3u * stretch];
        for (unsigned i = 0; i < 4; i++, out++) {
            const uint32_t left = (first & 3u) * p0 + (third & 3u) * p2 - left_excess;
            const uint32_t right = (second & 3u) * p1 + (fourth & 3u) * p3 - right_excess;
            word32_put_quarters(out, quarter, left, right);
            first >>= 2;
            second >>= 2;
            third >>= 2;
            fourth >>= 2;
        }
    }
}

/* A coefficient is within 21 of 0; for q < 2^26, so two of their products by powers are below 2^31. */
static void word32_fold_noise(int32_t *out, const int8_t *noise, const cmi_small_constants *constants,
                              size_t quarter)
{
    const uint32_t q = constants->q;
    const int32_t inverse = constants->inverse;
    const int32_t p1 = constants->powers[1];
    const int32_t p2 = constants->powers[2];
    const int32_t p3 = constants->powers[3];
    const int8_t *second = noise + quarter;
    const int8_t *third = noise + 2u * quarter;
    const int8_t *fourth = noise + 3u * quarter;
    for (const int8_t *const end = second; noise < end; out++) {
        const uint32_t left = (uint32_t)(*noise++ + *third++ * p2);
        const uint32_t right = (uint32_t)(*second++ * p1 + *fourth++ * p3);
        word32_put_quarters(out, quarter, word32_reduced(left, inverse, q),
                            word32_reduced(right, inverse, q));
    }
}

int cmi_word32_ternary_transform(uint32_t *a, const uint8_t *packed, uint32_t factor, const cmi_ring *ring)
{
    if (!word32_takes_halves(ring)) {
        return 0;
    }
    const cmi_small_constants constants = cmi_small_constants_of(ring, factor);
    word32_fold_ternary((int32_t *)a, packed, constants.powers, cmi_ring_points(ring) / 2u);
    word32_transform(a, ring, ring->log2_tiles + 1u, 16);
    return 1;
}

int cmi_word32_noise_transform(uint32_t *a, const int8_t *noise, const cmi_ring *ring)
{
    if (!word32_takes_halves(ring) || ring->prime->q >> 26 || !word32_folds(ring->prime->q)) {
        return 0;
    }
    const cmi_small_constants constants = cmi_small_constants_of(ring, 1);
    word32_fold_noise((int32_t *)a, noise, &constants, cmi_ring_points(ring) / 2u);
    word32_transform(a, ring, ring->log2_tiles + 1u, 16);
    return 1;
}

#endif

/* ---- products ---- */

int cmi_word32_multiply(uint32_t *out, const uint32_t *a, const uint32_t *b, uint32_t count,
                        const cm_prime *prime)
{
    if (count % 4u != 0 || !word32_reducible(prime)) {
        return 0;
    }
    const word32_reduction by = word32_reduction_of(prime);
    for (const uint32_t *const end = a + count; a < end; a += 4, b += 4, out += 4) {
#pragma GCC unroll 4
        for (unsigned i = 0; i < 4; i++) {
            out[i] = cmi_add_if_negative(word32_montgomery(a[i], b[i], &by), by.q);
        }
    }
    return 1;
}

int cmi_word32_multiply_add(uint32_t *out, const uint32_t *a, const uint32_t *b, uint32_t count,
                            const cm_prime *prime)
{
    if (count % 4u != 0 || !word32_reducible(prime)) {
        return 0;
    }
    const word32_reduction by = word32_reduction_of(prime);
    for (const uint32_t *const end = a + count; a < end; a += 4, b += 4, out += 4) {
#pragma GCC unroll 4
        for (unsigned i = 0; i < 4; i++) {
            out[i] = word32_residue_of_sum(out[i], a[i], b[i], &by);
        }
    }
    return 1;
}

#endif
