/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ChaCha20 key stream for AVR cores without a multiplier, which are those with little flash: a quarter of the
 * size of avr_chacha20.S, and half its speed. One quarter round, on words that are loaded and stored each
 * time; the output block is the workspace, so that nothing secret is left anywhere else but in registers.
 */
#include "backends/avr/function.inc"

#if CM_AVR && !CM_AVR_MUL

#define temporary r16
#define step r17
#define rounds r18

#define ROUNDS 20

/* Input, in bytes: the key, the counter and the nonce. */
#define INPUT_BYTES 48
#define COUNTER 32

/* The words of a quarter round, by their first register. */
#define A 0
#define B 4
#define C 8
#define D 12

#include "backends/avr/words.inc"

/* Where they lie: a at Z, b at Y, c at X, d at d_at. */
#define d_at r24

    .macro load word, turned, pointer
    ldd     BYTE(\word, \turned, 0), \pointer+0
    ldd     BYTE(\word, \turned, 1), \pointer+1
    ldd     BYTE(\word, \turned, 2), \pointer+2
    ldd     BYTE(\word, \turned, 3), \pointer+3
    .endm

    .macro store word, turned, pointer
    std     \pointer+0, BYTE(\word, \turned, 0)
    std     \pointer+1, BYTE(\word, \turned, 1)
    std     \pointer+2, BYTE(\word, \turned, 2)
    std     \pointer+3, BYTE(\word, \turned, 3)
    .endm

    .section .progmem.data.cmi_avr_chacha20_blocks, "a", @progbits
.Lconstants:
    .ascii "expand 32-byte k"

/* void cmi_avr_chacha20_blocks(uint8_t *out, uint32_t input[12], size_t blocks), for blocks > 0. */
    function cmi_avr_chacha20_blocks
    save_registers_small
    movw    r28, r24
.Lnext_block:
    push    r20
    push    r21
    push    r22
    push    r23
    ldi     r30, lo8(.Lconstants)
    ldi     r31, hi8(.Lconstants)
    ldi     step, 16
1:  lpm     temporary, Z+
    st      Y+, temporary
    dec     step
    brne    1b
    movw    r30, r22
    ldi     step, INPUT_BYTES
2:  ld      temporary, Z+
    st      Y+, temporary
    dec     step
    brne    2b
    ldi     rounds, ROUNDS
    subi    r28, 64
    sbci    r29, 0
    movw    r30, r28
    adiw    r28, 16
    movw    r26, r28
    adiw    r26, 16
    movw    d_at, r26
    adiw    d_at, 16
.Lround: /* columns if rounds is even, diagonals if it is odd */
    clr     step
.Lquarter:
    load    A, 0, Z
    load    B, 0, Y
    ld      C, X+
    ld      C+1, X+
    ld      C+2, X+
    ld      C+3, X
    sbiw    r26, 3
    movw    r20, r30
    movw    r30, d_at
    load    D, 0, Z
    sum A, B, 0
    mix D, 0, A
    sum C, D, 2
    mix B, 0, C
    swap    B /* rotate right by 4: left by 12, with b beginning at its third register */
    swap    B+1
    swap    B+2
    swap    B+3
    exchange_high BYTE(B, 2, 0), BYTE(B, 2, 1)
    exchange_high BYTE(B, 2, 1), BYTE(B, 2, 2)
    exchange_high BYTE(B, 2, 2), BYTE(B, 2, 3)
    sum A, B, 2
    mix D, 2, A
    sum C, D, 1
    mix B, 2, C
    bst     BYTE(B, 1, 0), 0 /* right by 1: left by 7, with b beginning at its second register */
    lsr     BYTE(B, 1, 3)
    ror     BYTE(B, 1, 2)
    ror     BYTE(B, 1, 1)
    ror     BYTE(B, 1, 0)
    bld     BYTE(B, 1, 3), 7
    store   D, 1, Z
    movw    r30, r20
    store   A, 0, Z
    store   B, 1, Y
    st      X+, C
    st      X+, C+1
    st      X+, C+2
    st      X+, C+3
    adiw    r30, 4
    adiw    r28, 4
    adiw    d_at, 4
    inc     step
    sbrs    rounds, 0
    rjmp    .Lin_columns
    cpi     step, 1 /* diagonals reach the end of the fourth row, then of the third, then of the second */
    brne    3f
    sbiw    d_at, 16
3:  cpi     step, 2
    brne    4f
    sbiw    r26, 16
4:  cpi     step, 3
    brne    5f
    sbiw    r28, 16
5:  cpi     step, 4
    brne    .Lnext_quarter
    adiw    r28, 12
    adiw    d_at, 4
    rjmp    .Lround_done
.Lnext_quarter:
    rjmp    .Lquarter
.Lin_columns:
    cpi     step, 4
    brne    .Lnext_quarter
    adiw    r28, 4
    adiw    d_at, 12
.Lround_done:
    adiw    r26, 8
    sbiw    r30, 16
    sbiw    r28, 16
    sbiw    r26, 16
    sbiw    d_at, 16
    dec     rounds
    breq    .Lrounds_done
    rjmp    .Lround
.Lrounds_done:
    pop     r23
    pop     r22
    pop     r21
    pop     r20
    movw    r26, r30
    ldi     r30, lo8(.Lconstants)
    ldi     r31, hi8(.Lconstants)
    ldi     step, 4
6:  ldi     rounds, 4
    clc
7:  lpm     r1, Z+
    ld      temporary, X
    adc     temporary, r1
    st      X+, temporary
    dec     rounds
    brne    7b
    dec     step
    brne    6b
    movw    r30, r22
    ldi     step, INPUT_BYTES / 4
8:  ldi     rounds, 4
    clc
9:  ld      r1, Z+
    ld      temporary, X
    adc     temporary, r1
    st      X+, temporary
    dec     rounds
    brne    9b
    dec     step
    brne    8b
    movw    r28, r26
    sbiw    r30, INPUT_BYTES - COUNTER
    clr     r1
    ldi     rounds, 4
    sec
10: ld      temporary, Z
    adc     temporary, r1
    st      Z+, temporary
    dec     rounds
    brne    10b
    subi    r20, 1
    sbci    r21, 0
    breq    11f
    rjmp    .Lnext_block
11: return_registers_small
    end_function cmi_avr_chacha20_blocks

#endif
