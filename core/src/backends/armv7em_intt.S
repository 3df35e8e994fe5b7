/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Levels of the inverse NTT on ARMv7E-M with roots and quotients from flash: two at a time, or one.
 * backends/armv7em.c says what each function does. Every address and every branch follows from the number of
 * points alone.
 *
 * The inverse root of a block is minus the root of the opposite block (ring.c): so roots are read backwards
 * while blocks go forwards, and differences are reversed. Bounds, for q < 2^27: a product of |x| < 2^31 by a
 * root is at most (1/2 + |x| / 2^33) q in magnitude, and so is a sum that was reduced; from inputs up to 2q,
 * a sum of four is at most 8q < 2^30, so everything stored is a product, a reduced sum, or the sum of two
 * products: below 3q/2.
 */
#include "backends/armv7em/function.inc"

#if CM_ARMV7EM && CM_CONFIG_NTT_ROOTS

#include "backends/armv7em/column.inc"

/* The fields of level_blocks in backends/armv7em.c. */
#define LEVELS_A 0
#define LEVELS_OUTER 4
#define LEVELS_INNER 8
#define LEVELS_END 12
#define LEVELS_HALF 16
#define LEVELS_Q 20
#define LEVELS_Q_INVERSE 24

at      .req r0
q_inverse .req r1
q       .req r9

/* x = x root, spoils spare */
    .macro multiply x, spare, root, quotient
    smmulr  \spare, \x, \quotient
    mul     \x, \x, \root
    mls     \x, \spare, q, \x
    .endm

    .macro reduce x, spare
    smmulr  \spare, \x, q_inverse
    mls     \x, \spare, q, \x
    .endm

/* With quarters of 4096 bytes, a second address takes q_inverse's register: column.inc. */
far     .req r1

/*
 * Two levels of a column: the inner roots are in r12 and lr for values 0 and 1, in r10 and r11 for values 2
 * and 3, the outer one in r2 and r3.
 */
    .macro column quarter, offset
    access  ldr, r4, 0, \quarter, \offset
    access  ldr, r5, 1, \quarter, \offset
    access  ldr, r6, 2, \quarter, \offset
    access  ldr, r7, 3, \quarter, \offset
    sub     r8, r5, r4
    add     r4, r4, r5
    multiply r8, r5, r12, lr
    sub     r5, r7, r6
    add     r6, r6, r7
    multiply r5, r7, r10, r11
    sub     r7, r6, r4
    add     r4, r4, r6
    multiply r7, r6, r2, r3
    .if \quarter < 4096
    reduce  r4, r6
    .else
    ldr     r6, [sp, #4]
    smmulr  r6, r4, r6
    mls     r4, r6, q, r4
    .endif
    access  str, r4, 0, \quarter, \offset
    sub     r6, r5, r8
    access  str, r7, 2, \quarter, \offset
    add     r8, r8, r5
    smmulr  r5, r6, r3
    access  str, r8, 1, \quarter, \offset
    mul     r6, r6, r2
    mls     r6, r5, q, r6
    access  str, r6, 3, \quarter, \offset
    .endm

    .macro four_columns quarter
    column  \quarter, 0
    column  \quarter, 4
    column  \quarter, 8
    column  \quarter, 12
    .endm

/* The stack's first word is the levels; the second, an end. */
    .macro previous_roots
    ldr     r4, [sp]
    ldrd    r5, r6, [r4, #LEVELS_OUTER]
    ldrd    r2, r3, [r5, #-8]!
    ldmdb   r6!, {r10, r11, r12, lr}
    strd    r5, r6, [r4, #LEVELS_OUTER]
    .endm

/* Blocks of four quarters of 16, 64, 256 or 1024 bytes. */
    .macro two_levels name, quarter
    function \name
    push    {r4-r11, lr}
    sub     sp, sp, #12
    str     r0, [sp]
    ldrd    q, q_inverse, [r0, #LEVELS_Q]
    ldr     at, [r0, #LEVELS_A]
    .balign 4
1:  previous_roots
    .if \quarter > 16
    add     r4, at, #\quarter
    str     r4, [sp, #4]
    .balign 4
2:  four_columns \quarter
    add     at, at, #16
    ldr     r4, [sp, #4]
    cmp     at, r4
    bne     2b
    add     at, at, #(3 * \quarter)
    .else
    four_columns \quarter
    add     at, at, #64
    .endif
    ldr     r4, [sp]
    ldr     r4, [r4, #LEVELS_END]
    cmp     at, r4
    bne     1b
    add     sp, sp, #12
    pop     {r4-r11, pc}
    end_function \name
    .endm

    two_levels cmi_armv7em_two_inverse_levels_4, 16
    two_levels cmi_armv7em_two_inverse_levels_16, 64
    two_levels cmi_armv7em_two_inverse_levels_64, 256
    two_levels cmi_armv7em_two_inverse_levels_256, 1024

/* One block of four quarters of 4096 bytes. */
    function cmi_armv7em_two_inverse_levels_1024
    push    {r4-r11, lr}
    sub     sp, sp, #12
    str     r0, [sp]
    ldrd    q, r4, [r0, #LEVELS_Q]
    str     r4, [sp, #4]
    ldr     at, [r0, #LEVELS_A]
    add     at, at, #16
    add     far, at, #8192
    add     r4, at, #4096
    str     r4, [sp, #8]
    previous_roots
    .balign 4
1:  four_columns 4096
    add     at, at, #16
    add     far, far, #16
    ldr     r4, [sp, #8]
    cmp     at, r4
    bne     1b
    add     sp, sp, #12
    pop     {r4-r11, pc}
    end_function cmi_armv7em_two_inverse_levels_1024

/* Blocks of four values. The outer root takes the place of the second inner one. */
    function cmi_armv7em_two_inverse_levels_1
    push    {r4-r11, lr}
    ldrd    r2, r3, [r0, #LEVELS_OUTER]
    ldrd    q, q_inverse, [r0, #LEVELS_Q]
    ldr     r4, [r0, #LEVELS_END]
    push    {r4}
    ldr     at, [r0, #LEVELS_A]
    .balign 4
1:  ldmdb   r3!, {r10, r11, r12, lr}
    ldm     at, {r4-r7}
    sub     r8, r5, r4
    add     r4, r4, r5
    multiply r8, r5, r12, lr
    sub     r5, r7, r6
    add     r6, r6, r7
    multiply r5, r7, r10, r11
    ldrd    r10, r11, [r2, #-8]!
    sub     r7, r6, r4
    add     r4, r4, r6
    multiply r7, r6, r10, r11
    reduce  r4, r6
    sub     r6, r5, r8
    add     r5, r5, r8
    multiply r6, r8, r10, r11
    mov     r8, r6
    mov     r6, r7
    mov     r7, r8
    stm     at!, {r4-r7}
    ldr     r8, [sp]
    cmp     at, r8
    bne     1b
    add     sp, sp, #4
    pop     {r4-r11, pc}
    end_function cmi_armv7em_two_inverse_levels_1

/* One level of one block: two coefficients of each half at a time. */
    function cmi_armv7em_one_inverse_level
    push    {r4-r11, lr}
    ldrd    q, q_inverse, [r0, #LEVELS_Q]
    ldr     r12, [r0, #LEVELS_HALF]
    ldr     r2, [r0, #LEVELS_OUTER]
    ldrd    r2, r3, [r2, #-8]
    ldr     at, [r0, #LEVELS_A]
    add     r12, at, r12
    mov     lr, r12
    .balign 4
1:  ldrd    r4, r5, [at]
    ldrd    r6, r7, [r12]
    sub     r8, r6, r4
    add     r4, r4, r6
    multiply r8, r6, r2, r3
    sub     r10, r7, r5
    add     r5, r5, r7
    multiply r10, r7, r2, r3
    reduce  r4, r6
    reduce  r5, r7
    strd    r4, r5, [at], #8
    strd    r8, r10, [r12], #8
    cmp     at, lr
    bne     1b
    pop     {r4-r11, pc}
    end_function cmi_armv7em_one_inverse_level

#endif
