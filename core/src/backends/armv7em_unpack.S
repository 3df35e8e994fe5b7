/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Residues of 26 and 27 bits, a multiple of 32, from packed bytes to words, with the checksum updated and
 * each compared with its prime on the way, for ARMv7E-M; wire/frame.c has the same in C. Table look-ups
 * depend on what came over the wire, branches on lengths alone.
 */
#include "backends/armv7em/function.inc"

#if CM_ARMV7EM && CM_CONFIG_CRC_TABLE == CM_CONFIG_CRC_TABLE_WORD

bytes       .req r0
residues    .req r1
prime       .req r2
crc         .req r3
table0      .req r4
table1      .req r5
table2      .req r6
table3      .req r7
word        .req r8
residue     .req r9
borrows     .req r10
entry1      .req r11
entry2      .req r12
entry3      .req lr

/* Store a complete residue. */
.macro  put_residue
    str residue, [residues], #4
    sub residue, residue, prime
    and borrows, borrows, residue
.endm

/* Load the next word and add it to the checksum; residue holds the bits left over from the last word. */
.macro  get_word
    ldr word, [bytes], #4
    eor crc, crc, word
    uxtb entry3, crc
    ubfx entry2, crc, #8, #8
    ubfx entry1, crc, #16, #8
    lsr crc, crc, #24
    ldr entry3, [table3, entry3, lsl #2]
    ldr entry2, [table2, entry2, lsl #2]
    ldr entry1, [table1, entry1, lsl #2]
    ldr crc, [table0, crc, lsl #2]
    eor entry3, entry3, entry2
    eor crc, crc, entry1
    eor crc, crc, entry3
.endm

/*
 * uint32_t cmi_armv7em_unpack_...(const uint8_t *bytes, uint32_t *residues, uint32_t q, uint32_t *crc, const
 * uint32_t *end): the residues up to end, a group of a frame
 */
.macro unpack_function name, bits
    function \name
    push {r3-r11, lr}
    ldr table0, =cmi_crc32c_table
    add table1, table0, #1024
    add table2, table1, #1024
    add table3, table2, #1024
    ldr crc, [r3]
    mov borrows, #-1
1:
    .set left, 0
.rept 32
.if left >= \bits
    ubfx residue, word, #32 - left, #\bits
    .set left, left - \bits
.else
.if left
    lsr residue, word, #32 - left
    get_word
    bfi residue, word, #left, #\bits - left
.else
    get_word
    ubfx residue, word, #0, #\bits
.endif
    .set left, left + 32 - \bits
.endif
    put_residue
.endr
    ldr word, [sp, #40]
    cmp residues, word
    bne 1b
    ldr r0, [sp]
    str crc, [r0]
    lsr r0, borrows, #31
    pop {r3-r11, pc}
    .ltorg
    end_function \name
.endm

    unpack_function cmi_armv7em_unpack_26, 26
    unpack_function cmi_armv7em_unpack_27, 27

#endif
