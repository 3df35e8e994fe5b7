/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inverse canonical embedding in fixed point, in place; ckks_fixed31.c and ckks_fixed63.c include this
 * after defining fx_int and fx_wide. docs/encoding.md derives it and specifies every rounding.
 *
 * With N = n/2, zeta = e^(i pi/n) and sample v the slot at zeta^(4v+1), the polynomial's coefficients are
 *     m[k] + i m[k+N] = c[k] = zeta^-k / N * sum_v sample[v] e^(-2 pi i k v / N),
 * a complex transform of N points and a twist. For real samples m[k+N] = -m[N-k]: the transform of N/2 points
 * over pairs of samples, split and twisted, gives m[0 .. N) (a DCT-II), and the other half is its mirror
 * image.
 */
/* e^(i pi index / n) */
typedef struct fx_root {
    fx_int cosine;
    fx_int sine;
} fx_root;

/*
 * These take angles in the table's unit: in the first quadrant, in the first two, or within pi/2 of zero.
 * None is a multiple of pi/2, whose sine or cosine of 1 would not fit.
 */
static inline fx_root fx_root_in_quadrant(uint32_t angle)
{
#if CM_CONFIG_ENCODER_ROOTS == CM_CONFIG_ENCODER_ROOTS_COMPUTED
    fx_root computed;
    FX_COMPUTED_ROOT(angle, &computed.cosine, &computed.sine);
    return computed;
#else
    return (fx_root){(fx_int)FX_SINE[CM_QUARTER_TURN - angle], (fx_int)FX_SINE[angle]};
#endif
}

static inline fx_root fx_root_in_two_quadrants(uint32_t angle)
{
    if (angle < CM_QUARTER_TURN) {
        return fx_root_in_quadrant(angle);
    }
    const fx_root mirrored = fx_root_in_quadrant(2u * CM_QUARTER_TURN - angle);
    return (fx_root){-mirrored.cosine, mirrored.sine};
}

static inline fx_root fx_root_of_difference(uint32_t plus, uint32_t minus)
{
    if (plus > minus) {
        return fx_root_in_quadrant(plus - minus);
    }
    const fx_root mirrored = fx_root_in_quadrant(minus - plus);
    return (fx_root){mirrored.cosine, -mirrored.sine};
}

/*
 * One decimation-in-time butterfly: (a, b) -> ((a + w b) / 2, (a - w b) / 2), w = cosine - i sine. The sum is
 * rounded once, from its exact value, halves up; the difference is a minus the sum, which is the exact
 * difference rounded to nearest, halves down. Magnitudes of complex points never grow.
 */
static inline void fx_butterfly(fx_int *a, fx_int *b, fx_root w)
{
    const fx_wide re = fx_multiply_add(fx_multiply_add(fx_wide_from(a[0] + 1), b[0], w.cosine), b[1], w.sine);
    const fx_wide im =
        fx_multiply_add(fx_multiply_add(fx_wide_from(a[1] + 1), b[1], w.cosine), b[0], -w.sine);
    const fx_int sum_re = fx_shift_right(re, FX_BITS);
    const fx_int sum_im = fx_shift_right(im, FX_BITS);
    b[0] = a[0] - sum_re;
    b[1] = a[1] - sum_im;
    a[0] = sum_re;
    a[1] = sum_im;
}

/* The same with w = 1 (turned = false) or w = -i (true), which are exact. */
static inline void fx_butterfly_exact(fx_int *a, fx_int *b, bool turned)
{
    const fx_int product_re = turned ? b[1] : b[0];
    const fx_int product_im = turned ? -b[0] : b[1];
    const fx_int sum_re = fx_half_sum(a[0], product_re);
    const fx_int sum_im = fx_half_sum(a[1], product_im);
    b[0] = a[0] - sum_re;
    b[1] = a[1] - sum_im;
    a[0] = sum_re;
    a[1] = sum_im;
}

/* The butterflies of two levels on four points 2 step apart; at the second, p[3] has the root -i w2. */
typedef struct fx_four_points {
    fx_int p[4][2];
} fx_four_points;

static inline fx_four_points fx_load_four(const fx_int *at, size_t step)
{
    fx_four_points x;
    for (unsigned i = 0; i < 4u; i++) {
        x.p[i][0] = at[i * step];
        x.p[i][1] = at[i * step + 1u];
    }
    return x;
}

static inline void fx_store_four(fx_int *at, size_t step, const fx_four_points *x)
{
    for (unsigned i = 0; i < 4u; i++) {
        at[i * step] = x->p[i][0];
        at[i * step + 1u] = x->p[i][1];
    }
}

/* Two levels at once, the first with h = 2^level: of every four points, those whose roots are 1 and -i. */
static void fx_two_levels_exact(fx_int *data, const fx_int *end, size_t step)
{
    if (FX_TRY(two_levels_exact, data, end, step)) {
        return;
    }
    for (fx_int *at = data; at < end; at += 4u * step) {
        fx_four_points x = fx_load_four(at, step);
        fx_butterfly_exact(x.p[0], x.p[1], false);
        fx_butterfly_exact(x.p[2], x.p[3], false);
        fx_butterfly_exact(x.p[0], x.p[2], false);
        fx_butterfly_exact(x.p[1], x.p[3], true);
        fx_store_four(at, step, &x);
    }
}

/* The others: j = 1 .. h - 1, with the root at j of h points at the first level, of 2h at the second. */
static void fx_two_levels(fx_int *data, const fx_int *end, size_t step, uint32_t half, uint32_t unit)
{
    for (uint32_t j = 1; j < half; j++) {
        const bool middle = 2u * j == half;
        const fx_root first = middle ? (fx_root){0, 0} : fx_root_in_two_quadrants(2u * j * unit);
        const fx_root second = fx_root_in_quadrant(j * unit);
        const fx_root turned = {-second.sine, second.cosine};
        fx_int *at = data + 2u * (size_t)j;
        if (middle &&
            FX_TRY(two_levels_middle, at, end, step, ((const fx_int[2]){second.cosine, second.sine}))) {
            continue;
        }
        if (!middle && FX_TRY(two_levels, at, end, step,
                              ((const fx_int[4]){second.cosine, second.sine, first.cosine, first.sine}))) {
            continue;
        }
        for (; at < end; at += 4u * step) {
            fx_four_points x = fx_load_four(at, step);
            if (middle) {
                fx_butterfly_exact(x.p[0], x.p[1], true);
                fx_butterfly_exact(x.p[2], x.p[3], true);
            } else {
                fx_butterfly(x.p[0], x.p[1], first);
                fx_butterfly(x.p[2], x.p[3], first);
            }
            fx_butterfly(x.p[0], x.p[2], second);
            fx_butterfly(x.p[1], x.p[3], turned);
            fx_store_four(at, step, &x);
        }
    }
}

/* k = 1 .. M/2, two places each. */
static void fx_split_pairs(fx_int *data, uint32_t points, uint32_t unit)
{
#if CM_CONFIG_ENCODER_ROOTS == CM_CONFIG_ENCODER_ROOTS_FLASH
    if (FX_TRY(split_real, data + 2, data + 2u * ((size_t)points - 1u), FX_SINE, unit)) {
        return;
    }
#endif
    const unsigned shift = FX_BITS - 1u + 2u + FX_GUARD_BITS;
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
        /* e = (u_re + v_re) + i (u_im - v_im), o = (u_im + v_im) + i (v_re - u_re) */
        fx_wide re = fx_multiply_add_sum(fx_wide_half(shift), u_re, v_re, c.cosine);
        re = fx_multiply_add_sum(re, v_im, -u_im, c.sine);
        re = fx_multiply_add_sum(re, u_im, v_im, -d.cosine);
        re = fx_multiply_add_sum(re, v_re, -u_re, d.sine);
        fx_wide im = fx_multiply_add_sum(fx_wide_half(shift), u_re, v_re, c.sine);
        im = fx_multiply_add_sum(im, u_im, -v_im, c.cosine);
        im = fx_multiply_add_sum(im, u_im, v_im, -d.sine);
        im = fx_multiply_add_sum(im, u_re, -v_re, d.cosine);
        /* At k = M/2, u and v are the same place: what is written to u stays. */
        v[0] = fx_shift_right(re, shift);
        v[1] = fx_shift_right(im, shift);
        re = fx_multiply_add_sum(fx_wide_half(shift), u_re, v_re, a.cosine);
        re = fx_multiply_add_sum(re, u_im, -v_im, a.sine);
        re = fx_multiply_add_sum(re, u_im, v_im, b.cosine);
        re = fx_multiply_add_sum(re, v_re, -u_re, b.sine);
        im = fx_multiply_add_sum(fx_wide_half(shift), u_re, v_re, a.sine);
        im = fx_multiply_add_sum(im, v_im, -u_im, a.cosine);
        im = fx_multiply_add_sum(im, u_im, v_im, b.sine);
        im = fx_multiply_add_sum(im, u_re, -v_re, b.cosine);
        u[0] = fx_shift_right(re, shift);
        u[1] = fx_shift_right(im, shift);
    }
}

/*
 * The transform of 2^log2_points complex points divided by their number: bit-reversed order in, natural order
 * out.
 */
static void fx_transform_points(fx_int *data, unsigned log2_points)
{
    const uint32_t points = (uint32_t)1 << log2_points;
    if (log2_points & 1u) {
        for (fx_int *at = data; at < data + 2u * (size_t)points; at += 4) {
            fx_butterfly_exact(at, at + 2, false);
        }
    }
    for (unsigned level = log2_points & 1u; level < log2_points; level += 2u) {
        const fx_int *const end = data + 2u * (size_t)points;
        const size_t step = (size_t)2 << level;
        fx_two_levels_exact(data, end, step);
        fx_two_levels(data, end, step, (uint32_t)1 << level, CM_QUARTER_TURN >> level); /* j pi / 2h */
    }
}

/*
 * Real samples: U[k] is the transform of pairs (even sample, odd sample). With e = U[k] + conj U[M-k] and
 * o = -i (U[k] - conj U[M-k]), M = N/2, the polynomial is
 *     m[k] - i m[N-k]   = (zeta^-k e + zeta^-5k o) / 4
 *     m[M-k] + i m[M+k] = (zeta^(M-k) e - zeta^(M-5k) o) / 4
 * and each number is rounded once. m[k], m[N-k] take the place of U[k]; m[M-k], m[M+k] that of U[M-k].
 */
static void fx_split_real(fx_int *data, unsigned log2_n)
{
    const uint32_t points = (uint32_t)1 << (log2_n - 2u);
    const uint32_t unit = (uint32_t)1 << (CM_CONFIG_MAX_LOG2_N - log2_n); /* pi / n */

    /*
     * k = 0: U[0] holds the two real sums whose sum is m[0] and whose difference, times cos(pi/4), is
     * m[M].
     */
    const int64_t sum = (int64_t)data[0] + data[1];
    const fx_int diagonal = fx_root_in_quadrant(CM_QUARTER_TURN / 2u).cosine;
    const fx_wide difference =
        fx_multiply_add_sum(fx_wide_half(FX_BITS + FX_GUARD_BITS), data[0], -data[1], diagonal);
    data[0] = (fx_int)((sum + ((int64_t)1 << FX_GUARD_BITS)) >> (1 + FX_GUARD_BITS));
    data[1] = fx_shift_right(difference, FX_BITS + FX_GUARD_BITS);
    fx_split_pairs(data, points, unit);
}

/* Complex samples: c[k] = zeta^-k U[k]. */
static void fx_twist_complex(fx_int *data, unsigned log2_n)
{
    const unsigned shift = FX_BITS - 1u + FX_GUARD_BITS;
    const uint32_t points = (uint32_t)1 << (log2_n - 1u);
    const int64_t half = (int64_t)1 << (FX_GUARD_BITS - 1);
    const uint32_t unit = (uint32_t)1 << (CM_CONFIG_MAX_LOG2_N - log2_n); /* pi / n */
    data[0] = (fx_int)((data[0] + half) >> FX_GUARD_BITS);
    data[1] = (fx_int)((data[1] + half) >> FX_GUARD_BITS);
    for (uint32_t k = 1; k < points; k++) {
        fx_int *u = data + 2u * (size_t)k;
        const fx_root a = fx_root_in_quadrant(k * unit);
        const fx_wide re =
            fx_multiply_add(fx_multiply_add(fx_wide_half(shift), u[0], a.cosine), u[1], a.sine);
        const fx_wide im =
            fx_multiply_add(fx_multiply_add(fx_wide_half(shift), u[1], a.cosine), u[0], -a.sine);
        u[0] = fx_shift_right(re, shift);
        u[1] = fx_shift_right(im, shift);
    }
}

void FX_TRANSFORM(fx_int *data, unsigned log2_n, cm_slots slots)
{
    if (slots == CM_SLOTS_COMPLEX) {
        fx_transform_points(data, log2_n - 1u);
        fx_twist_complex(data, log2_n);
    } else {
        fx_transform_points(data, log2_n - 2u);
        fx_split_real(data, log2_n);
    }
}
