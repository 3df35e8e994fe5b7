/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arithmetic modulo q = 67043329 = 2^26 - 2^16 + 1 on AVR: a level of the forward transform, and point-wise
 * products; arch/api.h, arch/avr.h and backends/avr_ring.c have the contracts. Branches and addresses depend
 * on lengths alone.
 *
 * Products. For signed b and a factor w < q, b w = t5 .. t0 2^0 + v5 .. v0 2^16, with w's lower and upper
 * half kept apart. As q = 1 mod 2^16, t - m q for m = t1 t0 drops two bytes: what is left is t5 .. t2 + m -
 * 2^10 m. It is added to v, where a second such step, with m = v1 v0 as a signed number, leaves b w / 2^32
 * mod q, at most |b| q / 2^32 + q/2 in magnitude: for |b| <= x q, (x / 64 + 1/2) q.
 *
 * Bounds. The transform's values are signed. From inputs below 4q, eleven steps from x to x + x / 64 + 1/2
 * end below 11; for x <= 31, everything fits 32 bits.
 */
#include "backends/avr/function.inc"

#if CM_AVR_MUL

#define zero r2
#define t0 r4
#define t1 r5
#define t2 r6
#define t3 r7
#define t4 r8
#define t5 r9
#define v2 r10
#define v3 r11
#define v4 r12
#define v5 r13
#define b0 r16
#define b1 r17
#define b2 r18
#define b3 r19
#define w0 r20
#define w1 r21
#define w2 r22
#define w3 r23
#define v0 r24
#define v1 r25
#define four r26
#define sign r27

#define Q2 0xFF
#define Q3 0x03

    .macro add_r1_r0 at, above
    add     \at, r0
    adc     \above, r1
    .endm

/* x5 .. x0 = b (u1 u0), b signed. 36 cycles. */
    .macro product_by_half x0, x1, x2, x3, x4, x5, u0, u1
    mul     b0, \u0
    movw    \x0, r0
    mul     b1, \u1
    movw    \x2, r0
    mul     b1, \u0
    add_r1_r0 \x1, \x2
    adc     \x3, zero
    mul     b0, \u1
    add_r1_r0 \x1, \x2
    adc     \x3, zero
    mulsu   b3, \u1
    movw    \x4, r0
    mul     b2, \u0
    add_r1_r0 \x2, \x3
    adc     \x4, zero
    adc     \x5, zero
    mulsu   b3, \u0
    sbc     \x5, zero
    add_r1_r0 \x3, \x4
    adc     \x5, zero
    mul     b2, \u1
    add_r1_r0 \x3, \x4
    adc     \x5, zero
    .endm

/* t5 .. t2, less what drops t1 and t0: the first step. 13 cycles. */
    .macro reduce_low
    add     t2, t0
    adc     t3, t1
    adc     t4, zero
    adc     t5, zero
    mul     t0, four
    sub     t3, r0
    sbc     t4, r1
    sbc     t5, zero
    mul     t1, four
    sub     t4, r0
    sbc     t5, r1
    .endm

/* sign = 255 if the number that ends in top is negative, else 0; the carry is its sign. */
    .macro sign_of top
    mov     sign, \top
    lsl     sign
    sbc     sign, sign
    .endm

/* v5 .. v2, less what drops v1 and v0: the second step. 16 cycles. */
    .macro reduce_high
    sign_of v1 /* if negative, 2^16 more than m is dropped: the carry makes one more in v2 */
    adc     v2, v0
    adc     v3, v1
    adc     v4, sign
    adc     v5, sign
    mul     v0, four
    sub     v3, r0
    sbc     v4, r1
    sbc     v5, zero
    muls    v1, four
    sub     v4, r0
    sbc     v5, r1
    .endm

/* v5 .. v2 = b w / 2^32 mod q. b and w stay. 110 cycles. */
    .macro product
    product_by_half t0, t1, t2, t3, t4, t5, w0, w1
    reduce_low
    product_by_half v0, v1, v2, v3, v4, v5, w2, w3
    sign_of t5
    add     v0, t2
    adc     v1, t3
    adc     v2, t4
    adc     v3, t5
    adc     v4, sign
    adc     v5, sign
    reduce_high
    .endm

/* x + q where mask is 255, x where it is 0. */
    .macro add_q_masked x0, x1, x2, x3, mask
    mov     r0, \mask
    lsr     r0 /* carry: q's lowest byte is 1 */
    ldi     v0, Q3
    and     v0, \mask
    adc     \x0, zero
    adc     \x1, zero
    adc     \x2, \mask
    adc     \x3, v0
    .endm

/* x + q if it is negative. */
    .macro add_q_if_negative x0, x1, x2, x3
    sign_of \x3
    add_q_masked \x0, \x1, \x2, \x3, sign
    .endm

    .macro load_b pointer
    ld      b0, \pointer+
    ld      b1, \pointer+
    ld      b2, \pointer+
    ld      b3, \pointer+
    .endm

    .macro load_w pointer
    ld      w0, \pointer+
    ld      w1, \pointer+
    ld      w2, \pointer+
    ld      w3, \pointer+
    .endm

/*
 * void cmi_avr_forward_level26(uint32_t *a, uint16_t half, uint16_t blocks, const uint32_t *first,
 *                             const uint32_t *step)
 * r15:r14 is where the lower half of a block ends, r29:r28 and r31:r30 walk through both halves.
 */
    function cmi_avr_forward_level26
    save_registers
    clr     zero
    movw    r28, r24
    movw    r8, r22 /* half, in bytes */
    lsl     r8
    rol     r9
    lsl     r8
    rol     r9
    movw    r10, r20 /* blocks left */
    movw    r30, r18
    load_w  Z
    push    r16
    push    r17
    clr     r12 /* the block's number */
    clr     r13
    ldi     four, 4
.Lforward_block:
    push    r8
    push    r9
    push    r10
    push    r11
    push    r12
    push    r13
    movw    r30, r28
    add     r30, r8
    adc     r31, r9
    movw    r14, r30
.Lforward_butterfly:
    ld      b0, Z
    ldd     b1, Z+1
    ldd     b2, Z+2
    ldd     b3, Z+3
    product
    ld      b0, Y
    ldd     b1, Y+1
    ldd     b2, Y+2
    ldd     b3, Y+3
    movw    t0, b0
    movw    t2, b2
    add     b0, v2
    adc     b1, v3
    adc     b2, v4
    adc     b3, v5
    st      Y+, b0
    st      Y+, b1
    st      Y+, b2
    st      Y+, b3
    sub     t0, v2
    sbc     t1, v3
    sbc     t2, v4
    sbc     t3, v5
    st      Z+, t0
    st      Z+, t1
    st      Z+, t2
    st      Z+, t3
    cp      r28, r14
    cpc     r29, r15
    breq    .Lforward_block_done
    rjmp    .Lforward_butterfly
.Lforward_block_done:
    movw    r28, r30
    /*
     * The next root is this one times step[t], where t is the number of trailing ones of the block's number.
     */
    pop     r13
    pop     r12
    pop     r11
    pop     r10
    movw    r24, r10
    sbiw    r24, 1
    brne    .Lforward_next_root
    rjmp    .Lforward_done
.Lforward_next_root:
    movw    r10, r24
    pop     r9
    pop     r8
    pop     r31
    pop     r30
    push    r30
    push    r31
    push    r8
    push    r9
    push    r10
    push    r11
    movw    r24, r12
.Lforward_step:
    lsr     r25
    ror     r24
    brcc    .Lforward_step_found
    adiw    r30, 4
    rjmp    .Lforward_step
.Lforward_step_found:
    movw    r24, r12
    adiw    r24, 1
    push    r24
    push    r25
    movw    b0, w0
    movw    b2, w2
    load_w  Z
    product
    add_q_if_negative v2, v3, v4, v5
    movw    w0, v2
    movw    w2, v4
    pop     r13
    pop     r12
    pop     r11
    pop     r10
    pop     r9
    pop     r8
    rjmp    .Lforward_block
.Lforward_done:
    .rept 4
    pop     r0
    .endr
    return_registers
    end_function cmi_avr_forward_level26

/* b, any unsigned number, as less than 2q: with b = 2^26 h + l, b - h q = l + 2^16 h - h. */
    .macro fold h
    mov     \h, b3
    lsr     \h
    lsr     \h
    andi    b3, 3
    add     b2, \h
    adc     b3, zero
    sub     b0, \h
    sbc     b1, zero
    sbc     b2, zero
    sbc     b3, zero
    .endm

/*
 * A product of any unsigned b, which is folded first: 2^31 and above would be signed numbers beyond the
 * bounds above. It lies within 3q/5 of 0.
 */
    .macro unsigned_product
    fold    sign
    product
    .endm

/* x - q if x >= q, for x < 2^31 + q. */
    .macro subtract_q_once x0, x1, x2, x3
    ldi     v0, 1
    ldi     v1, Q2
    ldi     sign, Q3
    sub     \x0, v0
    sbc     \x1, zero
    sbc     \x2, v1
    sbc     \x3, sign
    add_q_if_negative \x0, \x1, \x2, \x3
    .endm

/* uint32_t cmi_avr_residue26(uint32_t a, uint32_t b): a b / 2^32 mod q, for any a and a residue b */
    function cmi_avr_residue26
    save_registers
    clr     zero
    movw    t0, r18
    movw    t2, r20
    movw    b0, r22
    movw    b2, r24
    movw    w0, t0
    movw    w2, t2
    ldi     four, 4
    unsigned_product
    add_q_if_negative v2, v3, v4, v5
    movw    r22, v2
    movw    r24, v4
    return_registers
    end_function cmi_avr_residue26

/* void cmi_avr_multiply26(uint32_t *out, const uint32_t *a, const uint32_t *b, uint16_t count), for count >
   0 */
    function cmi_avr_multiply26
    save_registers
    clr     zero
    movw    r28, r24
    movw    r30, r22
    movw    r14, r18
    movw    r26, r20
.Lmultiply_next:
    load_b  Z
    load_w  X
    push    r26
    ldi     four, 4
    push    r27
    unsigned_product
    add_q_if_negative v2, v3, v4, v5
    st      Y+, v2
    st      Y+, v3
    st      Y+, v4
    st      Y+, v5
    pop     r27
    pop     r26
    movw    r24, r14
    sbiw    r24, 1
    movw    r14, r24
    breq    .Lmultiply_done
    rjmp    .Lmultiply_next
.Lmultiply_done:
    return_registers
    end_function cmi_avr_multiply26

/*
 * out + a b: out as less than 2q, the product as within 3q/5 of 0, and one q make less than 4q, which is
 * folded once more.
 */
    .macro multiply_add_next
    push    r26
    ldi     four, 4
    push    r27
    unsigned_product
    ld      b0, Y
    ldd     b1, Y+1
    ldd     b2, Y+2
    ldd     b3, Y+3
    fold    sign
    add     b0, v2
    adc     b1, v3
    adc     b2, v4
    adc     b3, v5
    subi    b0, -1
    sbci    b1, -1
    sbci    b2, 0
    sbci    b3, -1 - Q3
    fold    sign
    subtract_q_once b0, b1, b2, b3
    st      Y+, b0
    st      Y+, b1
    st      Y+, b2
    st      Y+, b3
    pop     r27
    pop     r26
    movw    r24, r14
    sbiw    r24, 1
    movw    r14, r24
    .endm

/* void cmi_avr_multiply_add26(uint32_t *out, const uint32_t *a, const uint32_t *b, uint16_t count), for count
   > 0 */
    function cmi_avr_multiply_add26
    save_registers
    clr     zero
    movw    r28, r24
    movw    r30, r22
    movw    r14, r18
    movw    r26, r20
.Lmultiply_add_ram:
    load_b  Z
    load_w  X
    multiply_add_next
    breq    .Lmultiply_add_ram_done
    rjmp    .Lmultiply_add_ram
.Lmultiply_add_ram_done:
    return_registers
    end_function cmi_avr_multiply_add26

/* The same for a in flash. */
    function cmi_avr_multiply_add26_flash
    save_registers
    clr     zero
    movw    r28, r24
    movw    r30, r22
    movw    r14, r18
    movw    r26, r20
.Lmultiply_add_flash:
    lpm     b0, Z+
    lpm     b1, Z+
    lpm     b2, Z+
    lpm     b3, Z+
    load_w  X
    multiply_add_next
    breq    .Lmultiply_add_flash_done
    rjmp    .Lmultiply_add_flash
.Lmultiply_add_flash_done:
    return_registers
    end_function cmi_avr_multiply_add26_flash

/* ---- folding into tiles ---- */

/*
 * int32_t cmi_avr_dot26(const uint16_t *w, const int32_t *p, uint8_t terms, const int64_t *start)
 * (start + the sum of w[j] p[j]) / 2^32 mod q, start and the sum below 2^46 in magnitude; in r15:r10
 * meanwhile.
 */
    function cmi_avr_dot26
    save_registers
    clr     zero
    movw    r30, r18
    movw    r26, r24
    mov     r3, r20
    .irp n, 10, 11, 12, 13, 14, 15
    ld      r\n, Z+
    .endr
    movw    r30, r22
    mov     w3, r3
.Lterm:
    load_b  Z
    ld      w0, X+
    ld      w1, X+
    product_by_half t0, t1, t2, t3, t4, t5, w0, w1
    add     r10, t0
    adc     r11, t1
    adc     r12, t2
    adc     r13, t3
    adc     r14, t4
    adc     r15, t5
    dec     w3
    brne    .Lterm
    ldi     four, 4
    movw    t0, r10
    movw    t2, r12
    movw    t4, r14
    reduce_low
    sign_of t5
    movw    v0, t2
    movw    v2, t4
    mov     v4, sign
    mov     v5, sign
    reduce_high
    movw    r22, v2
    movw    r24, v4
    return_registers
    end_function cmi_avr_dot26

/*
 * void cmi_avr_noise_add26(uint32_t *a, const int8_t *noise, uint8_t count, const uint32_t *factor)
 * a + e p, for e + 21 from 0 to 42: factor[0] is p and factor[1] = -21 p, both residues. a is below 4q, then
 * 2q.
 */
    function cmi_avr_noise_add26
    save_registers
    clr     zero
    movw    r28, r24
    movw    r30, r18
    movw    r26, r22
    mov     r14, r20
    load_w  Z
    ld      r8, Z+
    ld      r9, Z+
    ld      r10, Z+
    ld      r11, Z+
.Lnoise:
    ld      r15, X+
    ldi     v0, 21
    add     r15, v0
    ldd     b0, Y+0
    ldd     b1, Y+1
    ldd     b2, Y+2
    ldd     b3, Y+3
    add     b0, r8
    adc     b1, r9
    adc     b2, r10
    adc     b3, r11
    mul     w0, r15
    movw    t0, r0
    mul     w2, r15
    movw    t2, r0
    mul     w1, r15
    add_r1_r0 t1, t2
    adc     t3, zero
    mul     w3, r15
    add     t3, r0
    add     b0, t0
    adc     b1, t1
    adc     b2, t2
    adc     b3, t3
    fold    r15
    st      Y+, b0
    st      Y+, b1
    st      Y+, b2
    st      Y+, b3
    dec     r14
    brne    .Lnoise
    return_registers
    end_function cmi_avr_noise_add26

#endif
