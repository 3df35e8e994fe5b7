/* SPDX-License-Identifier: Apache-2.0 */
/* The back-end for ARMv7E-M, and for ARMv8-M with DSP: the assembly of backends/, and backends/armv7em.c. */
#ifndef CM_ARCH_ARMV7EM_ARCH_H
#define CM_ARCH_ARMV7EM_ARCH_H

#include "arch/api.h"
#include "common/wipe.h"

#if CM_ARMV7EM

CMI_HIDDEN_BEGIN

/* ---- with the signatures of the table's entries ---- */

/* These two decline a count that is no multiple of 4, or 0. */
int cmi_armv7em_multiply(uint32_t *out, const uint32_t *a, const uint32_t *b, uint32_t count,
                         const cm_prime *prime);
int cmi_armv7em_multiply_add(uint32_t *out, const uint32_t *a, const uint32_t *b, uint32_t count,
                             const cm_prime *prime);

/* These decline a transform whose roots should be in a table and are not; */
int cmi_armv7em_ntt_forward(uint32_t *a, const cmi_ring *ring);
/* those that fold a polynomial first decline all tiles but halves as well; */
int cmi_armv7em_ternary_transform(uint32_t *a, const uint8_t *packed, uint32_t factor, const cmi_ring *ring);
int cmi_armv7em_noise_transform(uint32_t *a, const int8_t *noise, const cmi_ring *ring);
#if CM_CONFIG_PRECISION_31
/* this one primes of 27 bits, too; */
int cmi_armv7em_real_transform_31(uint32_t *a, const int32_t *data, const int8_t *noise,
                                  const cmi_ring *ring);
#endif
#if CM_CONFIG_NTT_ROOTS
/* and the inverse transform, which exists for roots in a table only. */
int cmi_armv7em_ntt_inverse_lazy(uint32_t *a, const cmi_ring *ring);
#endif

/* ---- functions that never decline; step and length in bytes ---- */

void cmi_armv7em_chacha20_blocks(uint8_t *out, uint32_t input[12], size_t blocks);
void cmi_armv7em_blake2b_short(uint64_t h[8], const uint64_t m[8], uint32_t total, uint32_t last);
void cmi_armv7em_poly1305_blocks(uint32_t h[5], const uint32_t r[4], const uint8_t *bytes, size_t blocks);
void cmi_armv7em_ternary_products_16(uint32_t *sums, const uint32_t *end, const uint32_t *residues,
                                     const int8_t *trits);
/*
 * Whole groups of fields that begin at a word, up to end. Returns the place after the last residue accepted.
 */
uint32_t *cmi_armv7em_uniform_20(uint32_t *residues, const uint32_t *words, uint32_t q, const uint32_t *end);
uint32_t *cmi_armv7em_uniform_26(uint32_t *residues, const uint32_t *words, uint32_t q, const uint32_t *end);
uint32_t *cmi_armv7em_uniform_27(uint32_t *residues, const uint32_t *words, uint32_t q, const uint32_t *end);
void cmi_armv7em_cbd(int8_t noise[32], uint32_t words[42]);
void cmi_armv7em_two_levels_31(int32_t *at, const int32_t *end, size_t step, const int32_t roots[4]);
void cmi_armv7em_two_levels_middle_31(int32_t *at, const int32_t *end, size_t step, const int32_t roots[2]);
void cmi_armv7em_two_levels_exact_31(int32_t *at, const int32_t *end, size_t step);
void cmi_armv7em_split_real_31(int32_t *u, int32_t *v, const uint32_t *sine, size_t unit);
void cmi_armv7em_fold_halves_31(uint32_t *forward, uint32_t *backward, const int32_t *data,
                                const int8_t *noise, const cmi_fold_constants *constants);
void cmi_armv7em_batch_levels(int16_t *at, const int16_t *end, size_t step, const cmi_batch_factors *by);
void cmi_armv7em_narrow(uint32_t *a, uint32_t count, uint32_t q, int32_t inverse);
void cmi_armv7em_take_off(uint32_t *tile, const uint32_t *residues, uint32_t count, uint32_t q);
void cmi_armv7em_add_multiples(uint32_t *sums, const uint32_t *tile, uint32_t count, uint32_t high,
                               int32_t low);
void cmi_armv7em_round(uint32_t *sums, uint32_t count, uint32_t t);

typedef struct cmi_armv7em_packing cmi_armv7em_packing; /* backends/armv7em.c */

/* Groups of 16 residues of 26 bits, or 32 of 27: whole words. Nonzero if the sink refused a piece. */
int cmi_armv7em_pack_26(cmi_armv7em_packing *state, const uint32_t *residues, uint32_t groups);
int cmi_armv7em_pack_27(cmi_armv7em_packing *state, const uint32_t *residues, uint32_t groups);
/* Nonzero if all are below q. The checksum is inverted. */
uint32_t cmi_armv7em_unpack_26(const uint8_t *bytes, uint32_t *residues, uint32_t q, uint32_t *crc,
                               uint32_t *end);
uint32_t cmi_armv7em_unpack_27(const uint8_t *bytes, uint32_t *residues, uint32_t q, uint32_t *crc,
                               uint32_t *end);

/* ---- the entries that call them ---- */

static inline int armv7em_chacha20_blocks(uint8_t *out, uint32_t input[12], size_t blocks)
{
    cmi_armv7em_chacha20_blocks(out, input, blocks);
    return 1;
}

/* Only with floating-point registers, which hold the state: without them, the portable code is as good. */
#if CM_CONFIG_SEAL_XOFS && defined(__ARM_FP)
static inline int armv7em_blake2b_short(uint64_t h[8], const uint64_t m[8], uint32_t total, uint32_t last)
{
    cmi_armv7em_blake2b_short(h, m, total, last);
    return 1;
}
#endif

static inline int armv7em_uniform_cut(uint32_t *residues, uint32_t count, uint32_t *accepted, uint32_t bytes,
                                      unsigned bits, uint32_t q, uint32_t *pending, uint8_t *pending_bits)
{
    const uint32_t *const end = residues + count;
    const uint32_t *const words = end - bytes / 4u;
    const uint32_t *next;
    (void)pending;
    (void)pending_bits;
    if (bits == 20u) {
        next = cmi_armv7em_uniform_20(residues, words, q, end);
    } else if (bits == 26u) {
        next = cmi_armv7em_uniform_26(residues, words, q, end);
    } else {
        next = cmi_armv7em_uniform_27(residues, words, q, end);
    }
    *accepted = (uint32_t)(next - residues);
    return 1;
}

static inline int armv7em_cbd(int8_t noise[32], uint32_t words[42])
{
    cmi_armv7em_cbd(noise, words);
    return 1;
}

static inline int armv7em_two_levels_31(int32_t *at, const int32_t *end, size_t step, const int32_t roots[4])
{
    cmi_armv7em_two_levels_31(at, end, 4u * step, roots);
    return 1;
}

static inline int armv7em_two_levels_middle_31(int32_t *at, const int32_t *end, size_t step,
                                               const int32_t roots[2])
{
    cmi_armv7em_two_levels_middle_31(at, end, 4u * step, roots);
    return 1;
}

static inline int armv7em_two_levels_exact_31(int32_t *at, const int32_t *end, size_t step)
{
    cmi_armv7em_two_levels_exact_31(at, end, 4u * step);
    return 1;
}

static inline int armv7em_split_real_31(int32_t *u, int32_t *v, const uint32_t *sine, size_t unit)
{
    cmi_armv7em_split_real_31(u, v, sine, 4u * unit);
    return 1;
}

static inline int armv7em_fold_halves_31(uint32_t *forward, uint32_t *backward, const int32_t *data,
                                         const int8_t *noise, const cmi_fold_constants *constants)
{
    cmi_armv7em_fold_halves_31(forward, backward, data, noise, constants);
    return 1;
}

static inline int armv7em_batch_levels(int16_t *at, size_t half, const cmi_batch_factors *by)
{
    cmi_armv7em_batch_levels(at, at + half, half * sizeof *at, by);
    return 1;
}

static inline int armv7em_narrow(uint32_t *a, uint32_t count, uint32_t q, int32_t inverse)
{
    cmi_armv7em_narrow(a, count, q, inverse);
    return 1;
}

static inline int armv7em_take_off(uint32_t *tile, const uint32_t *residues, uint32_t count, uint32_t q)
{
    cmi_armv7em_take_off(tile, residues, count, q);
    return 1;
}

static inline int armv7em_add_multiples(uint32_t *sums, const uint32_t *tile, uint32_t count, uint32_t high,
                                        int32_t low)
{
    cmi_armv7em_add_multiples(sums, tile, count, high, low);
    return 1;
}

static inline int armv7em_poly1305_blocks(uint32_t h[5], const uint32_t r[4], const uint8_t *bytes,
                                          size_t blocks, uint32_t top)
{
    if (top == 0) {
        return 0;
    }
    if (blocks > 0) {
        cmi_armv7em_poly1305_blocks(h, r, bytes, blocks);
    }
    return 1;
}

static inline int armv7em_ternary_products(uint32_t *sums, uint16_t count, const uint32_t *residues,
                                           uint8_t block, const int8_t *trits)
{
    if (count == 0 || count % 4u != 0 || block != 16u) {
        return 0;
    }
    cmi_armv7em_ternary_products_16(sums, sums + count, residues, trits);
    return 1;
}

static inline int armv7em_round_sums(uint32_t *sums, uint32_t count, uint32_t t)
{
    cmi_armv7em_round(sums, count, t);
    return 1;
}

#if CM_CONFIG_CRC_TABLE == CM_CONFIG_CRC_TABLE_WORD

/* With the signature of the table's entry. Declines all but 26 and 27 bits. */
int cmi_armv7em_pack(cm_status *status, cm_frame_writer *writer, const uint32_t *residues, uint32_t count,
                     unsigned bits);

static inline int armv7em_unpack(bool *below, uint32_t *residues, uint32_t count, const uint8_t *bytes,
                                 unsigned bits, uint32_t q, uint32_t *crc)
{
    if (bits != 26u && bits != 27u) {
        return 0;
    }
    uint32_t inverted = ~*crc;
    *below = (bits == 26u ? cmi_armv7em_unpack_26(bytes, residues, q, &inverted, residues + count)
                          : cmi_armv7em_unpack_27(bytes, residues, q, &inverted, residues + count)) != 0;
    *crc = ~inverted;
    return 1;
}
#endif

/* ---- Keccak's state (random/keccak.h) ---- */

/* On 25 entered lanes. */
void cmi_armv7em_keccak_permute(uint64_t state[25]);

/*
 * By how much the words of each lane are rotated to the right as it leaves: the even bits in the low byte,
 * the odd ones in the high byte (backends/armv7em_keccak.S).
 */
extern const uint16_t cmi_armv7em_keccak_turns[25];

static inline uint32_t armv7em_keccak_rotate32(uint32_t word, unsigned bits)
{
    return word >> (bits & 31) | word << ((0U - bits) & 31);
}

/* Exchange the bits of x at mask << shift for those of y at mask. */
static inline void armv7em_keccak_exchange(uint32_t *x, uint32_t *y, unsigned shift, uint32_t mask)
{
    uint32_t difference = (*x >> shift ^ *y) & mask;
    *y ^= difference;
    *x ^= difference << shift;
}

/*
 * A bit's place in a pair of words has a 6-bit index: the word's number, then 5 bits within the word.
 * Interleaving rotates the six by one place, which takes five exchanges of the top one with another.
 */
static inline uint64_t armv7em_keccak_enter(uint64_t lane, unsigned index)
{
    uint32_t x = (uint32_t)lane;
    uint32_t y = (uint32_t)(lane >> 32);
    armv7em_keccak_exchange(&x, &y, 16, 0x0000FFFFu);
    armv7em_keccak_exchange(&x, &y, 8, 0x00FF00FFu);
    armv7em_keccak_exchange(&x, &y, 4, 0x0F0F0F0Fu);
    armv7em_keccak_exchange(&x, &y, 2, 0x33333333u);
    armv7em_keccak_exchange(&x, &y, 1, 0x55555555u);
    unsigned turns = cmi_armv7em_keccak_turns[index];
    x = armv7em_keccak_rotate32(x, 0U - turns);
    y = armv7em_keccak_rotate32(y, 0U - (turns >> 8));
    return x | (uint64_t)y << 32;
}

static inline uint64_t armv7em_keccak_leave(uint64_t entered, unsigned index)
{
    unsigned turns = cmi_armv7em_keccak_turns[index];
    uint32_t x = armv7em_keccak_rotate32((uint32_t)entered, turns);
    uint32_t y = armv7em_keccak_rotate32((uint32_t)(entered >> 32), turns >> 8);
    armv7em_keccak_exchange(&x, &y, 1, 0x55555555u);
    armv7em_keccak_exchange(&x, &y, 2, 0x33333333u);
    armv7em_keccak_exchange(&x, &y, 4, 0x0F0F0F0Fu);
    armv7em_keccak_exchange(&x, &y, 8, 0x00FF00FFu);
    return (x & 0xFFFFu) | y << 16 | (uint64_t)(x >> 16 | (y & 0xFFFF0000u)) << 32;
}

CMI_HIDDEN_END

/* ---- the entries ---- */

#define CM_TARGET_ntt_forward cmi_armv7em_ntt_forward
#if CM_CONFIG_NTT_ROOTS
#define CM_TARGET_ntt_inverse_lazy cmi_armv7em_ntt_inverse_lazy
#endif
#define CM_TARGET_multiply cmi_armv7em_multiply
#define CM_TARGET_multiply_add cmi_armv7em_multiply_add
#define CM_TARGET_ternary_transform cmi_armv7em_ternary_transform
#define CM_TARGET_noise_transform cmi_armv7em_noise_transform
#if CM_CONFIG_PRECISION_31
#define CM_TARGET_real_transform_31 cmi_armv7em_real_transform_31
#endif
#define CM_TARGET_chacha20_blocks armv7em_chacha20_blocks
#if CM_CONFIG_SEAL_XOFS && defined(__ARM_FP)
#define CM_TARGET_blake2b_short armv7em_blake2b_short
#endif
#define CM_TARGET_uniform_draw cmi_draw_groups
#define CM_TARGET_uniform_cut armv7em_uniform_cut
#define CM_TARGET_cbd armv7em_cbd
#define CM_TARGET_two_levels_31 armv7em_two_levels_31
#define CM_TARGET_two_levels_middle_31 armv7em_two_levels_middle_31
#define CM_TARGET_two_levels_exact_31 armv7em_two_levels_exact_31
#define CM_TARGET_split_real_31 armv7em_split_real_31
#define CM_TARGET_fold_halves_31 armv7em_fold_halves_31
#define CM_TARGET_batch_levels armv7em_batch_levels
#define CM_TARGET_narrow armv7em_narrow
#define CM_TARGET_take_off armv7em_take_off
#define CM_TARGET_add_multiples armv7em_add_multiples
#define CM_TARGET_round_sums armv7em_round_sums
#define CM_TARGET_ternary_products armv7em_ternary_products
#define CM_TARGET_poly1305_blocks armv7em_poly1305_blocks
#if CM_CONFIG_CRC_TABLE == CM_CONFIG_CRC_TABLE_WORD
#define CM_TARGET_pack cmi_armv7em_pack
#endif
#if CM_CONFIG_CRC_TABLE == CM_CONFIG_CRC_TABLE_WORD
#define CM_TARGET_unpack armv7em_unpack
#endif

#endif
#endif
