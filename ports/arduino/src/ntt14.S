/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The negacyclic NTT of 1 to 1024 points for primes q = 256 k + 1 below 2^14, on AVR: ntt14.h has the
 * contracts.
 *
 * Values are signed words between levels. Registers hold four coefficients, and two levels are combined;
 * branches and addresses depend on the length alone.
 *
 * Products. For signed b and a root w, |w| < q/2, in Montgomery form, b w = t3 t2 t1 t0. As q = 1 mod 256, t
 * - t0 q drops the lowest byte: t1 t2 t3 less k t0. A second such step with t1 taken as signed gives b w /
 * 2^16, at most |b| |w| / 2^16 + q/2 in magnitude. Its negative comes for free: muls leaves in the carry what
 * a negative t1 adds.
 *
 * Bounds, for q = 12289 (7681 has more room). quotient is the nearest integer to 2^16 / q, less than which
 * the top byte times quotient over 256 leaves |a| <= 1.15 q of any |a| < 2^15. Forward: from at most 2.57 q,
 * a product is at most 0.75 q; with c0 and c1 reduced, the first level ends below 1.9 q, the second below
 * 2.57 q < 2^15. Inverse: from at most 1.15 q, sums are at most 2.3 q, reduced 1.15 q, and a level later
 * again; products are below 0.75 q.
 */
#include "backends/avr/function.inc"

#if CM_AVR_MUL

#define zero r2
#define quotient r3
#define t2 r4
#define t3 r5
#define c0_lo r6
#define c0_hi r7
#define blocks r14
#define points r15
#define w_lo r22
#define w_hi r23
#define t1 r24
#define k r25

/* The register pairs that a product's operands must be in (mulsu): c1, c2, c3 and w. */
#define c1_lo r16
#define c1_hi r17
#define c2_lo r18
#define c2_hi r19
#define c3_lo r20
#define c3_hi r21

/* Roots of a block: of the outer level, and of the two halves at the inner one. */
#define outer r8
#define inner_a r10
#define inner_b r12

/* r1:r0 = -(b w / 2^16). 27 cycles. */
    .macro product b_lo, b_hi
    muls    \b_hi, w_hi
    movw    t2, r0
    mul     \b_lo, w_lo
    mov     t1, r1
    mul     r0, k
    sub     t1, r0
    sbc     t2, r1
    sbc     t3, zero
    mulsu   \b_hi, w_lo
    sbc     t3, zero
    add     t1, r0
    adc     t2, r1
    adc     t3, zero
    mulsu   w_hi, \b_lo
    sbc     t3, zero
    add     t1, r0
    adc     t2, r1
    adc     t3, zero
    muls    t1, k
    sbc     r0, t2
    sbc     r1, t3
    .endm

/* a, b = a + b w, a - b w. */
    .macro forward_butterfly a_lo, a_hi, b_lo, b_hi
    product \b_lo, \b_hi
    movw    \b_lo, \a_lo
    add     \b_lo, r0
    adc     \b_hi, r1
    sub     \a_lo, r0
    sbc     \a_hi, r1
    .endm

/* a, b = a + b, (b - a) w: an inverse root is the negative of a forward one. */
    .macro inverse_butterfly a_lo, a_hi, b_lo, b_hi
    difference \a_lo, \a_hi, \b_lo, \b_hi
    product \b_lo, \b_hi
    movw    \b_lo, r0
    .endm

/* a, b = a + b, a - b. */
    .macro difference a_lo, a_hi, b_lo, b_hi
    movw    t2, \a_lo
    add     \a_lo, \b_lo
    adc     \a_hi, \b_hi
    sub     t2, \b_lo
    sbc     t3, \b_hi
    movw    \b_lo, t2
    .endm

/* a, less an integer times q; w_lo holds the quotient. */
    .macro reduce a_lo, a_hi
    muls    \a_hi, w_lo
    less_r1_times_q \a_lo, \a_hi
    .endm

    .macro less_r1_times_q a_lo, a_hi
    mov     t1, r1
    muls    t1, k
    sub     \a_lo, t1
    sbc     \a_hi, r1
    sub     \a_hi, r0
    .endm

/* The same for c0, whose register muls cannot take. */
    .macro reduce_c0
    mov     t1, c0_hi
    reduce_t1
    less_r1_times_q c0_lo, c0_hi
    .endm

    .macro reduce_t1
    muls    t1, w_lo
    .endm

/*
 * a as a residue, from less than 2.57 q in magnitude: subtracting an integer times q leaves 0 .. 2q, because
 * taking k / 256 off the quotient covers its errors, and then q is subtracted once where that leaves no
 * borrow. points holds 1.
 */
    .macro residue a_lo, a_hi
    sub     r0, k
    sbc     r1, zero
    less_r1_times_q \a_lo, \a_hi
    sub     \a_lo, points
    sbc     \a_hi, k
    sbc     t1, t1
    add_q_masked \a_lo, \a_hi
    .endm

/* a + (q & t1), for t1 = 0 or 255. Spoils r0. */
    .macro add_q_masked a_lo, a_hi
    mov     r0, k
    and     r0, t1
    sub     \a_lo, t1
    sbc     \a_hi, t1
    add     \a_hi, r0
    .endm

    .macro residue_c0
    mov     t1, c0_hi
    reduce_t1
    residue c0_lo, c0_hi
    .endm

    .macro residue_of a_lo, a_hi
    muls    \a_hi, w_lo
    residue \a_lo, \a_hi
    .endm

/* r1:r0 above -q as a residue, into a. */
    .macro lift a_lo, a_hi
    movw    \a_lo, r0
    lsl     r1
    sbc     t1, t1
    add_q_masked \a_lo, \a_hi
    .endm

    .macro load_root pair_lo, pair_hi
    lpm     \pair_lo, Z+
    lpm     \pair_hi, Z+
    .endm

    .macro load_roots
    load_root r8, r9
    load_root r10, r11
    load_root r12, r13
    .endm

/* Y moves by bytes; nothing for 0. */
    .macro move_y bytes
    .if \bytes
    subi    r28, lo8(-(\bytes))
    sbci    r29, hi8(-(\bytes))
    .endif
    .endm

/* Y moves by the bytes in a pair of registers. */
    .macro advance_y pair_lo, pair_hi
    add     r28, \pair_lo
    adc     r29, \pair_hi
    .endm

    .macro retreat_y pair_lo, pair_hi
    sub     r28, \pair_lo
    sbc     r29, \pair_hi
    .endm

/* Four coefficients at a stride of 2 or 8 bytes, which ldd reaches without moving Y. */
    .macro load_four stride
    ldd     c0_lo, Y+0
    ldd     c0_hi, Y+1
    ldd     c1_lo, Y+\stride
    ldd     c1_hi, Y+\stride+1
    ldd     c2_lo, Y+2*\stride
    ldd     c2_hi, Y+2*\stride+1
    ldd     c3_lo, Y+3*\stride
    ldd     c3_hi, Y+3*\stride+1
    .endm

/* The reverse; Y ends past c0, or past c3 for a stride of 2. */
    .macro store_four stride
    .if \stride == 2
    st      Y+, c0_lo
    st      Y+, c0_hi
    st      Y+, c1_lo
    st      Y+, c1_hi
    st      Y+, c2_lo
    st      Y+, c2_hi
    st      Y+, c3_lo
    st      Y+, c3_hi
    .else
    std     Y+3*\stride+1, c3_hi
    std     Y+3*\stride, c3_lo
    std     Y+2*\stride+1, c2_hi
    std     Y+2*\stride, c2_lo
    std     Y+\stride+1, c1_hi
    std     Y+\stride, c1_lo
    st      Y+, c0_lo
    st      Y+, c0_hi
    .endif
    .endm

/* Four coefficients at the stride in a pair of registers; Y ends at c3. */
    .macro load_four_at stride_lo, stride_hi
    ldd     c0_lo, Y+0
    ldd     c0_hi, Y+1
    advance_y \stride_lo, \stride_hi
    ldd     c1_lo, Y+0
    ldd     c1_hi, Y+1
    advance_y \stride_lo, \stride_hi
    ldd     c2_lo, Y+0
    ldd     c2_hi, Y+1
    advance_y \stride_lo, \stride_hi
    ldd     c3_lo, Y+0
    ldd     c3_hi, Y+1
    .endm

/* A coefficient at Y, which then moves back by the stride. */
    .macro store_before a_lo, a_hi, stride_lo, stride_hi
    std     Y+1, \a_hi
    st      Y, \a_lo
    retreat_y \stride_lo, \stride_hi
    .endm

/* The reverse of load_four_at; Y ends past c0. */
    .macro store_four_at stride_lo, stride_hi
    store_before c3_lo, c3_hi, \stride_lo, \stride_hi
    store_before c2_lo, c2_hi, \stride_lo, \stride_hi
    store_before c1_lo, c1_hi, \stride_lo, \stride_hi
    st      Y+, c0_lo
    st      Y+, c0_hi
    .endm

/* How many coefficients a stride of X bytes spans, mod 256: 256 of them are 0, which counts down as 256. */
    .macro points_of_stride
    movw    w_lo, r26
    lsr     w_hi
    ror     w_lo
    mov     points, w_lo
    .endm

/* Y = a, whose address is on the stack. */
    .macro point_to_start
    pop     r29
    pop     r28
    push    r28
    push    r29
    .endm

/* ---- forward ---- */

    .macro forward_four
    mov     w_lo, quotient
    reduce_c0
    reduce  c1_lo, c1_hi
    movw    w_lo, outer
    forward_butterfly c0_lo, c0_hi, c2_lo, c2_hi
    forward_butterfly c1_lo, c1_hi, c3_lo, c3_hi
    movw    w_lo, inner_a
    forward_butterfly c0_lo, c0_hi, c1_lo, c1_hi
    movw    w_lo, inner_b
    forward_butterfly c2_lo, c2_hi, c3_lo, c3_hi
    .endm

/*
 * Both transforms take two levels at a time. X is the stride in bytes between the four coefficients that
 * they combine, so a block has 2 X of them; the address of a and, in a pass, the number of blocks are on the
 * stack.
 */
    .macro forward_pass load, store, end_block
    point_to_start
    push    blocks
1:  load_roots
    points_of_stride
2:  \load
    forward_four
    \store
    dec     points
    breq    3f
    rjmp    2b
3:  \end_block
    dec     blocks
    breq    4f
    rjmp    1b
4:  pop     blocks
    lsl     blocks
    lsl     blocks
    quarter_x
    .endm

    .macro load_wide
    load_four_at r26, r27
    .endm

    .macro store_wide
    store_four_at r26, r27
    .endm

    .macro end_wide_block
    .rept 3
    advance_y r26, r27
    .endr
    .endm

    .macro load_narrow
    load_four 8
    .endm

    .macro store_narrow
    store_four 8
    .endm

    .macro end_narrow_block
    adiw    r28, 24
    .endm

    .macro quarter_x
    .rept 2
    lsr     r27
    ror     r26
    .endr
    .endm

    .macro quadruple_x
    .rept 2
    lsl     r26
    rol     r27
    .endr
    .endm

/* The last two levels, with residues as output. */
    .macro forward_last_pass
    point_to_start
    clr     points
    inc     points
1:  load_roots
    load_four 2
    forward_four
    mov     w_lo, quotient
    residue_c0
    residue_of c1_lo, c1_hi
    residue_of c2_lo, c2_hi
    residue_of c3_lo, c3_hi
    store_four 2
    dec     blocks
    breq    2f
    rjmp    1b
2:
    .endm

/* What both transforms begin with: a on the stack, Z = the table past its first six bytes, t1 = log2 n, and
   X = 2. */
    .macro enter
    save_registers
    push    r24
    push    r25
    movw    r30, r22
    clr     zero
    adiw    r30, 2
    lpm     t1, Z+
    lpm     k, Z+
    lpm     quotient, Z+
    adiw    r30, 1
    clr     blocks
    inc     blocks
    ldi     r26, 2
    clr     r27
    .endm

    .macro leave
    pop     r25
    pop     r24
    return_registers
    .endm

    function cm_avr_ntt14_forward
    enter
    adiw    r30, 4
    ldi     r26, 1
    tst     t1
    brne    1f
    rjmp    .Lforward_done
1:  mov     r23, t1
2:  lsl     r26
    rol     r27
    dec     r23
    brne    2b
    sbrs    t1, 0
    rjmp    .Lforward_even
    points_of_stride /* the first level, of halves n bytes apart */
    load_root w_lo, w_hi
    movw    r10, r26
    point_to_start
    movw    r26, r28
    advance_y r10, r11
3:  ld      c0_lo, X+
    ld      c0_hi, X
    ld      c2_lo, Y
    ldd     c2_hi, Y+1
    forward_butterfly c0_lo, c0_hi, c2_lo, c2_hi
    st      X, c0_hi
    st      -X, c0_lo
    adiw    r26, 2
    st      Y+, c2_lo
    st      Y+, c2_hi
    dec     points
    brne    3b
    lsl     blocks
    movw    r26, r10
    quarter_x
    rjmp    .Lforward_next
.Lforward_even:
    lsr     r27
    ror     r26
.Lforward_next:
    cpi     r26, 8
    cpc     r27, zero
    brsh    4f
    rjmp    .Lforward_end
4:  brne    5f
    rjmp    .Lforward_narrow
5:  forward_pass load_wide, store_wide, end_wide_block
    rjmp    .Lforward_next
.Lforward_narrow:
    forward_pass load_narrow, store_narrow, end_narrow_block
.Lforward_end:
    sbiw    r26, 2
    breq    6f
    rjmp    .Lforward_two
6:  forward_last_pass
.Lforward_done:
    leave
.Lforward_two: /* n = 2, which has no other level */
    point_to_start
    clr     points
    inc     points
    ldd     c0_lo, Y+0
    ldd     c0_hi, Y+1
    ldd     c1_lo, Y+2
    ldd     c1_hi, Y+3
    mov     w_lo, quotient
    residue_c0
    residue_of c1_lo, c1_hi
    st      Y+, c0_lo
    st      Y+, c0_hi
    st      Y+, c1_lo
    st      Y+, c1_hi
    leave
    end_function cm_avr_ntt14_forward

/* ---- inverse ---- */

/*
 * The blocks' roots are those of the forward transform, backwards from the table's end, and a block's two
 * halves are swapped.
 */
    .macro load_roots_before
    sbiw    r30, 6
    load_roots
    sbiw    r30, 6
    .endm

/* Both halves, and the beginning of both last levels. */
    .macro inverse_inner_level
    movw    w_lo, inner_b
    inverse_butterfly c0_lo, c0_hi, c1_lo, c1_hi
    movw    w_lo, inner_a
    inverse_butterfly c2_lo, c2_hi, c3_lo, c3_hi
    mov     w_lo, quotient
    reduce_c0
    reduce  c2_lo, c2_hi
    movw    w_lo, outer
    .endm

    .macro inverse_four
    inverse_inner_level
    inverse_butterfly c0_lo, c0_hi, c2_lo, c2_hi
    inverse_butterfly c1_lo, c1_hi, c3_lo, c3_hi
    mov     w_lo, quotient
    reduce_c0
    reduce  c1_lo, c1_hi
    .endm

/* X = 2: the first pass. */
    .macro inverse_first_pass
    point_to_start
    push    blocks
1:  load_roots_before
    load_four 2
    inverse_four
    store_four 2
    dec     blocks
    breq    2f
    rjmp    1b
2:  pop     blocks
    tst     blocks
    brne    3f
    ldi     r22, 64 /* a quarter of 256 */
    mov     blocks, r22
    rjmp    4f
3:  lsr     blocks
    lsr     blocks
4:  quadruple_x
    .endm

    .macro inverse_pass load, store, end_block
    point_to_start
    push    blocks
1:  load_roots_before
    points_of_stride
2:  \load
    inverse_four
    \store
    dec     points
    breq    3f
    rjmp    2b
3:  \end_block
    dec     blocks
    breq    4f
    rjmp    1b
4:  pop     blocks
    lsr     blocks
    lsr     blocks
    quadruple_x
    .endm

/* To the last levels when fewer than two blocks are left: one, or none if the number of levels is odd. */
    .macro end_if_last
    mov     r22, blocks
    cpi     r22, 2
    brsh    5f
    rjmp    .Linverse_end
5:
    .endm

/* a, b = a + b, the residue of (b - a) w. */
    .macro inverse_butterfly_residue a_lo, a_hi, b_lo, b_hi
    difference \a_lo, \a_hi, \b_lo, \b_hi
    product \b_lo, \b_hi
    lift    \b_lo, \b_hi
    .endm

/* The residue of a / n, for w = -1/n. */
    .macro residue_over_n a_lo, a_hi
    product \a_lo, \a_hi
    lift    \a_lo, \a_hi
    .endm

    function cm_avr_ntt14_inverse
    enter
    tst     t1
    brne    1f
    rjmp    .Linverse_done
1:  ldi     r22, 1
    clr     r23
2:  lsl     r22
    rol     r23
    dec     t1
    brne    2b
    .rept 2 /* from there to the table's end: 2n + 2 */
    add     r30, r22
    adc     r31, r23
    .endr
    adiw    r30, 2
    .rept 2
    lsr     r23
    ror     r22
    .endr
    mov     blocks, r22
    tst     r23
    brne    3f
    end_if_last
3:  inverse_first_pass
    end_if_last
    inverse_pass load_narrow, store_narrow, end_narrow_block
.Linverse_next:
    end_if_last
    inverse_pass load_wide, store_wide, end_wide_block
    rjmp    .Linverse_next
.Linverse_end:
    points_of_stride
    point_to_start
    tst     blocks
    brne    4f
    rjmp    .Linverse_last_level
/* Two levels of one block, whose outer root is 1/n times its own. Z takes the stride, X takes -1/n. */
4:  sbiw    r30, 10
    load_root r8, r9
    load_root w_lo, w_hi
    adiw    r30, 2
    load_root r10, r11
    load_root r12, r13
    movw    r30, r26
    movw    r26, w_lo
5:  load_four_at r30, r31
    inverse_inner_level
    inverse_butterfly_residue c0_lo, c0_hi, c2_lo, c2_hi
    inverse_butterfly_residue c1_lo, c1_hi, c3_lo, c3_hi
    store_before c3_lo, c3_hi, r30, r31
    store_before c2_lo, c2_hi, r30, r31
    movw    w_lo, r26
    residue_over_n c1_lo, c1_hi
    store_before c1_lo, c1_hi, r30, r31
    movw    c1_lo, c0_lo
    residue_over_n c1_lo, c1_hi
    st      Y+, c1_lo
    st      Y+, c1_hi
    dec     points
    breq    .Linverse_done
    rjmp    5b
.Linverse_done:
    leave
.Linverse_last_level:
    movw    r12, r26
    movw    r26, r28
    advance_y r12, r13
    sbiw    r30, 6
    load_root r8, r9
    load_root r10, r11
6:  ld      c0_lo, X+
    ld      c0_hi, X
    ld      c2_lo, Y
    ldd     c2_hi, Y+1
    movw    w_lo, outer
    inverse_butterfly_residue c0_lo, c0_hi, c2_lo, c2_hi
    movw    w_lo, r10
    movw    c1_lo, c0_lo
    residue_over_n c1_lo, c1_hi
    st      X, c1_hi
    st      -X, c1_lo
    adiw    r26, 2
    st      Y+, c2_lo
    st      Y+, c2_hi
    dec     points
    breq    7f
    rjmp    6b
7:  leave
    end_function cm_avr_ntt14_inverse

/* ---- products ---- */

/* From a b / 2^16 to a b / 2^32 mod q, the second product's sign undoes the first one's. Factors below q
   suffice. */
    function cm_avr_ntt14_multiply
    save_registers
    movw    r26, r24 /* a */
    movw    r28, r22 /* b */
    movw    r30, r20
    clr     zero
    load_root r8, r9
    lpm     t1, Z+
    lpm     k, Z+
    clr     r14 /* n = 2^t1 products */
    clr     r15
    sec
.Lproducts_doubled:
    rol     r14
    rol     r15
    subi    t1, 1
    brcc    .Lproducts_more
    rjmp    .Lproduct
.Lproducts_more:
    clc
    rjmp    .Lproducts_doubled
.Lproduct:
    ld      c1_lo, X+
    ld      c1_hi, X
    ld      w_lo, Y+
    ld      w_hi, Y+
    product c1_lo, c1_hi
    movw    c1_lo, r0
    movw    w_lo, r8
    product c1_lo, c1_hi
    lift    c1_lo, c1_hi
    st      X, c1_hi
    st      -X, c1_lo
    adiw    r26, 2
    movw    r18, r14
    subi    r18, 1
    sbci    r19, 0
    movw    r14, r18
    breq    .Lproducts_done
    rjmp    .Lproduct
.Lproducts_done:
    return_registers
    end_function cm_avr_ntt14_multiply

/* ---- 1024 points in 1792 bytes ---- */

/*
 * Four residues of 14 bits share seven bytes: their lower bytes, then the upper six bits of the first three,
 * each under two bits of the fourth's. A pass unpacks four groups into sixteen words on the stack, takes two
 * levels of them, and packs the residues again.
 */
#define LOG2_PACKED 10
#define GROUP_BYTES 7
#define QUARTER_BYTES 448

/* The frame, from Y on. */
#define WORDS 32 /* bytes of unpacked residues; behind them: */
#define START 32 /* of the packed residues */
#define BASE 34 /* of the block */
#define AT 36 /* of the group */
#define STRIDE 38 /* of the four groups that are taken together */
#define COUNT 40 /* of groups in a quarter of a block */
#define BLOCKS 41
#define BLOCKS_LEFT 42
#define GROUPS_LEFT 43
#define ROOTS 44
#define OUTER_OVER_N 50
#define MINUS_N_INV 52
#define FRAME 54

    .macro load_variable pair_lo, pair_hi, offset
    ldd     \pair_lo, Y+\offset
    ldd     \pair_hi, Y+\offset+1
    .endm

    .macro store_variable pair_lo, pair_hi, offset
    std     Y+\offset, \pair_lo
    std     Y+\offset+1, \pair_hi
    .endm

    .macro put value, offset
    ldi     r24, \value
    std     Y+\offset, r24
    .endm

    .section .text.cm_avr_ntt14_packed, "ax", @progbits

/* From a group at X to four words at Y; both advance past them. */
.Lunpack:
    .irp n, 16, 17, 18, 19, 20, 21, 22
    ld      r\n, X+
    .endr
    clr     r23
    .irp n, 22, 22, 21, 21, 20, 20
    lsl     r\n
    rol     r23
    .endr
    .irp n, 20, 21, 22
    lsr     r\n
    lsr     r\n
    .endr
    .irp n, 16, 20, 17, 21, 18, 22, 19, 23
    st      Y+, r\n
    .endr
    ret

    .macro put_upper_bits to
    lsl     r23
    lsl     r23
    mov     r24, r23
    andi    r24, 0xC0
    or      \to, r24
    .endm

.Lpack:
    .irp n, 16, 20, 17, 21, 18, 22, 19, 23
    ld      r\n, Y+
    .endr
    put_upper_bits r22
    put_upper_bits r21
    put_upper_bits r20
    .irp n, 16, 17, 18, 19, 20, 21, 22
    st      X+, r\n
    .endr
    ret

    .macro set_stack_pointer
    in      r0, 0x3F
    cli
    out     0x3E, r29
    out     0x3F, r0
    out     0x3D, r28
    .endm

/* Z ends past the table's header. */
    .macro enter_packed
    save_registers
    movw    r26, r24
    movw    r30, r22
    clr     zero
    in      r28, 0x3D
    in      r29, 0x3E
    sbiw    r28, FRAME
    set_stack_pointer
    adiw    r28, 1
    store_variable r26, r27, START
    adiw    r30, 3
    lpm     k, Z+
    lpm     quotient, Z+
    adiw    r30, 1
    load_root r8, r9
    load_root r10, r11
    store_variable r8, r9, OUTER_OVER_N
    store_variable r10, r11, MINUS_N_INV
    clr     points
    inc     points
    .endm

    .macro return_packed
    adiw    r28, FRAME - 1
    set_stack_pointer
    return_registers
    .endm

/* Four groups at a stride, the first at AT; Y is unchanged. */
    .macro four_groups routine
    load_variable r26, r27, AT
    load_variable r10, r11, STRIDE
    ldi     r24, 4
    mov     blocks, r24
1:  movw    r12, r26
    rcall   \routine
    movw    r26, r12
    add     r26, r10
    adc     r27, r11
    dec     blocks
    brne    1b
    sbiw    r28, WORDS
    .endm

    .macro four_residues
    mov     w_lo, quotient
    residue_c0
    residue_of c1_lo, c1_hi
    residue_of c2_lo, c2_hi
    residue_of c3_lo, c3_hi
    .endm

    .macro forward_column
    load_four 8
    forward_four
    four_residues
    store_four 8
    .endm

    .macro inverse_column
    load_four 8
    inverse_four
    four_residues
    store_four 8
    .endm

/* With the first root over n in place of its own, and -1/n in X. */
    .macro inverse_last_column
    load_four 8
    inverse_inner_level
    inverse_butterfly_residue c0_lo, c0_hi, c2_lo, c2_hi
    inverse_butterfly_residue c1_lo, c1_hi, c3_lo, c3_hi
    std     Y+25, c3_hi
    std     Y+24, c3_lo
    movw    c3_lo, c0_lo
    movw    w_lo, r26
    residue_over_n c1_lo, c1_hi
    residue_over_n c3_lo, c3_hi
    std     Y+17, c2_hi
    std     Y+16, c2_lo
    std     Y+9, c1_hi
    std     Y+8, c1_lo
    st      Y+, c3_lo
    st      Y+, c3_hi
    .endm

    .macro load_last_roots
    load_roots_before
    load_variable r8, r9, OUTER_OVER_N
    .endm

/* Two levels of all blocks; load_block_roots leaves theirs in r13:r8. */
    .macro packed_pass load_block_roots, column
    ldd     r24, Y+BLOCKS
    std     Y+BLOCKS_LEFT, r24
    load_variable r26, r27, START
    store_variable r26, r27, BASE
2:  \load_block_roots
    store_variable r8, r9, ROOTS
    store_variable r10, r11, ROOTS+2
    store_variable r12, r13, ROOTS+4
    load_variable r26, r27, BASE
    store_variable r26, r27, AT
    ldd     r24, Y+COUNT
    std     Y+GROUPS_LEFT, r24
3:  four_groups .Lunpack
    load_variable r8, r9, ROOTS
    load_variable r10, r11, ROOTS+2
    load_variable r12, r13, ROOTS+4
    load_variable r26, r27, MINUS_N_INV
    ldi     r24, 4
    mov     blocks, r24
4:  \column
    dec     blocks
    breq    5f
    rjmp    4b
5:  sbiw    r28, 8
    four_groups .Lpack
    load_variable r26, r27, AT
    adiw    r26, GROUP_BYTES
    store_variable r26, r27, AT
    ldd     r24, Y+GROUPS_LEFT
    dec     r24
    std     Y+GROUPS_LEFT, r24
    breq    6f
    rjmp    3b
6:  load_variable r26, r27, BASE
    load_variable r22, r23, STRIDE
    .rept 2
    lsl     r22
    rol     r23
    .endr
    add     r26, r22
    adc     r27, r23
    store_variable r26, r27, BASE
    ldd     r24, Y+BLOCKS_LEFT
    dec     r24
    std     Y+BLOCKS_LEFT, r24
    breq    7f
    rjmp    2b
7:
    .endm

/* Two levels within each group: Z goes through all their roots. */
    .macro packed_groups load_block_roots, levels
    load_variable r26, r27, START
    clr     blocks
1:  \load_block_roots
    rcall   .Lunpack
    sbiw    r28, 8
    load_four 2
    \levels
    four_residues
    store_four 2
    sbiw    r28, 8
    sbiw    r26, GROUP_BYTES
    rcall   .Lpack
    sbiw    r28, 8
    dec     blocks
    breq    2f
    rjmp    1b
2:
    .endm

    .global cm_avr_ntt14_forward_packed
    .type cm_avr_ntt14_forward_packed, @function
cm_avr_ntt14_forward_packed:
    enter_packed
    put     lo8(QUARTER_BYTES), STRIDE
    put     hi8(QUARTER_BYTES), STRIDE+1
    put     64, COUNT
    put     1, BLOCKS
.Lforward_packed_pass:
    packed_pass load_roots, forward_column
    load_variable r22, r23, STRIDE
    ldd     r24, Y+COUNT
    ldd     r18, Y+BLOCKS
    .rept 2
    lsr     r23
    ror     r22
    lsl     r18
    .endr
    store_variable r22, r23, STRIDE
    std     Y+BLOCKS, r18
    lsr     r24
    lsr     r24
    std     Y+COUNT, r24
    breq    .Lforward_packed_groups
    rjmp    .Lforward_packed_pass
.Lforward_packed_groups:
    packed_groups load_roots, forward_four
    return_packed
    end_function cm_avr_ntt14_forward_packed

    .global cm_avr_ntt14_inverse_packed
    .type cm_avr_ntt14_inverse_packed, @function
cm_avr_ntt14_inverse_packed:
    enter_packed
    subi    r30, lo8(-(2 * ((1 << LOG2_PACKED) - 1)))
    sbci    r31, hi8(-(2 * ((1 << LOG2_PACKED) - 1)))
    packed_groups load_roots_before, inverse_four
    put     GROUP_BYTES, STRIDE
    put     0, STRIDE+1
    put     1, COUNT
    put     64, BLOCKS
.Linverse_packed_pass:
    packed_pass load_roots_before, inverse_column
    load_variable r22, r23, STRIDE
    ldd     r24, Y+COUNT
    ldd     r18, Y+BLOCKS
    .rept 2
    lsl     r22
    rol     r23
    lsl     r24
    lsr     r18
    .endr
    store_variable r22, r23, STRIDE
    std     Y+COUNT, r24
    std     Y+BLOCKS, r18
    cpi     r18, 1
    breq    .Linverse_packed_last
    rjmp    .Linverse_packed_pass
.Linverse_packed_last:
    packed_pass load_last_roots, inverse_last_column
    return_packed
    end_function cm_avr_ntt14_inverse_packed

#endif
