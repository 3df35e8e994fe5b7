/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keccak-f[1600] for ARMv7E-M, on a state in the representation of random/keccak.h. Two rounds a pass, from
 * the state to the stack and back. Only exclusive ors, bit clears and constant rotations: time depends on
 * nothing.
 *
 * Lanes are bit-interleaved: word 0 has the even bits, word 1 the odd ones, so that a lane's rotation is one
 * of each word. And no instruction is spent on a rotation. A lane is kept rotated to the right by its "lag",
 * a constant, and so each of its words by a "turn"; where two words are combined, the barrel shifter rotates
 * the second operand by the difference. The lags are the same after every round, because:
 *  - a lane that lags by w still does after theta; rho makes that w + rho (mod 64), and pi moves the lane;
 *  - chi's b0 ^ (~b1 & b2) lags as b0 or as b2, whichever is made the first operand of the exclusive or;
 *  - with b0 always, the lags would add up to 2600 = 40 mod 64 along pi's cycle of 24 lanes, a contradiction.
 *    So lane (3, 0), which is b3 ^ (~b4 & b0), takes b0's lag: that of lane (0, 0), which rho and pi leave
 *    alone, 0.
 *
 * A round makes the next round's column parities as it stores its results, so lanes are read once a round.
 */
#include "backends/armv7em/function.inc"

#if CM_ARMV7EM && CM_CONFIG_SEAL_XOFS

/* lane x, y, rho and where its content comes from: pi takes lane (from_x, from_y) to (x, y). */
.macro lane x, y, from_x, from_y, rho
        .set .Lrho\x\y, \rho
        .set .Llag\x\y, (.Llag\from_x\from_y + .Lrho\from_x\from_y) & 63
        .set .Lturn0\x\y, (.Llag\x\y + 1) >> 1
        .set .Lturn1\x\y, .Llag\x\y >> 1
.endm
        .set .Llag00, 0
        .set .Lrho00, 0
        lane 0, 0, 0, 0, 0
        lane 3, 0, 0, 0, 28
        lane 0, 1, 3, 0, 36
        lane 1, 3, 0, 1, 45
        lane 3, 1, 1, 3, 55
        lane 1, 4, 3, 1, 2
        lane 4, 4, 1, 4, 14
        lane 4, 0, 4, 4, 27
        lane 0, 3, 4, 0, 41
        lane 3, 4, 0, 3, 56
        lane 4, 3, 3, 4, 8
        lane 3, 2, 4, 3, 25
        lane 2, 2, 3, 2, 43
        lane 2, 0, 2, 2, 62
        lane 0, 4, 2, 0, 18
        lane 4, 2, 0, 4, 39
        lane 2, 4, 4, 2, 61
        lane 4, 1, 2, 4, 20
        lane 1, 1, 4, 1, 44
        lane 1, 0, 1, 1, 1
        lane 0, 2, 1, 0, 3
        lane 2, 1, 0, 2, 6
        lane 1, 2, 2, 1, 10
        lane 2, 3, 1, 2, 15
        lane 3, 3, 2, 3, 21

/* One half of a row being computed, and the five column parities of the result's same half. */
b0      .req    r1
b1      .req    r2
b2      .req    r3
b3      .req    r4
b4      .req    r5
t       .req    r6
sum0    .req    r7
sum1    .req    r8
sum2    .req    r9
sum3    .req    r10
sum4    .req    r11
/* Theta's words that the next row needs too. */
keep1   .req    r12
keep2   .req    lr

/*
 * Slots: 0 to 4 and 10 to 14 hold the even and the odd words of theta's five lanes, 5 to 9 the even column
 * parities, 15 the address of the next round constant. They are floating-point registers where there are any.
 */
#ifdef __ARM_FP
#define SLOT_BYTES 0
.macro  park    slot, reg
        vmov    s\slot, \reg
.endm
.macro  fetch   reg, slot
        vmov    \reg, s\slot
.endm
#else
#define SLOT_BYTES 64
.macro  park    slot, reg
        str     \reg, [sp, #200 + 4 * \slot]
.endm
.macro  fetch   reg, slot
        ldr     \reg, [sp, #200 + 4 * \slot]
.endm
#endif

/* Column parities of one half of the state at r0. They lag as row 1 does, here and throughout. */
.macro  add_parity x, y, half
        eor     sum\x, sum\x, b\x, ror #(.Lturn\half\x\()1 - .Lturn\half\x\y) & 31
.endm

.macro  parity_row y, half
        ldr     b0, [r0, #8 * (5 * \y + 0) + 4 * \half]
        ldr     b1, [r0, #8 * (5 * \y + 1) + 4 * \half]
        ldr     b2, [r0, #8 * (5 * \y + 2) + 4 * \half]
        ldr     b3, [r0, #8 * (5 * \y + 3) + 4 * \half]
        ldr     b4, [r0, #8 * (5 * \y + 4) + 4 * \half]
        add_parity 0, \y, \half
        add_parity 1, \y, \half
        add_parity 2, \y, \half
        add_parity 3, \y, \half
        add_parity 4, \y, \half
.endm

.macro  parities half
        ldr     sum0, [r0, #8 * 5 + 4 * \half]
        ldr     sum1, [r0, #8 * 6 + 4 * \half]
        ldr     sum2, [r0, #8 * 7 + 4 * \half]
        ldr     sum3, [r0, #8 * 8 + 4 * \half]
        ldr     sum4, [r0, #8 * 9 + 4 * \half]
        parity_row 0, \half
        parity_row 2, \half
        parity_row 3, \half
        parity_row 4, \half
.endm

.macro  park_even_parities
        park    5, sum0
        park    6, sum1
        park    7, sum2
        park    8, sum3
        park    9, sum4
.endm

/*
 * Theta's lane of column x: the parity of the column to its left, and that of the column to its right rotated
 * to the left by 1. It lags as the left parity does. Even parities are in b0 to b4, odd ones in sum0 to sum4.
 */
.macro  theta_lane x, left, right, even=t, odd=t
        .set .Ltheta0\x, .Lturn0\left\()1
        .set .Ltheta1\x, .Lturn1\left\()1
        eor     \even, b\left, sum\right, ror #(.Ltheta0\x - .Lturn1\right\()1 - 1) & 31
        park    \x, \even
        eor     \odd, sum\left, b\right, ror #(.Ltheta1\x - .Lturn0\right\()1) & 31
        park    1\x, \odd
.endm

.macro  theta
        fetch   b0, 5
        fetch   b1, 6
        fetch   b2, 7
        fetch   b3, 8
        fetch   b4, 9
        theta_lane 0, 4, 1
        theta_lane 1, 0, 2, odd=keep1
        theta_lane 2, 1, 3
        theta_lane 3, 2, 4
        theta_lane 4, 3, 0, even=keep2
.endm

/* The half of lane (x, y) that rho and pi take to the row's given half: an odd rho swaps the halves. */
.macro  load    x, y, half, from
        ldr     b\y, [\from, #8 * (\x + 5 * \y) + 4 * ((\half ^ .Lrho\x\y) & 1)]
        .set .Lturn_b\y, (.Llag\x\y + .Lrho\x\y + 1 - \half) >> 1
.endm

/*
 * Add theta's word: from a slot (no name), from keep1 or keep2, or from a slot and then kept (a name, "new").
 */
.macro  add_theta_word x, y, half, keep, new
.ifb \keep
.if \half
        fetch   t, 1\x
.else
        fetch   t, \x
.endif
        eor     b\y, b\y, t, ror #(.Lturn\half\x\y - .Ltheta\half\x) & 31
.else
.ifnb \new
.if \half
        fetch   \keep, 1\x
.else
        fetch   \keep, \x
.endif
.endif
        eor     b\y, b\y, \keep, ror #(.Lturn\half\x\y - .Ltheta\half\x) & 31
.endif
.endm

.macro  add_theta x, y, half, keep, new
.if (\half ^ .Lrho\x\y) & 1
        add_theta_word \x, \y, 1, \keep, \new
.else
        add_theta_word \x, \y, 0, \keep, \new
.endif
.endm

/* Chi's column x of the row, stored and added to the column's parity, which row 1 begins. */
.macro  chi     x, next, second, y, half, to
        bic     t, b\second, b\next, ror #(.Lturn_b\second - .Lturn_b\next) & 31
.if \y == 1
        eor     sum\x, b\x, t, ror #(.Lturn_b\x - .Lturn_b\second) & 31
        str     sum\x, [\to, #8 * (\x + 5 * \y) + 4 * \half]
.else
.if \y == 0 && \x == 3
        eor     t, t, b\x, ror #(.Lturn_b\second - .Lturn_b\x) & 31
.else
        eor     t, b\x, t, ror #(.Lturn_b\x - .Lturn_b\second) & 31
.endif
.if \y == 0 && \x == 0
        iota    \half
.endif
        str     t, [\to, #8 * (\x + 5 * \y) + 4 * \half]
        eor     sum\x, sum\x, t, ror #(.Lturn\half\x\()1 - .Lturn\half\x\y) & 31
.endif
.endm

/*
 * Lane (0, 0) is its row's last: b3 and b4 are free. Nothing changes the flags between here and the end of
 * the pass.
 */
.macro  iota    half
        fetch   b3, 15
.if \half == 0
        ldr     b4, [b3, #4]
        eor     t, t, b4
.else
        ldr     b4, [b3], #8
        eor     t, t, b4
        park    15, b3
        adr     b4, .Lconstants_end
        cmp     b3, b4
.endif
.endm

.macro  load_row half, from, x0, x1, x2, x3, x4
        load    \x0, 0, \half, \from
        load    \x1, 1, \half, \from
        load    \x2, 2, \half, \from
        load    \x3, 3, \half, \from
        load    \x4, 4, \half, \from
.endm

/* Lane (0, 0) last: iota needs registers. */
.macro  chi_row y, half, to
        chi     1, 2, 3, \y, \half, \to
        chi     2, 3, 4, \y, \half, \to
        chi     3, 4, 0, \y, \half, \to
        chi     4, 0, 1, \y, \half, \to
        chi     0, 1, 2, \y, \half, \to
.endm

/*
 * The result's rows take their five lanes from all five columns. The order of the rows, and within a row of
 * theta's words, lets two of them stay in registers from each row to the next.
 */
.macro  round   from, to
        theta
        load_row 0, \from, 3, 4, 0, 1, 2
        add_theta 3, 0, 0
        add_theta 4, 1, 0, keep2
        add_theta 0, 2, 0
        add_theta 1, 3, 0, keep1
        add_theta 2, 4, 0
        chi_row 1, 0, \to
        load_row 0, \from, 1, 2, 3, 4, 0
        add_theta 1, 0, 0, keep1
        add_theta 2, 1, 0
        add_theta 3, 2, 0
        add_theta 4, 3, 0, keep2
        add_theta 0, 4, 0, keep1, new
        chi_row 2, 0, \to
        load_row 0, \from, 0, 1, 2, 3, 4
        add_theta 4, 4, 0, keep2
        add_theta 3, 3, 0
        add_theta 2, 2, 0
        add_theta 1, 1, 0, keep2, new
        add_theta 0, 0, 0, keep1
        chi_row 0, 0, \to
        load_row 0, \from, 4, 0, 1, 2, 3
        add_theta 3, 4, 0
        add_theta 2, 3, 0
        add_theta 1, 2, 0, keep2
        add_theta 0, 1, 0, keep1
        add_theta 4, 0, 0, keep1, new
        chi_row 3, 0, \to
        load_row 0, \from, 2, 3, 4, 0, 1
        add_theta 2, 0, 0
        add_theta 3, 1, 0
        add_theta 4, 2, 0, keep1
        add_theta 0, 3, 0
        add_theta 1, 4, 0, keep2
        chi_row 4, 0, \to
        park_even_parities

        load_row 1, \from, 3, 4, 0, 1, 2
        add_theta 3, 0, 1
        add_theta 4, 1, 1, keep1
        add_theta 0, 2, 1
        add_theta 1, 3, 1, keep2
        add_theta 2, 4, 1
        chi_row 1, 1, \to
        load_row 1, \from, 1, 2, 3, 4, 0
        add_theta 1, 0, 1, keep2
        add_theta 2, 1, 1
        add_theta 3, 2, 1
        add_theta 4, 3, 1, keep1
        add_theta 0, 4, 1, keep2, new
        chi_row 2, 1, \to
        load_row 1, \from, 0, 1, 2, 3, 4
        add_theta 4, 4, 1, keep1
        add_theta 3, 3, 1
        add_theta 2, 2, 1
        add_theta 1, 1, 1, keep1, new
        add_theta 0, 0, 1, keep2
        chi_row 0, 1, \to
        load_row 1, \from, 4, 0, 1, 2, 3
        add_theta 3, 4, 1
        add_theta 2, 3, 1
        add_theta 1, 2, 1, keep1
        add_theta 0, 1, 1, keep2
        add_theta 4, 0, 1, keep2, new
        chi_row 3, 1, \to
        load_row 1, \from, 2, 3, 4, 0, 1
        add_theta 2, 0, 1
        add_theta 3, 1, 1
        add_theta 4, 2, 1, keep2
        add_theta 0, 3, 1
        add_theta 1, 4, 1, keep1
        chi_row 4, 1, \to
.endm

    function cmi_armv7em_keccak_permute
        push    {r4-r11, lr}
        sub     sp, sp, #200 + SLOT_BYTES
        adr     b0, .Lconstants
        park    15, b0
        parities 0
        park_even_parities
        parities 1
        .balign 4
.Lpass:
        round   r0, sp
        round   sp, r0
        bne     .Lpass
        add     sp, sp, #200 + SLOT_BYTES
        pop     {r4-r11, pc}

/* The round constants, interleaved: odd bits, then even bits. */
        .balign 4
.Lconstants:
        .word   0x00000000, 0x00000001
        .word   0x00000089, 0x00000000
        .word   0x8000008B, 0x00000000
        .word   0x80008080, 0x00000000
        .word   0x0000008B, 0x00000001
        .word   0x00008000, 0x00000001
        .word   0x80008088, 0x00000001
        .word   0x80000082, 0x00000001
        .word   0x0000000B, 0x00000000
        .word   0x0000000A, 0x00000000
        .word   0x00008082, 0x00000001
        .word   0x00008003, 0x00000000
        .word   0x0000808B, 0x00000001
        .word   0x8000000B, 0x00000001
        .word   0x8000008A, 0x00000001
        .word   0x80000081, 0x00000001
        .word   0x80000081, 0x00000000
        .word   0x80000008, 0x00000000
        .word   0x00000083, 0x00000000
        .word   0x80008003, 0x00000000
        .word   0x80008088, 0x00000001
        .word   0x80000088, 0x00000000
        .word   0x00008000, 0x00000001
        .word   0x80008082, 0x00000000
.Lconstants_end:
    end_function cmi_armv7em_keccak_permute

/*
 * By how much a lane's words are rotated to the right when it leaves the state: two bytes each, for
 * random/keccak.h.
 */
        .section .rodata.cmi_armv7em_keccak_turns, "a", %progbits
        .balign 2
        .global cmi_armv7em_keccak_turns
        .hidden cmi_armv7em_keccak_turns
        .type   cmi_armv7em_keccak_turns, %object
cmi_armv7em_keccak_turns:
.irp lane, 00, 10, 20, 30, 40, 01, 11, 21, 31, 41, 02, 12, 22, 32, 42, 03, 13, 23, 33, 43, 04, 14, 24, 34, 44
        .byte   -.Lturn0\lane & 31, -.Lturn1\lane & 31
.endr
        .size   cmi_armv7em_keccak_turns, . - cmi_armv7em_keccak_turns

#endif
