/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A level of the forward NTT on ARMv6-M, whose multiplication has no upper word. A quotient comes from three
 * products of half words, as in backends/word32/products.h; word32_ring.c says why the values fit.
 * Every address and every branch follows from the number of points alone.
 */
#include "common/names.h"

#if defined(__linux__) && defined(__ELF__)
    .section .note.GNU-stack, "", %progbits
#endif

#if CM_ARMV6M && CM_CONFIG_NTT_ROOTS

    .syntax unified
    .thumb

/* The fields of word32_level in backends/word32_ring.c. */
#define LEVEL_A 0
#define LEVEL_END 4
#define LEVEL_ROOTS 8
#define LEVEL_HALF 12
#define LEVEL_Q 16

/*
 * r0, r1: the next coefficients of a block's halves; r5, r6: the root's quotient, upper and lower half; r8:
 * the root; r9: q; r10: where the lower half ends; r11: the next root; r12: the end; lr: bytes of half a
 * block.
 */
    .section .text.cmi_armv6m_ntt_level, "ax", %progbits
    .balign 4
    .global cmi_armv6m_ntt_level
    .hidden cmi_armv6m_ntt_level
    .type cmi_armv6m_ntt_level, %function
    .thumb_func
cmi_armv6m_ntt_level:
    push    {r4-r7, lr}
    mov     r4, r8
    mov     r5, r9
    mov     r6, r10
    mov     r7, r11
    push    {r4-r7}
    ldr     r1, [r0, #LEVEL_END]
    mov     r12, r1
    ldr     r1, [r0, #LEVEL_ROOTS]
    mov     r11, r1
    ldr     r1, [r0, #LEVEL_HALF]
    mov     lr, r1
    ldr     r1, [r0, #LEVEL_Q]
    mov     r9, r1
    ldr     r0, [r0, #LEVEL_A]

1:  mov     r7, r11
    ldmia   r7!, {r3, r5}
    mov     r11, r7
    mov     r8, r3
    uxth    r6, r5
    asrs    r5, r5, #16
    mov     r1, r0
    add     r1, r1, lr
    mov     r10, r1

2:  ldr     r2, [r1]
    asrs    r3, r2, #16
    uxth    r4, r2
    muls    r4, r5
    movs    r7, r3
    muls    r7, r6
    muls    r3, r5
    asrs    r4, r4, #1
    asrs    r7, r7, #1
    adds    r4, r4, r7
    asrs    r4, r4, #15
    adds    r3, r3, r4
    adds    r3, #1
    mov     r7, r8
    muls    r2, r7
    mov     r7, r9
    muls    r3, r7
    subs    r2, r2, r3
    ldr     r3, [r0]
    subs    r4, r3, r2
    adds    r3, r3, r2
    stmia   r0!, {r3}
    stmia   r1!, {r4}
    cmp     r0, r10
    bne     2b

    mov     r0, r1
    cmp     r0, r12
    bne     1b
    pop     {r4-r7}
    mov     r8, r4
    mov     r9, r5
    mov     r10, r6
    mov     r11, r7
    pop     {r4-r7, pc}
    .size cmi_armv6m_ntt_level, . - cmi_armv6m_ntt_level

#endif
