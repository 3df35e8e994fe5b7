/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Point-wise products in Z_q on ARMv7E-M; a count that is 0 or not a multiple of 4 is declined. What is
 * subtracted at the end depends on a borrow by one conditional addition: like any instruction whose condition
 * fails, it takes a cycle all the same, and there is no branch. Stores are placed where no load or store
 * would wait for them.
 */
#include "backends/armv7em/function.inc"

#if CM_ARMV7EM

/* The fields of cm_prime. */
#define PRIME_Q 0
#define PRIME_R1 8

/* The fifth argument, above the nine words that are pushed first. */
#define PRIME 36

out     .req r0
right   .req r2
q       .req r3 /* a low register: in IT blocks behind instructions of 16 bits, IT itself is free */
neg_inv .req lr

    .macro decline_but_multiples_of_4
    cbz     r3, 3f
    tst     r3, #3
    beq     4f
3:  mov     r0, #0
    bx      lr
4:
    .endm

/* value -= q if it is at least q. */
    .macro subtract_once value
    subs    \value, \value, q
    it      lo
    addlo   \value, \value, q
    .endm

/* ---- sums ---- */

sum     .req r1
left    .req r11
one     .req r12

/*
 * sum = the residue of out0 2^32 + a0 b0, for 2^32 mod q in one. Lazy values are at most 32 q: for q < 2^26
 * both products are below 2^31 q, and their sum reduced below 2q; otherwise it is below 3q. Spoils out0 and
 * a0.
 */
    .macro residue out0, a0, b0, multiples
    umull   \out0, sum, \out0, one
    umlal   \out0, sum, \a0, \b0
    mul     \a0, \out0, neg_inv
    umlal   \out0, sum, \a0, q
    .rept \multiples
    subtract_once sum
    .endr
    .endm

    .macro load_pair
    ldr     r4, [out]
    ldr     r5, [out, #4]
    ldr     r6, [left], #4
    ldr     r7, [left], #4
    ldr     r8, [right], #4
    ldr     r9, [right], #4
    .endm

    .macro multiply_add_pair multiples
    residue r4, r6, r8, \multiples
    str     sum, [out], #8
    residue r5, r7, r9, \multiples
    .endm

/* Pairs of coefficients; the last one waits in sum. */
    .macro multiply_add_pairs pairs, multiples
    load_pair
    multiply_add_pair \multiples
    .rept \pairs - 1
    load_pair
    str     sum, [out, #-4]
    multiply_add_pair \multiples
    .endr
    .endm

    .macro multiply_add_all pairs, multiples
    .if \pairs == 4
    sub     r4, r10, out
    tst     r4, #16
    beq     5f
    multiply_add_pairs 2, \multiples
    str     sum, [out, #-4]
5:  cmp     out, r10
    beq     7f
    .endif
    .balign 4
6:  multiply_add_pairs \pairs, \multiples
    cmp     out, r10
    str     sum, [out, #-4]
    bne     6b
7:  mov     r0, #1
    pop     {r4-r11, pc}
    .endm

/* By eights, with four more at the start of an odd multiple of 4; or by fours, where code has to be small. */
#if defined(__OPTIMIZE_SIZE__) || CM_CONFIG_SMALL
#define PAIRS 2
#else
#define PAIRS 4
#endif

    function cmi_armv7em_multiply_add
    decline_but_multiples_of_4
    push    {r4-r11, lr}
    mov     left, r1
    ldr     r4, [sp, #PRIME]
    add     r10, out, r3, lsl #2
    ldrd    q, neg_inv, [r4, #PRIME_Q]
    ldr     one, [r4, #PRIME_R1]
    cmp     q, #1 << 26
    bhs     2f
    multiply_add_all PAIRS, 1
2:  multiply_add_all 2, 2
    end_function cmi_armv7em_multiply_add

/* ---- products ---- */

factor  .req r1
end     .req r12

/* value = the residue of a0 b0, where value holds a0: the reduced product is below 2q. */
    .macro multiply value, b0
    umull   r8, \value, \value, \b0
    mul     r9, r8, neg_inv
    umlal   r8, \value, r9, q
    subtract_once \value
    .endm

    function cmi_armv7em_multiply
    decline_but_multiples_of_4
    push    {r4-r11, lr}
    ldr     r4, [sp, #PRIME]
    add     end, out, r3, lsl #2
    ldrd    q, neg_inv, [r4, #PRIME_Q]
    .balign 4
1:  ldr     r4, [factor], #4
    ldr     r5, [factor], #4
    ldr     r6, [factor], #4
    ldr     r7, [factor], #4
    ldr     r10, [right], #4
    ldr     r11, [right], #4
    multiply r4, r10
    multiply r5, r11
    ldr     r10, [right], #4
    ldr     r11, [right], #4
    str     r4, [out], #4
    multiply r6, r10
    str     r5, [out], #4
    multiply r7, r11
    str     r6, [out], #8
    cmp     out, end
    str     r7, [out, #-4]
    bne     1b
    mov     r0, #1
    pop     {r4-r11, pc}
    end_function cmi_armv7em_multiply

#endif
