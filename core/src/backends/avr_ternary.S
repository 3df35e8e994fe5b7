/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The compact lane's sums on AVR: terms of 32 residues below 2^20, in three bytes each, times coefficients of
 * -s (scheme/compact.c; backends/avr_compact.c). Branches and addresses depend on nothing but places and
 * lengths.
 *
 * The window has the coefficients that a block of residues needs, four in a byte, as codes: 0, 1 and 2 for
 * -1, 0 and 1. From one residue down to the next, each sum's coefficient moves up by one.
 */
#include "backends/avr/function.inc"

#if CM_AVR

#if CM_AVR_MUL
#define RESIDUES 32
#else
#define RESIDUES 8
#endif
/* As in arch/avr.h. */
#if !CM_AVR_MUL && CM_PRIME_BITS == 26
#define RESIDUE_BYTES 4
#else
#define RESIDUE_BYTES 3
#endif
#define RESIDUES_BYTES (RESIDUE_BYTES * RESIDUES)

/*
 * void cmi_avr_ternary_window(uint8_t *window, const uint8_t *ternary, uint16_t ternary_bytes, int16_t from,
 * uint8_t bytes)
 * A window from coefficient `from` on, which is at least -n. Of s as it is stored, a code c becomes 2 - c for
 * -s, at indices from 0 on; below, s continues with the opposite sign.
 */
#define before r18
#define offset r19
#define inverted r25
#define fives r24
#define code r22
#define shift r23

    .macro take_codes
    lpm     code, Z+
    eor     code, inverted
    sub     code, fives
    cp      r30, r20
    cpc     r31, r21
    brne    1f
    movw    r30, r28
    ldi     inverted, 0xFF
    ldi     fives, 0x55
1:
    .endm

    function cmi_avr_ternary_window
    push    r16
    push    r28
    push    r29
    movw    r26, r24
    movw    r28, r22
    movw    r30, r18
    add     r20, r22 /* the end */
    adc     r21, r23
    ldi     inverted, 0xFF
    ldi     fives, 0x55
    tst     r31
    brpl    2f
    clr     inverted
    clr     fives
    movw    r22, r20
2:  mov     offset, r30
    andi    offset, 3
    asr     r31
    ror     r30
    asr     r31
    ror     r30
    add     r30, r22
    adc     r31, r23
    clr     before
#if CM_AVR_MUL
    /* Bytes times 2^(8 - 2 offset) are shifted. With an offset of 0, the last one's lower half is all. */
    ldi     shift, 1
    tst     offset
    breq    4f
    ldi     shift, 64
    cpi     offset, 1
    breq    3f
    ldi     shift, 16
    cpi     offset, 2
    breq    3f
    ldi     shift, 4
3:  take_codes
    mul     code, shift
    mov     before, r1
4:  take_codes
    mul     code, shift
    or      r0, before
    st      X+, r0
    mov     before, r1
    dec     r16
    brne    4b
    clr     r1
#else
    take_codes
4:  mov     before, code
    take_codes
    mov     r0, code
    mov     shift, offset
    rjmp    6f
5:  lsr     r0
    ror     before
    lsr     r0
    ror     before
6:  dec     shift
    brpl    5b
    st      X+, before
    dec     r16
    brne    4b
#endif
    pop     r29
    pop     r28
    pop     r16
    ret
    end_function cmi_avr_ternary_window

#undef before
#undef offset
#undef inverted
#undef fives
#undef code
#undef shift

#if CM_AVR_MUL

/* A residue, and the window's current byte. */
#define a0 r16
#define a1 r17
#define a2 r18
#define codes r23

    .macro load_residue at
    ldd     a0, Y+\at
    ldd     a1, Y+\at+1
    ldd     a2, Y+\at+2
    .endm

/* The coefficient of the lowest two bits. */
    .macro take coefficient
    mov     \coefficient, codes
    andi    \coefficient, 3
    dec     \coefficient
    .endm

    .macro take_next coefficient
    lsr     codes
    lsr     codes
    take    \coefficient
    .endm

/* The coefficients of four sums. */
#define d0 r19
#define d1 r20
#define d2 r21
#define d3 r22

/*
 * A sum is kept as l + 2^8 h, both signed, of two bytes each. Of 32 terms, l is at most 32 255 in magnitude;
 * of eight, h is at most 8 (2^12 - 1), and added to the sum in memory. 11 cycles.
 */
    .macro add_product d, l0, l1, h0, h1
    mulsu   \d, a0
    add     \l0, r0
    adc     \l1, r1
    mulsu   \d, a1
    add     \h0, r0
    adc     \h1, r1
    mul     \d, a2
    add     \h1, r0
    .endm

    .macro add_products at, x0, x1, x2, x3
    load_residue \at
    add_product \x0, r2, r3, r4, r5
    add_product \x1, r6, r7, r8, r9
    add_product \x2, r10, r11, r12, r13
    add_product \x3, r14, r15, r24, r25
    .endm

/* sign = 255 if the number that ends in top is negative, else 0 */
    .macro sign_of top, sign=r0
    mov     \sign, \top
    lsl     \sign
    sbc     \sign, \sign
    .endm

    .macro add_byte operation, at, byte
    ldd     a0, Z+\at
    \operation a0, \byte
    std     Z+\at, a0
    .endm

/* Add the upper part to the sum at Z, and start it again. 20 cycles. */
    .macro put_high at, h0, h1
    sign_of \h1
    add_byte add, \at+1, \h0
    add_byte adc, \at+2, \h1
    add_byte adc, \at+3, r0
    clr     \h0
    clr     \h1
    .endm

/* The same with both parts. 33 cycles. */
    .macro put_sum at, l0, l1, h0, h1
    sign_of \l1
    sign_of \h1, r1
    add     \l1, \h0
    adc     \h1, r0
    adc     r1, r0
    add_byte add, \at, \l0
    add_byte adc, \at+1, \l1
    add_byte adc, \at+2, \h1
    add_byte adc, \at+3, r1
    clr     \l0
    clr     \l1
    clr     \h0
    clr     \h1
    .endm

/* void cmi_avr_ternary_fours(uint32_t *sums, const uint8_t residues[96], const uint8_t *window, uint8_t
   fours), for fours > 0. */
    function cmi_avr_ternary_fours
    save_registers
    movw    r30, r24
    movw    r28, r22
    movw    r26, r20
    mov     codes, r18
    .irp n, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25
    clr     r\n
    .endr
.Lfour:
    adiw    r28, RESIDUES_BYTES / 2
    adiw    r28, RESIDUES_BYTES / 2
    push    codes
    ld      codes, X+
    take    d0
    take_next d1
    take_next d2
    .rept RESIDUES / 8 - 1
    rcall   .Leight
    rcall   .Lput_high
    .endr
    rcall   .Leight
    put_sum 0, r2, r3, r4, r5
    put_sum 4, r6, r7, r8, r9
    put_sum 8, r10, r11, r12, r13
    put_sum 12, r14, r15, r24, r25
    adiw    r30, 16
    sbiw    r26, RESIDUES / 4
    pop     codes
    dec     codes
    breq    1f
    rjmp    .Lfour
1:  return_registers
.Leight:
    clt
2:  sbiw    r28, 12
    lsr     codes
    lsr     codes
    mov     d3, codes
    dec     d3
    add_products 9, d0, d1, d2, d3
    ld      codes, X+
    take    d0
    add_products 6, d1, d2, d3, d0
    take_next d1
    add_products 3, d2, d3, d0, d1
    take_next d2
    add_products 0, d3, d0, d1, d2
    brts    3f
    set
    rjmp    2b
3:  ret
.Lput_high:
    put_high 0, r4, r5
    put_high 4, r8, r9
    put_high 8, r12, r13
    put_high 12, r24, r25
    ret
    end_function cmi_avr_ternary_fours

#undef d0
#undef d1
#undef d2
#undef d3

/*
 * void cmi_avr_ternary_one(uint32_t *sum, const uint8_t residues[96], const uint8_t *window)
 * The sum is kept as l + 2^8 m + 2^16 h, signed, of two bytes each: of 32 terms, each is at most 32 255 in
 * magnitude.
 */
#define d r19
#define h0 r20
#define h1 r21
#define left r22
#define l0 r24
#define l1 r25
#define m0 r30
#define m1 r31

/* l + 2^8 m + 2^16 h: the lower byte of m goes to l, the upper one to h. */
    .macro join_parts l1, m0, m1, h0, h1
    sign_of \l1
    add     \l1, \m0
    adc     \h0, r0
    adc     \h1, r0
    sign_of \m1
    add     \h0, \m1
    adc     \h1, r0
    .endm

    .macro add_term at
    load_residue \at
    mulsu   d, a0
    add     l0, r0
    adc     l1, r1
    mulsu   d, a1
    add     m0, r0
    adc     m1, r1
    mulsu   d, a2
    add     h0, r0
    adc     h1, r1
    .endm

    function cmi_avr_ternary_one
    push    r16
    push    r17
    push    r28
    push    r29
    push    r24
    push    r25
    movw    r28, r22
    movw    r26, r20
    adiw    r28, RESIDUES_BYTES / 2
    adiw    r28, RESIDUES_BYTES / 2
    clr     l0
    clr     l1
    movw    m0, l0
    movw    h0, l0
    ldi     left, RESIDUES / 4
1:  sbiw    r28, 12
    ld      codes, X+
    take    d
    add_term 9
    take_next d
    add_term 6
    take_next d
    add_term 3
    lsr     codes
    lsr     codes
    mov     d, codes
    dec     d
    add_term 0
    dec     left
    breq    2f
    rjmp    1b
2:  join_parts l1, m0, m1, h0, h1
    pop     r31
    pop     r30
    add_byte add, 0, l0
    add_byte adc, 1, l1
    add_byte adc, 2, h0
    add_byte adc, 3, h1
    clr     r1
    pop     r29
    pop     r28
    pop     r17
    pop     r16
    ret
    end_function cmi_avr_ternary_one

#undef d
#undef h0
#undef h1
#undef left
#undef l0
#undef l1
#undef m0
#undef m1

/*
 * void cmi_avr_ternary_single(uint32_t *sum, cmi_stream *stream, const uint8_t *ternary, uint16_t from,
 * const uint32_t *q)
 * A sum's terms of a whole expansion for n = 1024, which is at its beginning: residues are used as they are
 * drawn (avr_uniform.S), two from five bytes, and coefficients of -s from `from` down. Which fields are
 * rejected is public. The sum is put away after 32 bytes of codes: of at most 128 terms, each part of it is
 * at most 128 255 in magnitude. Of the last byte of all, only those codes count that the first one left over.
 */
#define l0 r2
#define l1 r3
#define m0 r4
#define m1 r5
#define h0 r6
#define h1 r7
#define q0 r8
#define q1 r9
#define q2 r10
#define places r11      /* of codes */
#define bytes_left r12  /* until the indices are below 0 */
#define bytes r13       /* of 32 */
#define rounds r14      /* of 32 bytes of codes */
#define inverted r15
#define b0 r16
#define b1 r17
#define first_top r18
#define d r19
#define b2 r20
#define b3 r21
#define b4 r22
#define temporary r23
#undef codes
#define codes r24
#define left r25 /* bytes of the stream's block, from X on */

#include "backends/avr/pairs.inc"

#define BLOCK_BYTES 64
#define ROUND_BYTES 32

/* Add a field's product with the coefficient in the upper bits of the codes, if the field is below q. */
    .macro use x0, x1, x2
    cp      \x0, q0
    cpc     \x1, q1
    cpc     \x2, q2
    brcc    1f
    clr     d
    lsl     codes
    rol     d
    lsl     codes
    rol     d
    dec     d
    mulsu   d, \x0
    add     l0, r0
    adc     l1, r1
    mulsu   d, \x1
    add     m0, r0
    adc     m1, r1
    mulsu   d, \x2
    add     h0, r0
    adc     h1, r1
    dec     places
    brne    1f
    rcall   .Lcodes
1:
    .endm

    function cmi_avr_ternary_single
    save_registers
    movw    r28, r24
    movw    r26, r22
    subi    r26, lo8(-BLOCK_BYTES)
    sbci    r27, hi8(-BLOCK_BYTES)
    movw    r30, r16
    ld      q0, Z
    ldd     q1, Z+1
    ldd     q2, Z+2
    movw    r30, r18
    mov     places, r30
    asr     r31
    ror     r30
    asr     r31
    ror     r30
    mov     bytes_left, r30
    inc     bytes_left
    add     r30, r20
    adc     r31, r21
    ser     temporary
    mov     inverted, temporary
    mov     b0, places
    rcall   .Lthese_codes
    com     b0
    andi    b0, 3 /* places to skip */
    sub     places, b0
    push    b0
    rjmp    2f
1:  lsl     codes
    lsl     codes
2:  dec     b0
    brpl    1b
    clr     left
    ldi     temporary, 1024 / 4 / ROUND_BYTES
    mov     rounds, temporary
    rcall   .Lbegin_round
    rjmp    .Lpair
.Lbytes: /* of two blocks */
    subi    left, -5
    .irp byte, b0, b1, b2, b3, b4
    rcall   .Lbyte
    mov     \byte, temporary
    .endr
    rjmp    .Lfirst
.Lpair:
    subi    left, 5
    brcs    .Lbytes
    load_pair
.Lfirst:
    split_pair
    use     b0, b1, first_top
    use     b2, b3, b4
    rjmp    .Lpair
.Lbyte:
    tst     left
    brne    2f
    .irp n, 20, 21, 24, 30, 31
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
    clr     r1
    call_to cmi_avr_chacha20_blocks
    pop     r27
    pop     r26
    .irp n, 31, 30, 24, 21, 20
    pop     r\n
    .endr
    ldi     left, BLOCK_BYTES
2:  dec     left
    ld      temporary, X+
    ret
.Lcodes: /* of the byte below; below the first, the last, with the other sign */
    dec     bytes
    breq    .Lround
.Lgo_on:
    dec     bytes_left
    brne    3f
    inc     r31
    clr     inverted
3:  sbiw    r30, 1
.Lthese_codes:
    lpm     codes, Z
    eor     codes, inverted
    mov     temporary, inverted
    andi    temporary, 0x55
    sub     codes, temporary
    ldi     temporary, 4
    mov     places, temporary
    ret
.Lround:
    join_parts l1, m0, m1, h0, h1
    .set at, 0
    .irp byte, l0, l1, h0, h1
    ldd     d, Y+at
    .if at == 0
    add     d, \byte
    .else
    adc     d, \byte
    .endif
    std     Y+at, d
    .set at, at + 1
    .endr
    dec     rounds
    brmi    .Lsingle_done
    breq    4f
    rcall   .Lbegin_round
    rjmp    .Lgo_on
4:  pop     r1
    pop     r0
    pop     d /* codes that the first byte left over */
    push    d
    push    r0
    push    r1
    tst     d
    breq    .Lsingle_done
    rcall   .Lbegin_round
    rcall   .Lgo_on
    mov     places, d
    clr     bytes
    inc     bytes
    ret
.Lbegin_round:
    ldi     temporary, ROUND_BYTES
    mov     bytes, temporary
    clr     l0
    clr     l1
    movw    m0, l0
    movw    h0, l0
    ret
.Lsingle_done:
    pop     r0
    pop     r0
    pop     r0
    return_registers
    end_function cmi_avr_ternary_single

#else

/*
 * void cmi_avr_ternary_sums(uint32_t *sums, const uint8_t residues[24], const uint8_t *window, uint8_t count)
 * For count > 0. A residue x is added as (x ^ sign) & mask, and the sign as a carry. Inverted, a code's lower
 * bit is the mask, and its upper one the sign where that is set.
 */
#define count r14
#define skipped r15
#define x0 r16
#define codes r17
#define mask r18
#define sign r19
#define places r20
#define left r21
#define s0 r22
#define s1 r23
#define s2 r24
#define s3 r25

    .macro next_codes
    ld      codes, X+
    com     codes
    ldi     places, 4
    .endm

    .macro add_masked byte, to
    ldd     x0, Y+\byte
    eor     x0, sign
    and     x0, mask
    adc     \to, x0
    .endm

    function cmi_avr_ternary_sums
    .irp n, 14, 15, 16, 17, 28, 29
    push    r\n
    .endr
    movw    r30, r24
    movw    r26, r20
    movw    r28, r22
    mov     count, r18
    clr     skipped
.Lsum:
    adiw    r28, RESIDUES_BYTES / 2
    adiw    r28, RESIDUES_BYTES / 2
    next_codes
    mov     left, skipped
    rjmp    2f
1:  lsr     codes
    lsr     codes
    dec     places
2:  dec     left
    brpl    1b
    ldd     s0, Z+0
    ldd     s1, Z+1
    ldd     s2, Z+2
    ldd     s3, Z+3
    ldi     left, RESIDUES
3:  sbiw    r28, RESIDUE_BYTES
    lsr     codes
    sbc     mask, mask
    lsr     codes
    sbc     sign, sign
    and     sign, mask
    cp      r1, sign
    add_masked 0, s0
    add_masked 1, s1
    add_masked 2, s2
#if RESIDUE_BYTES == 4
    add_masked 3, s3
#else
    adc     s3, sign
#endif
    dec     places
    brne    4f
    next_codes
4:  dec     left
    brne    3b
    st      Z+, s0
    st      Z+, s1
    st      Z+, s2
    st      Z+, s3
    sbiw    r26, RESIDUES / 4 + 1
    inc     skipped
    sbrs    skipped, 2
    rjmp    5f
    clr     skipped
    adiw    r26, 1
5:  dec     count
    brne    .Lsum
    .irp n, 29, 28, 17, 16, 15, 14
    pop     r\n
    .endr
    ret
    end_function cmi_avr_ternary_sums

#endif

#undef count
#undef skipped
#undef x0
#undef codes
#undef mask
#undef sign
#undef places
#undef left
#undef s0
#undef s1
#undef s2
#undef s3

#if !CM_AVR_MUL && CM_PRIME_BITS == 26

/*
 * void cmi_avr_ternary_halve(uint32_t *sums, uint8_t count, uint32_t half)
 * Bring sums within 2 half of 0 to within half: half is taken off, and added to those that are negative.
 * For count > 0.
 */
#define half0 r18
#define half1 r19
#define half2 r20
#define half3 r21
#define count r22
#define sign r23
#define s0 r24
#define s1 r25
#define s2 r26
#define s3 r27

    .macro take_off half, s
    mov     r0, \half
    eor     r0, sign
    sbc     \s, r0
    .endm

    function cmi_avr_ternary_halve
    movw    r30, r24
1:  ldd     s0, Z+0
    ldd     s1, Z+1
    ldd     s2, Z+2
    ldd     s3, Z+3
    mov     sign, s3
    lsl     sign
    sbc     sign, sign /* and the carry is the sign's */
    take_off half0, s0
    take_off half1, s1
    take_off half2, s2
    take_off half3, s3
    st      Z+, s0
    st      Z+, s1
    st      Z+, s2
    st      Z+, s3
    dec     count
    brne    1b
    ret
    end_function cmi_avr_ternary_halve

#undef half0
#undef half1
#undef half2
#undef half3
#undef count
#undef sign
#undef s0
#undef s1
#undef s2
#undef s3

#endif

/*
 * void cmi_avr_ternary_reduce(uint32_t *sums, uint8_t count, uint32_t q)
 * Sums within 2^10 q of a residue, to residues: 2^10 q is added, and q times 2^11 to 1 is taken off where
 * that is not too much.
 */
#define count r14
#define part r15
#define steps r16
#define mask r17
#define base1 r19
#define base2 r20
#define base3 r21
#define x0 r22
#define x1 r23
#define x2 r24
#define x3 r25
#define y0 r0
#define y1 r18
#define y2 r26
#define y3 r27

    .macro add_part y, x
    mov     part, \y
    and     part, mask
    adc     \x, part
    .endm

    function cmi_avr_ternary_reduce
    .irp n, 14, 15, 16, 17
    push    r\n
    .endr
    movw    r30, r24
    mov     count, r22
    mov     base3, r20
    mov     base2, r19
    mov     base1, r18
    .rept 2
    lsl     base1
    rol     base2
    rol     base3
    .endr
1:  ldd     x0, Z+0
    ldd     x1, Z+1
    ldd     x2, Z+2
    ldd     x3, Z+3
    add     x1, base1
    adc     x2, base2
    adc     x3, base3
    clr     y0
    mov     y1, base1
    mov     y2, base2
    mov     y3, base3
    lsl     y1
    rol     y2
    rol     y3
    ldi     steps, 12
2:  sub     x0, y0
    sbc     x1, y1
    sbc     x2, y2
    sbc     x3, y3
    sbc     mask, mask
    clc
    add_part y0, x0
    add_part y1, x1
    add_part y2, x2
    add_part y3, x3
    lsr     y3
    ror     y2
    ror     y1
    ror     y0
    dec     steps
    brne    2b
    st      Z+, x0
    st      Z+, x1
    st      Z+, x2
    st      Z+, x3
    dec     count
    brne    1b
    .irp n, 17, 16, 15, 14
    pop     r\n
    .endr
    ret
    end_function cmi_avr_ternary_reduce

#endif
