/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arithmetic in Z_q[x]/(x^n + 1) for one prime q < 2^27 at a time: Montgomery products and the negacyclic
 * NTT.
 *
 * After k Cooley-Tukey levels the ring is a product of T = 2^k rings Z_q[x]/(x^(n/T) - r), the tiles. Each is
 * transformed alone, from n/T folded coefficients to n/T contiguous outputs of the whole transform.
 *
 * Bounds are stated as multiples of q: a "lazy" value is at most 32 q, which is below 2^32, a "residue" is
 * below q. The transform's order is SEAL's: output i is a(psi^(2 bitrev(i) + 1)).
 */
#ifndef CM_RING_RING_H
#define CM_RING_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/backends.h"
#include "ciphermote/config.h"
#include "ciphermote/params.h"
#include "common/compiler.h"
#include "common/masks.h"
#include "common/names.h"
#include "ring/product.h"

CMI_HIDDEN_BEGIN

/* Arrays have an entry for each tile: AVR has no RAM for entries that it does not use. */
#ifdef __AVR__
#define CM_MAX_LOG2_TILES 3
#else
#define CM_MAX_LOG2_TILES 4
#endif
#define CM_MAX_TILES (1 << CM_MAX_LOG2_TILES)

/*
 * A twiddle, as the back-ends take it: from a table, or in Montgomery form (times 2^32 mod q), signed and
 * below q in magnitude.
 */
#if CM_CONFIG_NTT_ROOTS
typedef cm_root cmi_twiddle;
#else
typedef uint32_t cmi_twiddle;
#endif

/*
 * What arithmetic at one prime needs, for the whole ring (tile 0 of 1) or one tile. Twiddles are in
 * Montgomery form (times 2^32 mod q).
 */
struct cmi_ring {
    const cm_prime *prime;
    uint8_t log2_n;
    uint8_t log2_tiles;
    uint8_t tile;
    uint32_t first[CM_CONFIG_MAX_LOG2_N]; /* first twiddle of the tile's blocks at level log2_tiles .. log2_n
                                             - 1 */
    uint32_t step[CM_CONFIG_MAX_LOG2_N];  /* from twiddle i to i + 1 of a level, i with t trailing ones:
                                            step[t] */
#if CM_CONFIG_NTT_ROOTS
    const cm_root *roots; /* of the whole ring: block i of level l has entry 2^l + i; null: they are
                             computed */
#endif
};

/* A key's roots (null on AVR, and wherever roots are not used). */
#if CM_CONFIG_NTT_ROOTS
#define cmi_roots_of(key) ((key)->roots)
#else
#define cmi_roots_of(key) NULL
#endif

/* The table for q, or null if there is none. tables may be null. */
const cm_root_table *cmi_root_table_for(const cm_root_table *tables, uint32_t q);

/* The whole ring. tables: the roots for rings of this degree, or null. */
void cmi_ring_init(cmi_ring *ring, const cm_prime *prime, unsigned log2_n, const cm_root_table *tables);

/* Make ring this tile, one of 2^log2_tiles. */
void cmi_ring_select_tile(cmi_ring *ring, unsigned log2_tiles, unsigned tile);

#if CM_CONFIG_NTT_ROOTS
/* The roots of a level's blocks, from the tile's first block on, if there are roots. */
static inline const cm_root *cmi_ring_roots(const cmi_ring *ring, unsigned level)
{
    return ring->roots + ((size_t)1 << level) + ((size_t)ring->tile << (level - ring->log2_tiles));
}
#endif

static inline unsigned cmi_trailing_ones(uint32_t i)
{
    unsigned count = 0;
    while (i & 1u) {
        i >>= 1;
        count++;
    }
    return count;
}

/* Coefficients, or outputs, of the ring or tile. */
static inline uint32_t cmi_ring_points(const cmi_ring *ring)
{
    return (uint32_t)1 << (ring->log2_n - ring->log2_tiles);
}

/* r of the ring or tile, x^(n/T) - r, in Montgomery form. */
uint32_t cmi_ring_fold_ratio(const cmi_ring *ring);

/*
 * powers[j] = factor r^j, below q / 2 in magnitude, for each of the 2^log2_tiles values of j: coefficient i
 * of a polynomial a in the tile is the sum of a[j n/T + i] r^j. A factor of r1 gives powers in Montgomery
 * form.
 */
void cmi_ring_fold_powers(const cmi_ring *ring, uint32_t factor, int32_t *powers);

/*
 * Montgomery reduction: x / 2^32 mod q, below x / 2^32 + q.
 * Proof: x + (x * -q^-1 mod 2^32) * q is divisible by 2^32 and below x + 2^32 q. It fits 64 bits if x < 2^64
 * - 2^32 q.
 */
static inline uint32_t cmi_montgomery_reduce(uint64_t x, const cm_prime *prime)
{
    uint32_t m = (uint32_t)x * prime->neg_q_inv;
    return cmi_upper_word(x + cmi_product(m, prime->q));
}

/*
 * The same for a signed number, to within q / 2 of x / 2^32: the multiple of q that is added has a signed
 * factor. For |x| < 2^63 - 2^31 q.
 */
static inline int32_t cmi_montgomery_reduce_signed(int64_t x, const cm_prime *prime)
{
    const int32_t m = (int32_t)((uint32_t)x * prime->neg_q_inv);
    return (int32_t)cmi_upper_word((uint64_t)(x + cmi_product_signed(m, (int32_t)prime->q)));
}

/* The number congruent to a residue that is at most q/2 in magnitude. */
static inline int32_t cmi_centred(uint32_t residue, uint32_t q)
{
    return (int32_t)(residue - cmi_if_negative(q / 2u - residue, q));
}

/* 2^32 / q, to the nearest: 2^32 - r1 is a multiple of q, and r1 neg_q_inv mod 2^32 is the quotient. */
static inline int32_t cmi_prime_inverse(const cm_prime *prime)
{
    return (int32_t)(prime->r1 * prime->neg_q_inv + (prime->r1 > prime->q / 2u ? 1u : 0u));
}

/* a b / 2^32 mod q, below 2q, for any 32-bit a and b <= q. */
static inline uint32_t cmi_montgomery_multiply(uint32_t a, uint32_t b, const cm_prime *prime)
{
    return cmi_montgomery_reduce(cmi_product(a, b), prime);
}

/* x - q if x >= q, else x; without a branch. For x < 2^31 + q. */
static inline uint32_t cmi_subtract_once(uint32_t x, uint32_t q)
{
    return cmi_add_if_negative(x - q, q);
}

/* a b / 2^32 mod q, a residue, for any 32-bit a and b <= q. */
static inline uint32_t cmi_montgomery_residue(uint32_t a, uint32_t b, const cm_prime *prime)
{
#if CM_AVR_MUL
    if (prime->q == CM_AVR_Q) {
        return cmi_avr_residue26(a, b);
    }
#endif
    return cmi_subtract_once(cmi_montgomery_multiply(a, b, prime), prime->q);
}

/* The residue of any 32-bit value. */
static inline uint32_t cmi_reduce(uint32_t x, const cm_prime *prime)
{
    return cmi_subtract_once(cmi_montgomery_multiply(x, prime->r1, prime), prime->q);
}

/*
 * For the back-ends of ARM and RISC-V, which fold small polynomials into both quarters of a half at once:
 * that costs no more than folding into the half, and saves the half's first level. x^(n/2) - w^2 is (x^(n/4)
 * - w) (x^(n/4) + w). Of the four stretches of n/4 coefficients, with left = first + w^2 third and right = w
 * second + w^3 fourth, the quarters are left + right and left - right. armv7em_fold.S depends on the order of
 * the fields.
 */
typedef struct cmi_small_constants {
    int32_t powers[4]; /* factor w^j, below q/2 in magnitude */
    uint32_t q;
    int32_t inverse; /* of q, for quotients */
} cmi_small_constants;

CM_NOINLINE_UNUSED static cmi_small_constants cmi_small_constants_of(const cmi_ring *ring, uint32_t factor)
{
    const cm_prime *prime = ring->prime;
    cmi_small_constants constants = {{0}, prime->q, cmi_prime_inverse(prime)};
    for (unsigned j = 0; j < 4; j++) {
        constants.powers[j] = cmi_centred(factor, prime->q);
        factor = cmi_montgomery_residue(factor, ring->first[ring->log2_tiles], prime);
    }
    return constants;
}

/*
 * Forward transform of the ring or tile in place: input below 4q, output lazy, because each of at most 14
 * levels adds 2q, and 4q + 28q <= 2^32.
 */
void cmi_ntt_forward(uint32_t *a, const cmi_ring *ring);

/*
 * Inverse transform of the ring or tile in place: input at most 2q; output n/T times the n/T folded
 * coefficients, as signed numbers (two's complement) within +-4q.
 */
void cmi_ntt_inverse_lazy(uint32_t *a, const cmi_ring *ring);

/* The same, but the output is the folded coefficients themselves, as residues. */
void cmi_ntt_inverse(uint32_t *a, const cmi_ring *ring);

/* out[i] = a[i] b[i] as residues, for lazy a (Montgomery form) and residues b. out may be a or b. */
void cmi_multiply(uint32_t *out, const uint32_t *a, const uint32_t *b, uint32_t count, const cm_prime *prime);

/* out[i] += a[i] b[i], from lazy out to residues, for lazy a (Montgomery form) and residues b. */
void cmi_multiply_add(uint32_t *out, const uint32_t *a, const uint32_t *b, uint32_t count,
                      const cm_prime *prime);

/* Reduce lazy values to residues. */
void cmi_reduce_all(uint32_t *a, uint32_t count, const cm_prime *prime);

/*
 * The same for an a that is stored with the constants. On AVR that is flash (PROGMEM), which plain pointers
 * do not reach.
 */
#ifdef __AVR__
void cmi_multiply_add_flash(uint32_t *out, const uint32_t *a, const uint32_t *b, uint32_t count,
                            const cm_prime *prime);
#else
static inline void cmi_multiply_add_flash(uint32_t *out, const uint32_t *a, const uint32_t *b, uint32_t count,
                                          const cm_prime *prime)
{
    cmi_multiply_add(out, a, b, count, prime);
}
#endif

/* out[i] += b[i], from lazy out to residues, for residues b. */
void cmi_add(uint32_t *out, const uint32_t *b, uint32_t count, const cm_prime *prime);

/*
 * A packed ternary polynomial (ciphermote/keys.h) times factor, a residue, folded into the ring or tile: n/T
 * values below 4q.
 */
void cmi_ternary_fold(uint32_t *a, const uint8_t *packed, uint32_t factor, const cmi_ring *ring);

/* The same, and transformed: n/T lazy values. */
void cmi_ternary_transform(uint32_t *a, const uint8_t *packed, uint32_t factor, const cmi_ring *ring);

/*
 * u p0 and u p1 as residues in NTT form in the whole ring, for a ternary u (coefficients) and transformed p0,
 * p1. Neither output may overlap an input or the other.
 */
void cmi_double_product(uint32_t *out0, uint32_t *out1, const uint8_t *u, const uint32_t *p0,
                        const uint32_t *p1, const cmi_ring *ring);

CMI_HIDDEN_END

#endif
