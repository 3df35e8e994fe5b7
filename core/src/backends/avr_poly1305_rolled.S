/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks of Poly1305's polynomial (wire/tag.c, absorb_block) for AVR cores without a multiplier, which are
 * those with little flash. Branches and addresses depend on the number of blocks alone.
 *
 * Bit by bit of r, from the highest: the sum, in r2 to r18, is doubled, and s = h + block is added under a
 * mask of the bit. From below 2^131, four such steps end below 2^136, whose bits from 2^130 on are then
 * folded. Loops reach the sum's registers as memory.
 */
#include "backends/avr/function.inc"

#if CM_AVR && !CM_AVR_MUL

#define SUM 2 /* its first register's address */
#define SUM_BYTES 17

#define top r19
#define bits r20
#define count r21
#define left r22
#define mask r23
#define byte r24
#define inner r25

    .macro at_sum bytes
    ldi     r26, SUM
    clr     r27
    ldi     inner, \bytes
    .endm

/* void cmi_avr_poly1305_blocks(uint32_t h[5], const uint32_t r[4], const uint8_t *bytes, size_t blocks,
   uint8_t top), for blocks > 0. */
    function cmi_avr_poly1305_blocks
    save_registers_small
    movw    r28, r24
    movw    r30, r22
    adiw    r30, 16
    movw    r26, r20
    movw    r24, r18
    mov     top, r16
.Lpoly_block:
    push    r24
    push    r25
    push    top
    ldi     inner, 16
    clc
1:  ldd     byte, Y+0
    ld      r0, X+
    adc     byte, r0
    st      Y+, byte
    dec     inner
    brne    1b
    ldd     byte, Y+0
    adc     byte, top
    st      Y, byte
    sbiw    r28, 16
    push    r26
    push    r27
    at_sum  SUM_BYTES
2:  st      X+, r1
    dec     inner
    brne    2b
    ldi     left, 16
.Lpoly_byte:
    ld      bits, -Z
    ldi     count, 8
.Lpoly_bit:
    lsl     r2
    .irp n, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18
    rol     r\n
    .endr
    lsl     bits
    sbc     mask, mask
    at_sum  SUM_BYTES
    clc
3:  ld      byte, Y+
    and     byte, mask
    ld      r0, X
    adc     r0, byte
    st      X+, r0
    dec     inner
    brne    3b
    sbiw    r28, SUM_BYTES
    dec     count
    breq    4f
    cpi     count, 4
    brne    .Lpoly_bit
4:  mov     r0, r18 /* sum += 5 floor(sum / 2^130), less that */
    lsr     r0
    lsr     r0
    mov     mask, r0
    lsl     r0
    lsl     r0
    eor     r18, r0
    add     r0, mask /* below 5 2^6: a carry */
    clr     mask
    adc     mask, r1
    add     r2, r0
    adc     r3, mask
    at_sum  SUM_BYTES - 2
    ldi     r26, SUM + 2
5:  ld      r0, X
    adc     r0, r1
    st      X+, r0
    dec     inner
    brne    5b
    tst     count
    brne    .Lpoly_bit
    dec     left
    brne    .Lpoly_byte
    adiw    r30, 16
    at_sum  SUM_BYTES
6:  ld      r0, X+
    st      Y+, r0
    dec     inner
    brne    6b
    sbiw    r28, SUM_BYTES
    pop     r27
    pop     r26
    pop     top
    pop     r25
    pop     r24
    sbiw    r24, 1
    breq    7f
    rjmp    .Lpoly_block
7:  return_registers_small
    end_function cmi_avr_poly1305_blocks

#endif
