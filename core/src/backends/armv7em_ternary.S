/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The compact lane's sums for ARMv7E-M: products of 16 residues and of trits, four sums at a time. From one
 * residue to the next, the trits of the four sums move on by one: only the first sum's is loaded.
 */
#include "backends/armv7em/function.inc"

#if CM_ARMV7EM

sums  .req r0
from  .req r2
trits .req r3
sum0  .req r4
sum1  .req r5
sum2  .req r6
sum3  .req r7

/* sums += a residue's products with the trits of the four sums. */
    .macro add_products residue, t0, t1, t2, t3
    mla     sum0, \residue, \t0, sum0
    mla     sum1, \residue, \t1, sum1
    mla     sum2, \residue, \t2, sum2
    mla     sum3, \residue, \t3, sum3
    .endm

/*
 * Two residues: `next` and `after` get the first sum's trits for them, the others hold those of the second to
 * the fourth sum for the first one. Loads follow each other, which is faster.
 */
    .macro add_two next, after, second, third, fourth
    ldr     r8, [from], #4
    ldr     r9, [from], #4
    ldrsb   \next, [trits], #-1
    ldrsb   \after, [trits], #-1
    add_products r8, \next, \second, \third, \fourth
    add_products r9, \after, \next, \second, \third
    .endm

/* void cmi_armv7em_ternary_products_16(uint32_t *sums, const uint32_t *end, const uint32_t *residues, const
   int8_t *trits), for a positive number of fours of sums. */
    function cmi_armv7em_ternary_products_16
    push    {r1, r4-r11, lr}
    add     trits, trits, #15
1:  ldm     sums, {sum0, sum1, sum2, sum3}
    ldrsb   r11, [trits, #1]
    ldrsb   r12, [trits, #2]
    ldrsb   lr, [trits, #3]
    add_two r10, r1, r11, r12, lr
    add_two r12, lr, r1, r10, r11
    add_two r10, r11, lr, r12, r1
    add_two r12, r1, r11, r10, lr
    add_two r10, lr, r1, r12, r11
    add_two r12, r11, lr, r10, r1
    add_two r10, r1, r11, r12, lr
    add_two r12, lr, r1, r10, r11
    stm     sums!, {sum0, sum1, sum2, sum3}
    ldr     r1, [sp]
    sub     from, from, #64
    add     trits, trits, #20
    cmp     sums, r1
    bne     1b
    pop     {r1, r4-r11, pc}
    end_function cmi_armv7em_ternary_products_16

#endif
