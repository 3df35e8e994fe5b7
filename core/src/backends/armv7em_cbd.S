/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Centred binomial noise for ARMv7E-M: 32 coefficients from 42 words of key stream, by the same full adders
 * and transposition as sample.c, whose comments explain them.
 *
 * The only branch counts words. The words, which are secret, are cleared.
 */
#include "backends/armv7em/function.inc"

#if CM_ARMV7EM

/* A full adder: adds a and b to sum, and leaves the carry in a; spoils b and t. */
.macro add_words sum, a, b, t
    eor \t, \a, \b
    and \a, \a, \b
    and \b, \t, \sum
    eor \sum, \sum, \t
    orr \a, \a, \b
.endm

/* The same with the complements of a and b. */
.macro add_complements sum, a, b, t
    eor \t, \a, \b
    orr \a, \a, \b
    and \b, \t, \sum
    eor \sum, \sum, \t
    orn \a, \b, \a
.endm

/* Exchange the bits of b under mask with those of a that are higher by shift. */
.macro exchange a, b, shift, mask
    eor lr, \b, \a, lsr #\shift
    and lr, lr, #\mask
    eor \b, \b, lr
    eor \a, \a, lr, lsl #\shift
.endm

/* Four coefficients that are 21 too large: subtract 21, with 128 added meanwhile so that none borrows. */
.macro store_four word, offset
    add \word, \word, #0x6B6B6B6B
    eor \word, \word, #0x80808080
    str \word, [r0, #\offset]
.endm

/*
 * Transpose the bytes of four rows into words of neighbouring coefficients, which are stored 8 bytes apart.
 */
.macro store_rows a, b, c, d, offset
    pkhbt r11, \a, \c, lsl #16
    pkhtb \c, \c, \a, asr #16
    pkhbt r12, \b, \d, lsl #16
    pkhtb \d, \d, \b, asr #16
    exchange r11, r12, 8, 0x00FF00FF
    store_four r11, \offset
    store_four r12, \offset + 8
    exchange \c, \d, 8, 0x00FF00FF
    store_four \c, \offset + 16
    store_four \d, \offset + 24
.endm

/*
 * void cmi_armv7em_cbd(uint8_t noise[32], uint32_t words[42])
 * noise need not be aligned.
 */
    function cmi_armv7em_cbd
    push {r0, r1, r4-r11, lr}

    /* r3 to r8 count: ones, twos, fours ...; word 0 of each half comes first. */
    add r2, r1, #84
    mov r0, r2
    ldr r9, [r1], #4
    ldr r10, [r2], #4
    eor r3, r9, r10
    mvn r3, r3
    bic r4, r9, r10
    mov r5, #0
    mov r6, #0
    mov r7, #0
    mov r8, #0

    /* Four words of each half. */
    .balign 4
.Lnext_words:
    ldm r1!, {r9-r12}
    add_words r3, r9, r10, lr
    add_words r3, r11, r12, lr
    add_words r4, r9, r11, lr
    ldrd r10, r11, [r2], #8
    add_complements r3, r10, r11, lr
    ldrd r11, r12, [r2], #8
    add_complements r3, r11, r12, lr
    add_words r4, r10, r11, lr
    add_words r5, r9, r10, lr
    and r10, r6, r9
    eor r6, r6, r9
    and r11, r7, r10
    eor r7, r7, r10
    eor r8, r8, r11
    cmp r1, r0
    bne .Lnext_words

    /* Transpose; rows 6 and 7 are zero at first. */
    exchange r3, r7, 4, 0x0F0F0F0F
    exchange r4, r8, 4, 0x0F0F0F0F
    and r9, r5, #0xF0F0F0F0
    lsr r9, r9, #4
    and r5, r5, #0x0F0F0F0F
    and r10, r6, #0xF0F0F0F0
    lsr r10, r10, #4
    and r6, r6, #0x0F0F0F0F
    exchange r3, r5, 2, 0x33333333
    exchange r4, r6, 2, 0x33333333
    exchange r7, r9, 2, 0x33333333
    exchange r8, r10, 2, 0x33333333
    exchange r3, r4, 1, 0x55555555
    exchange r5, r6, 1, 0x55555555
    exchange r7, r8, 1, 0x55555555
    exchange r9, r10, 1, 0x55555555

    pop {r0, r1}
    store_rows r3, r4, r5, r6, 0
    store_rows r7, r8, r9, r10, 4

    mov r2, #0
    mov r3, #0
    mov r4, #0
    mov r5, #0
    mov r6, #0
    mov r7, #0
    mov r8, #0
    .rept 6
    stm r1!, {r2-r8}
    .endr
    pop {r4-r11, pc}
    end_function cmi_armv7em_cbd

#endif
