/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inverse canonical embedding in fixed point, in place; ckks_fixed31.c and ckks_fixed63.c include this
 * after they have said what `fixed` and `wide` are. docs/encoding.md derives it and specifies every rounding.
 *
 * With N = n/2, zeta = e^(i pi/n) and sample v the slot at zeta^(4v+1), the polynomial's coefficients are
 *     m[k] + i m[k+N] = c[k] = zeta^-k / N * sum_v sample[v] e^(-2 pi i k v / N),
 * a complex transform of N points and a twist. For real samples m[k+N] = -m[N-k]: the transform of N/2 points
 * over pairs of samples, split and twisted, gives m[0 .. N) (a DCT-II), and the other half is its mirror
 * image.
 */
#ifdef CM_ENCODE_CKKS_TRANSFORM_H
#error "ckks_transform.h is for one inclusion by each of ckks_fixed31.c and ckks_fixed63.c."
#endif
#define CM_ENCODE_CKKS_TRANSFORM_H

/* e^(i pi index / n) */
typedef struct root {
    fixed cosine;
    fixed sine;
} root;

#define QUARTER \
    ((uint32_t)1 << (CM_CONFIG_MAX_LOG2_N - 1)) /* pi/2 in the table's unit of pi / 2^CM_CONFIG_MAX_LOG2_N */

/*
 * For angles in the table's unit. None is a multiple of pi/2, whose sine or cosine of 1 does not fit: in the
 * first quadrant, in the first two, or within pi/2 of zero.
 */
static inline root root_in_quadrant(uint32_t angle)
{
#if CM_CONFIG_ENCODER_ROOTS == CM_CONFIG_ENCODER_ROOTS_COMPUTED
    root computed;
    COMPUTED_ROOT(angle, &computed.cosine, &computed.sine);
    return computed;
#else
    return (root){(fixed)SINE[QUARTER - angle], (fixed)SINE[angle]};
#endif
}

static inline root root_in_two_quadrants(uint32_t angle)
{
    if (angle < QUARTER) {
        return root_in_quadrant(angle);
    }
    const root mirrored = root_in_quadrant(2u * QUARTER - angle);
    return (root){-mirrored.cosine, mirrored.sine};
}

static inline root root_of_difference(uint32_t plus, uint32_t minus)
{
    if (plus > minus) {
        return root_in_quadrant(plus - minus);
    }
    const root mirrored = root_in_quadrant(minus - plus);
    return (root){mirrored.cosine, -mirrored.sine};
}

/*
 * One decimation-in-time butterfly: (a, b) -> ((a + w b) / 2, (a - w b) / 2), w = cosine - i sine. The sum is
 * rounded once, from its exact value, halves up; the difference is a minus the sum, which is the exact
 * difference rounded to nearest, halves down. Magnitudes of complex points never grow.
 */
static inline void butterfly(fixed *a, fixed *b, root w)
{
    const wide re = multiply_add(multiply_add(wide_from(a[0] + 1), b[0], w.cosine), b[1], w.sine);
    const wide im = multiply_add(multiply_add(wide_from(a[1] + 1), b[1], w.cosine), b[0], -w.sine);
    const fixed sum_re = shift_right(re, FIXED_BITS);
    const fixed sum_im = shift_right(im, FIXED_BITS);
    b[0] = a[0] - sum_re;
    b[1] = a[1] - sum_im;
    a[0] = sum_re;
    a[1] = sum_im;
}

/* The same with w = 1 (turned = false) or w = -i (true), which are exact. */
static inline void butterfly_exact(fixed *a, fixed *b, bool turned)
{
    const fixed product_re = turned ? b[1] : b[0];
    const fixed product_im = turned ? -b[0] : b[1];
    const fixed sum_re = half_sum(a[0], product_re);
    const fixed sum_im = half_sum(a[1], product_im);
    b[0] = a[0] - sum_re;
    b[1] = a[1] - sum_im;
    a[0] = sum_re;
    a[1] = sum_im;
}

/*
 * The butterflies of two levels upon four points a distance of 2 step apart; at the second, p[3] has the root
 * -i w2.
 */
typedef struct four_points {
    fixed p[4][2];
} four_points;

static inline four_points load_four(const fixed *at, size_t step)
{
    four_points x;
    for (unsigned i = 0; i < 4u; i++) {
        x.p[i][0] = at[i * step];
        x.p[i][1] = at[i * step + 1u];
    }
    return x;
}

static inline void store_four(fixed *at, size_t step, const four_points *x)
{
    for (unsigned i = 0; i < 4u; i++) {
        at[i * step] = x->p[i][0];
        at[i * step + 1u] = x->p[i][1];
    }
}

/* Two levels at once, the first with h = 2^level: of every four points, those whose roots are 1 and -i. */
static void two_levels_exact(fixed *data, const fixed *end, size_t step)
{
    if (TRY(two_levels_exact, data, end, step)) {
        return;
    }
    for (fixed *at = data; at < end; at += 4u * step) {
        four_points x = load_four(at, step);
        butterfly_exact(x.p[0], x.p[1], false);
        butterfly_exact(x.p[2], x.p[3], false);
        butterfly_exact(x.p[0], x.p[2], false);
        butterfly_exact(x.p[1], x.p[3], true);
        store_four(at, step, &x);
    }
}

/* The others: j = 1 .. h - 1, with the root at j of h points at the first level, of 2h at the second. */
static void two_levels(fixed *data, const fixed *end, size_t step, uint32_t half, uint32_t unit)
{
    for (uint32_t j = 1; j < half; j++) {
        const bool middle = 2u * j == half;
        const root first = middle ? (root){0, 0} : root_in_two_quadrants(2u * j * unit);
        const root second = root_in_quadrant(j * unit);
        const root turned = {-second.sine, second.cosine};
        fixed *at = data + 2u * (size_t)j;
        if (middle && TRY(two_levels_middle, at, end, step, ((const fixed[2]){second.cosine, second.sine}))) {
            continue;
        }
        if (!middle && TRY(two_levels, at, end, step,
                           ((const fixed[4]){second.cosine, second.sine, first.cosine, first.sine}))) {
            continue;
        }
        for (; at < end; at += 4u * step) {
            four_points x = load_four(at, step);
            if (middle) {
                butterfly_exact(x.p[0], x.p[1], true);
                butterfly_exact(x.p[2], x.p[3], true);
            } else {
                butterfly(x.p[0], x.p[1], first);
                butterfly(x.p[2], x.p[3], first);
            }
            butterfly(x.p[0], x.p[2], second);
            butterfly(x.p[1], x.p[3], turned);
            store_four(at, step, &x);
        }
    }
}

/* k = 1 .. M/2, two places each. */
static void split_pairs(fixed *data, uint32_t points, uint32_t unit)
{
#if CM_CONFIG_ENCODER_ROOTS == CM_CONFIG_ENCODER_ROOTS_FLASH
    if (TRY(split_real, data + 2, data + 2u * ((size_t)points - 1u), SINE, unit)) {
        return;
    }
#endif
    const unsigned shift = FIXED_BITS - 1u + 2u + GUARD_BITS;
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
        /* e = (u_re + v_re) + i (u_im - v_im), o = (u_im + v_im) + i (v_re - u_re) */
        wide re = multiply_add_sum(wide_half(shift), u_re, v_re, c.cosine);
        re = multiply_add_sum(re, v_im, -u_im, c.sine);
        re = multiply_add_sum(re, u_im, v_im, -d.cosine);
        re = multiply_add_sum(re, v_re, -u_re, d.sine);
        wide im = multiply_add_sum(wide_half(shift), u_re, v_re, c.sine);
        im = multiply_add_sum(im, u_im, -v_im, c.cosine);
        im = multiply_add_sum(im, u_im, v_im, -d.sine);
        im = multiply_add_sum(im, u_re, -v_re, d.cosine);
        /* At k = M/2, u and v are one place: what is written to u stays. */
        v[0] = shift_right(re, shift);
        v[1] = shift_right(im, shift);
        re = multiply_add_sum(wide_half(shift), u_re, v_re, a.cosine);
        re = multiply_add_sum(re, u_im, -v_im, a.sine);
        re = multiply_add_sum(re, u_im, v_im, b.cosine);
        re = multiply_add_sum(re, v_re, -u_re, b.sine);
        im = multiply_add_sum(wide_half(shift), u_re, v_re, a.sine);
        im = multiply_add_sum(im, v_im, -u_im, a.cosine);
        im = multiply_add_sum(im, u_im, v_im, b.sine);
        im = multiply_add_sum(im, u_re, -v_re, b.cosine);
        u[0] = shift_right(re, shift);
        u[1] = shift_right(im, shift);
    }
}

/*
 * The transform of 2^log2_points complex points divided by their number: bit-reversed order in, natural order
 * out.
 */
static void transform_points(fixed *data, unsigned log2_points)
{
    const uint32_t points = (uint32_t)1 << log2_points;
    if (log2_points & 1u) {
        for (fixed *at = data; at < data + 2u * (size_t)points; at += 4) {
            butterfly_exact(at, at + 2, false);
        }
    }
    for (unsigned level = log2_points & 1u; level < log2_points; level += 2u) {
        const fixed *const end = data + 2u * (size_t)points;
        const size_t step = (size_t)2 << level;
        two_levels_exact(data, end, step);
        two_levels(data, end, step, (uint32_t)1 << level, QUARTER >> level); /* j pi / 2h */
    }
}

/*
 * Real samples: U[k] is the transform of pairs (even sample, odd sample). With e = U[k] + conj U[M-k] and
 * o = -i (U[k] - conj U[M-k]), M = N/2, the polynomial is
 *     m[k] - i m[N-k]   = (zeta^-k e + zeta^-5k o) / 4
 *     m[M-k] + i m[M+k] = (zeta^(M-k) e - zeta^(M-5k) o) / 4
 * and each number is rounded once. m[k], m[N-k] take the place of U[k]; m[M-k], m[M+k] that of U[M-k].
 */
static void split_real(fixed *data, unsigned log2_n)
{
    const uint32_t points = (uint32_t)1 << (log2_n - 2u);
    const uint32_t unit = (uint32_t)1 << (CM_CONFIG_MAX_LOG2_N - log2_n); /* pi / n */

    /*
     * k = 0: U[0] holds the two real sums whose sum is m[0] and whose difference, times cos(pi/4), is
     * m[M].
     */
    const int64_t sum = (int64_t)data[0] + data[1];
    const fixed diagonal = root_in_quadrant(QUARTER / 2u).cosine;
    const wide difference = multiply_add_sum(wide_half(FIXED_BITS + GUARD_BITS), data[0], -data[1], diagonal);
    data[0] = (fixed)((sum + ((int64_t)1 << GUARD_BITS)) >> (1 + GUARD_BITS));
    data[1] = shift_right(difference, FIXED_BITS + GUARD_BITS);
    split_pairs(data, points, unit);
}

/* Complex samples: c[k] = zeta^-k U[k]. */
static void twist_complex(fixed *data, unsigned log2_n)
{
    const unsigned shift = FIXED_BITS - 1u + GUARD_BITS;
    const uint32_t points = (uint32_t)1 << (log2_n - 1u);
    const int64_t half = (int64_t)1 << (GUARD_BITS - 1);
    const uint32_t unit = (uint32_t)1 << (CM_CONFIG_MAX_LOG2_N - log2_n); /* pi / n */
    data[0] = (fixed)((data[0] + half) >> GUARD_BITS);
    data[1] = (fixed)((data[1] + half) >> GUARD_BITS);
    for (uint32_t k = 1; k < points; k++) {
        fixed *u = data + 2u * (size_t)k;
        const root a = root_in_quadrant(k * unit);
        const wide re = multiply_add(multiply_add(wide_half(shift), u[0], a.cosine), u[1], a.sine);
        const wide im = multiply_add(multiply_add(wide_half(shift), u[1], a.cosine), u[0], -a.sine);
        u[0] = shift_right(re, shift);
        u[1] = shift_right(im, shift);
    }
}

void TRANSFORM(fixed *data, unsigned log2_n, cm_slots slots)
{
    if (slots == CM_SLOTS_COMPLEX) {
        transform_points(data, log2_n - 1u);
        twist_complex(data, log2_n);
    } else {
        transform_points(data, log2_n - 2u);
        split_real(data, log2_n);
    }
}
