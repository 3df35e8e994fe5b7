/*
 * The encoded polynomial, as fixed_transform.h leaves it, at one prime and folded into a tile; fixed31.c and fixed63.c
 * include this behind fixed_transform.h. Coefficients are taken in runs: no step asks where it is.
 *
 * Real slots, with N = n/2 and M = n/4, for 0 < i < M:
 *     m[i] = data[2i], m[N-i] = data[2i+1], m[N+i] = -m[N-i], m[n-i] = -m[i],
 * and m[0] = data[0], m[M] = data[1], m[N] = 0, m[n-M] = -m[M]. Complex slots: m[i] = data[2i], m[N+i] = data[2i+1].
 */
#ifdef CM_ENCODE_FIXED_FOLD_H
#error "fixed_fold.h is for one inclusion by each of fixed31.c and fixed63.c."
#endif
#define CM_ENCODE_FIXED_FOLD_H

/*
 * With noise, coefficients have e[i] added; where a coefficient is -x, it is taken from x. Each function is expanded with
 * noise and without: a null pointer must be known to the compiler, or it is asked for at each coefficient.
 */
#ifdef __GNUC__
#define EXPANDED inline __attribute__((always_inline))
#else
#define EXPANDED inline
#endif

static EXPANDED int32_t noise_at(const int8_t *noise, size_t i)
{
    return noise ? noise[i] : 0;
}

/* The whole ring: residues between -q and q, and their negatives, plus q, or with noise 2q. */
static EXPANDED void fold_whole_real(const fixed *data, const int8_t *noise, const cm_prime *prime,
                                     uint32_t n, uint32_t *out)
{
    const int32_t base = (int32_t)(noise ? 2u * prime->q : prime->q);
    const residue_constants constants = residue_constants_of(prime);
    const size_t quarter = n / 4u;
    const size_t half = n / 2u;
    const int32_t first = residue_of(data[0], &constants);
    const int32_t middle = residue_of(data[1], &constants);
    out[0] = (uint32_t)(base + first + noise_at(noise, 0));
    out[quarter] = (uint32_t)(base + middle + noise_at(noise, quarter));
    out[half] = (uint32_t)(base + noise_at(noise, half));
    out[half + quarter] = (uint32_t)(base - middle + noise_at(noise, half + quarter));
    for (size_t i = 1; i < quarter; i++) {
        const int32_t even = residue_of(data[2u * i], &constants);
        const int32_t odd = residue_of(data[2u * i + 1u], &constants);
        out[i] = (uint32_t)(base + even + noise_at(noise, i));
        out[half - i] = (uint32_t)(base + odd + noise_at(noise, half - i));
        out[half + i] = (uint32_t)(base - odd + noise_at(noise, half + i));
        out[n - i] = (uint32_t)(base - even + noise_at(noise, n - i));
    }
}

static EXPANDED void fold_whole_complex(const fixed *data, const int8_t *noise, const cm_prime *prime,
                                        uint32_t n, uint32_t *out)
{
    const int32_t base = (int32_t)(noise ? 2u * prime->q : prime->q);
    const residue_constants constants = residue_constants_of(prime);
    const size_t half = n / 2u;
    for (size_t i = 0; i < half; i++) {
        const int32_t re = residue_of(data[2u * i], &constants);
        const int32_t im = residue_of(data[2u * i + 1u], &constants);
        out[i] = (uint32_t)(base + re + noise_at(noise, i));
        out[half + i] = (uint32_t)(base + im + noise_at(noise, half + i));
    }
}

/* From the sum of so many tiles' terms to a value below 2q. */
static inline uint32_t fold_reduce(uint64_t sum, unsigned tiles, const cm_prime *prime)
{
    const uint32_t folded = cm_montgomery_reduce(sum, prime);
    return tiles == 2u ? folded : cm_montgomery_multiply(folded, prime->r1, prime);
}

/* Halves: m[i] + r m[N+i] and m[N-i] + r m[n-i] are made of the same two numbers. */
static EXPANDED void fold_halves_real(const fixed *data, const int8_t *noise, const cm_ring *ring,
                                      const uint32_t *powers, uint32_t *out)
{
    const cm_prime prime = *ring->prime; /* a copy, which out cannot alias */
    const size_t half = cm_ring_points(ring);
    const size_t quarter = half / 2u;
    const uint64_t offset = fold_offset(ring);
    const uint32_t one = powers[0];
    const uint32_t minus_r = prime.q - powers[1];
    uint64_t first = fold_add(offset, data[0] + noise_at(noise, 0), one, &prime);
    uint64_t last = fold_add(offset, data[1] + noise_at(noise, quarter), one, &prime);
    first = fold_add(first, -noise_at(noise, half), minus_r, &prime);
    last = fold_add(last, data[1] - noise_at(noise, half + quarter), minus_r, &prime);
    out[0] = fold_reduce(first, 2, &prime);
    out[quarter] = fold_reduce(last, 2, &prime);
    for (size_t i = 1; i < quarter; i++) {
        const fixed even = data[2u * i];
        const fixed odd = data[2u * i + 1u];
        first = fold_add(offset, even + noise_at(noise, i), one, &prime);
        first = fold_add(first, odd - noise_at(noise, half + i), minus_r, &prime);
        last = fold_add(offset, odd + noise_at(noise, half - i), one, &prime);
        last = fold_add(last, even - noise_at(noise, 2u * half - i), minus_r, &prime);
        out[i] = fold_reduce(first, 2, &prime);
        out[half - i] = fold_reduce(last, 2, &prime);
    }
}

/*
 * T >= 4 tiles: with i below n/T, coefficient j n/T + i is in the quarter j / (T/4), and those at k = i + s n/T of the
 * four quarters lie in two places, k and M - k. weights has four for each s: the powers of r, those of the quarters
 * with negative signs taken from q.
 */
static EXPANDED uint64_t fold_places(uint64_t sum, const fixed *forward, const fixed *backward,
                                     const int8_t *noise, size_t quarter, const uint32_t *weights,
                                     const cm_prime *prime)
{
    sum = fold_add(sum, forward[0] + noise_at(noise, 0), weights[0], prime);
    sum = fold_add(sum, forward[1] - noise_at(noise, 2u * quarter), weights[2], prime);
    sum = fold_add(sum, backward[0] - noise_at(noise, 3u * quarter), weights[3], prime);
    return fold_add(sum, backward[1] + noise_at(noise, quarter), weights[1], prime);
}

static EXPANDED void fold_runs(const fixed *data, const int8_t *noise, const cm_ring *ring,
                               const uint32_t *weights, unsigned runs, uint32_t *out)
{
    const cm_prime prime = *ring->prime;
    const uint32_t points = cm_ring_points(ring);
    const size_t away = 2u * (size_t)points;
    const size_t quarter = (size_t)points * runs;
    const fixed *const end = data + 2u * quarter;
    const uint64_t offset = fold_offset(ring);
    for (uint32_t i = 0; i < points; i++) {
        const fixed *forward = data + 2u * (size_t)i;
        const fixed *backward = end - 2u * (size_t)i;
        const int8_t *e = noise ? noise + i : NULL;
        uint64_t sum;
        if (i == 0) {
            const fixed at_zero[2] = {data[0], 0};         /* m[0] and m[N] */
            const fixed at_middle[2] = {data[1], data[1]}; /* m[n-M] and m[M] */
            sum = fold_places(offset, at_zero, at_middle, e, quarter, weights, &prime);
        } else {
            sum = fold_places(offset, forward, backward, e, quarter, weights, &prime);
        }
        for (unsigned s = 1; s < runs; s++) {
            forward += away;
            backward -= away;
            e = noise ? e + points : NULL;
            sum = fold_places(sum, forward, backward, e, quarter, weights + 4u * s, &prime);
        }
        out[i] = fold_reduce(sum, 4u * runs, &prime);
    }
}

static EXPANDED void fold_tiles_real(const fixed *data, const int8_t *noise, const cm_ring *ring,
                                     const uint32_t *powers, uint32_t *out)
{
    const unsigned runs = 1u << (ring->log2_tiles - 2u);
    uint32_t weights[CM_MAX_TILES];
    for (unsigned s = 0; s < runs; s++) {
        weights[4u * s] = powers[s];
        weights[4u * s + 1u] = powers[runs + s];
        weights[4u * s + 2u] = ring->prime->q - powers[2u * runs + s];
        weights[4u * s + 3u] = ring->prime->q - powers[3u * runs + s];
    }
    if (runs == 1u) {
        fold_runs(data, noise, ring, weights, 1, out);
    } else {
        fold_runs(data, noise, ring, weights, runs, out);
    }
}

static EXPANDED void fold_tiles_complex(const fixed *data, const int8_t *noise, const cm_ring *ring,
                                        const uint32_t *powers, uint32_t *out)
{
    const cm_prime prime = *ring->prime;
    const uint32_t points = cm_ring_points(ring);
    const unsigned runs = 1u << (ring->log2_tiles - 1u);
    const size_t half = (size_t)points * runs;
    for (uint32_t i = 0; i < points; i++) {
        uint64_t sum = fold_offset(ring);
        for (unsigned s = 0; s < runs; s++) {
            const size_t k = (size_t)i + (size_t)s * points;
            sum = fold_add(sum, data[2u * k] + noise_at(noise, k), powers[s], &prime);
            sum = fold_add(sum, data[2u * k + 1u] + noise_at(noise, half + k), powers[runs + s], &prime);
        }
        out[i] = fold_reduce(sum, 2u * runs, &prime);
    }
}

/* sum of m[j n/T + i] r^j: each term is a residue's product, or a number's below 2^30, by a power below q. */
static EXPANDED void fold(const fixed *data, const int8_t *noise, cm_slots slots, const cm_ring *ring,
                          uint32_t *out)
{
    const uint32_t n = (uint32_t)1 << ring->log2_n;
    uint32_t powers[CM_MAX_TILES];
    cm_ring_fold_powers(ring, powers);
    if (slots == CM_COMPLEX_SLOTS) {
        if (ring->log2_tiles == 0) {
            fold_whole_complex(data, noise, ring->prime, n, out);
        } else {
            fold_tiles_complex(data, noise, ring, powers, out);
        }
    } else if (ring->log2_tiles == 0) {
        fold_whole_real(data, noise, ring->prime, n, out);
    } else if (ring->log2_tiles == 1) {
        fold_halves_real(data, noise, ring, powers, out);
    } else {
        fold_tiles_real(data, noise, ring, powers, out);
    }
}

void FOLD(const fixed *data, const int8_t *noise, cm_slots slots, const cm_ring *ring, uint32_t *out)
{
#if CM_STORE_NOISE
    if (noise) {
        fold(data, noise, slots, ring, out);
        return;
    }
#endif
    (void)noise;
    fold(data, NULL, slots, ring, out);
}
