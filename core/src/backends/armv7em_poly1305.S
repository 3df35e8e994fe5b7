/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole blocks of Poly1305's polynomial for ARMv7E-M (wire/tag.c, absorb_block, has the bounds). A row is a
 * word of h + block times r's words, of which those that wrap around are 5/4 as large. What a row carries out
 * of its last word is below 2^29, and what four of them do, below 2^31.
 */
#include "backends/armv7em/function.inc"

#if CM_ARMV7EM

w1    .req r0 /* 5 floor(r_i / 4) */
w2    .req r1
w3    .req r2
m3    .req r3 /* r_i */
x0    .req r4
x1    .req r5
x2    .req r6
x3    .req r7
x4    .req r8
carry .req r9 /* between blocks, the next one */
s     .req r10
m0    .req r11
m1    .req r12
m2    .req lr

/* On the stack: h + block without its first word, then the next block and the end, then what was pushed. */
#define NEXT 12
#define END 16
#define LOCALS 24

    .macro wrapped w, m
    lsr     \w, \m, #2
    add     \w, \w, \w, lsl #2
    .endm

    .macro row j, y0, y1, y2, y3
    .if \j
    ldr     s, [sp, #4 * \j - 4]
    .endif
    mov     carry, #0
    umaal   x0, carry, s, \y0
    umaal   x1, carry, s, \y1
    umaal   x2, carry, s, \y2
    umaal   x3, carry, s, \y3
    add     x4, x4, carry
    .endm

/* void cmi_armv7em_poly1305_blocks(uint32_t h[5], const uint32_t r[4], const uint8_t *bytes, size_t blocks),
   for blocks > 0. */
    function cmi_armv7em_poly1305_blocks
    push    {r0, r4-r11, lr}
    sub     sp, sp, #LOCALS
    add     r3, r2, r3, lsl #4
    str     r3, [sp, #END]
    mov     carry, r2
    ldm     r0, {x0, x1, x2, x3, x4}
    mov     s, r1
    ldr     m0, [s]
    ldr     m1, [s, #4]
    ldr     m2, [s, #8]
    ldr     m3, [s, #12]
    wrapped w1, m1
    wrapped w2, m2
    wrapped w3, m3
1:  ldr     s, [carry], #4
    adds    x0, x0, s
    ldr     s, [carry], #4
    adcs    x1, x1, s
    ldr     s, [carry], #4
    adcs    x2, x2, s
    ldr     s, [carry], #4
    adcs    x3, x3, s
    adc     x4, x4, #1
    str     carry, [sp, #NEXT]
    stm     sp, {x1, x2, x3}
    mov     s, x0
    wrapped carry, m0
    mul     x0, x4, carry /* the last word is below 8, and these products are words */
    mul     x1, x4, w1
    mul     x2, x4, w2
    mul     x3, x4, w3
    and     carry, m0, #3
    mul     x4, x4, carry
    row     0, m0, m1, m2, m3
    row     1, w3, m0, m1, m2
    row     2, w2, w3, m0, m1
    row     3, w1, w2, w3, m0
    bic     s, x4, #3 /* five quarters of this */
    adds    s, s, x4, lsr #2
    and     x4, x4, #3
    adds    x0, x0, s
    adcs    x1, x1, #0
    adcs    x2, x2, #0
    adcs    x3, x3, #0
    adc     x4, x4, #0
    ldrd    carry, s, [sp, #NEXT]
    cmp     carry, s
    bne     1b
    ldr     s, [sp, #LOCALS]
    stm     s, {x0, x1, x2, x3, x4}
    mov     carry, #0
    mov     s, #0
    strd    carry, s, [sp] /* the last words are secret */
    strd    carry, s, [sp, #8]
    add     sp, sp, #LOCALS
    pop     {r0, r4-r11, pc}
    end_function cmi_armv7em_poly1305_blocks

#endif
