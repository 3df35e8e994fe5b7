/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The expansion of a public seed on AVR at q = 67043329 (random/sample.h): fields of 26 bits of a string of
 * bytes. Which fields are rejected is public, and so is the time this takes.
 *
 * Four fields are thirteen bytes. Between fields, 0, 6, 4 or 2 bits of the last byte are pending, in their
 * places within it.
 */
#include "arch/avr/function.inc"

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

#endif
