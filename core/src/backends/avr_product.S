/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 64-bit products on AVR (ring/product.h) in constant time: gcc's library branches on carries, and, where
 * there is no multiplier, on the bits of a factor.
 */
#include "backends/avr/function.inc"

#if CM_AVR_MUL

#define zero r27

/* c5 .. c1 += a r25 .. r22 times a byte of b; c5 is new. */
    .macro row b, c1, c2, c3, c4, c5
    mul     r22, \b
    movw    r28, r0
    mul     r24, \b
    movw    r30, r0
    clr     \c5
    mul     r23, \b
    add     r29, r0
    adc     r30, r1
    adc     r31, zero
    mul     r25, \b
    add     r31, r0
    adc     r1, zero
    add     \c1, r28
    adc     \c2, r29
    adc     \c3, r30
    adc     \c4, r31
    adc     \c5, r1
    .endm

/* uint64_t cmi_product(uint32_t a, uint32_t b) */
    function cmi_product
    .irp n, 10, 11, 12, 13, 14, 15, 16, 17, 28, 29
    push    r\n
    .endr
    clr     zero
    .irp n, 10, 11, 12, 13
    clr     r\n
    .endr
    row     r18, r10, r11, r12, r13, r14
    row     r19, r11, r12, r13, r14, r15
    row     r20, r12, r13, r14, r15, r16
    row     r21, r13, r14, r15, r16, r17
    clr     r1
    movw    r18, r10
    movw    r20, r12
    movw    r22, r14
    movw    r24, r16
    .irp n, 29, 28, 17, 16, 15, 14, 13, 12, 11, 10
    pop     r\n
    .endr
    ret
    end_function cmi_product

#elif CM_AVR

/*
 * uint64_t cmi_product(uint32_t a, uint32_t b)
 * b is shifted out of the lower half of the result, bit by bit, and a is added to the upper half under a mask
 * of that bit.
 */
    function cmi_product
    push    r16
    push    r17
    movw    r26, r22
    movw    r30, r24
    clr     r22
    clr     r23
    movw    r24, r22
    ldi     r16, 32
1:  mov     r17, r18
    lsr     r17
    sbc     r17, r17
    mov     r0, r26
    and     r0, r17
    mov     r1, r27
    and     r1, r17
    add     r22, r0
    adc     r23, r1
    mov     r0, r30
    and     r0, r17
    and     r17, r31
    adc     r24, r0
    adc     r25, r17
    .irp n, 25, 24, 23, 22, 21, 20, 19, 18
    ror     r\n
    .endr
    dec     r16
    brne    1b
    clr     r1
    pop     r17
    pop     r16
    ret
    end_function cmi_product

#endif

#if CM_AVR

/* x &= all ones if the number with this top byte was negative, else 0 */
    .macro keep_if_negative top, x0, x1, x2, x3
    mov     r26, \top
    lsl     r26
    sbc     r26, r26
    and     \x0, r26
    and     \x1, r26
    and     \x2, r26
    and     \x3, r26
    .endm

/* int64_t cmi_product_signed(int32_t a, int32_t b): the unsigned product less 2^32 b for a < 0 and 2^32 a for
   b < 0 */
    function cmi_product_signed
    push    r14
    push    r15
    push    r16
    push    r17
    movw    r14, r22
    movw    r16, r24
    movw    r30, r18
    movw    r0, r20
    keep_if_negative r25, r30, r31, r0, r1
    keep_if_negative r21, r14, r15, r16, r17
    add     r14, r30
    adc     r15, r31
    adc     r16, r0
    adc     r17, r1
    call_to cmi_product
    sub     r22, r14
    sbc     r23, r15
    sbc     r24, r16
    sbc     r25, r17
    pop     r17
    pop     r16
    pop     r15
    pop     r14
    ret
    end_function cmi_product_signed

#endif
