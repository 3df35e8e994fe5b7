/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decryption's innermost loops for ARMv7E-M, four numbers at a time; decryption.c and bfv_sums.c have the
 * same in C. Branches depend on the count alone.
 */
#include "backends/armv7em/function.inc"

#if CM_ARMV7EM

/* void cmi_armv7em_take_off(uint32_t *tile, const uint32_t *residues, uint32_t count, uint32_t q): tile += q
   - residues */
    function cmi_armv7em_take_off
    push    {r4-r11, lr}
    .balign 4
1:  ldm     r1!, {r4-r7}
    ldm     r0, {r8-r11}
    sub     r8, r8, r4
    sub     r9, r9, r5
    sub     r10, r10, r6
    sub     r11, r11, r7
    add     r8, r8, r3
    add     r9, r9, r3
    add     r10, r10, r3
    add     r11, r11, r3
    subs    r2, r2, #4
    stm     r0!, {r8-r11}
    bne     1b
    pop     {r4-r11, pc}
    end_function cmi_armv7em_take_off

/*
 * void cmi_armv7em_add_multiples(uint32_t *sums, const uint32_t *tile, uint32_t count, uint32_t high, int32_t
 * low): sums += tile high + tile low / 2^32, to the nearest
 */
    function cmi_armv7em_add_multiples
    push    {r4-r11, lr}
    ldr     r12, [sp, #36]
    .balign 4
1:  ldm     r1!, {r4-r7}
    ldm     r0, {r8-r11}
    mla     r8, r4, r3, r8
    mla     r9, r5, r3, r9
    mla     r10, r6, r3, r10
    mla     r11, r7, r3, r11
    smmlar  r8, r4, r12, r8
    smmlar  r9, r5, r12, r9
    smmlar  r10, r6, r12, r10
    smmlar  r11, r7, r12, r11
    subs    r2, r2, #4
    stm     r0!, {r8-r11}
    bne     1b
    pop     {r4-r11, pc}
    end_function cmi_armv7em_add_multiples

/*
 * void cmi_armv7em_round(uint32_t *sums, uint32_t count, uint32_t t): sums t / 2^32, signed and to the
 * nearest, then t more if that is negative
 */
    function cmi_armv7em_round
    push    {r4-r11, lr}
    .balign 4
1:  ldm     r0, {r4-r7}
    smmulr  r4, r4, r2
    smmulr  r5, r5, r2
    smmulr  r6, r6, r2
    smmulr  r7, r7, r2
    and     r8, r2, r4, asr #31
    and     r9, r2, r5, asr #31
    and     r10, r2, r6, asr #31
    and     r11, r2, r7, asr #31
    add     r4, r4, r8
    add     r5, r5, r9
    add     r6, r6, r10
    add     r7, r7, r11
    subs    r1, r1, #4
    stm     r0!, {r4-r7}
    bne     1b
    pop     {r4-r11, pc}
    end_function cmi_armv7em_round

#endif
