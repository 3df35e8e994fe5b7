/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ChaCha20 key stream for ARMv7E-M: blocks of one stream, one after the other.
 *
 * Straight-line additions, exclusive ors and rotations; the only branches count rounds and blocks. Like
 * compiled code, it leaves its frame on the stack for the caller to wipe.
 *
 * Rotations are delayed. A word b or d is kept unrotated, and each use of it takes the rotation as that of a
 * second operand, which costs nothing: a quarter round is eight instructions. Between rounds each b still has
 * to be rotated right by 25 and each d by 24.
 *
 * Registers. Twelve of the sixteen words stay where they are. x10 and x8 share r8, x11 and x9 share r9: a
 * diagonal round meets the first of each pair first, a column round the second, so each round swaps them
 * once. The ones that wait are in floating-point registers, where there are any, as is the input: to move
 * one takes one cycle, a lone load two.
 *
 * In the first column round, three of the four columns do not depend on the block counter: they are computed
 * once per call. So are three steps of the diagonal round ahead of the loop.
 */
#include "backends/armv7em/function.inc"

#if CM_ARMV7EM

#include "backends/armv7em/keep.inc"

/*
 * Nine times a diagonal and a column round, between the first column round and the last diagonal round: first
 * one pair ahead of the loop, unless code has to be small.
 */
#ifdef __OPTIMIZE_SIZE__
#define AHEAD 0
#define UNROLLED 1
#elif CM_CONFIG_SMALL
#define AHEAD 0
#define UNROLLED 3
#else
#define AHEAD 1
#define UNROLLED 4
#endif

#ifdef __ARM_FP

/* s0 to s15 hold the input of the block function: constants, key, counter and nonce. */
#define X8 s16
#define X9 s17
#define X10 s18
#define X11 s19
#define SUM_X0_X4 s20 /* of the input */
#define COLUMNS_X9 s21
#define PAIRS_LEFT s22 /* until the last round; then, with s23, x14 and x15 */
#define OUT s24
#define BLOCKS s25

/* Stack frame, in bytes. */
#define COLUMNS 0 /* after the first column round: x1-x3, x5-x7, x10, x11, x13-x15 */
#define FRAME 44
#define INPUT (FRAME + 44) /* the second argument, pushed before s16 to s25 */

#else

/* Stack frame, in bytes. The words x8 to x15 have a place each, in order. */
#define SAVED(i) (4 * ((i) - 8))
    .set X8, SAVED(8)
    .set X9, SAVED(9)
    .set X10, SAVED(10)
    .set X11, SAVED(11)
    .set PAIRS_LEFT, SAVED(13) /* free until the last round */
#define COLUMNS 32             /* after the first column round: x1-x3, x5-x7, x10, x11, x13-x15 */
#define COLUMNS_X9 (COLUMNS + 44)
#define SUM_X0_X4 (COLUMNS + 48) /* of the input */
#define FRAME (COLUMNS + 52)
#define OUT FRAME                /* the arguments, pushed */
#define INPUT (FRAME + 4)
#define BLOCKS (FRAME + 8)

#endif

/* Input, in bytes. */
#define KEY 0
#define COUNTER 32
#define NONCE 36

/* "expand 32-byte k" */
.macro constants a, b, c, d
    movw \a, #0x7865
    movt \a, #0x6170
    movw \b, #0x646E
    movt \b, #0x3320
    movw \c, #0x2D32
    movt \c, #0x7962
    movw \d, #0x6574
    movt \d, #0x6B20
.endm

/* A quarter round in three parts, so that loads and stores can go in between: c is used in the middle one. */
.macro quarter_begin a, b, d
    add \a, \a, \b, ror #25
    eor \d, \a, \d, ror #24
.endm
.macro quarter_middle a, b, c, d
    add \c, \c, \d, ror #16
    eor \b, \c, \b, ror #25
    add \a, \a, \b, ror #20
    eor \d, \a, \d, ror #16
    add \c, \c, \d, ror #24
.endm
.macro quarter_end b, c
    eor \b, \c, \b, ror #20
.endm
.macro quarter a, b, c, d
    quarter_begin \a, \b, \d
    quarter_middle \a, \b, \c, \d
    quarter_end \b, \c
.endm

/* A quarter round on words that need no rotation yet, after the first addition. */
.macro quarter_of_input a, b, c, d
    eor \d, \d, \a
    add \c, \c, \d, ror #16
    eor \b, \b, \c
    add \a, \a, \b, ror #20
    eor \d, \a, \d, ror #16
    add \c, \c, \d, ror #24
    eor \b, \c, \b, ror #20
.endm

/* x10 and x11 make way for x8 and x9. In the first round, x1 has been added to. */
.macro diagonal_half first=0
    quarter r0, r5, r8, lr
    .if \first
    eor r10, r1, r10, ror #24
    .else
    quarter_begin r1, r6, r10
    .endif
    keep X10, r8
    quarter_middle r1, r6, r9, r10
    keep X11, r9
    quarter_end r6, r9
    fetch r8, X8
    fetch r9, X9
.endm

/* x8 and x9 make way for x10 and x11. In between, \count tells the last round of a loop to count. */
.macro column_round count
    quarter r0, r4, r8, r10
    keep X8, r8
    quarter_begin r1, r5, r11
    .if \count
    fetch r8, PAIRS_LEFT
    subs r8, r8, #UNROLLED
    keep PAIRS_LEFT, r8
    .endif
    quarter_middle r1, r5, r9, r11
    keep X9, r9
    quarter_end r5, r9
    fetch r8, X10
    fetch r9, X11
    quarter r2, r6, r8, r12
    quarter r3, r7, r9, lr
.endm

#ifdef __ARM_FP

/* A word of the block: x, rotated if need be, plus the input, which stays in r12. */
.macro emit i, x, rotation=0
    vmov r12, s\i
    .if \rotation
    add \x, r12, \x, ror #\rotation
    .else
    add \x, \x, r12
    .endif
    str \x, [lr, #4 * \i]
.endm

#endif

/*
 * void cmi_armv7em_chacha20_blocks(uint8_t *out, uint32_t input[12], size_t blocks)
 * blocks is at least 1. out need not be aligned. The counter, input[8], is advanced.
 */
    function cmi_armv7em_chacha20_blocks
    push {r0-r2, r4-r11, lr}
#ifdef __ARM_FP
    vpush {s16-s25}
    sub sp, sp, #FRAME
    vmov OUT, r0
    vmov BLOCKS, r2
    vldm r1, {s4-s15}
#else
    sub sp, sp, #FRAME
#endif

    /* The three columns; x9 is in r10, because x10 and x11 take r8 and r9. */
    add r10, r1, #KEY + 16
    ldm r1, {r4-r7}
    constants r0, r1, r2, r3
#ifdef __ARM_FP
    vmov s0, r0
    vmov s1, r1
    vmov s2, r2
    vmov s3, r3
#endif
    ldr r8, [r10, #8]
    ldr r9, [r10, #12]
    ldr r11, [r10, #NONCE - 16]
    ldr r12, [r10, #NONCE - 12]
    ldr lr, [r10, #NONCE - 8]
    ldr r10, [r10, #4]
    add r0, r0, r4
    keep SUM_X0_X4, r0
    add r1, r1, r5
    quarter_of_input r1, r5, r10, r11
    keep COLUMNS_X9, r10
    add r2, r2, r6
    quarter_of_input r2, r6, r8, r12
    add r3, r3, r7
    quarter_of_input r3, r7, r9, lr
#if AHEAD
    add r1, r1, r6, ror #25
    quarter_begin r2, r7, r11
#endif
    add r0, sp, #COLUMNS
    stm r0, {r1-r3, r5-r9, r11, r12, lr}

.Lnext_block:
#ifdef __ARM_FP
    vmov r0, SUM_X0_X4
    vmov r4, s4
    vmov r8, s8
    vmov r10, s12
    vmov.f32 X9, COLUMNS_X9
#else
    ldr r12, [sp, #INPUT]
    ldr r0, [sp, #SUM_X0_X4]
    ldr r9, [sp, #COLUMNS_X9]
    ldr r4, [r12, #KEY]
    ldr r8, [r12, #KEY + 16]
    ldr r10, [r12, #COUNTER]
    str r9, [sp, #X9]
#endif
    quarter_of_input r0, r4, r8, r10
    keep X8, r8
    mov r1, #9 - AHEAD
    add lr, sp, #COLUMNS
    keep PAIRS_LEFT, r1
    ldm lr, {r1-r3, r5-r9, r11, r12, lr}

#if AHEAD
    diagonal_half 1
    quarter_middle r2, r7, r8, r11
    quarter_end r7, r8
    quarter r3, r4, r9, r12
    column_round 0
#endif
    .balign 4
.Lnext_rounds:
    .rept UNROLLED - 1
    diagonal_half
    quarter r2, r7, r8, r11
    quarter r3, r4, r9, r12
    column_round 0
    .endr
    diagonal_half
    quarter r2, r7, r8, r11
    quarter r3, r4, r9, r12
    column_round 1
    bne .Lnext_rounds

#ifdef __ARM_FP

    /* The last diagonal round; then add the input, and do the remaining rotations. */
    diagonal_half
    quarter r2, r7, r8, r11
    quarter r3, r4, r9, r12
    vmov s22, r12
    vmov s23, lr
    vmov lr, OUT
    emit 0, r0
    emit 1, r1
    emit 2, r2
    emit 3, r3
    emit 4, r4, 25
    emit 5, r5, 25
    emit 6, r6, 25
    emit 7, r7, 25
    emit 8, r8
    emit 9, r9
    vmov r0, X10
    emit 10, r0
    vmov r1, X11
    emit 11, r1
    emit 12, r10, 24
    add r12, r12, #1
    vmov s12, r12
    emit 13, r11, 24
    vmov r2, s22
    emit 14, r2, 24
    vmov r3, s23
    emit 15, r3, 24

    vmov r0, BLOCKS
    add lr, lr, #64
    vmov OUT, lr
    subs r0, r0, #1
    vmov BLOCKS, r0
    bne .Lnext_block

    /* The key does not stay in registers. r0 is zero. */
    ldr r1, [sp, #INPUT]
    vmov r2, s12
    str r2, [r1, #COUNTER]
    .irp word, s4, s5, s6, s7, s8, s9, s10, s11
    vmov \word, r0
    .endr
    add sp, sp, #FRAME
    vpop {s16-s25}
    add sp, sp, #12
    pop {r4-r11, pc}

#else

    /* The last diagonal round; registers are freed as it finishes with them. */
    diagonal_half
    quarter_begin r2, r7, r11
    str r10, [sp, #SAVED(12)]
    quarter_middle r2, r7, r8, r11
    str lr, [sp, #SAVED(15)]
    quarter_end r7, r8
    quarter_begin r3, r4, r12
    str r8, [sp, #SAVED(8)]
    quarter_middle r3, r4, r9, r12
    str r9, [sp, #SAVED(9)]
    quarter_end r4, r9
    str r11, [sp, #SAVED(13)]

    /* Add the input, and do the remaining rotations. */
    ldr lr, [sp, #OUT]
    str r12, [sp, #SAVED(14)]
    constants r8, r9, r10, r11
    ldr r12, [sp, #INPUT]
    add r0, r0, r8
    str r0, [lr, #0]
    add r1, r1, r9
    str r1, [lr, #4]
    add r2, r2, r10
    str r2, [lr, #8]
    add r3, r3, r11
    str r3, [lr, #12]
    ldm r12!, {r0-r3, r8-r11}
    add r4, r0, r4, ror #25
    str r4, [lr, #16]
    add r5, r1, r5, ror #25
    str r5, [lr, #20]
    add r6, r2, r6, ror #25
    str r6, [lr, #24]
    add r7, r3, r7, ror #25
    str r7, [lr, #28]
    ldm sp, {r0-r7}
    add r0, r0, r8
    str r0, [lr, #32]
    add r1, r1, r9
    str r1, [lr, #36]
    add r2, r2, r10
    str r2, [lr, #40]
    add r3, r3, r11
    str r3, [lr, #44]
    ldm r12, {r8-r11}
    add r4, r8, r4, ror #24
    str r4, [lr, #48]
    add r8, r8, #1
    str r8, [r12]
    add r5, r9, r5, ror #24
    str r5, [lr, #52]
    add r6, r10, r6, ror #24
    str r6, [lr, #56]
    add r7, r11, r7, ror #24
    str r7, [lr, #60]

    ldr r0, [sp, #BLOCKS]
    add lr, lr, #64
    subs r0, r0, #1
    str lr, [sp, #OUT]
    it ne
    strne r0, [sp, #BLOCKS]
    bne .Lnext_block

    add sp, sp, #FRAME + 12
    pop {r4-r11, pc}

#endif
    end_function cmi_armv7em_chacha20_blocks

#endif
