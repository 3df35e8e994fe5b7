/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The 31-bit message and its noise folded into a half of the ring, for ARMv7E-M: fx_fold_halves_real of
 * ckks_fold.h has the same in C. Also taken one level further, for armv7em.c. Which pairs are read, and what
 * is done with them, depends on their number alone.
 */
#include "backends/armv7em/function.inc"

#if CM_ARMV7EM

#include "backends/armv7em/keep.inc"

/* The fields of cmi_fold_constants. */
    .set constants_one, 0
    .set constants_q, 8

forward     .req r0
backward    .req r1
data        .req r2
noise       .req r3
root        .req r4
quotient    .req r5
q           .req r6
inverse     .req r7
even        .req r8
odd         .req r9
beside      .req r10
value       .req r11
multiple    .req r12
minus_two   .req lr

/*
 * value = a + part_a + (b + part_b) root modulo q, within 1.2 q of 2q; a part is a byte of `beside`. Two
 * quotients by q are subtracted, of the product and of a: each is rounded, and off by less than 0.6, for a
 * and b below 2^30.
 */
.macro fold_two a, part_a, b, part_b
    sxtab value, \b, beside, ror #8 * \part_b
    smmlar multiple, value, quotient, minus_two
    mla value, value, root, \a
    smmlar multiple, \a, inverse, multiple
    sxtab value, value, beside, ror #8 * \part_a
    mls value, multiple, q, value
.endm

.macro load_pair
    ldr even, [data], #4
    ldr odd, [data], #4
    ldr beside, [noise], #4
.endm

/* The residue of a pair that goes backward waits in value. */
.macro fold_pair
    fold_two even, 0, odd, 2
    str value, [forward], #4
    fold_two odd, 1, even, 3
.endm

.macro next_pair
    load_pair
    str value, [backward], #-4
    fold_pair
.endm

/*
 * void cmi_armv7em_fold_halves_31(uint32_t *forward, uint32_t *backward, const int32_t *data, const int8_t
 * *noise,
 *                        const cmi_fold_constants *constants)
 * From the first pair on until forward and backward meet: one pair less than a multiple of four. With m the
 * Montgomery form of a root below q/2, m / -q modulo 2^32 is 2^32 root / q to the nearest.
 */
    function cmi_armv7em_fold_halves_31
    push {r4-r11, lr}
    ldr value, [sp, #36]
    ldrd inverse, even, [value, #constants_one]
    ldrd q, odd, [value, #constants_q]
    mul inverse, inverse, odd
    mul quotient, even, odd
    asr root, even, #31
    smlal even, root, quotient, q
    mvn minus_two, #1
    load_pair
    fold_pair
    next_pair
    next_pair
    b 2f
    .balign 4
1:  next_pair
    next_pair
    next_pair
    next_pair
2:  sub even, backward, #4
    cmp forward, even
    bne 1b
    str value, [backward]
    pop {r4-r11, pc}
    end_function cmi_armv7em_fold_halves_31

/*
 * ---- the same, and the first level of the half's transform ----
 *
 * Pairs i and M - i, with M = n/4, make the results i and M + i, M - i and 2M - i: the first level's
 * butterflies. Quotients are subtracted from products alone, which leaves results below 2^29.6 + 0.6 q.
 */

low         .req r0 /* of results i */
high        .req r1 /* of results M - i */
upwards     .req r2 /* the numbers of pair i */
downwards   .req r3 /* and of pair M - i */
low_even    .req r4 /* then result 2M - i */
low_odd     .req r5
pair_noise  .req r6
low_sum     .req r7 /* result i */
high_even   .req r8 /* then result M + i */
high_sum    .req r9 /* result M - i */
ratio       .req r10
ratio_by_q  .req r11
spare       .req r12
modulus     .req lr

/* Where the others wait. */
#ifdef __ARM_FP
#define NOISE s0 /* from a result to its noise */
#define HALF s1  /* from result i to M + i */
#define ROOT s2
#define ROOT_BY_Q s3
#define FOLD_FRAME 0
#else
    .set NOISE, 0
    .set HALF, 4
    .set ROOT, 8
    .set ROOT_BY_Q, 12
#define FOLD_FRAME 16
#endif

/* a + part_a + (b + part_b) ratio; sum may be b. */
.macro fold_one sum, a, part_a, b, part_b
    sxtab \sum, \b, pair_noise, ror #8 * \part_b
    smmulr spare, \sum, ratio_by_q
    mla \sum, \sum, ratio, \a
    sxtab \sum, \sum, pair_noise, ror #8 * \part_a
    mls \sum, spare, modulus, \sum
.endm

.macro fold_low_and_high
    fetch spare, NOISE
    ldr low_even, [upwards], #4
    ldr low_odd, [upwards], #4
    ldr pair_noise, [low, spare]
    fold_one low_sum, low_even, 0, low_odd, 2
    fold_one low_even, low_odd, 1, low_even, 3
    fetch spare, NOISE
    ldr low_odd, [downwards, #4]
    ldr high_even, [downwards], #-8
    ldr pair_noise, [high, spare]
    fold_one high_sum, high_even, 0, low_odd, 2
    fold_one high_even, low_odd, 1, high_even, 3
    fetch low_odd, ROOT
    fetch pair_noise, ROOT_BY_Q
    mla spare, high_even, low_odd, low_sum
    smmulr high_even, high_even, pair_noise
    mls spare, high_even, modulus, spare
    rsb high_even, spare, low_sum, lsl #1
    mla low_sum, low_even, low_odd, high_sum
    fetch low_odd, HALF
    str high_even, [low, low_odd]
    smmulr low_even, low_even, pair_noise
    str spare, [low], #4
    mls low_sum, low_even, modulus, low_sum
    rsb low_even, low_sum, high_sum, lsl #1
    str low_even, [high, low_odd]
.endm

/*
 * void cmi_armv7em_fold_real_31(uint32_t *out, const int32_t *data, const int8_t *noise,
 *                               const real_fold_constants *constants, uint32_t half_bytes)
 * half_bytes: of M results. All but the columns 0 and M/2, whose number is odd.
 */
    function cmi_armv7em_fold_real_31
    push {r4-r11, lr}
    ldr spare, [sp, #36]
    sub sp, sp, #FOLD_FRAME
    sub r2, r2, low
    keep NOISE, r2
    ldm r3, {r4, r5, ratio, ratio_by_q, modulus}
    keep HALF, spare
    add downwards, r1, spare, lsl #1
    keep ROOT, r4
    sub downwards, downwards, #8
    keep ROOT_BY_Q, r5
    add upwards, r1, #8
    add high, low, spare
    sub high, high, #4
    add low, low, #4
    b 2f
    .balign 4
1:  fold_low_and_high
    str low_sum, [high], #-4
2:  fold_low_and_high
    str low_sum, [high], #-4
    cmp low, high
    bne 1b
    add sp, sp, #FOLD_FRAME
    pop {r4-r11, pc}
    end_function cmi_armv7em_fold_real_31

#endif
