/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The expansion of a public seed on AVR (random/sample.h): fields of a string of bytes, of 26 bits at q =
 * 67043329, and of 20 bits. Which fields are rejected is public, and so is the time this takes.
 *
 * Of 26 bits, four fields are thirteen bytes. Between fields, 0, 6, 4 or 2 bits of the last byte are pending,
 * in their places within it.
 */
#include "backends/avr/function.inc"

#if CM_AVR

/* The field, its first byte first; the pending bits are in the byte before. */
#define f0 r18
#define f1 r19
#define f2 r22
#define f3 r23
#define pending r24
#define temporary r25
#define count r20

    .macro shift_right
    lsr     f3
    ror     f2
    ror     f1
    ror     f0
    .endm

/*
 * Three bytes after the pending bits; the upper bits of the last one, as masked by `left`, are pending from
 * then on.
 */
    .macro join left
    mov     f0, pending
    ld      f1, X+
    ld      f2, X+
    ld      f3, X+
    mov     pending, f3
    andi    pending, \left
    .endm

/*
 * Store the field, and drop it again if it is not below q = 0x03FF0001. After the last field, leave with the
 * number of pending bits.
 */
    .macro put bits
    andi    f3, 3
    st      Y+, f0
    st      Y+, f1
    st      Y+, f2
    st      Y+, f3
    cpi     f0, 0x01
    cpc     f1, r1
    ldi     temporary, 0xFF
    cpc     f2, temporary
    ldi     temporary, 0x03
    cpc     f3, temporary
    brcs    1f
    sbiw    r28, 4
1:  dec     count
    ldi     temporary, \bits
    brne    2f
    rjmp    .Lend
2:
    .endm

/*
 * uint32_t *cmi_avr_uniform_26(uint32_t *next, const uint8_t *bytes, uint8_t count, uint8_t pending[2])
 * Puts those of count > 0 fields that are below q to next, and returns where the next one goes. pending: the
 * bits, and how many.
 */
    function cmi_avr_uniform_26
    push    r28
    push    r29
    movw    r28, r24
    movw    r26, r22
    movw    r30, r18
    ld      pending, Z
    ldd     temporary, Z+1
    cpi     temporary, 2
    brne    3f
    rjmp    .Ltwo
3:  cpi     temporary, 4
    brne    3f
    rjmp    .Lfour
3:  cpi     temporary, 6
    brne    3f
    rjmp    .Lsix
3:
.Lnone:
    ld      f0, X+
    ld      f1, X+
    ld      f2, X+
    ld      f3, X+
    mov     pending, f3
    andi    pending, 0xFC
    put     6
.Lsix:
    join    0xF0
    shift_right
    shift_right
    put     4
.Lfour:
    join    0xC0
    shift_right
    shift_right
    shift_right
    shift_right
    put     2
.Ltwo:
    mov     temporary, pending
    ld      f0, X+
    ld      f1, X+
    ld      f2, X+
    clr     f3
    .rept 2
    lsl     temporary
    rol     f0
    rol     f1
    rol     f2
    rol     f3
    .endr
    clr     pending
    put     0
    rjmp    .Lnone
.Lend:
    st      Z, pending
    std     Z+1, temporary
    movw    r24, r28
    pop     r29
    pop     r28
    ret
    end_function cmi_avr_uniform_26

#undef f0
#undef f1
#undef f2
#undef f3
#undef pending
#undef temporary
#undef count

/* Two fields of 20 bits are five bytes, b0 to b4; the halves of b2 belong to one each. */
#define b0 r18
#define b1 r19
#define b2 r20
#define b3 r21
#define b4 r22
#define first_top r23
#define count r24
#define left r25 /* bytes of the stream's block, from X on */
#define q0 r30
#define q1 r31
#define q2 r16
#define temporary r17

#include "backends/avr/pairs.inc"

/* cmi_stream (random/xof.h): the block, the input, and how much of the block is used. */
#define BLOCK_BYTES 64
#define USED 112

/* Store a field if it is below q; after the last one, leave. */
    .macro keep x0, x1, x2, leave
    cp      \x0, q0
    cpc     \x1, q1
    cpc     \x2, q2
    brcc    1f
    st      Y+, \x0
    st      Y+, \x1
    st      Y+, \x2
    dec     count
    breq    \leave
1:
    .endm

/*
 * void cmi_avr_uniform_20(uint8_t *next, cmi_stream *stream, uint8_t count, uint32_t q, uint8_t pending[5])
 * The next count > 0 fields that are below q, in three bytes each. pending: how many bits, 0 or 20, and the
 * bits.
 */
    function cmi_avr_uniform_20
    push    r16
    push    r17
    push    r28
    push    r29
    movw    r28, r24
    movw    r26, r22
    mov     count, r20
    subi    r26, lo8(-USED)
    sbci    r27, hi8(-USED)
    ld      left, X
    subi    r26, lo8(USED)
    sbci    r27, hi8(USED)
    add     r26, left
    adc     r27, r1
    neg     left
    subi    left, -BLOCK_BYTES
    movw    r30, r14
    ld      first_top, Z
    ldd     b2, Z+1
    ldd     b3, Z+2
    ldd     b4, Z+3
    st      Z, r1
    movw    q0, r16
    mov     q2, r18
    cpse    first_top, r1
    rjmp    .Lsecond
.Lpair:
    subi    left, 5
    brcs    .Lbytes
    load_pair
.Lfirst:
    split_pair
    keep    b0, b1, first_top, .Lhalf
.Lsecond:
    keep    b2, b3, b4, .Lenough
    rjmp    .Lpair
.Lbytes: /* of two blocks */
    subi    left, -5
    .irp byte, b0, b1, b2, b3, b4
    rcall   .Lbyte
    mov     \byte, temporary
    .endr
    rjmp    .Lfirst
.Lhalf:
    movw    r30, r14
    ldi     temporary, 20
    st      Z, temporary
    std     Z+1, b2
    std     Z+2, b3
    std     Z+3, b4
    std     Z+4, r1
.Lenough:
    add     r26, left
    adc     r27, r1
    adiw    r26, USED - BLOCK_BYTES
    ldi     temporary, BLOCK_BYTES
    sub     temporary, left
    st      X, temporary
    pop     r29
    pop     r28
    pop     r17
    pop     r16
    ret
.Lbyte:
    tst     left
    brne    2f
    .irp n, 18, 19, 20, 21, 24, 30, 31
    push    r\n
    .endr
    movw    r22, r26
    movw    r24, r26
    sbiw    r24, BLOCK_BYTES / 2
    sbiw    r24, BLOCK_BYTES / 2
    push    r24
    push    r25
    ldi     r20, 1
    ldi     r21, 0
    call_to cmi_avr_chacha20_blocks
    pop     r27
    pop     r26
    .irp n, 31, 30, 24, 21, 20, 19, 18
    pop     r\n
    .endr
    ldi     left, BLOCK_BYTES
2:  dec     left
    ld      temporary, X+
    ret
    end_function cmi_avr_uniform_20

#endif
