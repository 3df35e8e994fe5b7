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
root        .req r4
quotient    .req r5
q           .req r6
inverse     .req r7
even        .req r8
odd         .req r9
beside      .req r10
value       .req r11
multiple    .req r12
minus_two   .req lr

/*
 * value = a + part_a + (b + part_b) root modulo q, within 1.2 q of 2q; a part is a byte of `beside`. Two
 * quotients by q are subtracted, of the product and of a: each is rounded, and off by less than 0.6, for a
 * and b below 2^30.
 */
.macro fold_two a, part_a, b, part_b
    sxtab value, \b, beside, ror #8 * \part_b
    smmlar multiple, value, quotient, minus_two
    mla value, value, root, \a
    smmlar multiple, \a, inverse, multiple
    sxtab value, value, beside, ror #8 * \part_a
    mls value, multiple, q, value
.endm

.macro load_pair
    ldr even, [data], #4
    ldr odd, [data], #4
    ldr beside, [noise], #4
.endm

/* The residue of a pair that goes backward waits in value. */
.macro fold_pair
    fold_two even, 0, odd, 2
    str value, [forward], #4
    fold_two odd, 1, even, 3
.endm

.macro next_pair
    load_pair
    str value, [backward], #-4
    fold_pair
.endm

/*
 * void cmi_armv7em_fold_halves_31(uint32_t *forward, uint32_t *backward, const int32_t *data, const int8_t
 * *noise,
 *                        const cmi_fold_constants *constants)
 * From the first pair on until forward and backward meet: one pair less than a multiple of four. With m the
 * Montgomery form of a root below q/2, m / -q modulo 2^32 is 2^32 root / q to the nearest.
 */
    function cmi_armv7em_fold_halves_31
    push {r4-r11, lr}
    ldr value, [sp, #36]
    ldrd inverse, even, [value, #constants_one]
    ldrd q, odd, [value, #constants_q]
    mul inverse, inverse, odd
    mul quotient, even, odd
    asr root, even, #31
    smlal even, root, quotient, q
    mvn minus_two, #1
    load_pair
    fold_pair
    next_pair
    next_pair
    b 2f
    .balign 4
1:  next_pair
    next_pair
    next_pair
    next_pair
2:  sub even, backward, #4
    cmp forward, even
    bne 1b
    str value, [backward]
    pop {r4-r11, pc}
    end_function cmi_armv7em_fold_halves_31

#endif
