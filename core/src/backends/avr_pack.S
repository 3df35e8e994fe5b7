/* SPDX-License-Identifier: Apache-2.0 */
/* Residues of 26 bits on AVR, four in thirteen bytes, low bits first (wire/frame.c). */
#include "backends/avr/function.inc"

#if CM_AVR

    .macro load_residue
    ld      r18, Z+
    ld      r19, Z+
    ld      r20, Z+
    ld      r21, Z+
    .endm

    .macro shift_left by
    .rept \by
    lsl     r18
    rol     r19
    rol     r20
    rol     r21
    .endr
    .endm

/* The residue's first byte joins the bits left over in r22; its last byte becomes the new left-over. */
    .macro put_residue
    or      r18, r22
    st      X+, r18
    st      X+, r19
    st      X+, r20
    mov     r22, r21
    .endm

/* void cmi_avr_pack26(uint8_t out[13], const uint32_t residues[4]) */
    function cmi_avr_pack26
    movw    r26, r24
    movw    r30, r22
    clr     r22
    load_residue
    put_residue
    load_residue
    shift_left 2
    put_residue
    load_residue
    shift_left 4
    put_residue
    load_residue
    shift_left 6
    put_residue
    st      X+, r22
    ret
    end_function cmi_avr_pack26

#endif
