/* The back-end for ARMv7E-M (Cortex-M4 and M7): ring/armv7em.c, and the assembly of this folder. */
#ifndef CM_RING_ARCH_ARMV7EM_ARCH_H
#define CM_RING_ARCH_ARMV7EM_ARCH_H

#include "ring/ring.h"

#if CM_ARMV7EM

/* Blocks of one level of the transform, and of the next. ntt.S knows the order of the fields. */
typedef struct cm_armv7em_levels {
    uint32_t *a;             /* the first block */
    const cm_twiddle *outer; /* its root */
    const cm_twiddle *inner; /* its two roots at the next level */
    const uint32_t *end;     /* behind the last block */
    uint32_t half_bytes;     /* of half a block */
    uint32_t q;
    uint32_t neg_q_inv; /* of the inverse transform: 2^32 / q, to the nearest */
} cm_armv7em_levels;

/* Two levels of blocks of four times as many coefficients as the name says. May advance outer and inner. */
void cm_armv7em_two_levels_1(cm_armv7em_levels *levels); /* of a multiple of 4 blocks */
void cm_armv7em_two_levels_4(cm_armv7em_levels *levels);
void cm_armv7em_two_levels_16(cm_armv7em_levels *levels);
void cm_armv7em_two_levels_64(cm_armv7em_levels *levels);
void cm_armv7em_two_levels_256(cm_armv7em_levels *levels);
void cm_armv7em_two_levels_1024(cm_armv7em_levels *levels); /* of one block */

/* One level of one block. */
void cm_armv7em_one_level(cm_armv7em_levels *levels);

#if CM_CONFIG_NTT_ROOTS
/* The same of the inverse transform. outer and inner point behind the roots of the blocks across. */
void cm_armv7em_two_inverse_levels_1(cm_armv7em_levels *levels);
void cm_armv7em_two_inverse_levels_4(cm_armv7em_levels *levels);
void cm_armv7em_two_inverse_levels_16(cm_armv7em_levels *levels);
void cm_armv7em_two_inverse_levels_64(cm_armv7em_levels *levels);
void cm_armv7em_two_inverse_levels_256(cm_armv7em_levels *levels);
void cm_armv7em_two_inverse_levels_1024(cm_armv7em_levels *levels); /* of one block */
void cm_armv7em_one_inverse_level(cm_armv7em_levels *levels);
#endif

/* out[i] = in[i] factor / 2^32 mod q, below q in magnitude, for factor <= q. count: a multiple of 4, not 0. */
void cm_armv7em_scale(uint32_t *out, const uint32_t *in, uint32_t count, uint32_t factor,
                      const cm_prime *prime);

/* As cm_multiply and cm_multiply_add, if count is a multiple of 4 and not 0: then they return 1, else 0. */
int cm_armv7em_multiply(uint32_t *out, const uint32_t *a, const uint32_t *b, uint32_t count,
                        const cm_prime *prime);
int cm_armv7em_multiply_add(uint32_t *out, const uint32_t *a, const uint32_t *b, uint32_t count,
                            const cm_prime *prime);

/* As cm_ntt_forward; declines a transform whose roots should lie in a table and do not. */
int cm_armv7em_ntt_forward(uint32_t *a, const cm_ring *ring);

/* The same of polynomials yet to be folded; decline all but halves as well. Noise lies within +-21. */
int cm_armv7em_ternary_transform(uint32_t *a, const uint8_t *packed, uint32_t factor, const cm_ring *ring);
int cm_armv7em_noise_transform(uint32_t *a, const int8_t *noise, const cm_ring *ring);

/* As cm_ntt_inverse_lazy; takes transforms by roots with quotients alone. */
int cm_armv7em_ntt_inverse_lazy(uint32_t *a, const cm_ring *ring);

#endif
#endif
