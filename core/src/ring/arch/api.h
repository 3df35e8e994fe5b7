/*
 * What a back-end (vector unit, hand-written assembly, an accelerator on a bus) may take over from portable C.
 *
 * A back-end defines CM_ARCH_HEADER (a header that declares `extern const cm_arch ...` and defines CM_ARCH to
 * it); for one that takes whole products, set CM_CONFIG_ACCELERATOR too. Without such a header, the library's
 * own for the hardware of rtl/ is taken with CM_CONFIG_ACCELERATOR, and the one for the target, where there
 * is one, with CM_CONFIG_ASM.
 * Every entry may be null, and every call may decline by returning 0; the portable code then does the work. A call
 * that returns 1 has produced exactly what the portable code would: same bounds, same residues, bit for bit
 * (lazy outputs may differ by multiples of q). tests/vectors holds every back-end to that.
 * Time may depend on n and q, never on the data.
 */
#ifndef CM_RING_ARCH_API_H
#define CM_RING_ARCH_API_H

#include <stddef.h>
#include <stdint.h>

#include "ring/ring.h"

typedef struct cm_arch {
    /* Single steps: contracts as the functions of the same name in ring/ring.h. */
    int (*ntt_forward)(uint32_t *a, const cm_ring *ring);
    int (*ntt_inverse)(uint32_t *a, const cm_ring *ring);
    int (*ntt_inverse_lazy)(uint32_t *a, const cm_ring *ring);
    int (*multiply)(uint32_t *out, const uint32_t *a, const uint32_t *b, uint32_t count,
                    const cm_prime *prime);
    int (*multiply_add)(uint32_t *out, const uint32_t *a, const uint32_t *b, uint32_t count,
                        const cm_prime *prime);
    /* As cm_ternary_transform; and the transform of n noise coefficients, each within +-21, folded into the tile. */
    int (*ternary_transform)(uint32_t *a, const uint8_t *packed, uint32_t factor, const cm_ring *ring);
    int (*noise_transform)(uint32_t *a, const int8_t *noise, const cm_ring *ring);
    /* Whole products: an accelerator that holds u on chip saves two transfers and every intermediate. */
    int (*double_product)(uint32_t *out0, uint32_t *out1, const uint8_t *u, const uint32_t *p0,
                          const uint32_t *p1, const cm_ring *ring);
} cm_arch;

#ifdef CM_ARCH_HEADER
#include CM_ARCH_HEADER
#elif CM_CONFIG_ACCELERATOR
#include "ring/arch/accelerator/arch.h"
static const cm_arch cm_accelerator_arch = {
    .ntt_forward = cm_accelerator_ntt_forward,
    .ntt_inverse = cm_accelerator_ntt_inverse,
    .double_product = cm_accelerator_double_product,
};
#define CM_ARCH cm_accelerator_arch
#elif CM_ARMV7EM
#include "ring/arch/armv7em/arch.h"
static const cm_arch cm_armv7em = {
    .ntt_forward = cm_armv7em_ntt_forward,
    .ntt_inverse_lazy = cm_armv7em_ntt_inverse_lazy,
    .multiply = cm_armv7em_multiply,
    .multiply_add = cm_armv7em_multiply_add,
    .ternary_transform = cm_armv7em_ternary_transform,
    .noise_transform = cm_armv7em_noise_transform,
};
#define CM_ARCH cm_armv7em
#elif CM_AVR
#include "ring/arch/avr/arch.h"
static const cm_arch cm_avr = {
    .ntt_forward = cm_avr_ntt_forward,
    .multiply = cm_avr_multiply,
    .multiply_add = cm_avr_multiply_add,
};
#define CM_ARCH cm_avr
#endif

#ifdef CM_ARCH
#define CM_ARCH_TRY(step, ...) (CM_ARCH.step && CM_ARCH.step(__VA_ARGS__))
#else
#define CM_ARCH_TRY(step, ...) 0
#endif

#endif
