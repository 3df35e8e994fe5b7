/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The expansion of a public seed (random/sample.h) into residues of 26 bits, for AVR cores without a
 * multiplier: byte by byte, which takes little flash. Which fields are rejected is public, and so is the time
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
#define bits r16    /* left of the last byte, which are its highest; an even number */
#define last r17
#define shift r18
#define count r20
#define left r21 /* bytes of the block, from X on */
#define f0 r22
#define f1 r23
#define f2 r24
#define f3 r25

/*
 * void cmi_avr_uniform_bytes(uint8_t *residues, cmi_stream *stream, uint8_t count, uint32_t q,
 * uint8_t pending[2]), for count > 0. pending: how many bits are left, and the byte that has them as its
 * highest.
 */
    function cmi_avr_uniform_bytes
    .irp n, 10, 11, 12, 13, 16, 17, 28, 29
    push    r\n
    .endr
    movw    r28, r24
    movw    q0, r16
    movw    q2, r18
    movw    r26, r22
    subi    r22, lo8(-USED)
    sbci    r23, hi8(-USED)
    movw    r30, r22
    ld      r0, Z
    add     r26, r0
    adc     r27, r1
    ldi     left, BLOCK_BYTES
    sub     left, r0
    movw    r30, pending
    ld      bits, Z
    ldd     last, Z+1
.Lfield: /* of the bits left, or of a whole byte, and of three more bytes */
    tst     bits
    brne    1f
    rcall   .Lbyte
    mov     last, r0
    ldi     bits, 8
1:  mov     f0, last
    rcall   .Lbyte
    mov     f1, r0
    rcall   .Lbyte
    mov     f2, r0
    rcall   .Lbyte
    mov     f3, r0
    mov     last, r0
    ldi     shift, 8
    sub     shift, bits
    breq    3f
2:  lsr     f3
    ror     f2
    ror     f1
    ror     f0
    dec     shift
    brne    2b
3:  andi    f3, (1 << (BITS - 24)) - 1
    subi    bits, BITS - 24
    cp      f0, q0
    cpc     f1, q1
    cpc     f2, q2
    cpc     f3, q3
    brcc    .Lfield
    st      Y+, f0
    st      Y+, f1
    st      Y+, f2
    st      Y+, f3
    dec     count
    brne    .Lfield
    movw    r30, pending
    st      Z, bits
    std     Z+1, last
    add     r26, left /* the block's end */
    adc     r27, r1
    movw    r30, r26
    ldi     shift, BLOCK_BYTES
    sub     shift, left
    std     Z+USED-BLOCK_BYTES, shift
    .irp n, 29, 28, 17, 16, 13, 12, 11, 10
    pop     r\n
    .endr
    ret
/* The next byte, in r0. */
.Lbyte:
    tst     left
    brne    4f
    .irp n, 20, 22, 23, 24, 25
    push    r\n
    .endr
    movw    r22, r26
    movw    r24, r26
    subi    r24, BLOCK_BYTES
    sbci    r25, 0
    push    r24
    push    r25
    ldi     r20, 1
    ldi     r21, 0
    call_to cmi_avr_chacha20_blocks
    pop     r27
    pop     r26
    .irp n, 25, 24, 23, 22, 20
    pop     r\n
    .endr
    ldi     left, BLOCK_BYTES
4:  dec     left
    ld      r0, X+
    ret
    end_function cmi_avr_uniform_bytes

#endif
