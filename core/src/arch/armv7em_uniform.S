/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uniform residues of 20, 26 and 27 bits for ARMv7E-M, from a key stream that begins at a field: sample.c
 * says how. Every shift is known in advance, over a group of fields that fills whole words. Which fields are
 * rejected is public.
 */
#include "arch/armv7em/function.inc"

#if CM_ARMV7EM

out     .req r0
words   .req r1
q       .req r2
end     .req r3
word    .req r4
field   .req r5

/*
 * Store the next field, which follows the `used` bits of word, at out, which advances if the field is a
 * residue.
 */
.macro take_field used, bits
.if \used == 0
    ldr word, [words], #4
.endif
.if \used + \bits <= 32
    ubfx field, word, #\used, #\bits
.else
    lsr field, word, #\used
    ldr word, [words], #4
    orr field, field, word, lsl #32 - \used
    bfc field, #\bits, #32 - \bits
.endif
    cmp field, q
    str field, [out]
    it lo
    addlo out, out, #4
.endm

/* uint32_t *cmi_armv7em_uniform_...(uint32_t *residues, const uint32_t *words, uint32_t q, const uint32_t
   *end) */
.macro uniform_function name, bits, group
    function \name
    push {r4, r5}
1:
    .set used, 0
.rept \group
    take_field used, \bits
    .set used, (used + \bits) % 32
.endr
    cmp words, end
    bne 1b
    pop {r4, r5}
    bx lr
    end_function \name
.endm

    uniform_function cmi_armv7em_uniform_20, 20, 8
    uniform_function cmi_armv7em_uniform_26, 26, 16
    uniform_function cmi_armv7em_uniform_27, 27, 32

#endif
