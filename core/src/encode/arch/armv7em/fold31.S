/*
 * The 31-bit message and its noise, folded into a half, for ARMv7E-M; encode/fixed_fold.h has the same in C. No branch or
 * address depends on either.
 */
#include "ciphermote/config.h"

#if CM_ARMV7EM && CM_PRECISION_31 && CM_STORE_NOISE

    .syntax unified
    .thumb

data    .req r0
noise   .req r1
out     .req r2
last    .req r3
one     .req r4
minus_r .req r5
q       .req r6
neg_inv .req r7
even    .req r8
odd     .req r9
e       .req r10
low     .req r11
high    .req r12
term    .req lr

/*
 * (a + e_a) + (b + e_b) (-r), whose numbers are below 2^29 and a little: two products make less than q 2^30, so the
 * Montgomery reduction of the sum, with its sign, lies between -q/4 and 5q/4. Plus q.
 */
.macro fold a, turn_a, b, turn_b
    sxtab term, \a, e, ror #\turn_a
    smull low, high, term, one
    sxtab term, \b, e, ror #\turn_b
    smlal low, high, term, minus_r
    mul term, low, neg_inv
    umlal low, high, term, q
    add high, high, q
.endm

    .section .text.cm_fold_halves_31, "ax", %progbits
    .align 2
    .global cm_fold_halves_31
    .type cm_fold_halves_31, %function
/*
 * void cm_fold_halves_31(const int32_t *data, const int8_t *noise, uint32_t *out, uint32_t *last,
 *                        const uint32_t constants[4])
 * From i = 1 on, out upwards and last downwards, until they meet; constants are 1 and -r in Montgomery form, q, and -1/q.
 */
cm_fold_halves_31:
    push {r4-r11, lr}
    ldr r12, [sp, #36]
    ldm r12, {r4-r7}
1:
    ldr e, [noise], #4
    ldr even, [data], #4
    ldr odd, [data], #4
    fold even, 0, odd, 16
    str high, [out], #4
    fold odd, 8, even, 24
    str high, [last], #-4
    cmp out, last
    blo 1b
    pop {r4-r11, pc}
    .size cm_fold_halves_31, . - cm_fold_halves_31

#endif
