/* SPDX-License-Identifier: Apache-2.0 */
/* The CKKS encoder at 31 bits on cores of 32 bits. */
#include "arch/backends.h"

#if CM_WORD32

#include "common/compiler.h"
#include "ring/ring.h"

#include "backends/word32/products.h" /* behind ring.h */

#if CM_RV32

/* ---- butterflies: sums of two products, of whose lower words only the carry is computed ---- */

/* The upper word of (a + 1) 2^31 + x c + y s. */
static inline int32_t word32_rotated(int32_t a, int32_t x, int32_t c, int32_t y, int32_t s)
{
    const uint32_t first = (uint32_t)x * (uint32_t)c;
    const uint32_t low = first + (uint32_t)y * (uint32_t)s;
    const uint32_t half = (uint32_t)a + 1u;
    const uint32_t high = (uint32_t)((int64_t)x * c >> 32) + (uint32_t)((int64_t)y * s >> 32);
    return (int32_t)(high + (low < first) + (uint32_t)((int32_t)half >> 1) + (low >> 31 & half));
}

typedef struct word32_turn {
    int32_t cosine;
    int32_t sine;
    int32_t minus_sine;
} word32_turn;

/* As fx_butterfly, with points of two numbers. */
static CM_ALWAYS_INLINE void word32_rotate_pair(int32_t *a, int32_t *b, word32_turn w)
{
    const int32_t re = word32_rotated(a[0], b[0], w.cosine, b[1], w.sine);
    const int32_t im = word32_rotated(a[1], b[1], w.cosine, b[0], w.minus_sine);
    b[0] = a[0] - re;
    b[1] = a[1] - im;
    a[0] = re;
    a[1] = im;
}

/* The same with w = -i: (a + (b[1], -b[0])) / 2 rounded upwards from halves. */
static CM_ALWAYS_INLINE void word32_rotate_pair_exact(int32_t *a, int32_t *b)
{
    const int32_t minus = -b[0];
    const int32_t re = (a[0] | b[1]) - ((a[0] ^ b[1]) >> 1);
    const int32_t im = (a[1] | minus) - ((a[1] ^ minus) >> 1);
    b[0] = a[0] - re;
    b[1] = a[1] - im;
    a[0] = re;
    a[1] = im;
}

static CM_ALWAYS_INLINE void word32_rotate_columns(int32_t *at, const int32_t *end, size_t step,
                                                   const int32_t *roots, bool middle)
{
    const word32_turn second = {roots[0], roots[1], -roots[1]};
    const word32_turn turned = {-roots[1], roots[0], -roots[0]};
    const word32_turn first = middle ? second : (word32_turn){roots[2], roots[3], -roots[3]};
    int32_t *at1 = at + step;
    int32_t *at2 = at + 2u * step;
    int32_t *at3 = at + 3u * step;
    for (; at < end; at += 4u * step, at1 += 4u * step, at2 += 4u * step, at3 += 4u * step) {
        int32_t x[4][2] = {{at[0], at[1]}, {at1[0], at1[1]}, {at2[0], at2[1]}, {at3[0], at3[1]}};
        if (middle) {
            word32_rotate_pair_exact(x[0], x[1]);
            word32_rotate_pair_exact(x[2], x[3]);
        } else {
            word32_rotate_pair(x[0], x[1], first);
            word32_rotate_pair(x[2], x[3], first);
        }
        word32_rotate_pair(x[0], x[2], second);
        word32_rotate_pair(x[1], x[3], turned);
        at[0] = x[0][0];
        at[1] = x[0][1];
        at1[0] = x[1][0];
        at1[1] = x[1][1];
        at2[0] = x[2][0];
        at2[1] = x[2][1];
        at3[0] = x[3][0];
        at3[1] = x[3][1];
    }
}

int cmi_word32_two_levels_31(int32_t *at, const int32_t *end, size_t step, const int32_t roots[4])
{
    word32_rotate_columns(at, end, step, roots, false);
    return 1;
}

int cmi_word32_two_levels_middle_31(int32_t *at, const int32_t *end, size_t step, const int32_t roots[2])
{
    word32_rotate_columns(at, end, step, roots, true);
    return 1;
}

#endif

/* ---- folding into halves ---- */

/*
 * From Montgomery form m = 2^32 y - h q, |m| < q/2: h is 2^32 y / q to the nearest, and as m + h q is 2^32 y,
 * h is m neg_q_inv mod 2^32.
 */
int cmi_word32_fold_halves_31(uint32_t *forward, uint32_t *backward, const int32_t *data, const int8_t *noise,
                              const cmi_fold_constants *constants)
{
    const uint32_t q = constants->q;
    if (!word32_folds(q)) {
        return 0;
    }
    const int32_t quotient = (int32_t)((uint32_t)constants->minus_r * constants->neg_q_inv);
    const int64_t multiple = cmi_product_signed(quotient, (int32_t)q) + constants->minus_r;
    const word32_factor minus_r = {(int32_t)cmi_upper_word((uint64_t)multiple), quotient};
    const int32_t inverse = (int32_t)((uint32_t)constants->one * constants->neg_q_inv); /* 2^32 / q */
    for (; forward < backward; forward++, backward--, data += 2, noise += 4) {
        const int32_t even = data[0];
        const int32_t odd = data[1];
        *forward = word32_sum_of_two(even + noise[0], odd + noise[2], minus_r, inverse, q);
        *backward = word32_sum_of_two(odd + noise[1], even + noise[3], minus_r, inverse, q);
    }
    return 1;
}

#endif
