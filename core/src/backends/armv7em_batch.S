/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batching's inner loop for ARMv7E-M: two levels of the inverse transform in 16 bits. encode/bfv_batch.c has
 * the same in C.
 *
 * No branch, address or slow instruction depends on the data; long multiplications take one cycle on the
 * Cortex-M4 and M7 whatever they multiply.
 */
#include "backends/armv7em/function.inc"

#if CM_ARMV7EM

/* hi = x by / 2^32 modulo q, within q/2 + 2 of 0, for -1/q in r6 and q in r7. hi may be x. */
.macro product hi, x, by
    smull r12, \hi, \x, \by
    mul lr, r12, r6
    smlal r12, \hi, lr, r7
.endm

/*
 * void cmi_armv7em_batch_levels(int16_t *at, const int16_t *end, size_t step, const cmi_batch_factors *by)
 *
 * For at up to end: four numbers, step bytes apart. by: six words, the factors of the second and of the first
 * pair's difference, of the outer differences, of sums, then -1/q and q.
 */
    function cmi_armv7em_batch_levels
    push {r1, r4-r11, lr}
    mov r1, r2
    ldm r3, {r2-r7}
1:
    add lr, r0, r1, lsl #1
    ldrsh r8, [r0]
    ldrsh r9, [r0, r1]
    ldrsh r10, [lr]
    ldrsh r11, [lr, r1]
    sub r12, r9, r8
    add r8, r8, r9
    product r9, r12, r3
    sub r12, r11, r10
    add r10, r10, r11
    product r11, r12, r2
    sub r12, r10, r8
    add r8, r8, r10
    product r10, r12, r4
    product r8, r8, r5
    strh r8, [r0]
    add r8, r0, r1, lsl #1
    sub r12, r11, r9
    strh r10, [r8]
    add r9, r9, r11
    product r11, r12, r4
    product r9, r9, r5
    ldr r12, [sp]
    strh r11, [r8, r1]
    add r8, r0, r1
    strh r9, [r8]
    add r0, r0, #2
    cmp r0, r12
    bne 1b
    pop {r1, r4-r11, pc}
    end_function cmi_armv7em_batch_levels

#endif
