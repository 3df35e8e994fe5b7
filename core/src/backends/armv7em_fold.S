/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small polynomials folded into a half of the ring and taken one level further, for ARMv7E-M: ring.h says
 * why that is one pass. Of the four stretches of n/4 coefficients, with left = first + w^2 third and right =
 * w second + w^3 fourth, the results are left + right and left - right. What is read and done depends on n
 * alone.
 */
#include "backends/armv7em/function.inc"

#if CM_ARMV7EM

#include "backends/armv7em/keep.inc"

/* The fields of cmi_small_constants. */
    .set constants_powers, 0
    .set constants_q, 16

/* Kept are where the first stretch is read next, how many bytes it has, and where low ends. */
#ifdef __ARM_FP
#define NEXT s0
#define STRETCH s1
#define END s2
    .set frame, 0
#else
    .set NEXT, 0
    .set STRETCH, 4
    .set END, 8
    .set frame, 12
#endif

low     .req r0
high    .req r1
word0   .req r2
word1   .req r3
word2   .req r4
word3   .req r5
left    .req r11
right   .req r12
t       .req lr

/* r1: the stretches; r3: n/4, the coefficients of one, 2^log2_a_byte of them in a byte. Leaves high in r1. */
    .macro open log2_a_byte
    push    {r4-r11, lr}
    .if frame > 0
    sub     sp, sp, #frame
    .endif
    keep    NEXT, r1
    lsr     t, r3, #\log2_a_byte
    keep    STRETCH, t
    add     high, low, r3, lsl #2
    keep    END, high
    .endm

/* The next word of each stretch. */
    .macro next_words
    fetch   left, NEXT
    fetch   right, STRETCH
    add     t, left, right, lsl #1
    ldr     word0, [left]
    ldr     word1, [left, right]
    ldr     word2, [t]
    ldr     word3, [t, right]
    add     left, left, #4
    keep    NEXT, left
    .endm

    .macro close_unless_more
    fetch   t, END
    cmp     low, t
    bne     1b
    .if frame > 0
    add     sp, sp, #frame
    .endif
    pop     {r4-r11, pc}
    .endm

    .macro put
    add     t, left, right
    str     t, [low], #4
    sub     t, left, right
    str     t, [high], #4
    .endm

/* ---- ternary digits ---- */

power0  .req r6
power1  .req r7
power2  .req r8
power3  .req r9
twice_q .req r10

/* Digits 0, 1, 2 to 3, 0, 1: -1, 0 and 1 in two bits. t holds 0x55555555; spoils a. */
    .macro to_signed word
    orr     left, \word, \word, lsr #1
    bic     left, t, left
    bic     \word, t, \word
    orr     \word, \word, left, lsl #1
    .endm

/* void cmi_armv7em_fold_ternary(uint32_t *out, const uint8_t *packed, const small_constants *constants,
   uint32_t quarter) */
    function cmi_armv7em_fold_ternary
    open    2
    ldr     twice_q, [r2, #constants_q]
    lsl     twice_q, twice_q, #1
    ldrd    power0, power1, [r2, #constants_powers]
    ldrd    power2, power3, [r2, #constants_powers + 8]
    .balign 4
1:  next_words
    mov     t, #0x55555555
    to_signed word0
    to_signed word1
    to_signed word2
    to_signed word3
    .irp digit, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    sbfx    left, word0, #2 * \digit, #2
    mla     left, left, power0, twice_q
    sbfx    t, word2, #2 * \digit, #2
    mla     left, t, power2, left
    sbfx    right, word1, #2 * \digit, #2
    mul     right, right, power1
    sbfx    t, word3, #2 * \digit, #2
    mla     right, t, power3, right
    put
    .endr
    close_unless_more
    end_function cmi_armv7em_fold_ternary

/* ---- noise ---- */

q       .req r6
inverse .req r10

/*
 * Subtract from a |value| < 2^31 its rounded quotient by q, times q: the quotient is off by at most 1/2 +
 * 2^31 / 2^33. Spoils t.
 */
    .macro reduce value
    smmulr  t, \value, inverse
    mls     \value, t, q, \value
    .endm

/*
 * Byte part of each word. Products are below 21 q/2, so two of them fit 31 bits for q < 2^26 alone. Then the
 * results may exceed 11 q as well: armv7em.c says why, and what it does to the first ones.
 */
    .macro fold_byte part, reductions
    sxtb    t, word1, ror #8 * \part
    mul     right, t, power1
    .if \reductions == 2
    reduce  right
    .endif
    sxtb    t, word3, ror #8 * \part
    mla     right, t, power3, right
    reduce  right
    sxtb    t, word2, ror #8 * \part
    mul     left, t, power2
    .if \reductions == 2
    reduce  left
    .endif
    sxtab   left, left, word0, ror #8 * \part
    put
    .endm

    .macro fold_bytes reductions
    .balign 4
1:  next_words
    fold_byte 0, \reductions
    fold_byte 1, \reductions
    fold_byte 2, \reductions
    fold_byte 3, \reductions
    close_unless_more
    .endm

/* void cmi_armv7em_fold_noise(uint32_t *out, const int8_t *noise, const small_constants *constants, uint32_t
   quarter) */
    function cmi_armv7em_fold_noise
    open    0
    ldrd    q, inverse, [r2, #constants_q]
    ldr     power1, [r2, #constants_powers + 4]
    ldrd    power2, power3, [r2, #constants_powers + 8]
    cmp     q, #1 << 26
    bhs     2f
    fold_bytes 1
2:  fold_bytes 2
    end_function cmi_armv7em_fold_noise

#endif
