/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unbatching's last loop for ARMv7E-M: words to residues in half the space. encode/bfv_unbatch.c has the same
 * in C. Branches depend on the count alone.
 */
#include "backends/armv7em/function.inc"

#if CM_ARMV7EM

at      .req r0
count   .req r1
q       .req r2
inverse .req r3
out     .req r12

/*
 * x less q times the nearest quotient, within q/2 + 1 of 0, then q more if that is negative. The quotient is
 * off by at most x / 2^33, because 2^32 / q is by at most 1/2.
 */
    .macro  residue x, spare
    smmulr  \spare, \x, inverse
    mls     \x, \spare, q, \x
    and     \spare, q, \x, asr #31
    add     \x, \x, \spare
    .endm

/* void cmi_armv7em_narrow(uint32_t *a, uint32_t count, uint32_t q, uint32_t inverse) */
    function cmi_armv7em_narrow
    push    {r4-r8, lr}
    mov     out, at
    .balign 4
1:  ldm     at!, {r4-r7}
    residue r4, r8
    residue r5, r8
    residue r6, r8
    residue r7, r8
    pkhbt   r4, r4, r5, lsl #16
    pkhbt   r5, r6, r7, lsl #16
    subs    count, count, #4
    strd    r4, r5, [out], #8
    bne     1b
    pop     {r4-r8, pc}
    end_function cmi_armv7em_narrow

#endif
