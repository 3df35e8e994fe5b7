/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The canonical embedding in fixed point, in place: the inverse of ckks_transform.h, behind which
 * ckks_fixed31.c and ckks_fixed63.c include this. docs/encoding.md, section 8, specifies every rounding.
 *
 * With d the coefficients (real slots: d[k] = m[k] - m[n-k], d[0] = m[0], what the slots' real parts depend
 * on), every step undoes one of the encoder's: the split, then the butterflies from the last level to the
 * first.
 */
#ifdef CM_ENCODE_CKKS_EMBED_H
#error "ckks_embed.h is for one inclusion by each of ckks_fixed31.c and ckks_fixed63.c."
#endif
#define CM_ENCODE_CKKS_EMBED_H

/*
 * Its two uppermost bits are 0 if |x| < 2^(FIXED_BITS - 3), or x is that negative. Of numbers within, sums,
 * differences and rotated differences fit: so as long as no level finds another, none has wrapped round.
 */
static inline ufixed beyond(fixed x)
{
    return (ufixed)x + ((ufixed)1 << (FIXED_BITS - 3));
}

/*
 * (a, b) -> (a + b, (a - b) conj w), w = cosine - i sine: undoes a butterfly but for its rounding. Each part
 * is rounded once, from its exact value, halves up.
 */
static inline void butterfly_back(fixed *a, fixed *b, root w)
{
    const fixed re = (fixed)((ufixed)a[0] - (ufixed)b[0]);
    const fixed im = (fixed)((ufixed)a[1] - (ufixed)b[1]);
    a[0] = (fixed)((ufixed)a[0] + (ufixed)b[0]);
    a[1] = (fixed)((ufixed)a[1] + (ufixed)b[1]);
    b[0] = drop_fraction(multiply_add(multiply_add(wide_from(0), re, w.cosine), im, -w.sine));
    b[1] = drop_fraction(multiply_add(multiply_add(wide_from(0), re, w.sine), im, w.cosine));
}

/* The same with w = 1 (turned = false) or w = -i (true), which are exact. */
static inline void butterfly_back_exact(fixed *a, fixed *b, bool turned)
{
    const fixed re = (fixed)((ufixed)a[0] - (ufixed)b[0]);
    const fixed im = (fixed)((ufixed)a[1] - (ufixed)b[1]);
    a[0] = (fixed)((ufixed)a[0] + (ufixed)b[0]);
    a[1] = (fixed)((ufixed)a[1] + (ufixed)b[1]);
    b[0] = turned ? (fixed)(0u - (ufixed)im) : re;
    b[1] = turned ? re : im;
}

/* One level, h = 2^level, of 2^log2_points complex points. Returns what beyond() found. */
static ufixed level_back(fixed *data, uint32_t points, unsigned level)
{
    const uint32_t half = (uint32_t)1 << level;
    const size_t step = (size_t)2 << level;
    const uint32_t unit = 2u * QUARTER >> level; /* j pi / h */
    fixed *const end = data + 2u * (size_t)points;
    ufixed found = 0;
    for (fixed *at = data; at < end; at += 2) {
        found |= beyond(at[0]) | beyond(at[1]);
    }
    for (uint32_t j = 0; j < half; j++) {
        const bool exact = j == 0 || 2u * j == half;
        const root w = exact ? (root){0, 0} : root_in_two_quadrants(j * unit);
        for (fixed *at = data + 2u * (size_t)j; at < end; at += 2u * step) {
            if (exact) {
                butterfly_back_exact(at, at + step, j != 0);
            } else {
                butterfly_back(at, at + step, w);
            }
        }
    }
    return found;
}

/* Undoes transform_points: natural order in, bit-reversed order out, not divided by the number of points. */
static ufixed points_back(fixed *data, unsigned log2_points)
{
    ufixed found = 0;
    for (unsigned level = log2_points; level-- > 0;) {
        found |= level_back(data, (uint32_t)1 << log2_points, level);
    }
    return found;
}

/*
 * Real slots: with e = (zeta^k (d[k] - i d[N-k]) + conj(zeta^(M-k)) (d[M-k] + i d[M+k])) / 2 and
 * o = (zeta^5k (d[k] - i d[N-k]) - conj(zeta^(M-5k)) (d[M-k] + i d[M+k])) / 2, M = N/2,
 *     U[k] = e + i o,  U[M-k] = conj e + i conj o,
 * which are the sums of even and of odd samples, as in split_real.
 */
static void join_real(fixed *data, unsigned log2_n)
{
    const uint32_t points = (uint32_t)1 << (log2_n - 2u);
    const uint32_t unit = (uint32_t)1 << (CM_CONFIG_MAX_LOG2_N - log2_n); /* pi / n */

    /* k = 0: d[0] + d[M] cos(pi/4) and d[0] - d[M] cos(pi/4) */
    const fixed diagonal = root_in_quadrant(QUARTER / 2u).cosine;
    const wide first = wide_from(data[0]);
    const wide plus = multiply_add(first, data[1], diagonal);
    const wide minus = multiply_add(first, data[1], -diagonal);
    data[0] = drop_fraction(plus);
    data[1] = drop_fraction(minus);
    for (uint32_t k = 1; k <= points / 2u; k++) {
        fixed *u = data + 2u * (size_t)k;
        fixed *v = data + 2u * (size_t)(points - k);
        const fixed u_re = u[0];
        const fixed u_im = u[1];
        const fixed v_re = v[0];
        const fixed v_im = v[1];
        const root a = root_in_quadrant(k * unit);
        const root b = root_in_two_quadrants(5u * k * unit);
        const root c = root_in_quadrant(QUARTER / 2u - k * unit);
        const root d = root_of_difference(QUARTER / 2u, 5u * k * unit);
        const wide zero = wide_from(0);
        const wide half = wide_half(FIXED_BITS);
        wide e_re = multiply_add(multiply_add(half, u_re, a.cosine), u_im, a.sine);
        e_re = multiply_add(multiply_add(e_re, v_re, c.cosine), v_im, c.sine);
        wide e_im = multiply_add(multiply_add(zero, u_re, a.sine), u_im, -a.cosine);
        e_im = multiply_add(multiply_add(e_im, v_im, c.cosine), v_re, -c.sine);
        wide o_re = multiply_add(multiply_add(half, u_re, b.cosine), u_im, b.sine);
        o_re = multiply_add(multiply_add(o_re, v_re, -d.cosine), v_im, -d.sine);
        wide o_im = multiply_add(multiply_add(zero, u_re, b.sine), u_im, -b.cosine);
        o_im = multiply_add(multiply_add(o_im, v_im, -d.cosine), v_re, d.sine);
        /* At k = M/2, u and v are one place: what is written to u stays. */
        v[0] = shift_right(wide_add(e_re, o_im), FIXED_BITS);
        v[1] = shift_right(wide_subtract(o_re, e_im), FIXED_BITS);
        u[0] = shift_right(wide_subtract(e_re, o_im), FIXED_BITS);
        u[1] = shift_right(wide_add(o_re, e_im), FIXED_BITS);
    }
}

/* Complex slots: U[k] = zeta^k c[k]. */
static void untwist_complex(fixed *data, unsigned log2_n)
{
    const uint32_t points = (uint32_t)1 << (log2_n - 1u);
    const uint32_t unit = (uint32_t)1 << (CM_CONFIG_MAX_LOG2_N - log2_n); /* pi / n */
    for (uint32_t k = 1; k < points; k++) {
        fixed *u = data + 2u * (size_t)k;
        const root a = root_in_quadrant(k * unit);
        const wide re = multiply_add(multiply_add(wide_from(0), u[0], a.cosine), u[1], -a.sine);
        const wide im = multiply_add(multiply_add(wide_from(0), u[1], a.cosine), u[0], a.sine);
        u[0] = drop_fraction(re);
        u[1] = drop_fraction(im);
    }
}

bool EMBED(fixed *data, unsigned log2_n, cm_slots slots)
{
    const unsigned log2_points = slots == CM_SLOTS_COMPLEX ? log2_n - 1u : log2_n - 2u;
    if (slots == CM_SLOTS_COMPLEX) {
        untwist_complex(data, log2_n);
    } else {
        join_real(data, log2_n);
    }
    ufixed found = points_back(data, log2_points);
    for (uint32_t i = 0; i < (uint32_t)2 << log2_points; i++) {
        found |= beyond(data[i]);
    }
    return found >> (FIXED_BITS - 2) == 0;
}
