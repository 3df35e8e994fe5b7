/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The 31-bit encoder's inner loops for ARMv7E-M: the butterflies of two levels on four points, and the split
 * of real samples. encode/ckks_transform.h has the same in C; docs/encoding.md specifies every rounding.
 *
 * No branch, address or slow instruction depends on the data; long multiplications take one cycle on the
 * Cortex-M4 and M7 whatever they multiply.
 */
#include "backends/armv7em/function.inc"

#if CM_ARMV7EM && CM_CONFIG_PRECISION_31

#include "backends/armv7em/keep.inc"

/*
 * (a + w b) / 2 in (re, im), b becomes a - that; w = c - i s. A sum (a + 1) 2^31 + products, of which the
 * upper word is the result: (a + 1) 2^31 is the word (a + 1) >> 1 above its lost bit.
 */
.macro butterfly a0, a1, b0, b1, c, s, re, im, t
    add \re, \a0, #1
    add \im, \a1, #1
    lsl \t, \re, #31
    asr \re, \re, #1
    smlal \t, \re, \b0, \c
    smlal \t, \re, \b1, \s
    lsl \t, \im, #31
    asr \im, \im, #1
    smlal \t, \im, \b1, \c
    rsb \b0, \b0, #0
    smlal \t, \im, \b0, \s
    sub \b0, \a0, \re
    sub \b1, \a1, \im
.endm

/*
 * The same with w = 1. (a + b + 1) >> 1 is the bits both have, plus half of those only one has, rounded up.
 */
.macro butterfly_exact a0, a1, b0, b1, re, im, t
    orr \re, \a0, \b0
    eor \t, \a0, \b0
    sub \re, \re, \t, asr #1
    orr \im, \a1, \b1
    eor \t, \a1, \b1
    sub \im, \im, \t, asr #1
    sub \b0, \a0, \re
    sub \b1, \a1, \im
.endm

/* The same with w = -i: the product's parts are b1 and -b0. */
.macro butterfly_exact_turned a0, a1, b0, b1, re, im, t
    rsb \b0, \b0, #0
    orr \re, \a0, \b1
    eor \t, \a0, \b1
    sub \re, \re, \t, asr #1
    orr \im, \a1, \b0
    eor \t, \a1, \b0
    sub \im, \im, \t, asr #1
    sub \b0, \a0, \re
    sub \b1, \a1, \im
.endm

/* What the three functions of butterflies keep: cosines and sines of the roots of both levels, too. */
#ifdef __ARM_FP
#define STEP s0
#define END s1
#define COSINE1 s2
#define SINE1 s3
#define COSINE2 s4
#define SINE2 s5
    .set frame, 0
#else
    .set STEP, 0
    .set END, 4
    .set COSINE1, 8
    .set SINE1, 12
    .set COSINE2, 16
    .set SINE2, 20
    .set frame, 24
#endif

/* Points 0 and 1 to r4 .. r7, and the addresses of points 2 and 3 to lr and r10. */
.macro load_two
    add r12, r0, r1
    add lr, r12, r1
    add r10, lr, r1
    ldr r4, [r0]
    ldr r5, [r0, #4]
    ldr r6, [r12]
    ldr r7, [r12, #4]
.endm

/* Points 2 and 3 to r4, r5, r10 and r11. */
.macro load_others
    ldr r4, [lr]
    ldr r5, [lr, #4]
    ldr r11, [r10, #4]
    ldr r10, [r10]
.endm

/*
 * The last butterfly of a group, of points 1 (r6, r7) and 3 (r10, r11) with -i w (the product's parts are b1
 * c - b0 s and -(b0 c + b1 s)), and the stores of all four, of which points 0 (r4, r5) and 2 (r12, r1) are
 * done: one at a time, because a store between other instructions takes one cycle. Then on to the next group;
 * the flags say "lower" if there is one.
 */
.macro finish
    add r8, r6, #1
    str r4, [r0]
    lsl lr, r8, #31
    asr r8, r8, #1
    fetch r4, STEP
    smlal lr, r8, r11, r2
    str r5, [r0, #4]
    rsb r10, r10, #0
    add r5, r0, r4, lsl #1
    smlal lr, r8, r10, r3
    str r12, [r5]
    add r9, r7, #1
    lsl lr, r9, #31
    asr r9, r9, #1
    str r1, [r5, #4]
    rsb r11, r11, #0
    smlal lr, r9, r10, r2
    smlal lr, r9, r11, r3
    store_odd_points
.endm

.macro store_odd_points
    add r5, r5, r4
    sub r10, r6, r8
    fetch r1, END
    str r10, [r5]
    sub r11, r7, r9
    add r12, r0, r4
    str r11, [r5, #4]
    add r0, r0, r4, lsl #2
    str r8, [r12]
    cmp r0, r1
    str r9, [r12, #4]
.endm

/* The same with w = 1, so -i. */
.macro finish_exact
    rsb r10, r10, #0
    str r4, [r0]
    orr r8, r6, r11
    eor lr, r6, r11
    fetch r4, STEP
    sub r8, r8, lr, asr #1
    str r5, [r0, #4]
    orr r9, r7, r10
    add r5, r0, r4, lsl #1
    eor lr, r7, r10
    str r12, [r5]
    sub r9, r9, lr, asr #1
    str r1, [r5, #4]
    store_odd_points
.endm

.macro open_function
    push {r4-r11, lr}
    .if frame > 0
    sub sp, sp, #frame
    .endif
    keep STEP, r2
    keep END, r1
.endm

.macro close_function
    .if frame > 0
    add sp, sp, #frame
    .endif
    pop {r4-r11, pc}
.endm

/*
 * Four points each, step bytes apart, from at on to the end; the next four are 4 step further. The roots are
 * cosines and sines, of the second level (at j of 2h points, point 3 has -i times that) and of the first (at
 * j of h).
 */

/* void cmi_armv7em_two_levels_31(int32_t *at, const int32_t *end, size_t step, const int32_t roots[4]) */
    function cmi_armv7em_two_levels_31
    open_function
    ldm r3, {r4-r7}
    keep COSINE2, r4
    keep SINE2, r5
    keep COSINE1, r6
    keep SINE1, r7
1:
    fetch r1, STEP
    load_two
    fetch r2, COSINE1
    fetch r3, SINE1
    butterfly r4, r5, r6, r7, r2, r3, r8, r9, r12
    load_others
    butterfly r4, r5, r10, r11, r2, r3, r12, r1, lr
    fetch r2, COSINE2
    fetch r3, SINE2
    butterfly r8, r9, r12, r1, r2, r3, r4, r5, lr
    finish
    blo 1b
    close_function
    end_function cmi_armv7em_two_levels_31

/* j = h / 2, whose root at the first level is -i. void cmi_armv7em_two_levels_middle_31(..., const int32_t
   roots[2]) */
    function cmi_armv7em_two_levels_middle_31
    open_function
    ldm r3, {r4, r5}
    keep COSINE2, r4
    keep SINE2, r5
1:
    fetch r1, STEP
    load_two
    butterfly_exact_turned r4, r5, r6, r7, r8, r9, r12
    load_others
    fetch r2, COSINE2
    fetch r3, SINE2
    butterfly_exact_turned r4, r5, r10, r11, r12, r1, lr
    butterfly r8, r9, r12, r1, r2, r3, r4, r5, lr
    finish
    blo 1b
    close_function
    end_function cmi_armv7em_two_levels_middle_31

/* j = 0, whose roots are 1. void cmi_armv7em_two_levels_exact_31(int32_t *at, const int32_t *end, size_t
   step) */
    function cmi_armv7em_two_levels_exact_31
    open_function
1:
    fetch r1, STEP
    load_two
    butterfly_exact r4, r5, r6, r7, r8, r9, r12
    load_others
    butterfly_exact r4, r5, r10, r11, r12, r1, lr
    butterfly_exact r8, r9, r12, r1, r4, r5, lr
    finish_exact
    blo 1b
    close_function
    end_function cmi_armv7em_two_levels_exact_31

/* ---- the split ---- */

    .equ quarter, 4 << (CM_CONFIG_MAX_LOG2_N - 1) /* pi/2 in bytes of the table */

/*
 * With the index of a sine in bytes: its absolute value in place; index keeps what the sign mask is made
 * from.
 */
.macro absolute out, index
    eor \out, \index, \index, asr #31
    sub \out, \out, \index, asr #31
.endm

.macro with_sign_of index, value
    eor \value, \value, \index, asr #31
    sub \value, \value, \index, asr #31
.endm

/*
 * void cmi_armv7em_split_real_31(int32_t *u, int32_t *v, const uint32_t *sine, size_t step) From k = 1, with
 * u at U[1] and v at U[M-1], to where they meet; step is an angle of pi/n in bytes of the table.
 *
 * A number of 33 bits times a root is two products. Each sum of eight is (sum + 2^33) >> 34 of 64 bits, so
 * its upper word and 2, shifted by 2. Signs are changed where fewest have to be: those of u once, those of
 * roots as needed.
 */
    function cmi_armv7em_split_real_31
    push {r3-r11, lr}
1:
    ldr r4, [r0]
    ldr r5, [r0, #4]
    ldr r6, [r1]
    ldr r7, [r1, #4]
    /* r8, r9: zeta^(M-k) = c + i s; r10, r11: zeta^(M-5k) = p + i q, of which q may be negative. */
    rsb r12, r3, #quarter / 2
    add lr, r3, #quarter / 2
    ldr r9, [r2, r12]
    ldr r8, [r2, lr]
    add r12, r3, r3, lsl #2
    rsb r12, r12, #quarter / 2
    absolute lr, r12
    rsb r10, lr, #quarter
    ldr r11, [r2, lr]
    ldr r10, [r2, r10]
    with_sign_of r12, r11
    /* c (u0 + v0) + s (v1 - u1) - p (u1 + v1) + q (v0 - u0) */
    smull r12, lr, r8, r4
    smlal r12, lr, r8, r6
    smlal r12, lr, r9, r7
    smlal r12, lr, r11, r6
    rsb r10, r10, #0
    smlal r12, lr, r10, r5
    smlal r12, lr, r10, r7
    rsb r5, r5, #0
    smlal r12, lr, r9, r5
    rsb r4, r4, #0
    smlal r12, lr, r11, r4
    add lr, lr, #2
    asr lr, lr, #2
    str lr, [r1]
    /* s (u0 + v0) + c (u1 - v1) - q (u1 + v1) - p (v0 - u0) */
    smull r12, lr, r9, r6
    rsb r9, r9, #0
    smlal r12, lr, r9, r4
    smlal r12, lr, r11, r5
    rsb r11, r11, #0
    smlal r12, lr, r11, r7
    rsb r8, r8, #0
    smlal r12, lr, r8, r5
    smlal r12, lr, r8, r7
    smlal r12, lr, r10, r6
    smlal r12, lr, r10, r4
    add lr, lr, #2
    asr lr, lr, #2
    str lr, [r1, #4]
    /* r8, r9: zeta^k = c + i s; r10, r11: zeta^(5k) = p + i q, of which p may be negative. */
    rsb r12, r3, #quarter
    ldr r9, [r2, r3]
    ldr r8, [r2, r12]
    add r12, r3, r3, lsl #2
    rsb r12, r12, #quarter
    absolute lr, r12
    rsb r11, lr, #quarter
    ldr r10, [r2, lr]
    ldr r11, [r2, r11]
    with_sign_of r12, r10
    /* c (u0 + v0) + s (u1 - v1) + p (u1 + v1) + q (v0 - u0) */
    smull r12, lr, r8, r6
    smlal r12, lr, r10, r7
    smlal r12, lr, r11, r6
    smlal r12, lr, r11, r4
    rsb r10, r10, #0
    smlal r12, lr, r10, r5
    rsb r9, r9, #0
    smlal r12, lr, r9, r5
    smlal r12, lr, r9, r7
    rsb r8, r8, #0
    smlal r12, lr, r8, r4
    add lr, lr, #2
    asr lr, lr, #2
    str lr, [r0], #4
    /* s (u0 + v0) - c (u1 - v1) + q (u1 + v1) - p (v0 - u0) */
    smull r12, lr, r9, r4
    smlal r12, lr, r10, r6
    smlal r12, lr, r10, r4
    smlal r12, lr, r11, r7
    rsb r9, r9, #0
    smlal r12, lr, r9, r6
    rsb r8, r8, #0
    smlal r12, lr, r8, r5
    smlal r12, lr, r8, r7
    rsb r11, r11, #0
    smlal r12, lr, r11, r5
    ldr r12, [sp]
    add lr, lr, #2
    asr lr, lr, #2
    str lr, [r0], #4
    sub r1, r1, #8
    add r3, r3, r12
    cmp r0, r1
    bls 1b
    pop {r3-r11, pc}
    end_function cmi_armv7em_split_real_31

#endif
