/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packs residues of 26 and 27 bits into words in pieces, and takes their checksum on the way, for ARMv7E-M;
 * wire/frame.c has the same in C.
 *
 * Every shift is known in advance, over a group of residues that fills whole words.
 *
 * The checksum is the remainder of the packed bits by CRC-32C's polynomial, which divides x^209 + x^144 +
 * x^54 + x^39 + x^14 + 1. A bit may therefore be dropped if those 65, 155, 170, 195 and 209 places behind it
 * are flipped along with it: five exclusive ors of two words each, without a table. Each sum, of a word and
 * what was dropped before, is dropped in turn; seven remain, which armv7em.c takes to a checksum.
 */
#include "backends/armv7em/function.inc"

#if CM_ARMV7EM && CM_CONFIG_CRC_TABLE == CM_CONFIG_CRC_TABLE_WORD

at          .req r0
word        .req r1
residue1    .req r2
residue0    .req r3
sum1        .req r4
sum2        .req r5
sum3        .req r6
sum4        .req r7
sum5        .req r8
sum6        .req r9
sum7        .req r10
residues    .req r11
end         .req r12

/* cmi_armv7em_packing */
    .set state_at, 0
    .set state_end, 4
#define PIECE_BYTES 64 /* up to end */
    .set state_write, 8
    .set state_sums, 16

/* The frame: how many groups are left, the state, and its sink. */
    .set frame_groups, 0
    .set frame_state, 4
    .set frame_write, 8
    .set frame_context, 12
    .set frame_bytes, 16

/* word becomes the next sum and takes the place of the seventh. Their numbers: those of registers. */
.macro add_sums to2, to3, to4, to5, to6, to7
    eor word, word, sum\to2, lsl #1
    eor word, word, sum\to3, lsr #31
    eor word, word, sum\to4, lsl #27
    eor word, word, sum\to5, lsr #5
    eor word, word, sum\to5, lsl #10
    eor word, word, sum\to6, lsr #22
    eor word, word, sum\to6, lsl #3
    eor word, word, sum\to6, lsl #17
    eor word, word, sum\to7, lsr #29
    eor sum\to7, word, sum\to7, lsr #15
.endm

/* The register that has a sum when `words` words have been added since sum1 had the latest. */
#define HOLDER(sum) %((7 * 7 + sum - 1 - words) % 7 + 1)

/* Store a whole word and add it. A piece can only be full at some of them. */
.macro put_word
    str word, [at], #4
    add_sums HOLDER(2), HOLDER(3), HOLDER(4), HOLDER(5), HOLDER(6), HOLDER(7)
    .set words, words + 1
.if words % words_at_once == 0
    cmp at, end
    it eq
    bleq send_piece
.endif
.endm

/* Residue number i follows `used` bits of the word; the next two are fetched together. */
.macro add_residue i, parity, used, bits, group
    orr word, word, residue\parity, lsl #\used
.if \used + \bits >= 32
    put_word
    lsr word, residue\parity, #32 - \used
.endif
.if \parity == 0
    ldr residue1, [residues], #4
.if \i + 2 < \group
    ldr residue0, [residues], #4
.endif
.endif
.endm

.macro pack_group bits, group
    ldr word, [residues], #4
    ldr residue1, [residues], #4
    ldr residue0, [residues], #4
    .set first_bit, \bits
    .set index, 1
.rept \group - 1
    add_residue %(index), %(index % 2), %(first_bit % 32), \bits, \group
    .set first_bit, first_bit + \bits
    .set index, index + 1
.endr
.endm

/* A group has one word less than a multiple of seven: every sum moves on by one register. */
.macro sums_on
    mov residue0, sum1
    mov sum1, sum2
    mov sum2, sum3
    mov sum3, sum4
    mov sum4, sum5
    mov sum5, sum6
    mov sum6, sum7
    mov sum7, residue0
.endm

.macro sums_back
    mov residue0, sum7
    mov sum7, sum6
    mov sum6, sum5
    mov sum5, sum4
    mov sum4, sum3
    mov sum3, sum2
    mov sum2, sum1
    mov sum1, residue0
.endm

.macro sums_on_by_two
    mov residue1, sum1
    mov residue0, sum2
    mov sum1, sum3
    mov sum2, sum4
    mov sum3, sum5
    mov sum4, sum6
    mov sum5, sum7
    mov sum6, residue1
    mov sum7, residue0
.endm

/* The flags say "equal" if that was the last group. */
.macro count_group
    ldr residue0, [sp, #frame_groups]
    subs residue0, residue0, #1
    str residue0, [sp, #frame_groups]
.endm

/*
 * int cmi_armv7em_pack_...(cmi_armv7em_packing *state, const uint32_t *residues, uint32_t groups)
 *
 * A piece and a group have an even and an odd number of words. So, with two groups to a loop, of which the
 * first one begins where room for an even number is left, the piece is full behind every other word at most.
 */
.macro pack_function name, bits, group, groups_at_once
    function \name
    push {r4-r11, lr}
    sub sp, sp, #frame_bytes + 4
    mov residues, r1
    strd r2, r0, [sp, #frame_groups]
    ldrd r2, r3, [r0, #state_write]
    strd r2, r3, [sp, #frame_write]
    add lr, r0, #state_sums
    ldm lr, {sum1, sum2, sum3, sum4, sum5, sum6, sum7}
    ldr end, [r0, #state_end]
    ldr at, [r0, #state_at]
    .set words_at_once, \groups_at_once
    .set words, 0
.if \groups_at_once == 2
    sub residue0, end, at
    tst residue0, #4
    beq 1f
    sums_back
    b 2f
.endif
    .balign 4
1:
    pack_group \bits, \group
.if \groups_at_once == 2
    count_group
    beq 3f
2:
    pack_group \bits, \group
    sums_on_by_two
    count_group
    bne 1b
    b 4f
3:
    sums_on
4:
.else
    sums_on
    count_group
    bne 1b
.endif
    ldr residue0, [sp, #frame_state]
    str at, [residue0, #state_at]
    add residue0, residue0, #state_sums
    stm residue0, {sum1, sum2, sum3, sum4, sum5, sum6, sum7}
    movs r0, #0
    add sp, sp, #frame_bytes + 4
    pop {r4-r11, pc}
    end_function \name
.endm

/* Most primes have 26 bits; only for these is there twice the code, unless it has to be small. */
#if defined(__OPTIMIZE_SIZE__) || CM_CONFIG_SMALL
#define GROUPS_AT_ONCE 1
#else
#define GROUPS_AT_ONCE 2
#endif

    .altmacro
    pack_function cmi_armv7em_pack_26, 26, 16, GROUPS_AT_ONCE
    pack_function cmi_armv7em_pack_27, 27, 32, 1
    .noaltmacro

/*
 * The piece is full: pass it to the sink and start it again. If the sink fails, the pack_function returns 1.
 */
    .section .text.cmi_armv7em_send_piece, "ax", %progbits
    .align 2
    .type send_piece, %function
send_piece:
    push {residue1, residue0, end, lr}
    ldr r3, [sp, #16 + frame_write]
    ldr r0, [sp, #16 + frame_context]
    sub r1, end, #PIECE_BYTES
    mov r2, #PIECE_BYTES
    blx r3
    cbnz r0, 2f
    pop {residue1, residue0, end, lr}
    sub at, end, #PIECE_BYTES
    bx lr
2:
    movs r0, #1
    add sp, sp, #16 + frame_bytes + 4
    pop {r4-r11, pc}
    .size send_piece, . - send_piece

#endif
