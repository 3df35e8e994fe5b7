/*
 * The inverse canonical embedding in fixed point, in place; fixed31.c and fixed63.c include this after they have said what
 * `fixed` and `wide` are. docs/encoding.md derives it and specifies every rounding.
 *
 * With N = n/2, zeta = e^(i pi/n) and sample v the slot at zeta^(4v+1), the polynomial's coefficients are
 *     m[k] + i m[k+N] = c[k] = zeta^-k / N * sum_v sample[v] e^(-2 pi i k v / N),
 * a complex transform of N points and a twist. For real samples m[k+N] = -m[N-k]: the transform of N/2 points over
 * pairs of samples, split and twisted, gives m[0 .. N) (a DCT-II), and the other half is its mirror image.
 */
#ifdef CM_ENCODE_FIXED_TRANSFORM_H
#error "fixed_transform.h is for one inclusion by each of fixed31.c and fixed63.c."
#endif
#define CM_ENCODE_FIXED_TRANSFORM_H

/* e^(i pi index / n) */
typedef struct root {
    fixed cosine;
    fixed sine;
} root;

#define QUARTER ((uint32_t)1 << (CM_MAX_LOG2_N - 1)) /* pi/2 in the table's unit of pi / 2^CM_MAX_LOG2_N */

/* For the angle index * pi / 2^log2_n, index mod 2n, no multiple of pi/2 (whose sine or cosine of 1 does not fit). */
static root root_at(uint32_t index, unsigned log2_n)
{
    uint32_t angle = index << (CM_MAX_LOG2_N - log2_n);
    uint32_t quadrant = angle / QUARTER & 3u;
    uint32_t within = angle & (QUARTER - 1u);
    fixed rising = (fixed)SINE[within];
    fixed falling = (fixed)SINE[QUARTER - within];
    root result;
    result.cosine = (quadrant & 1u) ? rising : falling;
    result.sine = (quadrant & 1u) ? falling : rising;
    if (quadrant == 1u || quadrant == 2u) {
        result.cosine = -result.cosine;
    }
    if (quadrant >= 2u) {
        result.sine = -result.sine;
    }
    return result;
}

/*
 * One decimation-in-time butterfly: (a, b) -> ((a + w b) / 2, (a - w b) / 2), w = cosine - i sine. The sum is rounded
 * once, from its exact value, halves up; the difference is a minus the sum, which is the exact difference
 * rounded to nearest, halves down. Magnitudes of complex points never grow.
 */
static inline void butterfly(fixed *a, fixed *b, root w)
{
    wide re = wide_from((int64_t)a[0] + 1);
    wide im = wide_from((int64_t)a[1] + 1);
    re = add(re, add(product(b[0], w.cosine), product(b[1], w.sine)));
    im = add(im, subtract(product(b[1], w.cosine), product(b[0], w.sine)));
    fixed sum_re = shift_right(re, FIXED_BITS);
    fixed sum_im = shift_right(im, FIXED_BITS);
    b[0] = a[0] - sum_re;
    b[1] = a[1] - sum_im;
    a[0] = sum_re;
    a[1] = sum_im;
}

/* The same with w = 1 (quarter_turns = 0) or w = -i (1), which are exact. */
static inline void butterfly_exact(fixed *a, fixed *b, unsigned quarter_turns)
{
    fixed product_re = quarter_turns ? b[1] : b[0];
    fixed product_im = quarter_turns ? -b[0] : b[1];
    fixed sum_re = (fixed)(((int64_t)a[0] + product_re + 1) >> 1);
    fixed sum_im = (fixed)(((int64_t)a[1] + product_im + 1) >> 1);
    b[0] = a[0] - sum_re;
    b[1] = a[1] - sum_im;
    a[0] = sum_re;
    a[1] = sum_im;
}

/* The transform of 2^log2_points complex points divided by their number: bit-reversed order in, natural order out. */
static void transform_points(fixed *data, unsigned log2_points)
{
    const uint32_t points = (uint32_t)1 << log2_points;
    for (unsigned level = 0; level < log2_points; level++) {
        const uint32_t half = (uint32_t)1 << level;
        for (uint32_t j = 0; j < half; j++) {
            const bool exact = (j & (half / 2u - 1u)) == 0 || half == 1u;
            const root w = exact ? (root){0, 0} : root_at(j, level);
            for (uint32_t block = j; block < points; block += 2u * half) {
                fixed *a = data + 2u * (size_t)block;
                fixed *b = a + 2u * (size_t)half;
                if (exact) {
                    butterfly_exact(a, b, j != 0);
                } else {
                    butterfly(a, b, w);
                }
            }
        }
    }
}

/* (re + i im) e^(i angle), exactly. */
static inline wide turned_re(int64_t re, int64_t im, root angle)
{
    return subtract(product(re, angle.cosine), product(im, angle.sine));
}

static inline wide turned_im(int64_t re, int64_t im, root angle)
{
    return add(product(re, angle.sine), product(im, angle.cosine));
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
    const unsigned shift = FIXED_BITS - 1u + 2u + GUARD_BITS;
    const uint32_t points = (uint32_t)1 << (log2_n - 2u);

    /* k = 0: U[0] holds the two real sums whose sum is m[0] and whose difference, times cos(pi/4), is m[M]. */
    const int64_t sum = (int64_t)data[0] + data[1];
    const int64_t difference = (int64_t)data[0] - data[1];
    data[0] = (fixed)((sum + ((int64_t)1 << GUARD_BITS)) >> (1 + GUARD_BITS));
    data[1] =
        round_shift(product(difference, root_at(points, log2_n).cosine), FIXED_BITS - 1u + 1u + GUARD_BITS);

    for (uint32_t k = 1; k <= points / 2u; k++) {
        fixed *u = data + 2u * (size_t)k;
        fixed *v = data + 2u * (size_t)(points - k);
        const int64_t e_re = (int64_t)u[0] + v[0];
        const int64_t e_im = (int64_t)u[1] - v[1];
        const int64_t o_re = (int64_t)u[1] + v[1];
        const int64_t o_im = (int64_t)v[0] - u[0];
        const root a = root_at(k, log2_n);
        const root b = root_at(5u * k, log2_n);
        const root c = root_at(points - k, log2_n);
        const root d = root_at(points - 5u * k, log2_n);
        /* At k = M/2, u and v are one place: what is written to u stays. */
        v[0] = round_shift(subtract(turned_re(e_re, e_im, c), turned_re(o_re, o_im, d)), shift);
        v[1] = round_shift(subtract(turned_im(e_re, e_im, c), turned_im(o_re, o_im, d)), shift);
        u[0] = round_shift(add(turned_re(e_re, -e_im, a), turned_re(o_re, -o_im, b)), shift);
        u[1] = round_shift(add(turned_im(e_re, -e_im, a), turned_im(o_re, -o_im, b)), shift);
    }
}

/* Complex samples: c[k] = zeta^-k U[k]. */
static void twist_complex(fixed *data, unsigned log2_n)
{
    const unsigned shift = FIXED_BITS - 1u + GUARD_BITS;
    const uint32_t points = (uint32_t)1 << (log2_n - 1u);
    const int64_t half = (int64_t)1 << (GUARD_BITS - 1);
    data[0] = (fixed)((data[0] + half) >> GUARD_BITS);
    data[1] = (fixed)((data[1] + half) >> GUARD_BITS);
    for (uint32_t k = 1; k < points; k++) {
        fixed *u = data + 2u * (size_t)k;
        const int64_t re = u[0];
        const int64_t im = u[1];
        const root a = root_at(0u - k, log2_n);
        u[0] = round_shift(turned_re(re, im, a), shift);
        u[1] = round_shift(turned_im(re, im, a), shift);
    }
}

void TRANSFORM(fixed *data, unsigned log2_n, cm_slots slots)
{
    if (slots == CM_COMPLEX_SLOTS) {
        transform_points(data, log2_n - 1u);
        twist_complex(data, log2_n);
    } else {
        transform_points(data, log2_n - 2u);
        split_real(data, log2_n);
    }
}

static int64_t coefficient_below_half(const fixed *data, uint32_t k, uint32_t n)
{
    const uint32_t quarter = n / 4u;
    if (k == quarter) {
        return data[1];
    }
    return k < quarter ? data[2u * (size_t)k] : data[2u * (size_t)(n / 2u - k) + 1u];
}

/* Coefficient k of the encoded polynomial; k is public. */
static int64_t coefficient(const fixed *data, cm_slots slots, uint32_t k, uint32_t n)
{
    const uint32_t half = n / 2u;
    if (slots == CM_COMPLEX_SLOTS) {
        return k < half ? data[2u * (size_t)k] : data[2u * (size_t)(k - half) + 1u];
    }
    /* Antisymmetric: m[n-k] = -m[k], m[n/2] = 0. */
    if (k >= half) {
        return k == half ? 0 : -coefficient_below_half(data, n - k, n);
    }
    return coefficient_below_half(data, k, n);
}

/* sum of m[j n/T + i] r^j: each term is a residue's product, or a number's below 2^30, by a power below q. */
void FOLD(const fixed *data, cm_slots slots, const cm_ring *ring, uint32_t *out)
{
    const cm_prime *prime = ring->prime;
    const uint32_t n = (uint32_t)1 << ring->log2_n;
    const uint32_t points = cm_ring_points(ring);
    const unsigned tiles = 1u << ring->log2_tiles;
    uint32_t powers[CM_MAX_TILES];
    cm_ring_fold_powers(ring, powers);
    for (uint32_t i = 0; i < points; i++) {
        uint64_t sum = fold_offset(ring);
        for (unsigned j = 0; j < tiles; j++) {
            sum += fold_term(coefficient(data, slots, j * points + i, n), powers[j], prime);
        }
        const uint32_t folded = cm_montgomery_reduce(sum, prime);
        out[i] = tiles == 1 ? folded : cm_montgomery_multiply(folded, prime->r1, prime);
    }
}
