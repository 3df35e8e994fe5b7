/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The encoded polynomial, as ckks_transform.h leaves it, at one prime and folded into a tile; ckks_fixed31.c
 * and ckks_fixed63.c include this behind ckks_transform.h. Coefficients are processed in runs, so that no
 * step has to test where it is.
 *
 * Real slots, with N = n/2 and M = n/4, for 0 < i < M:
 *     m[i] = data[2i], m[N-i] = data[2i+1], m[N+i] = -m[N-i], m[n-i] = -m[i],
 * and m[0] = data[0], m[M] = data[1], m[N] = 0, m[n-M] = -m[M]. Complex slots: m[i] = data[2i], m[N+i] =
 * data[2i+1].
 *
 * Noise, if any, is stored beside the data (cmi_ckks_message_keep_noise): four bytes for each two numbers of
 * real slots, in the order m[i], m[N-i], m[N+i], m[n-i], the last two negated; two bytes for the two numbers
 * of a complex slot.
 */
/* Each function is inlined once with noise and once without, so that no coefficient has to test for it. */

/* The noise beside data[2i] and data[2i + 1] of real slots, and each of its four bytes. */
static CM_ALWAYS_INLINE uint32_t fx_noise_beside(const int8_t *noise, bool noisy, size_t i)
{
    return noisy ? cmi_load32((const uint8_t *)noise + 4u * i) : 0;
}

static CM_ALWAYS_INLINE int32_t fx_noise_part(uint32_t beside, unsigned part)
{
    return (int8_t)(uint8_t)(beside >> 8u * part);
}

/* The noise beside data[i] of complex slots. */
static CM_ALWAYS_INLINE int32_t fx_noise_at(const int8_t *noise, bool noisy, size_t i)
{
    return noisy ? noise[i] : 0;
}

/* The whole ring: residues between -q and q, and their negatives, plus q, or with noise 2q. */
static CM_ALWAYS_INLINE void fx_fold_whole_real(const fx_int *data, const int8_t *noise, bool noisy,
                                                const cm_prime *prime, uint32_t n, uint32_t *out)
{
    const int32_t base = (int32_t)(noisy ? 2u * prime->q : prime->q);
    const fx_residue_constants constants = fx_residue_constants_of(prime);
    const size_t quarter = n / 4u;
    const size_t half = n / 2u;
    const int32_t first = base + fx_residue_of(data[0], &constants);
    const int32_t middle = fx_residue_of(data[1], &constants);
    const uint32_t beside = fx_noise_beside(noise, noisy, 0);
    out[0] = (uint32_t)(first + fx_noise_part(beside, 0));
    out[quarter] = (uint32_t)(base + middle + fx_noise_part(beside, 1));
    out[half] = (uint32_t)(base - fx_noise_part(beside, 2));
    out[half + quarter] = (uint32_t)(base - middle - fx_noise_part(beside, 3));
    for (size_t i = 1; i < quarter; i++) {
        const int32_t even = fx_residue_of(data[2u * i], &constants);
        const int32_t odd = fx_residue_of(data[2u * i + 1u], &constants);
        const uint32_t e = fx_noise_beside(noise, noisy, i);
        out[i] = (uint32_t)(base + even + fx_noise_part(e, 0));
        out[half - i] = (uint32_t)(base + odd + fx_noise_part(e, 1));
        out[half + i] = (uint32_t)(base - odd - fx_noise_part(e, 2));
        out[n - i] = (uint32_t)(base - even - fx_noise_part(e, 3));
    }
}

static CM_ALWAYS_INLINE void fx_fold_whole_complex(const fx_int *data, const int8_t *noise, bool noisy,
                                                   const cm_prime *prime, uint32_t n, uint32_t *out)
{
    const int32_t base = (int32_t)(noisy ? 2u * prime->q : prime->q);
    const fx_residue_constants constants = fx_residue_constants_of(prime);
    const size_t half = n / 2u;
    for (size_t i = 0; i < half; i++) {
        const int32_t re = fx_residue_of(data[2u * i], &constants);
        const int32_t im = fx_residue_of(data[2u * i + 1u], &constants);
        out[i] = (uint32_t)(base + re + fx_noise_at(noise, noisy, 2u * i));
        out[half + i] = (uint32_t)(base + im + fx_noise_at(noise, noisy, 2u * i + 1u));
    }
}

/* -power, computed unsigned: compilers widen the negation of a signed number, and then the products by it. */
static inline int32_t fx_negated(int32_t power)
{
    return (int32_t)(0u - (uint32_t)power);
}

/* A sum of at most sixteen terms, each below 2^29.6 q / 2 in magnitude, to within 2q of 2q. */
static inline uint32_t fx_fold_reduce(int64_t sum, const cm_prime *prime)
{
    return (uint32_t)(cmi_montgomery_reduce_signed(sum, prime) + 2 * (int32_t)prime->q);
}

/* x one + y minus_r */
static inline uint32_t fx_fold_two(fx_int x, int32_t one, fx_int y, int32_t minus_r, const cm_prime *prime)
{
    return fx_fold_reduce(fx_fold_add(fx_fold_add(0, x, one, prime), y, minus_r, prime), prime);
}

/* Two tiles: m[i] + r m[N+i] and m[N-i] + r m[n-i] come from the same two numbers. */
static CM_ALWAYS_INLINE void fx_fold_halves_real(const fx_int *data, const int8_t *noise, bool noisy,
                                                 const cmi_ring *ring, const int32_t *powers, uint32_t *out)
{
    const cm_prime prime = *ring->prime; /* a copy, which out cannot alias */
    const size_t half = cmi_ring_points(ring);
    const int32_t one = powers[0];
    const int32_t minus_r = fx_negated(powers[1]);
    const uint32_t beside = fx_noise_beside(noise, noisy, 0);
    out[0] = fx_fold_two(data[0] + fx_noise_part(beside, 0), one, fx_noise_part(beside, 2), minus_r, &prime);
    out[half / 2u] = fx_fold_two(data[1] + fx_noise_part(beside, 1), one, data[1] + fx_noise_part(beside, 3),
                                 minus_r, &prime);
    if (noisy && FX_TRY(fold_halves, out + 1, out + half - 1u, data + 2, noise + 4,
                        (&(const cmi_fold_constants){one, minus_r, prime.q, prime.neg_q_inv}))) {
        return;
    }
    const uint32_t *const middle = out + half / 2u;
    uint32_t *backward = out + half - 1u;
    size_t i = 0;
    for (uint32_t *forward = out + 1; forward < middle; forward++) {
        data += 2;
        const fx_int even = data[0];
        const fx_int odd = data[1];
        const uint32_t e = fx_noise_beside(noise, noisy, ++i);
        *forward = fx_fold_two(even + fx_noise_part(e, 0), one, odd + fx_noise_part(e, 2), minus_r, &prime);
        *backward-- =
            fx_fold_two(odd + fx_noise_part(e, 1), one, even + fx_noise_part(e, 3), minus_r, &prime);
    }
}

/*
 * T >= 4 tiles: with i below n/T, coefficient j n/T + i is in the quarter j / (T/4), and those at k = i + s
 * n/T of the four quarters are in two places, k and M - k. weights has four for each s: the powers of r,
 * those of the quarters with negative signs negated.
 */
static CM_ALWAYS_INLINE int64_t fx_fold_places(int64_t sum, const fx_int *forward, const fx_int *backward,
                                               uint32_t noise_forward, uint32_t noise_backward,
                                               const int32_t *weights, const cm_prime *prime)
{
    sum = fx_fold_add(sum, forward[0] + fx_noise_part(noise_forward, 0), weights[0], prime);
    sum = fx_fold_add(sum, forward[1] + fx_noise_part(noise_forward, 2), weights[2], prime);
    sum = fx_fold_add(sum, backward[0] + fx_noise_part(noise_backward, 3), weights[3], prime);
    return fx_fold_add(sum, backward[1] + fx_noise_part(noise_backward, 1), weights[1], prime);
}

static CM_ALWAYS_INLINE void fx_fold_runs(const fx_int *data, const int8_t *noise, bool noisy,
                                          const cmi_ring *ring, const int32_t *weights, unsigned runs,
                                          uint32_t *out)
{
    const cm_prime prime = *ring->prime;
    const uint32_t points = cmi_ring_points(ring);
    const size_t quarter = (size_t)points * runs;
    const fx_int at_zero[2] = {data[0], 0};         /* m[0] and m[N] */
    const fx_int at_middle[2] = {data[1], data[1]}; /* m[n-M] and m[M] */
    for (uint32_t i = 0; i < points; i++) {
        size_t k = i;
        int64_t sum = i == 0 ? fx_fold_places(0, at_zero, at_middle, fx_noise_beside(noise, noisy, 0),
                                              fx_noise_beside(noise, noisy, 0), weights, &prime)
                             : fx_fold_places(0, data + 2u * k, data + 2u * (quarter - k),
                                              fx_noise_beside(noise, noisy, k),
                                              fx_noise_beside(noise, noisy, quarter - k), weights, &prime);
        for (unsigned s = 1; s < runs; s++) {
            k += points;
            sum = fx_fold_places(sum, data + 2u * k, data + 2u * (quarter - k),
                                 fx_noise_beside(noise, noisy, k), fx_noise_beside(noise, noisy, quarter - k),
                                 weights + 4u * s, &prime);
        }
        out[i] = fx_fold_reduce(sum, &prime);
    }
}

static CM_ALWAYS_INLINE void fx_fold_tiles_real(const fx_int *data, const int8_t *noise, bool noisy,
                                                const cmi_ring *ring, const int32_t *powers, uint32_t *out)
{
    const unsigned runs = 1u << (ring->log2_tiles - 2u);
    int32_t weights[CM_MAX_TILES];
    for (unsigned s = 0; s < runs; s++) {
        weights[4u * s] = powers[s];
        weights[4u * s + 1u] = powers[runs + s];
        weights[4u * s + 2u] = fx_negated(powers[2u * runs + s]);
        weights[4u * s + 3u] = fx_negated(powers[3u * runs + s]);
    }
    if (runs == 1u) {
        fx_fold_runs(data, noise, noisy, ring, weights, 1, out);
    } else {
        fx_fold_runs(data, noise, noisy, ring, weights, runs, out);
    }
}

static CM_ALWAYS_INLINE void fx_fold_tiles_complex(const fx_int *data, const int8_t *noise, bool noisy,
                                                   const cmi_ring *ring, const int32_t *powers, uint32_t *out)
{
    const cm_prime prime = *ring->prime;
    const uint32_t points = cmi_ring_points(ring);
    const unsigned runs = 1u << (ring->log2_tiles - 1u);
    for (uint32_t i = 0; i < points; i++) {
        int64_t sum = 0;
        for (unsigned s = 0; s < runs; s++) {
            const size_t k = 2u * ((size_t)i + (size_t)s * points);
            sum = fx_fold_add(sum, data[k] + fx_noise_at(noise, noisy, k), powers[s], &prime);
            sum =
                fx_fold_add(sum, data[k + 1u] + fx_noise_at(noise, noisy, k + 1u), powers[runs + s], &prime);
        }
        out[i] = fx_fold_reduce(sum, &prime);
    }
}

/* sum of m[j n/T + i] r^j: each term is a number's product, or its residue's, by a power below q/2. */
static CM_ALWAYS_INLINE void fx_fold(const fx_int *data, const int8_t *noise, bool noisy, cm_slots slots,
                                     const cmi_ring *ring, uint32_t *out)
{
    const uint32_t n = (uint32_t)1 << ring->log2_n;
    int32_t powers[CM_MAX_TILES];
    cmi_ring_fold_powers(ring, ring->prime->r1, powers);
    if (slots == CM_SLOTS_COMPLEX) {
        if (ring->log2_tiles == 0) {
            fx_fold_whole_complex(data, noise, noisy, ring->prime, n, out);
        } else {
            fx_fold_tiles_complex(data, noise, noisy, ring, powers, out);
        }
    } else if (ring->log2_tiles == 0) {
        fx_fold_whole_real(data, noise, noisy, ring->prime, n, out);
    } else if (ring->log2_tiles == 1) {
        fx_fold_halves_real(data, noise, noisy, ring, powers, out);
    } else {
        fx_fold_tiles_real(data, noise, noisy, ring, powers, out);
    }
}

void FX_FOLD(const fx_int *data, cm_slots slots, const cmi_ring *ring, uint32_t *out)
{
    fx_fold(data, NULL, false, slots, ring, out);
}

#if CM_CONFIG_STORE_NOISE

void FX_FOLD_NOISY(const fx_int *data, const int8_t *noise, cm_slots slots, const cmi_ring *ring,
                   uint32_t *out)
{
    fx_fold(data, noise, true, slots, ring, out);
}

#endif
