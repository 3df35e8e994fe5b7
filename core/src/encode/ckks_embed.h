/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The canonical embedding in fixed point, in place: the inverse of ckks_transform.h, behind which
 * ckks_fixed31.c and ckks_fixed63.c include this. docs/encoding.md, section 8, specifies every rounding.
 *
 * With d the coefficients (real slots: d[k] = m[k] - m[n-k], d[0] = m[0], what the slots' real parts depend
 * on), every step undoes one of the encoder's: the split, then the butterflies from the last level to the
 * first.
 */
/*
 * Its top two bits are 0 if -2^(FX_BITS - 3) <= x < 2^(FX_BITS - 3). Sums, differences and rotated
 * differences of numbers in this range fit, so as long as no level finds one outside it, none has wrapped
 * round.
 */
static inline fx_uint fx_beyond(fx_int x)
{
    return (fx_uint)x + ((fx_uint)1 << (FX_BITS - 3));
}

/*
 * (a, b) -> (a + b, (a - b) conj w), w = cosine - i sine: undoes a butterfly except for its rounding. Each
 * part is rounded once, from its exact value, halves up.
 */
static inline void fx_butterfly_back(fx_int *a, fx_int *b, fx_root w)
{
    const fx_int re = (fx_int)((fx_uint)a[0] - (fx_uint)b[0]);
    const fx_int im = (fx_int)((fx_uint)a[1] - (fx_uint)b[1]);
    a[0] = (fx_int)((fx_uint)a[0] + (fx_uint)b[0]);
    a[1] = (fx_int)((fx_uint)a[1] + (fx_uint)b[1]);
    b[0] = fx_drop_fraction(fx_multiply_add(fx_multiply_add(fx_wide_from(0), re, w.cosine), im, -w.sine));
    b[1] = fx_drop_fraction(fx_multiply_add(fx_multiply_add(fx_wide_from(0), re, w.sine), im, w.cosine));
}

/* The same with w = 1 (turned = false) or w = -i (true), which are exact. */
static inline void fx_butterfly_back_exact(fx_int *a, fx_int *b, bool turned)
{
    const fx_int re = (fx_int)((fx_uint)a[0] - (fx_uint)b[0]);
    const fx_int im = (fx_int)((fx_uint)a[1] - (fx_uint)b[1]);
    a[0] = (fx_int)((fx_uint)a[0] + (fx_uint)b[0]);
    a[1] = (fx_int)((fx_uint)a[1] + (fx_uint)b[1]);
    b[0] = turned ? (fx_int)(0u - (fx_uint)im) : re;
    b[1] = turned ? re : im;
}

/* One level, h = 2^level, of 2^log2_points complex points. Returns what fx_beyond() found. */
static fx_uint fx_level_back(fx_int *data, uint32_t points, unsigned level)
{
    const uint32_t half = (uint32_t)1 << level;
    const size_t step = (size_t)2 << level;
    const uint32_t unit = 2u * CM_QUARTER_TURN >> level; /* j pi / h */
    fx_int *const end = data + 2u * (size_t)points;
    fx_uint found = 0;
    for (fx_int *at = data; at < end; at += 2) {
        found |= fx_beyond(at[0]) | fx_beyond(at[1]);
    }
    for (uint32_t j = 0; j < half; j++) {
        const bool exact = j == 0 || 2u * j == half;
        const fx_root w = exact ? (fx_root){0, 0} : fx_root_in_two_quadrants(j * unit);
        for (fx_int *at = data + 2u * (size_t)j; at < end; at += 2u * step) {
            if (exact) {
                fx_butterfly_back_exact(at, at + step, j != 0);
            } else {
                fx_butterfly_back(at, at + step, w);
            }
        }
    }
    return found;
}

/* Undoes fx_transform_points: natural order in, bit-reversed out, not divided by the number of points. */
static fx_uint fx_points_back(fx_int *data, unsigned log2_points)
{
    fx_uint found = 0;
    for (unsigned level = log2_points; level-- > 0;) {
        found |= fx_level_back(data, (uint32_t)1 << log2_points, level);
    }
    return found;
}

/*
 * Real slots: with e = (zeta^k (d[k] - i d[N-k]) + conj(zeta^(M-k)) (d[M-k] + i d[M+k])) / 2 and
 * o = (zeta^5k (d[k] - i d[N-k]) - conj(zeta^(M-5k)) (d[M-k] + i d[M+k])) / 2, M = N/2,
 *     U[k] = e + i o,  U[M-k] = conj e + i conj o,
 * which are the sums of even and of odd samples, as in fx_split_real.
 */
static void fx_join_real(fx_int *data, unsigned log2_n)
{
    const uint32_t points = (uint32_t)1 << (log2_n - 2u);
    const uint32_t unit = (uint32_t)1 << (CM_CONFIG_MAX_LOG2_N - log2_n); /* pi / n */

    /* k = 0: d[0] + d[M] cos(pi/4) and d[0] - d[M] cos(pi/4) */
    const fx_int diagonal = fx_root_in_quadrant(CM_QUARTER_TURN / 2u).cosine;
    const fx_wide first = fx_wide_from(data[0]);
    const fx_wide plus = fx_multiply_add(first, data[1], diagonal);
    const fx_wide minus = fx_multiply_add(first, data[1], -diagonal);
    data[0] = fx_drop_fraction(plus);
    data[1] = fx_drop_fraction(minus);
    for (uint32_t k = 1; k <= points / 2u; k++) {
        fx_int *u = data + 2u * (size_t)k;
        fx_int *v = data + 2u * (size_t)(points - k);
        const fx_int u_re = u[0];
        const fx_int u_im = u[1];
        const fx_int v_re = v[0];
        const fx_int v_im = v[1];
        const fx_root a = fx_root_in_quadrant(k * unit);
        const fx_root b = fx_root_in_two_quadrants(5u * k * unit);
        const fx_root c = fx_root_in_quadrant(CM_QUARTER_TURN / 2u - k * unit);
        const fx_root d = fx_root_of_difference(CM_QUARTER_TURN / 2u, 5u * k * unit);
        const fx_wide zero = fx_wide_from(0);
        const fx_wide half = fx_wide_half(FX_BITS);
        fx_wide e_re = fx_multiply_add(fx_multiply_add(half, u_re, a.cosine), u_im, a.sine);
        e_re = fx_multiply_add(fx_multiply_add(e_re, v_re, c.cosine), v_im, c.sine);
        fx_wide e_im = fx_multiply_add(fx_multiply_add(zero, u_re, a.sine), u_im, -a.cosine);
        e_im = fx_multiply_add(fx_multiply_add(e_im, v_im, c.cosine), v_re, -c.sine);
        fx_wide o_re = fx_multiply_add(fx_multiply_add(half, u_re, b.cosine), u_im, b.sine);
        o_re = fx_multiply_add(fx_multiply_add(o_re, v_re, -d.cosine), v_im, -d.sine);
        fx_wide o_im = fx_multiply_add(fx_multiply_add(zero, u_re, b.sine), u_im, -b.cosine);
        o_im = fx_multiply_add(fx_multiply_add(o_im, v_im, -d.cosine), v_re, d.sine);
        /* At k = M/2, u and v are the same place: what is written to u stays. */
        v[0] = fx_shift_right(fx_wide_add(e_re, o_im), FX_BITS);
        v[1] = fx_shift_right(fx_wide_subtract(o_re, e_im), FX_BITS);
        u[0] = fx_shift_right(fx_wide_subtract(e_re, o_im), FX_BITS);
        u[1] = fx_shift_right(fx_wide_add(o_re, e_im), FX_BITS);
    }
}

/* Complex slots: U[k] = zeta^k c[k]. */
static void fx_untwist_complex(fx_int *data, unsigned log2_n)
{
    const uint32_t points = (uint32_t)1 << (log2_n - 1u);
    const uint32_t unit = (uint32_t)1 << (CM_CONFIG_MAX_LOG2_N - log2_n); /* pi / n */
    for (uint32_t k = 1; k < points; k++) {
        fx_int *u = data + 2u * (size_t)k;
        const fx_root a = fx_root_in_quadrant(k * unit);
        const fx_wide re = fx_multiply_add(fx_multiply_add(fx_wide_from(0), u[0], a.cosine), u[1], -a.sine);
        const fx_wide im = fx_multiply_add(fx_multiply_add(fx_wide_from(0), u[1], a.cosine), u[0], a.sine);
        u[0] = fx_drop_fraction(re);
        u[1] = fx_drop_fraction(im);
    }
}

bool FX_EMBED(fx_int *data, unsigned log2_n, cm_slots slots)
{
    const unsigned log2_points = slots == CM_SLOTS_COMPLEX ? log2_n - 1u : log2_n - 2u;
    if (slots == CM_SLOTS_COMPLEX) {
        fx_untwist_complex(data, log2_n);
    } else {
        fx_join_real(data, log2_n);
    }
    fx_uint found = fx_points_back(data, log2_points);
    for (uint32_t i = 0; i < (uint32_t)2 << log2_points; i++) {
        found |= fx_beyond(data[i]);
    }
    return found >> (FX_BITS - 2) == 0;
}
