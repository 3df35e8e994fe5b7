/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BFV's coefficients on AVR, read and scaled (encode/bfv_reader.c): time depends on their number alone, and
 * on the reader's.
 */
#include "backends/avr/function.inc"

#if CM_AVR_MUL

#define zero r1

/* The fields of cm_bfv_reader and of cmi_read_scaling. */
#define READ 0
#define CONTEXT 2
#define COUNT 4
#define FACTOR 0
#define QUOTIENT 2
#define MODULUS 4
#define HALF 6

#define out r28 /* Y */
#define read r2
#define scaling r4
#define at r6
#define step r8
#define terms r12
#define context r14
#define x0 r16
#define x1 r17

    .macro subtract_t_once
    sub     x0, r22
    sbc     x1, r23
    sbc     r18, zero
    sbc     r19, r19
    mov     r20, r22
    mov     r21, r23
    and     r20, r19
    and     r21, r19
    add     x0, r20
    adc     x1, r21
    .endm

/*
 * void cmi_avr_read_shifted(uint16_t *w, const cm_bfv_reader *reader, const cmi_read_scaling *scaling,
 * uint16_t at,
 *                          uint16_t step, uint8_t terms)
 * For m read at `at`, at + step ...: with h = floor(m quotient / 2^16), m factor - h t lies within 0 .. 2t.
 * Subtract t if that is not negative, add half, and again subtract t if that is not negative.
 */
    function cmi_avr_read_shifted
    .irp n, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 15, 16, 17, 28, 29
    push    r\n
    .endr
    movw    out, r24
    movw    scaling, r20
    movw    at, r18
    movw    step, r16
    movw    r30, r22
    mov     terms, r14
    ldd     r2, Z+READ
    ldd     r3, Z+READ+1
    ldd     r10, Z+COUNT
    ldd     r11, Z+COUNT+1
    ldd     r14, Z+CONTEXT
    ldd     r15, Z+CONTEXT+1
.Lterm:
    clr     r24
    clr     r25
    cp      r6, r10
    cpc     r7, r11
    brsh    .Lvalue
    movw    r30, read
    movw    r24, context
    movw    r22, at
    icall
.Lvalue:
    movw    r30, scaling
    ldd     r22, Z+QUOTIENT
    ldd     r23, Z+QUOTIENT+1
    mul     r25, r23
    movw    r20, r0
    mul     r24, r22
    mov     r19, r1
    clr     r18
    mul     r24, r23
    add     r19, r0
    adc     r20, r1
    adc     r21, r18
    mul     r25, r22
    add     r19, r0
    adc     r20, r1
    adc     r21, r18 /* r21:r20 = h */
    ldd     r22, Z+FACTOR
    ldd     r23, Z+FACTOR+1
    mul     r24, r22
    movw    x0, r0
    mul     r25, r23
    mov     r18, r0
    mul     r24, r23
    add     x1, r0
    adc     r18, r1
    mul     r25, r22
    add     x1, r0
    adc     r18, r1
    ldd     r22, Z+MODULUS
    ldd     r23, Z+MODULUS+1
    mul     r21, r23
    sub     r18, r0
    mul     r20, r23
    sub     x1, r0
    sbc     r18, r1
    mul     r21, r22
    sub     x1, r0
    sbc     r18, r1
    mul     r20, r22
    sub     x0, r0
    sbc     x1, r1
    clr     zero
    sbc     r18, zero
    subtract_t_once
    ldd     r24, Z+HALF
    ldd     r25, Z+HALF+1
    clr     r18
    add     x0, r24
    adc     x1, r25
    rol     r18
    subtract_t_once
    st      Y+, x0
    st      Y+, x1
    add     r6, r8
    adc     r7, r9
    dec     terms
    breq    .Lend
    rjmp    .Lterm
.Lend:
    .irp n, 29, 28, 17, 16, 15, 14, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2
    pop     r\n
    .endr
    ret
    end_function cmi_avr_read_shifted

#endif
