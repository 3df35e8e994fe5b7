/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packs residues of 26 and 27 bits into words in pieces, and updates the checksum on the way, for ARMv7E-M;
 * wire/frame.c has the same in C.
 *
 * Every shift is known in advance, over a group of residues that fills whole words, and a word is summed
 * while it is in a register. Table look-ups and branches depend on nothing but what is about to be sent.
 */
#include "arch/armv7em/function.inc"

#if CM_ARMV7EM && CM_CONFIG_CRC_TABLE == CM_CONFIG_CRC_TABLE_WORD

at          .req r0
word        .req r1
residue     .req r2
crc         .req r3
table0      .req r4
table1      .req r5
table2      .req r6
table3      .req r7
residues    .req r8
entry1      .req r9
entry2      .req r10
entry3      .req r11
end         .req r12

/* cmi_armv7em_packing */
    .set state_at, 0
    .set state_crc, 4
    .set state_piece, 8
    .set state_end, 12
    .set state_write, 16
    .set state_context, 20
#define PIECE_BYTES 64 /* from piece to end */

/* The frame: the state, and how many groups are left. */
    .set frame_groups, 0
    .set frame_state, 4

/* Store a whole word and sum it; the residue that did not fit begins the next, and the one after it is
   fetched. */
.macro  put_word bits, rest
    str word, [at], #4
    eor crc, crc, word
.if \rest
    lsr word, residue, #\bits - \rest
.endif
    uxtb entry3, crc
    ubfx entry2, crc, #8, #8
    ubfx entry1, crc, #16, #8
    lsr crc, crc, #24
    ldr entry3, [table3, entry3, lsl #2]
    ldr entry2, [table2, entry2, lsl #2]
    ldr entry1, [table1, entry1, lsl #2]
    ldr crc, [table0, crc, lsl #2]
.if \rest
    ldr residue, [residues], #4
.endif
    eor entry3, entry3, entry2
    eor crc, crc, entry1
    eor crc, crc, entry3
    cmp at, end
    it eq
    bleq send_piece
.endm

/* int cmi_armv7em_pack_...(cmi_armv7em_packing *state, const uint32_t *residues, uint32_t groups) */
.macro pack_function name, bits, group
    function \name
    push {r4-r11, lr}
    push {r0, r2, r3}
    mov residues, r1
    strd r2, r0, [sp, #frame_groups]
    ldr table0, =cmi_crc32c_table
    add table1, table0, #1024
    add table2, table1, #1024
    add table3, table2, #1024
    ldr crc, [r0, #state_crc]
    ldr end, [r0, #state_end]
    ldr at, [r0, #state_at]
    .balign 4
1:
    ldr word, [residues], #4
    ldr residue, [residues], #4
    .set used, \bits
.rept \group - 1
    orr word, word, residue, lsl #used
    .set used, used + \bits
.if used >= 32
    .set used, used - 32
    put_word \bits, used
.else
    ldr residue, [residues], #4
.endif
.endr
    ldr residue, [sp, #frame_groups]
    subs residue, residue, #1
    str residue, [sp, #frame_groups]
    bne 1b
    ldr residue, [sp, #frame_state]
    str at, [residue, #state_at]
    str crc, [residue, #state_crc]
    movs r0, #0
    add sp, sp, #12
    pop {r4-r11, pc}
    .ltorg
    end_function \name
.endm

    pack_function cmi_armv7em_pack_26, 26, 16
    pack_function cmi_armv7em_pack_27, 27, 32

/*
 * The piece is full: pass it to the sink and start it again. If the sink fails, the pack_function returns 1.
 */
    .section .text.cmi_armv7em_send_piece, "ax", %progbits
    .align 2
    .type send_piece, %function
send_piece:
    push {r1-r3, end, lr}
    ldr r3, [sp, #20 + frame_state]
    ldr r1, [r3, #state_piece]
    ldr r2, [r3, #state_end]
    ldr r0, [r3, #state_context]
    ldr r3, [r3, #state_write]
    sub r2, r2, r1
    blx r3
    cbnz r0, 2f
    pop {r1-r3, end, lr}
    sub at, end, #PIECE_BYTES
    bx lr
2:
    movs r0, #1
    add sp, sp, #20 + 12
    pop {r4-r11, pc}
    .size send_piece, . - send_piece

#endif
