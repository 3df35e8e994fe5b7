/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The back-end for Helium, the vectors of ARMv8.1-M (Cortex-M55, M85): four words at a time in intrinsics, on
 * top of ARMv7E-M's assembly, to which it leaves what it does not take.
 */
#ifndef CM_ARCH_HELIUM_ARCH_H
#define CM_ARCH_HELIUM_ARCH_H

#include "arch/armv7em.h"

#if CM_HELIUM

CMI_HIDDEN_BEGIN

void cmi_helium_chacha20_blocks(uint8_t *out, uint32_t input[12], size_t blocks);
/* These two leave primes of 27 bits, and counts that are no multiple of 4, to the assembly. */
int cmi_helium_multiply(uint32_t *out, const uint32_t *a, const uint32_t *b, uint32_t count,
                        const cm_prime *prime);
int cmi_helium_multiply_add(uint32_t *out, const uint32_t *a, const uint32_t *b, uint32_t count,
                            const cm_prime *prime);
int cmi_helium_two_levels_exact_31(int32_t *at, const int32_t *end, size_t step);
int cmi_helium_fold_halves_31(uint32_t *forward, uint32_t *backward, const int32_t *data, const int8_t *noise,
                              const cmi_fold_constants *constants);
uint32_t *cmi_helium_uniform_26(uint32_t *residues, const uint32_t *words, uint32_t q, const uint32_t *end);
#if CM_CONFIG_CRC_TABLE == CM_CONFIG_CRC_TABLE_WORD
int cmi_helium_pack_26(cm_status *status, cm_frame_writer *writer, const uint32_t *residues, uint32_t count);
#endif

CMI_HIDDEN_END

static inline int helium_chacha20_blocks(uint8_t *out, uint32_t input[12], size_t blocks)
{
    cmi_helium_chacha20_blocks(out, input, blocks);
    return 1;
}

static inline int helium_uniform_cut(uint32_t *residues, uint32_t count, uint32_t *accepted, uint32_t bytes,
                                     unsigned bits, uint32_t q, uint32_t *pending, uint8_t *pending_bits)
{
    const uint32_t *const end = residues + count;
    if (bits != 26u) {
        return armv7em_uniform_cut(residues, count, accepted, bytes, bits, q, pending, pending_bits);
    }
    *accepted = (uint32_t)(cmi_helium_uniform_26(residues, end - bytes / 4u, q, end) - residues);
    return 1;
}

#if CM_CONFIG_CRC_TABLE == CM_CONFIG_CRC_TABLE_WORD

static inline int helium_pack(cm_status *status, cm_frame_writer *writer, const uint32_t *residues,
                              uint32_t count, unsigned bits)
{
    return bits == 26u ? cmi_helium_pack_26(status, writer, residues, count)
                       : cmi_armv7em_pack(status, writer, residues, count, bits);
}

#undef CM_TARGET_pack
#define CM_TARGET_pack helium_pack
#endif

#undef CM_TARGET_uniform_cut
#define CM_TARGET_uniform_cut helium_uniform_cut
#undef CM_TARGET_chacha20_blocks
#define CM_TARGET_chacha20_blocks helium_chacha20_blocks
#undef CM_TARGET_multiply
#define CM_TARGET_multiply cmi_helium_multiply
#undef CM_TARGET_multiply_add
#define CM_TARGET_multiply_add cmi_helium_multiply_add
#undef CM_TARGET_two_levels_exact_31
#define CM_TARGET_two_levels_exact_31 cmi_helium_two_levels_exact_31
#undef CM_TARGET_real_transform_31 /* slower than folding halves here */
#undef CM_TARGET_fold_halves_31
#define CM_TARGET_fold_halves_31 cmi_helium_fold_halves_31

#endif

#endif
