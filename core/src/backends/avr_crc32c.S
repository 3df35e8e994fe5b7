/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CRC-32C on AVR (ciphermote/frame.h), with 128 bytes of tables in flash: what each half of a byte becomes
 * when shifted out.
 */
#include "backends/avr/function.inc"

#if CM_AVR
    .macro complement
    com     r22
    com     r23
    com     r24
    com     r25
    .endm
#endif

#if CM_AVR_MUL && CM_CONFIG_CRC_TABLE == CM_CONFIG_CRC_TABLE_NIBBLE

/* The sum of those of the single bits (wire/crc32c.c). */
    .macro entries bit0, bit1, bit2, bit3
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    .long ((\i & 1) * \bit0) ^ (((\i >> 1) & 1) * \bit1) ^ (((\i >> 2) & 1) * \bit2) ^ ((\i >> 3) * \bit3)
    .endr
    .endm

    .section .progmem.data.cmi_avr_crc32c, "a", @progbits
.Llower:
    entries 0xF26B8303, 0xE13B70F7, 0xC79A971F, 0x8AD958CF
.Lupper:
    entries 0x105EC76F, 0x20BD8EDE, 0x417B1DBC, 0x82F63B78

/* Exclusive or of the crc with an entry; r31:r30 is its offset. */
    .macro add_entry table
    clr     r31
    subi    r30, lo8(-(\table))
    sbci    r31, hi8(-(\table))
    .irp n, 22, 23, 24, 25
    lpm     r0, Z+
    eor     r\n, r0
    .endr
    .endm

    function cmi_avr_crc32c
    movw    r26, r20
    complement
    rjmp    .Ltest
.Lbyte:
    ld      r20, X+
    eor     r20, r22
    mov     r22, r23
    mov     r23, r24
    mov     r24, r25
    clr     r25
    mov     r30, r20
    andi    r30, 15
    lsl     r30
    lsl     r30
    add_entry .Llower
    mov     r30, r20
    andi    r30, 0xF0
    lsr     r30
    lsr     r30
    add_entry .Lupper
.Ltest:
    subi    r18, 1
    sbci    r19, 0
    brcc    .Lbyte
    complement
    ret
    end_function cmi_avr_crc32c

#elif CM_AVR && CM_CONFIG_CRC_TABLE == CM_CONFIG_CRC_TABLE_NIBBLE

/* Cores without a multiplier have little flash: bit by bit. */
    function cmi_avr_crc32c
    movw    r26, r20
    complement
    rjmp    4f
1:  ld      r20, X+
    eor     r22, r20
    ldi     r20, 8
2:  lsr     r25
    ror     r24
    ror     r23
    ror     r22
    brcc    3f
    ldi     r21, 0x78
    eor     r22, r21
    ldi     r21, 0x3B
    eor     r23, r21
    ldi     r21, 0xF6
    eor     r24, r21
    ldi     r21, 0x82
    eor     r25, r21
3:  dec     r20
    brne    2b
4:  subi    r18, 1
    sbci    r19, 0
    brcc    1b
    complement
    ret
    end_function cmi_avr_crc32c

#endif
