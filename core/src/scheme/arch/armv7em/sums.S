/*
 * Decryption's innermost loops for ARMv7E-M, four numbers at a time; decrypt.c and bfv_sums.c have the same in C. Nothing
 * but the count decides a branch.
 */
#include "ciphermote/config.h"

#if CM_ARMV7EM

    .syntax unified
    .arch armv7e-m
    .thumb

/* void cm_armv7em_take_off(uint32_t *tile, const uint32_t *residues, uint32_t count, uint32_t q): tile += q - residues */
    .section .text.cm_armv7em_take_off, "ax", %progbits
    .balign 4
    .global cm_armv7em_take_off
    .type cm_armv7em_take_off, %function
    .thumb_func
cm_armv7em_take_off:
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
    .size cm_armv7em_take_off, . - cm_armv7em_take_off

/*
 * void cm_armv7em_add_multiples(uint32_t *sums, const uint32_t *tile, uint32_t count, uint32_t high, int32_t low):
 * sums += tile high + tile low / 2^32, to the nearest
 */
    .section .text.cm_armv7em_add_multiples, "ax", %progbits
    .balign 4
    .global cm_armv7em_add_multiples
    .type cm_armv7em_add_multiples, %function
    .thumb_func
cm_armv7em_add_multiples:
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
    .size cm_armv7em_add_multiples, . - cm_armv7em_add_multiples

#endif
