/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uniform residues of 20, 26 and 27 bits for ARMv7E-M, from a key stream that begins at a field: sample.c
 * says how. Every shift is known in advance, over a group of fields that fills whole words. Which fields are
 * rejected is public.
 */
#include "backends/armv7em/function.inc"

#if CM_ARMV7EM

out     .req r0
words   .req r1
q       .req r2
end     .req r3
field   .req r5

/* Words are loaded five at a time: of a group, number i is in word(i mod 5). */
word0   .req r4
word1   .req r6
word2   .req r7
word3   .req r8
word4   .req r12

.macro load_words left
.if \left >= 5
    ldm words!, {word0, word1, word2, word3, word4}
.elseif \left == 3
    ldm words!, {word0, word1, word2}
.else
    ldm words!, {word0, word1}
.endif
.endm

/*
 * Store the next field, which follows the `used` bits of word i, at out, which advances if the field is a
 * residue. Word j is the next one, or has been loaded if the field is the first of its group.
 */
.macro take_field i, j, used, bits, left
.if \used + \bits <= 32
    ubfx field, word\i, #\used, #\bits
.else
    lsr field, word\i, #\used
.if \j == 0
    load_words \left
.endif
    bfi field, word\j, #32 - \used, #\bits + \used - 32
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
    push {r4-r8}
    .balign 4
1:
    load_words 5
    .set first_bit, 0
.rept \group
    .set index, first_bit / 32
    take_field %(index % 5), %((index + 1) % 5), %(first_bit % 32), \bits, %(\group * \bits / 32 - index - 1)
    .set first_bit, first_bit + \bits
.endr
    cmp words, end
    bne 1b
    pop {r4-r8}
    bx lr
    end_function \name
.endm

    .altmacro
    uniform_function cmi_armv7em_uniform_20, 20, 8
    uniform_function cmi_armv7em_uniform_26, 26, 16
    uniform_function cmi_armv7em_uniform_27, 27, 32

#endif
