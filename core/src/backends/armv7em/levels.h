/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Levels of the transform, which backends/armv7em.c combines: in assembly and, with roots from tables, on
 * Helium. To be included behind ring/ring.h.
 */
#ifndef CM_ARCH_ARMV7EM_LEVELS_H
#define CM_ARCH_ARMV7EM_LEVELS_H

#include "arch/api.h"

#if CM_ARMV7EM

/*
 * Blocks of one level of the transform, and of the next. armv7em_ntt.S and armv7em_intt.S depend on the order
 * of the fields.
 */
typedef struct cmi_level_blocks {
    uint32_t *a;              /* the first block */
    const cmi_twiddle *outer; /* its root */
    const cmi_twiddle *inner; /* its two roots at the next level */
    const uint32_t *end;      /* past the last block */
    uint32_t half_bytes;      /* of half a block */
    uint32_t q;
    uint32_t neg_q_inv; /* for the inverse transform: 2^32 / q, rounded to nearest */
} cmi_level_blocks;

#if CM_HELIUM && CM_CONFIG_NTT_ROOTS

CMI_HIDDEN_BEGIN

/* As in backends/armv7em.c. */
void cmi_helium_one_level(cmi_level_blocks *blocks);
void cmi_helium_two_levels_1(cmi_level_blocks *blocks);
void cmi_helium_two_levels_4(cmi_level_blocks *blocks);
void cmi_helium_two_levels_16(cmi_level_blocks *blocks);
void cmi_helium_two_levels_64(cmi_level_blocks *blocks);
void cmi_helium_two_levels_256(cmi_level_blocks *blocks);
void cmi_helium_two_levels_1024(cmi_level_blocks *blocks);

CMI_HIDDEN_END

#endif

#endif

#endif
