/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BLAKE2b's compression of a block with words 8 to 15 zero, for ARMv7E-M with a floating-point unit: the only
 * kind of block that BLAKE2Xb meets in its output nodes, and in SEAL's seeds and block numbers.
 *
 * Ten rounds in a row, so that the message schedule needs no look-ups and a zero word no addition; rounds 10
 * and 11 are rounds 0 and 1 again. Only additions, exclusive ors and constant rotations: time depends on
 * nothing.
 *
 * Two of the four rotations by less than a word are halved: exchanging the halfwords or bytes that must cross
 * from one word of a lane to the other leaves both words rotated, and where they are used next the barrel
 * shifter rotates them back. So lanes 12 to 15 are kept with their words rotated by 16.
 */
#include "backends/armv7em/function.inc"

#if CM_ARMV7EM && CM_CONFIG_SEAL_XOFS && defined(__ARM_FP)

/* The operands of one mixing. Lanes 0 and 1 have registers of their own for a. */
a_lo    .req    r0
a_hi    .req    r1
b_lo    .req    r2
b_hi    .req    r3
c_lo    .req    r4
c_hi    .req    r5
d_lo    .req    r6
d_hi    .req    r7
lane0_lo .req   r8
lane0_hi .req   r9
lane1_lo .req   r10
lane1_hi .req   r11
t       .req    r12
u       .req    lr

/*
 * Floating-point registers hold lanes 4 to 7 and 12 to 15 (each in the d register with its number) and the
 * message's words (d0 to d3, d8 to d11); the stack holds lanes 2, 3 and 8 to 11.
 */
        .set .Lstack2, 0
        .set .Lstack3, 8
        .set .Lstack8, 16
        .set .Lstack9, 24
        .set .Lstack10, 32
        .set .Lstack11, 40
        .set .Lpass, 48
        .set .Lframe, 56
        .set .Lsaved_h, .Lframe + 64

.macro  add_message lo, hi, word
.if \word < 8
.if \word < 4
        .set .Lmessage, \word
.else
        .set .Lmessage, \word + 4
.endif
.irp    number, 0, 1, 2, 3, 8, 9, 10, 11
.if .Lmessage == \number
        vmov    t, u, d\number
.endif
.endr
        adds    \lo, \lo, t
        adc     \hi, \hi, u
.endif
.endm

/*
 * The arithmetic of a mixing with a in lo:hi. Between its halves, b's words are left rotated to the right by
 * 8.
 */
.macro  mix_in  lo, hi, a, b, c, d, x, y
        adds    \lo, \lo, b_lo
        adcs    \hi, \hi, b_hi
        add_message \lo, \hi, \x
        eor     d_hi, \hi, d_hi, ror #16
        eor     d_lo, \lo, d_lo, ror #16
        adds    c_lo, c_lo, d_hi
        adcs    c_hi, c_hi, d_lo
        eors    b_lo, b_lo, c_lo
        eors    b_hi, b_hi, c_hi
        mov     t, b_lo
        bfi     b_lo, b_hi, #0, #24
        bfi     b_hi, t, #0, #24

        adds    \lo, \lo, b_lo, ror #24
        adcs    \hi, \hi, b_hi, ror #24
        add_message \lo, \hi, \y
.if \a >= 2
        str     a_lo, [sp, #.Lstack\a]
.endif
        eor     t, d_hi, \lo
.if \a >= 2
        str     a_hi, [sp, #.Lstack\a + 4]
.endif
        eors    d_lo, d_lo, \hi
        pkhbt   d_hi, t, d_lo
        pkhbt   d_lo, d_lo, t
        adds    c_lo, c_lo, d_lo, ror #16
        adcs    c_hi, c_hi, d_hi, ror #16
        eor     b_lo, c_lo, b_lo, ror #24
        str     c_lo, [sp, #.Lstack\c]
        eor     b_hi, c_hi, b_hi, ror #24
        str     c_hi, [sp, #.Lstack\c + 4]
        adds    b_lo, b_lo, b_lo
        adcs    b_hi, b_hi, b_hi
        adc     b_lo, b_lo, #0
.endm

/*
 * One mixing. here: the operand (b or d) that the previous mixing left in place; stays: the one left for the
 * next.
 */
.macro  mix     a, b, c, d, x, y, here, stays
.ifnc \here, b
        vmov    b_lo, b_hi, d\b
.endif
.ifnc \here, d
        vmov    d_lo, d_hi, d\d
.endif
.if \a == 0
        ldr     c_lo, [sp, #.Lstack\c]
        ldr     c_hi, [sp, #.Lstack\c + 4]
        mix_in  lane0_lo, lane0_hi, \a, \b, \c, \d, \x, \y
.elseif \a == 1
        ldr     c_lo, [sp, #.Lstack\c]
        ldr     c_hi, [sp, #.Lstack\c + 4]
        mix_in  lane1_lo, lane1_hi, \a, \b, \c, \d, \x, \y
.else
        ldr     a_lo, [sp, #.Lstack\a]
        ldr     a_hi, [sp, #.Lstack\a + 4]
        ldr     c_lo, [sp, #.Lstack\c]
        ldr     c_hi, [sp, #.Lstack\c + 4]
        mix_in  a_lo, a_hi, \a, \b, \c, \d, \x, \y
.endif
.ifnc \stays, b
        vmov    d\b, b_lo, b_hi
.endif
.ifnc \stays, d
        vmov    d\d, d_lo, d_hi
.endif
.endm

.macro  round   s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11, s12, s13, s14, s15
        mix     0, 4, 8, 12, \s0, \s1, here=b
        mix     1, 5, 9, 13, \s2, \s3
        mix     2, 6, 10, 14, \s4, \s5
        mix     3, 7, 11, 15, \s6, \s7, stays=d
        mix     0, 5, 10, 15, \s8, \s9, here=d
        mix     1, 6, 11, 12, \s10, \s11
        mix     2, 7, 8, 13, \s12, \s13
        mix     3, 4, 9, 14, \s14, \s15, stays=b
.endm

/* Exclusive or of lo:hi and t:u into a word of the chaining value at r0; spoils lo and hi. */
.macro  chain   lo, hi, turn=0
        eor     \lo, \lo, t, ror #\turn
        eor     \hi, \hi, u, ror #\turn
        ldrd    t, u, [r0]
        eor     t, t, \lo
        eor     u, u, \hi
        strd    t, u, [r0], #8
.endm

    .section .text.cmi_armv7em_blake2b_short, "ax", %progbits
    .balign 4
/* Lanes 12 to 15 as they start, their words rotated by 16, then lanes 8 to 11: BLAKE2b's initial value. */
.Lstart:
        .word   0x82D1ADE6, 0x527F510E
        .word   0x6C1F2B3E, 0x688C9B05
        .word   0xBD6BFB41, 0xD9AB1F83
        .word   0x2179137E, 0xCD195BE0
        .word   0xF3BCC908, 0x6A09E667
        .word   0x84CAA73B, 0xBB67AE85
        .word   0xFE94F82B, 0x3C6EF372
        .word   0x5F1D36F1, 0xA54FF53A

/*
 * void cmi_armv7em_blake2b_short(uint64_t h[8], const uint64_t m[8], uint32_t total, uint32_t last)
 * total: bytes up to here; last: all ones for the last block, else 0.
 */
    function cmi_armv7em_blake2b_short
        push    {r0, r4-r11, lr}
        vpush   {d8-d15}
        sub     sp, sp, #.Lframe
        vldmia  r1!, {d0-d3}
        vldmia  r1, {d8-d11}
        add     r1, r0, #32
        vldmia  r1, {d4-d7}
        adr     r1, .Lstart
        vldmia  r1!, {d12-d15}
        vmov    r4, r5, d12
        eor     r4, r4, r2, ror #16
        vmov    d12, r4, r5
        vmov    r4, r5, d14
        eor     r4, r4, r3
        eor     r5, r5, r3
        vmov    d14, r4, r5
        ldmia   r1, {r2-r9}
        add     r12, sp, #.Lstack8
        stmia   r12, {r2-r9}
        ldmia   r0, {r8-r11}
        ldr     r4, [r0, #16]
        ldr     r5, [r0, #20]
        ldr     r6, [r0, #24]
        ldr     r7, [r0, #28]
        stmia   sp, {r4-r7}
        movs    t, #2
        str     t, [sp, #.Lpass]
        vmov    b_lo, b_hi, d4
        .balign 4
.Lrounds:
        round   0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        round   14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3
        ldr     t, [sp, #.Lpass]
        subs    t, t, #1
        str     t, [sp, #.Lpass]
        beq     .Lfinish
        round   11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4
        round   7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8
        round   9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13
        round   2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9
        round   12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11
        round   13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10
        round   6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5
        round   10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0
        b       .Lrounds

.Lfinish:
        ldr     r0, [sp, #.Lsaved_h]
        vmov    d4, b_lo, b_hi
        ldrd    t, u, [sp, #.Lstack8]
        chain   lane0_lo, lane0_hi
        ldrd    t, u, [sp, #.Lstack9]
        chain   lane1_lo, lane1_hi
        ldrd    r2, r3, [sp, #.Lstack2]
        ldrd    t, u, [sp, #.Lstack10]
        chain   r2, r3
        ldrd    r2, r3, [sp, #.Lstack3]
        ldrd    t, u, [sp, #.Lstack11]
        chain   r2, r3
        vmov    r2, r3, d4
        vmov    t, u, d12
        chain   r2, r3, 16
        vmov    r2, r3, d5
        vmov    t, u, d13
        chain   r2, r3, 16
        vmov    r2, r3, d6
        vmov    t, u, d14
        chain   r2, r3, 16
        vmov    r2, r3, d7
        vmov    t, u, d15
        chain   r2, r3, 16
        add     sp, sp, #.Lframe
        vpop    {d8-d15}
        pop     {r0, r4-r11, pc}
    end_function cmi_armv7em_blake2b_short

#endif
