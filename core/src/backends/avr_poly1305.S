/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks of Poly1305's polynomial on AVR (wire/tag.c, absorb_block). Branches and addresses depend on the
 * number of blocks alone.
 */
#include "backends/avr/function.inc"

#if CM_AVR_MUL

/*
 * h + block is in registers, and multiplied column by column, in pairs of columns that share what they load.
 * Byte i of it, of the word i / 4, meets r's bytes in that word's places; words that reach 2^128 wrap around
 * as 5 floor(r_j / 4). In the table, these come before r itself, so that column k takes byte i times entry
 * 16 + k - i, without those that would reach below the first word, and with those that reach beyond the last.
 *
 * Bounds. The top bytes of r's words are below 2^4, and of the others below 20: five products with them and a
 * carry are below 2^16, so these are added up first, and in two bytes. A column is below 17 2^16 and a carry,
 * which is below 2^13. What is left from 2^128 on is below 2^31, and five quarters of it are added together
 * with the next block.
 */
#define S0 2 /* the first register of h + block */
#define top r18
#define a2 r19
#define a0 r20
#define a1 r21
#define b0 r22
#define b1 r23
#define b2 r24
#define y r25
#define zero r26
#define left r27
#define f0 r20 /* five quarters, between blocks */
#define f1 r21
#define f2 r22
#define f3 r23

/* On the stack, from Y on: the table, then the next block and what came as arguments. */
#define TABLE 1
#define NEXT 33
#define BLOCKS 35
#define TOP 37
#define HASH 38
#define LOCALS 39

/* The stack pointer, as input and output registers. */
#define STACK_LOW 0x3D
#define STACK_HIGH 0x3E

/* Sums of the columns 4 g to 4 g + 3 for g = 0, for g = 1 to 3, and for g = 4. */
#define FIRST 0
#define MIDDLE 1
#define LAST 2
#define TAKES(kind, c, i) \
    (((i) >= 0) & ((i) <= 16) & (((kind) == MIDDLE) | (((kind) == FIRST) & (((i) & 3) <= (c))) | \
                                 (((kind) == LAST) & (((i) & 3) > (c)))))

/* A column += byte i times y. */
    .macro add_product i, x0, x1, x2, short
    mul     (S0 + (\i)), y
    add     \x0, r0
    adc     \x1, r1
    .if !\short
    adc     \x2, zero
    .endif
    .endm

/* Add the products of columns c and c + 1 of a group to a and b, of which a begins with what was carried. */
    .macro add_columns kind, c
    clr     a2
    clr     b2
    .set fresh, 1
    .irp short, 1, 0
    .set at, \c
    .rept 18
    .set i, 16 + \c - at
    .if (((at & 3) == 3) == -\short) & (TAKES(\kind, \c, i) | TAKES(\kind, \c + 1, i + 1))
    ldd     y, Y+TABLE+at
    .if TAKES(\kind, \c, i)
    add_product i, a0, a1, a2, \short
    .endif
    .if TAKES(\kind, \c + 1, i + 1)
    .if fresh
    .set fresh, 0
    mul     (S0 + i + 1), y
    movw    b0, r0
    .else
    add_product i + 1, b0, b1, b2, \short
    .endif
    .endif
    .endif
    .set at, at + 1
    .endr
    .endr
    .endm

/* a's upper bytes to b, and b's to a. */
    .macro carry_on
    add     b0, a1
    adc     b1, a2
    adc     b2, zero
    mov     a0, b1
    mov     a1, b2
    .endm

    .macro put_columns kind, c
    add_columns \kind, \c
    st      Z+, a0
    carry_on
    st      Z+, b0
    .endm

/* void cmi_avr_poly1305_blocks(uint32_t h[5], const uint32_t r[4], const uint8_t *bytes, size_t blocks,
   uint8_t top), for blocks > 0. */
    function cmi_avr_poly1305_blocks
    save_registers
    movw    r30, r24
    ldd     r26, Z+16
    push    r25
    push    r24
    push    r16
    push    r19
    push    r18
    push    r21
    push    r20
    movw    r30, r22
    adiw    r30, 16
    ldi     left, 16
1:  ld      r0, -Z
    push    r0
    dec     left
    brne    1b
    adiw    r30, 16
    mov     top, r26
    ldi     left, 4
2:  ld      r23, -Z
    ld      r22, -Z
    ld      r21, -Z
    ld      r20, -Z
    .rept 2
    lsr     r23
    ror     r22
    ror     r21
    ror     r20
    .endr
    movw    r2, r20
    movw    r4, r22
    .rept 2
    lsl     r20
    rol     r21
    rol     r22
    rol     r23
    .endr
    add     r2, r20
    adc     r3, r21
    adc     r4, r22
    adc     r5, r23
    push    r5
    push    r4
    push    r3
    push    r2
    dec     left
    brne    2b
    in      r28, STACK_LOW
    in      r29, STACK_HIGH
    movw    f0, r0
    clr     f0
    clr     f1
    movw    f2, f0
.Lblock:
    ldd     r26, Y+NEXT
    ldd     r27, Y+NEXT+1
    ldd     r24, Y+TOP
    ldd     r30, Y+HASH
    ldd     r31, Y+HASH+1
    clc
    .set i, 0
    .rept 16
    ldd     (S0 + i), Z+i
    ld      y, X+
    adc     (S0 + i), y
    .set i, i + 1
    .endr
    std     Y+NEXT, r26
    std     Y+NEXT+1, r27
    clr     zero
    adc     top, r24
    add     r2, f0
    adc     r3, f1
    adc     r4, f2
    adc     r5, f3
    .irp n, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17
    adc     r\n, zero
    .endr
    adc     top, zero
    clr     a0
    clr     a1
    put_columns FIRST, 0
    put_columns FIRST, 2
    ldi     left, 3
3:  adiw    r28, 4
    put_columns MIDDLE, 0
    put_columns MIDDLE, 2
    dec     left
    breq    4f
    rjmp    3b
4:  adiw    r28, 4
    add_columns LAST, 0
    mov     r2, a0
    carry_on
    mov     r3, b0
    add_columns LAST, 2
    ldd     y, Y+TABLE
    sbiw    r28, 16
    andi    y, 3
    mul     top, y
    movw    b0, a0
    movw    a0, r2
    add     f0, r0
    adc     f1, r1
    adc     f2, zero
    adc     f3, zero
    mov     top, f0
    andi    top, 3
    andi    f0, 0xFC
    movw    r2, f0
    movw    r4, f2
    .rept 2
    lsr     r5
    ror     r4
    ror     r3
    ror     r2
    .endr
    add     f0, r2
    adc     f1, r3
    adc     f2, r4
    adc     f3, r5
    ldd     r30, Y+BLOCKS
    ldd     r31, Y+BLOCKS+1
    sbiw    r30, 1
    std     Y+BLOCKS, r30
    std     Y+BLOCKS+1, r31
    breq    5f
    rjmp    .Lblock
5:  ldd     r30, Y+HASH
    ldd     r31, Y+HASH+1
    clc
    .irp byte, f0, f1, f2, f3, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero
    ld      r0, Z
    adc     r0, \byte
    st      Z+, r0
    .endr
    adc     top, zero
    st      Z, top
    ldi     left, 32
6:  pop     r0
    in      r30, STACK_LOW
    in      r31, STACK_HIGH
    st      Z, zero
    dec     left
    brne    6b
    .rept LOCALS - 32
    pop     r0
    .endr
    return_registers
    end_function cmi_avr_poly1305_blocks

#endif
