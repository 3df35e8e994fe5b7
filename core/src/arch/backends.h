/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The back-ends of this build, which the portable code asks through CM_ARCH_TRY, as arch/api.h describes.
 *
 * Two back-ends are asked in turn:
 * 1. The application's own, or the one for the hardware of rtl/ (CM_CONFIG_ACCELERATOR). For one's own,
 *    CM_ARCH_HEADER names a header that declares it and defines CM_ARCH to it: a table, or `(*chosen)` where
 *    a program finds out at run time which of several its processor can run, before the first call and for
 *    good. One that takes whole products sets CM_CONFIG_ACCELERATOR as well.
 * 2. The target's own, with CM_CONFIG_ASM. It has no table: arch/<target>/arch.h names a function for each
 *    entry that it has; the others are CM_DECLINED. So all calls are direct, and where an inline function
 *    always returns 1, nothing of the portable code is linked.
 */
#ifndef CM_ARCH_BACKENDS_H
#define CM_ARCH_BACKENDS_H

#include "arch/api.h"

#ifdef CM_ARCH_HEADER
#include CM_ARCH_HEADER
#elif CM_CONFIG_ACCELERATOR
#include "arch/accelerator.h"
#define CM_ARCH cmi_accelerator
#endif

#define CM_DECLINED(...) 0

#if CM_HELIUM
#include "arch/helium.h"
#elif CM_ARMV7EM
#include "arch/armv7em.h"
#elif CM_AVR
#include "arch/avr.h"
#elif CM_WORD32
#include "arch/word32.h"
#elif CM_X86_64 /* which gateways run on: what checks frames, in wide words and its own checksum */
CMI_HIDDEN_BEGIN

int cmi_x86_64_poly1305_blocks(uint32_t h[5], const uint32_t r[4], const uint8_t *bytes, size_t blocks,
                               uint32_t top);
int cmi_x86_64_crc32c(uint32_t *crc, const uint8_t *bytes, size_t length);

CMI_HIDDEN_END

#define CM_TARGET_poly1305_blocks cmi_x86_64_poly1305_blocks
#ifdef CM_TEST_CONSTANT_TIME /* which sees by the table's look-ups that a secret is sent */
#define CM_TARGET_crc32c CM_DECLINED
#else
#define CM_TARGET_crc32c cmi_x86_64_crc32c
#endif
#endif

/* What a target has no function for. */
#ifndef CM_TARGET_ntt_forward
#define CM_TARGET_ntt_forward CM_DECLINED
#endif
#ifndef CM_TARGET_ntt_inverse
#define CM_TARGET_ntt_inverse CM_DECLINED
#endif
#ifndef CM_TARGET_ntt_inverse_lazy
#define CM_TARGET_ntt_inverse_lazy CM_DECLINED
#endif
#ifndef CM_TARGET_multiply
#define CM_TARGET_multiply CM_DECLINED
#endif
#ifndef CM_TARGET_multiply_add
#define CM_TARGET_multiply_add CM_DECLINED
#endif
#ifndef CM_TARGET_multiply_add_flash
#define CM_TARGET_multiply_add_flash CM_DECLINED
#endif
#ifndef CM_TARGET_ternary_transform
#define CM_TARGET_ternary_transform CM_DECLINED
#endif
#ifndef CM_TARGET_noise_transform
#define CM_TARGET_noise_transform CM_DECLINED
#endif
#ifndef CM_TARGET_double_product
#define CM_TARGET_double_product CM_DECLINED
#endif
#ifndef CM_TARGET_chacha20_blocks
#define CM_TARGET_chacha20_blocks CM_DECLINED
#endif
#ifndef CM_TARGET_blake2b_short
#define CM_TARGET_blake2b_short CM_DECLINED
#endif
#ifndef CM_TARGET_uniform_draw
#define CM_TARGET_uniform_draw CM_DECLINED
#endif
#ifndef CM_TARGET_uniform_cut
#define CM_TARGET_uniform_cut CM_DECLINED
#endif
#ifndef CM_TARGET_cbd
#define CM_TARGET_cbd CM_DECLINED
#endif
#ifndef CM_TARGET_sample_cbd
#define CM_TARGET_sample_cbd CM_DECLINED
#endif
#ifndef CM_TARGET_two_levels_31
#define CM_TARGET_two_levels_31 CM_DECLINED
#endif
#ifndef CM_TARGET_two_levels_middle_31
#define CM_TARGET_two_levels_middle_31 CM_DECLINED
#endif
#ifndef CM_TARGET_two_levels_exact_31
#define CM_TARGET_two_levels_exact_31 CM_DECLINED
#endif
#ifndef CM_TARGET_split_real_31
#define CM_TARGET_split_real_31 CM_DECLINED
#endif
#ifndef CM_TARGET_real_transform_31
#define CM_TARGET_real_transform_31 CM_DECLINED
#endif
#ifndef CM_TARGET_fold_halves_31
#define CM_TARGET_fold_halves_31 CM_DECLINED
#endif
#ifndef CM_TARGET_batch_levels
#define CM_TARGET_batch_levels CM_DECLINED
#endif
#ifndef CM_TARGET_narrow
#define CM_TARGET_narrow CM_DECLINED
#endif
#ifndef CM_TARGET_read_shifted
#define CM_TARGET_read_shifted CM_DECLINED
#endif
#ifndef CM_TARGET_dot
#define CM_TARGET_dot CM_DECLINED
#endif
#ifndef CM_TARGET_noise_add
#define CM_TARGET_noise_add CM_DECLINED
#endif
#ifndef CM_TARGET_take_off
#define CM_TARGET_take_off CM_DECLINED
#endif
#ifndef CM_TARGET_add_multiples
#define CM_TARGET_add_multiples CM_DECLINED
#endif
#ifndef CM_TARGET_round_sums
#define CM_TARGET_round_sums CM_DECLINED
#endif
#ifndef CM_TARGET_ternary_products
#define CM_TARGET_ternary_products CM_DECLINED
#endif
#ifndef CM_TARGET_ternary_terms
#define CM_TARGET_ternary_terms CM_DECLINED
#endif
#ifndef CM_TARGET_WIDE_TERMS /* whether its sums are left for the caller to reduce */
#define CM_TARGET_WIDE_TERMS 0
#endif
#ifndef CM_TARGET_poly1305_blocks
#define CM_TARGET_poly1305_blocks CM_DECLINED
#endif
#ifndef CM_TARGET_crc32c
#define CM_TARGET_crc32c CM_DECLINED
#endif
#ifndef CM_TARGET_pack
#define CM_TARGET_pack CM_DECLINED
#endif
#ifndef CM_TARGET_unpack
#define CM_TARGET_unpack CM_DECLINED
#endif

/* No target's assembly takes whole operations. */
#define CM_TARGET_encrypt CM_DECLINED
#define CM_TARGET_decrypt_begin CM_DECLINED
#define CM_TARGET_decrypt_feed CM_DECLINED
#define CM_TARGET_decrypt_end CM_DECLINED
#define CM_TARGET_names_key CM_DECLINED
#define CM_TARGET_make_secret_key CM_DECLINED
#define CM_TARGET_emit_public_key CM_DECLINED

#define CM_NOISE_FACTORS CM_AVR_MUL

/* Whether a back-end has done the work. Arguments may be evaluated twice. */
#ifdef CM_ARCH
#define CM_ARCH_TRY(entry, ...) \
    ((CM_ARCH.entry && CM_ARCH.entry(__VA_ARGS__)) || CM_TARGET_##entry(__VA_ARGS__))
#else
#define CM_ARCH_TRY(entry, ...) CM_TARGET_##entry(__VA_ARGS__)
#endif

#endif
