/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The 31-bit message and its noise folded into a half of the ring, for ARMv7E-M: fx_fold_halves_real of
 * ckks_fold.h has the same in C. Which pairs are read, and what is done with them, depends on their number
 * alone.
 */
#include "arch/armv7em/function.inc"

#if CM_ARMV7EM

/* The fields of cmi_fold_constants. */
    .set constants_one, 0
    .set constants_q, 8

forward     .req r0
backward    .req r1
data        .req r2
noise       .req r3
one         .req r4
minus_r     .req r5
q           .req r6
neg_q_inv   .req r7
even        .req r8
odd         .req r9
beside      .req r10
value       .req r11
low         .req r12
high        .req lr

/*
 * high = the residue, between 0 and 4q, of (a + part_a) one + (b + part_b) minus_r; a part is a byte of
 * `beside`.
 */
.macro fold_two a, part_a, b, part_b
    sxtab value, \a, beside, ror #8 * \part_a
    smull low, high, value, one
    sxtab value, \b, beside, ror #8 * \part_b
    smlal low, high, value, minus_r
    mul value, low, neg_q_inv
    smlal low, high, value, q
    add high, high, q, lsl #1
.endm

.macro fold_pair
    ldrd even, odd, [data], #8
    ldr beside, [noise], #4
    fold_two even, 0, odd, 2
    str high, [forward], #4
    fold_two odd, 1, even, 3
    str high, [backward], #-4
.endm

/*
 * void cmi_armv7em_fold_halves_31(uint32_t *forward, uint32_t *backward, const int32_t *data, const int8_t
 * *noise,
 *                        const cmi_fold_constants *constants)
 * From the first pair on until forward and backward meet: an odd number of pairs.
 */
    function cmi_armv7em_fold_halves_31
    push {r4-r11, lr}
    ldr low, [sp, #36]
    ldrd one, minus_r, [low, #constants_one]
    ldrd q, neg_q_inv, [low, #constants_q]
    fold_pair
    .balign 4
1:  fold_pair
    fold_pair
    cmp forward, backward
    bne 1b
    pop {r4-r11, pc}
    end_function cmi_armv7em_fold_halves_31

#endif
