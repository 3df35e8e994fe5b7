/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The expansion of a public seed (random/sample.h) into residues of 26 bits, for AVR cores without a
 * multiplier: bit by bit, which takes little flash. Which fields are rejected is public, and so is the time
 * this takes.
 */
#include "backends/avr/function.inc"

#if CM_AVR && !CM_AVR_MUL

#define BITS 26

/* cmi_stream (random/xof.h): the block, the input, and how much of the block is used. */
#define BLOCK_BYTES 64
#define USED 112

#define q0 r10
#define q1 r11
#define q2 r12
#define q3 r13
#define pending r14 /* and r15 */
#define bits r18    /* left of the byte */
#define byte r19
#define count r20
#define left r21 /* of the field */
#define f0 r22
#define f1 r23
#define f2 r24
#define f3 r25

    .macro shift_in
    ror     f3
    ror     f2
    ror     f1
    ror     f0
    .endm

/* void cmi_avr_uniform_bitwise(uint8_t *residues, cmi_stream *stream, uint8_t count, uint32_t q,
   uint8_t pending[5]), for count > 0. */
    function cmi_avr_uniform_bitwise
    .irp n, 10, 11, 12, 13, 28, 29
    push    r\n
    .endr
    movw    r28, r24
    movw    q0, r16
    movw    q2, r18
    movw    r26, r22
    subi    r26, lo8(-USED)
    sbci    r27, hi8(-USED)
    movw    r30, pending
    ld      bits, Z
    ldd     byte, Z+1
.Lfield:
    ldi     left, BITS
.Lfield_bit:
    dec     bits
    brpl    3f
    ld      r30, X
    cpi     r30, BLOCK_BYTES
    brne    2f
    .irp n, 20, 21, 22, 23, 24, 25, 26, 27
    push    r\n
    .endr
    movw    r22, r26
    subi    r22, USED - BLOCK_BYTES
    sbci    r23, 0
    movw    r24, r22
    subi    r24, BLOCK_BYTES
    sbci    r25, 0
    ldi     r20, 1
    ldi     r21, 0
    call_to cmi_avr_chacha20_blocks
    .irp n, 27, 26, 25, 24, 23, 22, 21, 20
    pop     r\n
    .endr
    clr     r30
2:  mov     r0, r30
    inc     r30
    st      X, r30
    movw    r30, r26
    subi    r30, USED
    sbci    r31, 0
    add     r30, r0
    adc     r31, r1
    ld      byte, Z
    ldi     bits, 7
3:  lsr     byte
    shift_in
    dec     left
    brne    .Lfield_bit
    ldi     left, 32 - BITS
4:  lsr     f3
    ror     f2
    ror     f1
    ror     f0
    dec     left
    brne    4b
    cp      f0, q0
    cpc     f1, q1
    cpc     f2, q2
    cpc     f3, q3
    brcs    5f
    rjmp    .Lfield
5:
    st      Y+, f0
    st      Y+, f1
    st      Y+, f2
    st      Y+, f3
    dec     count
    breq    6f
    rjmp    .Lfield
6:  movw    r30, pending
    st      Z, bits
    std     Z+1, byte
    .irp n, 29, 28, 13, 12, 11, 10
    pop     r\n
    .endr
    ret
    end_function cmi_avr_uniform_bitwise

#endif
