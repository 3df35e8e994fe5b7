/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ChaCha20 key stream for AVR: blocks of one stream, one after the other. The output block is the workspace,
 * so that nothing secret is left anywhere else but in registers.
 *
 * Registers hold seven of the sixteen words, in slots of four. The quarter rounds are ordered so that the
 * first of each round finds all of its words there, and each of the others one: x3 never leaves its slot, and
 * eighteen words are loaded and stored for a double round. Rotations by bytes only rename registers: a
 * quarter round leaves b and d with their first byte in the second register, and with `turned` it takes them
 * so. Of the rotations by 12 and 7, only those to the right by 4 and 1 remain.
 */
#include "backends/avr/function.inc"

#if CM_AVR_MUL

#define temporary r30
#define rounds r31

#define DOUBLE_ROUNDS 10

/* Input, in bytes: the key, the counter and the nonce. */
#define COUNTER 32

/* Slots, by their first register. */
#define S0 0
#define S1 4
#define S2 8
#define S3 12
#define S4 16
#define S5 20
#define S6 24

#include "backends/avr/words.inc"

    .macro load slot, turned, word
    ldd     BYTE(\slot, \turned, 0), Y+4*\word
    ldd     BYTE(\slot, \turned, 1), Y+4*\word+1
    ldd     BYTE(\slot, \turned, 2), Y+4*\word+2
    ldd     BYTE(\slot, \turned, 3), Y+4*\word+3
    .endm

    .macro store slot, turned, word
    std     Y+4*\word, BYTE(\slot, \turned, 0)
    std     Y+4*\word+1, BYTE(\slot, \turned, 1)
    std     Y+4*\word+2, BYTE(\slot, \turned, 2)
    std     Y+4*\word+3, BYTE(\slot, \turned, 3)
    .endm

    .macro rotate_right_4 slot, turned
    swap    \slot
    swap    \slot+1
    swap    \slot+2
    swap    \slot+3
    exchange_high BYTE(\slot, \turned, 0), BYTE(\slot, \turned, 1)
    exchange_high BYTE(\slot, \turned, 1), BYTE(\slot, \turned, 2)
    exchange_high BYTE(\slot, \turned, 2), BYTE(\slot, \turned, 3)
    .endm

    .macro rotate_right_1 slot, turned
    bst     BYTE(\slot, \turned, 0), 0
    lsr     BYTE(\slot, \turned, 3)
    ror     BYTE(\slot, \turned, 2)
    ror     BYTE(\slot, \turned, 1)
    ror     BYTE(\slot, \turned, 0)
    bld     BYTE(\slot, \turned, 3), 7
    .endm

/* b and d begin at register `turned` of their slots, and end at the next one. 57 cycles. */
    .macro quarter_round a, b, b_turned, c, d, d_turned
    sum     \a, \b, \b_turned
    mix     \d, \d_turned, \a
    sum     \c, \d, (\d_turned+2)
    mix     \b, \b_turned, \c
    rotate_right_4 \b, (\b_turned+2)
    sum     \a, \b, (\b_turned+2)
    mix     \d, (\d_turned+2), \a
    sum     \c, \d, (\d_turned+1)
    mix     \b, (\b_turned+2), \c
    rotate_right_1 \b, (\b_turned+1)
    .endm

    .macro set_word word, k0, k1, k2, k3
    ldi     r16, \k0
    std     Y+4*\word, r16
    ldi     r16, \k1
    std     Y+4*\word+1, r16
    ldi     r16, \k2
    std     Y+4*\word+2, r16
    ldi     r16, \k3
    std     Y+4*\word+3, r16
    .endm

/* For slots that ldi can address. */
    .macro set_slot slot, k0, k1, k2, k3
    ldi     \slot, \k0
    ldi     \slot+1, \k1
    ldi     \slot+2, \k2
    ldi     \slot+3, \k3
    .endm

/* Words of the input, from Z: to the block, and to a slot. */
    .macro copy_word word
    .irp byte, 0, 1, 2, 3
    ldd     r16, Z+4*(\word-4)+\byte
    std     Y+4*\word+\byte, r16
    .endr
    .endm

    .macro fetch slot, turned, word
    ldd     BYTE(\slot, \turned, 0), Z+4*(\word-4)
    ldd     BYTE(\slot, \turned, 1), Z+4*(\word-4)+1
    ldd     BYTE(\slot, \turned, 2), Z+4*(\word-4)+2
    ldd     BYTE(\slot, \turned, 3), Z+4*(\word-4)+3
    .endm

/*
 * out = a slot's word + a constant, for slots that subi can address, where the word begins at the first
 * register.
 */
    .macro finish_constant slot, word, k0, k1, k2, k3
    subi    \slot, -(\k0)
    sbci    \slot+1, 255 - (\k1)
    sbci    \slot+2, 255 - (\k2)
    sbci    \slot+3, 255 - (\k3)
    store   \slot, 0, \word
    .endm

    .macro finish_byte operation, register, word, byte
    ldd     r16, Z+4*(\word-4)+\byte
    \operation \register, r16
    std     Y+4*\word+\byte, \register
    .endm

/* out = a slot's word + the input's, and the same for a word in memory. Z is the input. */
    .macro finish_held slot, turned, word
    finish_byte add, BYTE(\slot, \turned, 0), \word, 0
    finish_byte adc, BYTE(\slot, \turned, 1), \word, 1
    finish_byte adc, BYTE(\slot, \turned, 2), \word, 2
    finish_byte adc, BYTE(\slot, \turned, 3), \word, 3
    .endm

    .macro finish word
    load    S0, 0, \word
    finish_held S0, 0, \word
    .endm

/* void cmi_avr_chacha20_blocks(uint8_t *out, uint32_t input[12], size_t blocks), for blocks > 0. */
    function cmi_avr_chacha20_blocks
    .irp n, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 28, 29
    push    r\n
    .endr
    movw    r28, r24
.Lnext_block:
    push    r20
    push    r21
    push    r22
    push    r23
    movw    r30, r22
    /* Words that slots start with need no copy: they are stored here before they are loaded. */
    .irp word, 4, 6, 8, 9, 12, 13, 14
    copy_word \word
    .endr
    set_word 1, 'n', 'd', ' ', '3'
    set_word 2, '2', '-', 'b', 'y'
    set_slot S4, 't', 'e', ' ', 'k'
    movw    S0, S4
    movw    S0+2, S4+2
    set_slot S4, 'e', 'x', 'p', 'a'
    fetch   S1, 1, 7
    fetch   S2, 0, 11
    fetch   S3, 1, 15
    fetch   S5, 1, 5
    fetch   S6, 0, 10
    ldi     rounds, DOUBLE_ROUNDS
.Ldouble_round:
    quarter_round S0, S1, 1, S2, S3, 1 /* columns: 3, 0, 1, 2 */
    store   S1, 2, 7
    store   S2, 0, 11
    store   S3, 2, 15
    load    S1, 0, 4
    load    S2, 0, 8
    load    S3, 0, 12
    quarter_round S4, S1, 0, S2, S3, 0
    store   S4, 0, 0
    store   S2, 0, 8
    store   S3, 1, 12
    load    S4, 0, 1
    load    S2, 0, 9
    load    S3, 0, 13
    quarter_round S4, S5, 1, S2, S3, 0
    store   S4, 0, 1
    store   S5, 2, 5
    store   S3, 1, 13
    load    S4, 0, 2
    load    S5, 0, 6
    load    S3, 0, 14
    quarter_round S4, S5, 0, S6, S3, 0
    quarter_round S0, S1, 1, S2, S3, 1 /* diagonals: 3, 2, 1, 0 */
    store   S1, 2, 4
    store   S2, 0, 9
    store   S3, 2, 14
    load    S1, 0, 7
    load    S2, 0, 8
    load    S3, 0, 13
    quarter_round S4, S1, 0, S2, S3, 0
    store   S4, 0, 2
    store   S2, 0, 8
    store   S3, 1, 13
    load    S4, 0, 1
    load    S2, 0, 11
    load    S3, 0, 12
    quarter_round S4, S5, 1, S2, S3, 0
    store   S4, 0, 1
    store   S5, 2, 6
    store   S3, 1, 12
    load    S4, 0, 0
    load    S5, 0, 5
    load    S3, 0, 15
    quarter_round S4, S5, 0, S6, S3, 0
    dec     rounds
    breq    .Lrounds_done
    rjmp    .Ldouble_round
.Lrounds_done:
    pop     r31
    pop     r30
    finish_constant S4, 0, 'e', 'x', 'p', 'a'
    load    S4, 0, 1
    finish_constant S4, 1, 'n', 'd', ' ', '3'
    load    S4, 0, 2
    finish_constant S4, 2, '2', '-', 'b', 'y'
    movw    S4, S0
    movw    S4+2, S0+2
    finish_constant S4, 3, 't', 'e', ' ', 'k'
    finish_held S1, 1, 7
    finish_held S2, 0, 11
    finish_held S3, 1, 15
    finish_held S5, 1, 5
    finish_held S6, 0, 10
    .irp word, 4, 6, 8, 9, 12, 13, 14
    finish  \word
    .endr
    pop     r21
    pop     r20
    movw    r22, r30
    adiw    r28, 32
    adiw    r28, 32
    clr     r1
    movw    r30, r22
    ldd     r24, Z+COUNTER
    ldd     r25, Z+COUNTER+1
    ldd     r26, Z+COUNTER+2
    ldd     r27, Z+COUNTER+3
    adiw    r24, 1
    adc     r26, r1
    adc     r27, r1
    std     Z+COUNTER, r24
    std     Z+COUNTER+1, r25
    std     Z+COUNTER+2, r26
    std     Z+COUNTER+3, r27
    subi    r20, 1
    sbci    r21, 0
    breq    .Lno_more_blocks
    rjmp    .Lnext_block
.Lno_more_blocks:
    .irp n, 29, 28, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2
    pop     r\n
    .endr
    ret
    end_function cmi_avr_chacha20_blocks

#endif
