/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Levels of the forward NTT on ARMv7E-M: two at a time, or one. backends/armv7em.c says what each function
 * does, and why the values, which are signed and never reduced, fit. Every address and every branch follows
 * from the number of points alone.
 *
 * A column, four coefficients a quarter of a block apart, stays in registers from one level to the next. A
 * load or store right after a store waits for it, but a store after a load does not: so stores are placed
 * between products, and the last one of a column after the loads of the next.
 */
#include "backends/armv7em/function.inc"

#if CM_ARMV7EM

#include "backends/armv7em/column.inc"
#include "backends/armv7em/keep.inc"

/* The fields of level_blocks in backends/armv7em.c. */
#define LEVELS_A 0
#define LEVELS_OUTER 4
#define LEVELS_INNER 8
#define LEVELS_END 12
#define LEVELS_HALF 16
#define LEVELS_Q 20

at      .req r0 /* at first, the argument */
end     .req r1

far     .req r1 /* column.inc */

    .macro load x3, quarter, offset
    access  ldr, r4, 0, \quarter, \offset
    access  ldr, r5, 1, \quarter, \offset
    access  ldr, r6, 2, \quarter, \offset
    access  ldr, \x3, 3, \quarter, \offset
    .endm

#if !CM_CONFIG_NTT_ROOTS

/* ---- roots in Montgomery form: r12, and at the second level lr and r3 ---- */

levels  .req r2
low     .req r8
high    .req r9
q       .req r10
neg_inv .req r11

    .macro load_prime
    ldrd    q, neg_inv, [levels, #LEVELS_Q]
    .endm

/* high = b root / 2^32 mod q, below q in magnitude. Spoils b and low. */
    .macro product b, root
    smull   low, high, \b, \root
    mul     \b, low, neg_inv
    smlal   low, high, \b, q
    .endm

/* a, b = a + b root, a - b root */
    .macro butterfly a, b, root
    product \b, \root
    sub     \b, \a, high
    add     \a, \a, high
    .endm

/* Two levels of the column in r4 .. r7. Stores all but value 2, which it leaves in low. */
    .macro transform quarter, offset
    butterfly r4, r6, r12
    butterfly r5, r7, r12
    product r5, lr
    sub     r5, r4, high
    access  str, r5, 1, \quarter, \offset
    add     r4, r4, high
    access  str, r4, 0, \quarter, \offset
    product r7, r3
    sub     r7, r6, high
    access  str, r7, 3, \quarter, \offset
    add     low, r6, high
    .endm

    .macro finish quarter, offset
    access  str, low, 2, \quarter, \offset
    .endm

/* The four columns at at. */
    .macro four_columns quarter
    load    r7, \quarter, 0
    transform \quarter, 0
    load    r7, \quarter, 4
    finish  \quarter, 0
    transform \quarter, 4
    load    r7, \quarter, 8
    finish  \quarter, 4
    transform \quarter, 8
    load    r7, \quarter, 12
    finish  \quarter, 8
    transform \quarter, 12
    finish  \quarter, 12
    .endm

#define COLUMNS four_columns
#define COLUMN_BYTES 16

    .macro next_roots
    ldrd    r4, r5, [levels, #LEVELS_OUTER]
    ldr     r12, [r4], #4
    ldr     lr, [r5], #8
    ldr     r3, [r5, #-4]
    strd    r4, r5, [levels, #LEVELS_OUTER]
    .endm

    .macro load_end register
    ldr     \register, [levels, #LEVELS_END]
    .endm

    .macro open_levels
    push    {r0, r4-r11, lr}
    mov     levels, r0
    load_prime
    ldr     at, [levels, #LEVELS_A]
    .endm

    .macro close_levels
    pop     {r0, r4-r11, pc}
    .endm

/* The end of a loop over columns, in a place that load_end does not read. */
#define FRAME_COLUMNS 0

/* The roots of block after block: r1 and r2 point to them. */
    .macro open_roots
    ldr     r4, [levels, #LEVELS_END]
    str     r4, [sp]
    ldrd    r1, r2, [levels, #LEVELS_OUTER]
    .endm

    .macro load_last register
    ldr     \register, [sp]
    .endm

    .macro step_roots
    ldr     r12, [r1], #4
    ldr     lr, [r2], #8
    ldr     r3, [r2, #-4]
    .endm

#else

/*
 * ---- roots with quotients: r2 (and r3), at the second level r10 (r11) and r12 (lr) ----
 *
 * Of the table, only the quotients are read. q quotient / 2^32 is within q / 2^33 < 1/2 of the root, which it
 * therefore rounds to: that takes one cycle, a word of flash takes two.
 */

q       .req r9

    .macro load_prime
    ldr     q, [r0, #LEVELS_Q]
    .endm

    .macro root_of root, quotient
    smmulr  \root, \quotient, q
    .endm

/* sum, b = a + b root, a - b root; a is free afterwards. */
    .macro butterfly sum, a, b, root, quotient
    mla     \sum, \b, \root, \a
    smmulr  \b, \b, \quotient
    mls     \sum, \b, q, \sum
    rsb     \b, \sum, \a, lsl #1
    .endm

/* Two levels of the column in r4, r5, r6 and x3. Stores all but value 3, which it leaves in x3. */
    .macro transform x3, spare, quarter, offset
    butterfly \spare, r4, r6, r2, r3
    butterfly r4, r5, \x3, r2, r3
    butterfly r5, \spare, r4, r10, r11
    mla     \spare, \x3, r12, r6
    access  str, r5, 0, \quarter, \offset
    smmulr  \x3, \x3, lr
    access  str, r4, 1, \quarter, \offset
    mls     \spare, \x3, q, \spare
    access  str, \spare, 2, \quarter, \offset
    rsb     \x3, \spare, r6, lsl #1
    .endm

    .macro finish x3, quarter, offset
    access  str, \x3, 3, \quarter, \offset
    .endm

/* The columns at at. r7 and r8 alternate: one waits to be stored while the next column is loaded. */
    .macro four_columns quarter
    load    r7, \quarter, 0
    four_more \quarter, 0
    finish  r8, \quarter, 12
    .endm

    .macro eight_columns quarter
    load    r7, \quarter, 0
    four_more \quarter, 0
    load    r7, \quarter, 16
    finish  r8, \quarter, 12
    four_more \quarter, 16
    finish  r8, \quarter, 28
    .endm

/* Four columns from offset on, of which the first has been loaded, and the last is to be finished. */
    .macro four_more quarter, offset
    transform r7, r8, \quarter, \offset
    load    r8, \quarter, (\offset + 4)
    finish  r7, \quarter, \offset
    transform r8, r7, \quarter, (\offset + 4)
    load    r7, \quarter, (\offset + 8)
    finish  r8, \quarter, (\offset + 4)
    transform r7, r8, \quarter, (\offset + 8)
    load    r8, \quarter, (\offset + 12)
    finish  r7, \quarter, (\offset + 8)
    transform r8, r7, \quarter, (\offset + 12)
    .endm

#ifdef __OPTIMIZE_SIZE__
#define COLUMNS four_columns
#define COLUMN_BYTES 16
#else
#define COLUMNS eight_columns
#define COLUMN_BYTES 32
#endif

/*
 * Kept are where the first level's next quotient is; from where twice that counts to those of the second
 * level, which advance twice as fast; and the end of the blocks.
 */
#ifdef __ARM_FP
#define OUTER s0
#define INNER s1
#define END s2
#else
    .set OUTER, 0
    .set INNER, 4
    .set END, 8
#endif
#define FRAME_COLUMNS 8

    .macro open_levels
    push    {r1-r11, lr}
    ldrd    r4, r5, [r0, #LEVELS_OUTER]
    ldr     r6, [r0, #LEVELS_END]
    load_prime
    sub     r5, r5, r4, lsl #1
    keep    END, r6
    add     r4, r4, #4
    keep    OUTER, r4
    sub     r5, r5, #4
    keep    INNER, r5
    ldr     at, [r0, #LEVELS_A]
    .endm

    .macro close_levels
    pop     {r1-r11, pc}
    .endm

    .macro load_end register
    fetch   \register, END
    .endm

    .macro load_last register
    load_end \register
    .endm

/* The roots of block after block, for a loop that keeps the place of the first level's in r1. */
    .macro open_roots
    fetch   r1, OUTER
    .endm

    .macro step_roots outer=r1
    fetch   r5, INNER
    add     r5, r5, \outer, lsl #1
    ldr     r3, [\outer], #8
    ldr     r11, [r5]
    ldr     lr, [r5, #8]
    root_of r2, r3
    root_of r10, r11
    root_of r12, lr
    .endm

    .macro next_roots
    fetch   r4, OUTER
    step_roots r4
    keep    OUTER, r4
    .endm

#endif

/* ---- two levels ---- */

/* Blocks of four quarters of 64, 256 or 1024 bytes. */
    .macro two_levels name, quarter
    function \name
    open_levels
    .balign 4
1:  next_roots
    add     end, at, #\quarter
    .balign 4
2:  COLUMNS \quarter
    add     at, at, #COLUMN_BYTES
    cmp     at, end
    bne     2b
    add     at, at, #(3 * \quarter)
    load_end r4
    cmp     at, r4
    bne     1b
    close_levels
    end_function \name
    .endm

    two_levels cmi_armv7em_two_levels_16, 64
    two_levels cmi_armv7em_two_levels_64, 256
    two_levels cmi_armv7em_two_levels_256, 1024

/* Blocks of four quarters of 16 bytes: their own four columns. */
    function cmi_armv7em_two_levels_4
    open_levels
    open_roots
    .balign 4
1:  step_roots
    four_columns 16
    add     at, at, #64
    load_last r4
    cmp     at, r4
    bne     1b
    close_levels
    end_function cmi_armv7em_two_levels_4

/* One block of four quarters of 4096 bytes. */
    function cmi_armv7em_two_levels_1024
    open_levels
    add     at, at, #16
    add     far, at, #8192
    next_roots
    add     r4, at, #4096
    str     r4, [sp, #FRAME_COLUMNS]
    .balign 4
1:  four_columns 4096
    add     at, at, #16
    add     far, far, #16
    ldr     r4, [sp, #FRAME_COLUMNS]
    cmp     at, r4
    bne     1b
    close_levels
    end_function cmi_armv7em_two_levels_1024

#if !CM_CONFIG_NTT_ROOTS

/* A block of four values; at moves on. Value 2 waits in low. */
    .macro four_values
    ldr     r4, [at]
    ldr     r5, [at, #4]
    ldr     r6, [at, #8]
    ldr     r7, [at, #12]
    ldr     r12, [r1], #4
    ldr     lr, [r2], #8
    ldr     r3, [r2, #-4]
    .endm

    .macro transform_values
    butterfly r4, r6, r12
    butterfly r5, r7, r12
    product r5, lr
    sub     r5, r4, high
    str     r5, [at, #4]
    add     r4, r4, high
    str     r4, [at], #16
    product r7, r3
    sub     r7, r6, high
    str     r7, [at, #-4]
    add     low, r6, high
    .endm

/* Blocks of four values, a multiple of four of them. */
    function cmi_armv7em_two_levels_1
    push    {r0, r4-r11, lr}
    mov     levels, r0
    load_prime
    ldrd    r1, r2, [r0, #LEVELS_OUTER]
    ldr     at, [r0, #LEVELS_A]
    .balign 4
1:  four_values
    transform_values
    .rept 3
    four_values
    str     low, [at, #-8]
    transform_values
    .endr
    ldr     r3, [sp]
    ldr     r3, [r3, #LEVELS_END]
    str     low, [at, #-8]
    cmp     at, r3
    bne     1b
    pop     {r0, r4-r11, pc}
    end_function cmi_armv7em_two_levels_1

/* One level of one block: two coefficients of each half at a time. */
    function cmi_armv7em_one_level
    push    {r4-r11, lr}
    mov     levels, r0
    load_prime
    ldr     at, [levels, #LEVELS_A]
    ldr     r3, [levels, #LEVELS_HALF]
    ldr     r12, [levels, #LEVELS_OUTER]
    ldr     r12, [r12]
    add     r3, at, r3
    mov     end, r3
    .balign 4
1:  ldr     r4, [at]
    ldr     r5, [at, #4]
    ldr     r6, [r3]
    ldr     r7, [r3, #4]
    product r6, r12
    sub     r6, r4, high
    str     r6, [r3], #8
    add     r4, r4, high
    str     r4, [at], #8
    product r7, r12
    sub     r7, r5, high
    str     r7, [r3, #-4]
    add     r5, r5, high
    str     r5, [at, #-4]
    cmp     at, end
    bne     1b
    pop     {r4-r11, pc}
    end_function cmi_armv7em_one_level

/* r0: out, r1: in, r2: count, r3: factor; the prime is on the stack. */
    function cmi_armv7em_scale
    push    {r4-r11, lr}
    ldr     r12, [sp, #36]
    ldrd    q, neg_inv, [r12]
    .balign 4
1:  ldm     r1!, {r4-r7}
    .irp value, r4, r5, r6, r7
    smull   low, \value, \value, r3
    mul     high, low, neg_inv
    smlal   low, \value, high, q
    .endr
    stm     r0!, {r4-r7}
    subs    r2, r2, #4
    bne     1b
    pop     {r4-r11, pc}
    end_function cmi_armv7em_scale

#else

    .macro four_values x3
    ldr     r4, [at]
    ldr     r5, [at, #4]
    ldr     r6, [at, #8]
    ldr     \x3, [at, #12]
    ldr     r11, [r1], #8
    ldr     r12, [r2], #16
    ldr     lr, [r2, #-8]
    .endm

/* A block of four values; at moves on. Value 3 waits in x3. */
    .macro transform_values x3, spare
    root_of r10, r11
    butterfly \spare, r4, r6, r10, r11
    butterfly r4, r5, \x3, r10, r11
    root_of r10, r12
    butterfly r5, \spare, r4, r10, r12
    root_of r10, lr
    mla     \spare, \x3, r10, r6
    str     r5, [at], #16
    smmulr  \x3, \x3, lr
    str     r4, [at, #-12]
    mls     \spare, \x3, q, \spare
    str     \spare, [at, #-8]
    rsb     \x3, \spare, r6, lsl #1
    .endm

/* Blocks of four values, a multiple of four of them. */
    function cmi_armv7em_two_levels_1
    push    {r4-r11, lr}
    load_prime
    ldrd    r1, r2, [r0, #LEVELS_OUTER]
    ldr     r3, [r0, #LEVELS_END]
    ldr     at, [r0, #LEVELS_A]
    add     r1, r1, #4
    add     r2, r2, #4
    .balign 4
1:  four_values r7
    transform_values r7, r8
    four_values r8
    str     r7, [at, #-4]
    transform_values r8, r7
    four_values r7
    str     r8, [at, #-4]
    transform_values r7, r8
    four_values r8
    str     r7, [at, #-4]
    transform_values r8, r7
    cmp     at, r3
    str     r8, [at, #-4]
    bne     1b
    pop     {r4-r11, pc}
    end_function cmi_armv7em_two_levels_1

/* One level of one block: two coefficients of each half at a time. */
    function cmi_armv7em_one_level
    push    {r4-r11, lr}
    load_prime
    ldr     r12, [r0, #LEVELS_HALF]
    ldr     r3, [r0, #LEVELS_OUTER]
    ldr     at, [r0, #LEVELS_A]
    ldrd    r2, r3, [r3]
    add     r12, at, r12
    mov     end, r12
    .balign 4
1:  .rept COLUMN_BYTES / 16
    ldr     r4, [at]
    ldr     r5, [at, #4]
    ldr     r6, [r12]
    ldr     r7, [r12, #4]
    butterfly r8, r4, r6, r2, r3
    mla     r4, r7, r2, r5
    str     r8, [at], #8
    smmulr  r7, r7, r3
    str     r6, [r12], #8
    mls     r4, r7, q, r4
    str     r4, [at, #-4]
    rsb     r7, r4, r5, lsl #1
    str     r7, [r12, #-4]
    .endr
    cmp     at, end
    bne     1b
    pop     {r4-r11, pc}
    end_function cmi_armv7em_one_level

#endif

#endif
