/*
 * ChaCha20 key stream for AVR: blocks of one stream, one after the other. The block that is made is the work space, so
 * that nothing secret is left elsewhere but in registers.
 *
 * x0 to x3 stay in registers for all rounds; a quarter round loads and stores its other three words. Rotations by bytes
 * are names; what is left of those by 12 and 7 are rotations to the right by 4 and 1. Two quarter rounds of a double round
 * follow one with the same d, which then stays where it is.
 */
#include "ciphermote/config.h"

#if CM_AVR

#define temporary r30
#define rounds r31

#define DOUBLE_ROUNDS 10

/* Input, in bytes: the key, the counter and the nonce. */
#define INPUT_BYTES 48
#define COUNTER 32
/* In the block, behind x0 to x3. */
#define WORD(i) (4 * ((i) - 4))

    .macro load w0, w1, w2, w3, offset
    ldd     \w0, Y+\offset
    ldd     \w1, Y+\offset+1
    ldd     \w2, Y+\offset+2
    ldd     \w3, Y+\offset+3
    .endm

    .macro store w0, w1, w2, w3, offset
    std     Y+\offset, \w0
    std     Y+\offset+1, \w1
    std     Y+\offset+2, \w2
    std     Y+\offset+3, \w3
    .endm

    .macro sum w0, w1, w2, w3, v0, v1, v2, v3
    add     \w0, \v0
    adc     \w1, \v1
    adc     \w2, \v2
    adc     \w3, \v3
    .endm

    .macro difference w0, w1, w2, w3, v0, v1, v2, v3
    eor     \w0, \v0
    eor     \w1, \v1
    eor     \w2, \v2
    eor     \w3, \v3
    .endm

/* Exchange the high halves of two bytes. */
    .macro exchange_high u, v
    mov     temporary, \u
    eor     temporary, \v
    andi    temporary, 0xF0
    eor     \u, temporary
    eor     \v, temporary
    .endm

    .macro rotate_right_4 w0, w1, w2, w3
    swap    \w0
    swap    \w1
    swap    \w2
    swap    \w3
    exchange_high \w0, \w1
    exchange_high \w1, \w2
    exchange_high \w2, \w3
    .endm

    .macro rotate_right_1 w0, w1, w2, w3
    bst     \w0, 0
    lsr     \w3
    ror     \w2
    ror     \w1
    ror     \w0
    bld     \w3, 7
    .endm

/*
 * A quarter round of a in registers, b and c in memory, and d in r27:r24, which comes back rotated by bytes: its first byte is
 * then r25. b is in r19:r16, c in r23:r20.
 */
    .macro quarter_round a0, a1, a2, a3, b, c
    load    r16, r17, r18, r19, \b
    load    r20, r21, r22, r23, \c
    sum     \a0, \a1, \a2, \a3, r16, r17, r18, r19
    difference r24, r25, r26, r27, \a0, \a1, \a2, \a3
    sum     r20, r21, r22, r23, r26, r27, r24, r25
    difference r16, r17, r18, r19, r20, r21, r22, r23
    rotate_right_4 r18, r19, r16, r17
    sum     \a0, \a1, \a2, \a3, r18, r19, r16, r17
    difference r26, r27, r24, r25, \a0, \a1, \a2, \a3
    sum     r20, r21, r22, r23, r25, r26, r27, r24
    store   r20, r21, r22, r23, \c
    difference r18, r19, r16, r17, r20, r21, r22, r23
    rotate_right_1 r17, r18, r19, r16
    store   r17, r18, r19, r16, \b
    .endm

    .macro load_d offset
    load    r24, r25, r26, r27, \offset
    .endm

    .macro store_d offset
    store   r25, r26, r27, r24, \offset
    .endm

/* d is the next quarter round's too. */
    .macro keep_d
    mov     temporary, r24
    mov     r24, r25
    mov     r25, r26
    mov     r26, r27
    mov     r27, temporary
    .endm

/* Two registers, to any two, by way of r17:r16. */
    .macro constant_pair low, first, second
    ldi     r16, \first
    ldi     r17, \second
    movw    \low, r16
    .endm

    .macro emit_sum register, constant
    ldi     temporary, \constant
    add     \register, temporary
    st      Y+, \register
    .endm

    .macro emit_sum_carry register, constant
    ldi     temporary, \constant
    adc     \register, temporary
    st      Y+, \register
    .endm

    .macro emit_word w0, w1, w2, w3, k0, k1, k2, k3
    emit_sum \w0, \k0
    emit_sum_carry \w1, \k1
    emit_sum_carry \w2, \k2
    emit_sum_carry \w3, \k3
    .endm

/* void cm_chacha20_blocks_avr(uint8_t *out, uint32_t input[12], size_t blocks), for blocks > 0. */
    .section .text.cm_chacha20_blocks_avr, "ax", @progbits
    .global cm_chacha20_blocks_avr
    .type cm_chacha20_blocks_avr, @function
cm_chacha20_blocks_avr:
    .irp n, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 28, 29
    push    r\n
    .endr
    movw    r28, r24
next_block:
    push    r20
    push    r21
    push    r22
    push    r23
    adiw    r28, 16
    movw    r30, r22
    ldi     r18, INPUT_BYTES
copy_input:
    ld      r16, Z+
    st      Y+, r16
    dec     r18
    brne    copy_input
    sbiw    r28, INPUT_BYTES
    /* "expand 32-byte k" */
    constant_pair r0, 'e', 'x'
    constant_pair r2, 'p', 'a'
    constant_pair r4, 'n', 'd'
    constant_pair r6, ' ', '3'
    constant_pair r8, '2', '-'
    constant_pair r10, 'b', 'y'
    constant_pair r12, 't', 'e'
    constant_pair r14, ' ', 'k'
    ldi     rounds, DOUBLE_ROUNDS
    load_d  WORD(14)
double_round:
    quarter_round r8, r9, r10, r11, WORD(6), WORD(10)
    store_d WORD(14)
    load_d  WORD(12)
    quarter_round r0, r1, r2, r3, WORD(4), WORD(8)
    store_d WORD(12)
    load_d  WORD(13)
    quarter_round r4, r5, r6, r7, WORD(5), WORD(9)
    store_d WORD(13)
    load_d  WORD(15)
    quarter_round r12, r13, r14, r15, WORD(7), WORD(11)
    keep_d
    quarter_round r0, r1, r2, r3, WORD(5), WORD(10)
    store_d WORD(15)
    load_d  WORD(12)
    quarter_round r4, r5, r6, r7, WORD(6), WORD(11)
    store_d WORD(12)
    load_d  WORD(13)
    quarter_round r8, r9, r10, r11, WORD(7), WORD(8)
    store_d WORD(13)
    load_d  WORD(14)
    quarter_round r12, r13, r14, r15, WORD(4), WORD(9)
    keep_d
    dec     rounds
    breq    add_input
    rjmp    double_round
add_input:
    store   r24, r25, r26, r27, WORD(14)
    sbiw    r28, 16
    emit_word r0, r1, r2, r3, 'e', 'x', 'p', 'a'
    emit_word r4, r5, r6, r7, 'n', 'd', ' ', '3'
    emit_word r8, r9, r10, r11, '2', '-', 'b', 'y'
    emit_word r12, r13, r14, r15, 't', 'e', ' ', 'k'
    pop     r23
    pop     r22
    pop     r21
    pop     r20
    movw    r30, r22
    ldi     r18, INPUT_BYTES / 4
add_word:
    ld      r16, Y
    ld      r17, Z+
    add     r16, r17
    st      Y+, r16
    .rept 3
    ld      r16, Y
    ld      r17, Z+
    adc     r16, r17
    st      Y+, r16
    .endr
    dec     r18
    brne    add_word
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
    breq    no_more_blocks
    rjmp    next_block
no_more_blocks:
    .irp n, 29, 28, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2
    pop     r\n
    .endr
    ret
    .size cm_chacha20_blocks_avr, . - cm_chacha20_blocks_avr

#endif
