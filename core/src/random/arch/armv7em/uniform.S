/*
 * Uniform residues of 26 and 27 bits for ARMv7E-M, from a key stream that begins at a field: sample.c says how. Every
 * shift is known in advance, over a group of fields that fills whole words. What is rejected is public.
 */
#include "ciphermote/config.h"

#if CM_ARMV7EM

    .syntax unified
    .thumb

out     .req r0
words   .req r1
q       .req r2
end     .req r3
word    .req r4
field   .req r5

/* The next field, the one that bits used of word precede, goes to out, which advances if that is a residue. */
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

/* uint32_t *cm_uniform_..._armv7em(uint32_t *residues, const uint32_t *words, uint32_t q, const uint32_t *end) */
.macro uniform_function bits, group
    .section .text.cm_uniform_\bits\()_armv7em, "ax", %progbits
    .align 2
    .global cm_uniform_\bits\()_armv7em
    .type cm_uniform_\bits\()_armv7em, %function
cm_uniform_\bits\()_armv7em:
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
    .size cm_uniform_\bits\()_armv7em, . - cm_uniform_\bits\()_armv7em
.endm

    uniform_function 26, 16
    uniform_function 27, 32

#endif

/* Linux makes the stack executable for an object that does not decline. */
#if defined(__linux__) && defined(__ELF__)
    .section .note.GNU-stack, "", %progbits
#endif
