/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The back-end for AVR: the assembly of backends/, and backends/avr_*.c. What multiplies residues needs a
 * multiplier (CM_AVR_MUL), and is for the prime 67043329 = 2^26 - 2^16 + 1.
 */
#ifndef CM_ARCH_AVR_ARCH_H
#define CM_ARCH_AVR_ARCH_H

#include "arch/api.h"
#include "ciphermote/params.h"

#if CM_AVR

#define CM_AVR_Q 67043329u

/* Whether there is assembly for the compact lane, and the bytes of its residues: for primes of 20 bits, and
   without a multiplier also of 26. */
#define CM_AVR_COMPACT (!CM_AVR_MUL || CM_PRIME_BITS != 26)
#define CM_AVR_RESIDUE_BYTES (!CM_AVR_MUL && CM_PRIME_BITS == 26 ? 4 : 3)

CMI_HIDDEN_BEGIN

/* ---- with the signatures of the table's entries; they decline other primes ---- */

#if CM_AVR_MUL
int cmi_avr_ntt_forward(uint32_t *a, const cmi_ring *ring);
#endif
#if CM_AVR_COMPACT
int cmi_avr_ternary_terms(uint32_t *sums, uint16_t count, cmi_uniform *uniform, const uint8_t *ternary,
                          int16_t from, uint16_t terms, void *room);
#endif
int cmi_avr_pack(cm_status *status, cm_frame_writer *writer, const uint32_t *residues, uint32_t count,
                 unsigned bits);

/* ---- functions for that prime alone, or for none, that never decline ---- */

#if CM_AVR_MUL
void cmi_avr_multiply26(uint32_t *out, const uint32_t *a, const uint32_t *b, uint16_t count);
void cmi_avr_multiply_add26(uint32_t *out, const uint32_t *a, const uint32_t *b, uint16_t count);
void cmi_avr_multiply_add26_flash(uint32_t *out, const uint32_t *a, const uint32_t *b, uint16_t count);
int32_t cmi_avr_dot26(const uint16_t *w, const int32_t *p, uint8_t terms, const int64_t *start);
void cmi_avr_noise_add26(uint32_t *a, const int8_t *noise, uint8_t count, const uint32_t factor[2]);
void cmi_avr_read_shifted(uint16_t *w, const cm_bfv_reader *reader, const cmi_read_scaling *scaling,
                          uint16_t at, uint16_t step, uint8_t terms);
/* As cmi_montgomery_residue of ring/ring.h. */
uint32_t cmi_avr_residue26(uint32_t a, uint32_t b);
#endif
void cmi_avr_chacha20_blocks(uint8_t *out, uint32_t input[12], size_t blocks);
/* Fields from bytes. Returns the place after the last residue accepted. */
uint32_t *cmi_avr_uniform_26(uint32_t *next, const uint8_t *bytes, uint8_t count, uint8_t pending[2]);
void cmi_avr_sample_cbd(cmi_stream *stream, int8_t noise[32]);
/* For blocks > 0. */
void cmi_avr_poly1305_blocks(uint32_t h[5], const uint32_t r[4], const uint8_t *bytes, size_t blocks,
                             uint8_t top);
uint32_t cmi_avr_crc32c(uint32_t crc, const uint8_t *bytes, size_t length);

/* ---- the entries that call them ---- */

#if CM_AVR_MUL

static inline int avr_multiply(uint32_t *out, const uint32_t *a, const uint32_t *b, uint32_t count,
                               const cm_prime *prime)
{
    if (prime->q != CM_AVR_Q || count == 0) {
        return 0;
    }
    cmi_avr_multiply26(out, a, b, (uint16_t)count);
    return 1;
}

static inline int avr_multiply_add(uint32_t *out, const uint32_t *a, const uint32_t *b, uint32_t count,
                                   const cm_prime *prime)
{
    if (prime->q != CM_AVR_Q || count == 0) {
        return 0;
    }
    cmi_avr_multiply_add26(out, a, b, (uint16_t)count);
    return 1;
}

static inline int avr_multiply_add_flash(uint32_t *out, const uint32_t *a, const uint32_t *b, uint32_t count,
                                         const cm_prime *prime)
{
    if (prime->q != CM_AVR_Q || count == 0) {
        return 0;
    }
    cmi_avr_multiply_add26_flash(out, a, b, (uint16_t)count);
    return 1;
}

static inline int avr_read_shifted(uint16_t *w, const cm_bfv_reader *reader, const cmi_read_scaling *scaling,
                                   uint16_t at, uint16_t step, uint8_t terms)
{
    cmi_avr_read_shifted(w, reader, scaling, at, step, terms);
    return 1;
}

static inline int avr_dot(int32_t *sum, const uint16_t *w, const int32_t *weights, uint8_t terms,
                          const int64_t *start, const cm_prime *prime)
{
    if (prime->q != CM_AVR_Q) {
        return 0;
    }
    *sum = cmi_avr_dot26(w, weights, terms, start);
    return 1;
}

static inline int avr_noise_add(uint32_t *a, const int8_t *noise, uint8_t count, const uint32_t factor[2],
                                const cm_prime *prime)
{
    if (prime->q != CM_AVR_Q) {
        return 0;
    }
    cmi_avr_noise_add26(a, noise, count, factor);
    return 1;
}

#endif

static inline int avr_chacha20_blocks(uint8_t *out, uint32_t input[12], size_t blocks)
{
    cmi_avr_chacha20_blocks(out, input, blocks);
    return 1;
}

/* Bytes are drawn, not words, so at most 6 bits are pending. At most 32 fields at a time. */
static inline int avr_uniform_draw(uint32_t *count, uint32_t *bytes, unsigned bits, uint32_t q,
                                   unsigned pending_bits)
{
    if (q != CM_AVR_Q) {
        return 0;
    }
    *count = *count < 32u ? *count : 32u;
    *bytes = (uint16_t)(((uint16_t)*count * bits - pending_bits + 7u) / 8u);
    return 1;
}

static inline int avr_uniform_cut(uint32_t *residues, uint32_t count, uint32_t *accepted, uint32_t bytes,
                                  unsigned bits, uint32_t q, uint32_t *pending, uint8_t *pending_bits)
{
    const uint8_t *const drawn = (uint8_t *)(residues + count) - (uint16_t)bytes;
    uint8_t left[2] = {(uint8_t)*pending, *pending_bits};
    (void)bits;
    (void)q;
    *accepted = (uint32_t)(cmi_avr_uniform_26(residues, drawn, (uint8_t)count, left) - residues);
    *pending = left[0];
    *pending_bits = left[1];
    return 1;
}

#if CM_AVR_COMPACT
/* Portable code for other primes is left out, where there are none. */
static inline int avr_ternary_terms(uint32_t *sums, uint16_t count, cmi_uniform *uniform,
                                    const uint8_t *ternary, int16_t from, uint16_t terms, void *room)
{
    return cmi_avr_ternary_terms(sums, count, uniform, ternary, from, terms, room) | (CM_PRIME_BITS != 0);
}
#endif

static inline int avr_sample_cbd(cmi_stream *stream, int8_t noise[32])
{
    cmi_avr_sample_cbd(stream, noise);
    return 1;
}

static inline int avr_poly1305_blocks(uint32_t h[5], const uint32_t r[4], const uint8_t *bytes, size_t blocks,
                                      uint32_t top)
{
    if (blocks > 0) {
        cmi_avr_poly1305_blocks(h, r, bytes, blocks, (uint8_t)top);
    }
    return 1;
}

#if CM_CONFIG_CRC_TABLE == CM_CONFIG_CRC_TABLE_NIBBLE
static inline int avr_crc32c(uint32_t *crc, const uint8_t *bytes, size_t length)
{
    *crc = cmi_avr_crc32c(*crc, bytes, length);
    return 1;
}
#endif

CMI_HIDDEN_END

/* ---- the entries ---- */

#if CM_AVR_MUL
#define CM_TARGET_ntt_forward cmi_avr_ntt_forward
#define CM_TARGET_multiply avr_multiply
#define CM_TARGET_multiply_add avr_multiply_add
#define CM_TARGET_multiply_add_flash avr_multiply_add_flash
#define CM_TARGET_read_shifted avr_read_shifted
#define CM_TARGET_dot avr_dot
#define CM_TARGET_noise_add avr_noise_add
#else
#endif
#define CM_TARGET_chacha20_blocks avr_chacha20_blocks
#define CM_TARGET_uniform_draw avr_uniform_draw
#define CM_TARGET_uniform_cut avr_uniform_cut
#define CM_TARGET_sample_cbd avr_sample_cbd
#if CM_AVR_COMPACT
#define CM_TARGET_ternary_terms avr_ternary_terms
#define CM_TARGET_WIDE_TERMS (!CM_AVR_MUL && CM_PRIME_BITS == 26)
#endif
#define CM_TARGET_poly1305_blocks avr_poly1305_blocks
#if CM_CONFIG_CRC_TABLE == CM_CONFIG_CRC_TABLE_NIBBLE
#define CM_TARGET_crc32c avr_crc32c
#endif
#define CM_TARGET_pack cmi_avr_pack

#endif
#endif
