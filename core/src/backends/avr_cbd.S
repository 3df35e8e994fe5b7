/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Centred binomial noise on AVR: thirty-two coefficients at once, bit-sliced, seven words of key stream at a
 * time. Nothing but the result depends on the bits.
 *
 * The counters are in the last 24 bytes of the noise's own 32: six bytes, the bits of eight sums, for each
 * lane of eight coefficients. Spread out lane after lane, the coefficients never overtake the counters that
 * are still to be read.
 */
#include "backends/avr/function.inc"

#if CM_AVR

#define COUNTERS 8
#define LANES 4

/* Leaves the sum in c, the carry in a. Spoils b and r0. */
    .macro full_add a, b, c
    eor     \b, \a
    mov     r0, \c
    eor     r0, \a
    eor     \c, \b
    and     r0, \b
    eor     \a, r0
    .endm

/* p += k, the carry in k. */
    .macro half_add p, k
    mov     r0, \p
    and     r0, \k
    eor     \p, \k
    mov     \k, r0
    .endm

#if CM_AVR_MUL

    .macro load_word to, word
    ldd     \to, Z+4*\word
    eor     \to, r14
    .endm

/*
 * void cmi_avr_cbd_count(int8_t *noise, const uint8_t words[28], uint8_t inversion)
 * Adds seven words to the counters, inverted if inversion is 255 and not if it is 0.
 */
    function cmi_avr_cbd_count
    push    r14
    push    r15
    push    r16
    push    r17
    push    r28
    push    r29
    movw    r28, r24
    adiw    r28, COUNTERS
    movw    r30, r22
    mov     r14, r20
    ldi     r24, LANES
    mov     r15, r24
.Llane:
    load_word r16, 0
    load_word r17, 1
    load_word r18, 2
    load_word r19, 3
    load_word r20, 4
    load_word r21, 5
    load_word r22, 6
    adiw    r30, 1
    full_add r16, r17, r18
    full_add r19, r20, r21
    full_add r18, r21, r22 /* r22: ones; twos: r16, r19, r18 */
    full_add r16, r19, r18 /* r18: twos; r16: fours */
    ld      r17, Y
    half_add r17, r22
    st      Y+, r17
    ld      r17, Y
    full_add r18, r22, r17
    st      Y+, r17
    ld      r17, Y
    full_add r16, r18, r17
    st      Y+, r17
    ld      r17, Y
    half_add r17, r16
    st      Y+, r17
    ld      r17, Y
    half_add r17, r16
    st      Y+, r17
    ld      r17, Y
    eor     r17, r16
    st      Y+, r17
    dec     r15
    breq    .Llanes_done
    rjmp    .Llane
.Llanes_done:
    clr     r1
    pop     r29
    pop     r28
    pop     r17
    pop     r16
    pop     r15
    pop     r14
    ret
    end_function cmi_avr_cbd_count

#else

/*
 * void cmi_avr_cbd_add(int8_t *noise, const uint8_t word[4], uint8_t inversion)
 * Adds one word, in a loop: cores without a multiplier have little flash.
 */
    function cmi_avr_cbd_add
    movw    r26, r24
    adiw    r26, COUNTERS
    movw    r30, r22
    ldi     r22, LANES
.Ladd_lane:
    ld      r18, Z+
    eor     r18, r20
    ldi     r23, COUNTERS - 2
1:  ld      r19, X
    half_add r19, r18
    st      X+, r19
    dec     r23
    brne    1b
    dec     r22
    brne    .Ladd_lane
    ret
    end_function cmi_avr_cbd_add

#endif

    .macro spread_bits
    clr     r0
    .irp n, 25, 24, 21, 20, 19, 18
    lsr     r\n
    rol     r0
    .endr
    sub     r0, r22
    st      X+, r0
    .endm

/* void cmi_avr_cbd_spread(int8_t *noise, uint8_t centre): from counters to coefficients, less the centre. */
    function cmi_avr_cbd_spread
    movw    r26, r24
    movw    r30, r24
    adiw    r30, COUNTERS
    ldi     r23, LANES
.Lspread_lane:
    .irp n, 18, 19, 20, 21, 24, 25
    ld      r\n, Z+
    .endr
#if CM_AVR_MUL
    .rept 8
    spread_bits
    .endr
    dec     r23
    breq    .Lspread_done
    rjmp    .Lspread_lane
.Lspread_done:
#else
    inc     r1
1:  spread_bits
    lsl     r1
    brcc    1b
    dec     r23
    brne    .Lspread_lane
#endif
    ret
    end_function cmi_avr_cbd_spread

#endif
