/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The back-end for cores of 32 bits in C: RV32IM, where 32 registers need no assembly and rotations, minima
 * and indexed additions come from Zbb and Zba if the compiler may use them, and ARMv6-M, whose multiplication
 * has no upper word (backends/word32/products.h) and whose transform is assembly.
 */
#ifndef CM_ARCH_WORD32_ARCH_H
#define CM_ARCH_WORD32_ARCH_H

#include "arch/api.h"

#if CM_WORD32

CMI_HIDDEN_BEGIN

/* ---- with the signatures of the table's entries ---- */

/* With roots from tables, these decline rings without them, and those of more than 2^12 points; ARMv6-M
   declines primes of 27 bits. */
int cmi_word32_ntt_forward(uint32_t *a, const cmi_ring *ring);
/* These decline all tiles but halves as well, */
int cmi_word32_ternary_transform(uint32_t *a, const uint8_t *packed, uint32_t factor, const cmi_ring *ring);
/* and this one, primes of 27 bits, and on ARMv6-M, as folding does, those below 2^18. */
int cmi_word32_noise_transform(uint32_t *a, const int8_t *noise, const cmi_ring *ring);
/* Products decline primes of 27 bits; on ARMv6-M, all but those of 26. */
int cmi_word32_multiply(uint32_t *out, const uint32_t *a, const uint32_t *b, uint32_t count,
                        const cm_prime *prime);
int cmi_word32_multiply_add(uint32_t *out, const uint32_t *a, const uint32_t *b, uint32_t count,
                            const cm_prime *prime);
/* These decline what is not aligned to words. */
int cmi_word32_chacha20_blocks(uint8_t *out, uint32_t input[12], size_t blocks);
int cmi_word32_crc32c(uint32_t *crc, const uint8_t *bytes, size_t length);
int cmi_word32_unpack(bool *below, uint32_t *residues, uint32_t count, const uint8_t *bytes, unsigned bits,
                      uint32_t q, uint32_t *crc);
int cmi_word32_pack(cm_status *status, cm_frame_writer *writer, const uint32_t *residues, uint32_t count,
                    unsigned bits);
int cmi_word32_uniform_cut(uint32_t *residues, uint32_t count, uint32_t *accepted, uint32_t bytes,
                           unsigned bits, uint32_t q, uint32_t *pending, uint8_t *pending_bits);
int cmi_word32_two_levels_31(int32_t *at, const int32_t *end, size_t step, const int32_t roots[4]);
int cmi_word32_two_levels_middle_31(int32_t *at, const int32_t *end, size_t step, const int32_t roots[2]);
int cmi_word32_fold_halves_31(uint32_t *forward, uint32_t *backward, const int32_t *data, const int8_t *noise,
                              const cmi_fold_constants *constants);

CMI_HIDDEN_END

/* ---- the entries ---- */

#if CM_RV32 || CM_CONFIG_NTT_ROOTS
#define CM_TARGET_ntt_forward cmi_word32_ntt_forward
#define CM_TARGET_ternary_transform cmi_word32_ternary_transform
#define CM_TARGET_noise_transform cmi_word32_noise_transform
#endif
#define CM_TARGET_multiply cmi_word32_multiply
#define CM_TARGET_multiply_add cmi_word32_multiply_add
#if CM_RV32
#define CM_TARGET_chacha20_blocks cmi_word32_chacha20_blocks
#define CM_TARGET_two_levels_31 cmi_word32_two_levels_31
#define CM_TARGET_two_levels_middle_31 cmi_word32_two_levels_middle_31
#endif
#define CM_TARGET_uniform_draw cmi_draw_groups
#define CM_TARGET_uniform_cut cmi_word32_uniform_cut
#define CM_TARGET_fold_halves_31 cmi_word32_fold_halves_31
#if CM_CONFIG_CRC_TABLE == CM_CONFIG_CRC_TABLE_WORD
#define CM_TARGET_crc32c cmi_word32_crc32c
#endif
#define CM_TARGET_pack cmi_word32_pack
#define CM_TARGET_unpack cmi_word32_unpack

#endif

#endif
