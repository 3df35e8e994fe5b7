/* Centred binomial noise, added in place. */
#include "scheme/noise.h"

#include "random/sample.h"
#include "random/wipe.h"

static void open_stream(const cm_noise *noise, unsigned component)
{
    const uint32_t nonce[3] = {CM_LABEL_NOISE, component, 0};
    cm_stream_init(noise->stream, noise->key, nonce);
}

void cm_noise_sample(const cm_noise *noise, unsigned component, int8_t *out, uint32_t n)
{
    open_stream(noise, component);
    for (uint32_t start = 0; start < n; start += CM_SAMPLE_BLOCK) {
        cm_sample_cbd(noise->stream, out + start);
    }
    cm_wipe(noise->stream, sizeof *noise->stream);
}

/* a + e, for a below 2q: q makes it positive. */
static inline uint32_t add_small(uint32_t a, int8_t e, uint32_t q)
{
    const uint32_t small = (uint32_t)(int32_t)e;
    return a + q + small;
}

/*
 * A sampled block of coefficients that share a power of r; the first stretch of n/T has r^0 = 1 and leaves values
 * below 3q + 32, the others add at most q + q/16 and take 2q away from 2q on.
 */
static void add_block(uint32_t *a, const int8_t *block, unsigned stretch, uint32_t power,
                      const cm_prime *prime)
{
    const uint32_t q = prime->q;
    for (uint32_t i = 0; i < CM_SAMPLE_BLOCK; i++) {
        if (stretch == 0) {
            a[i] = add_small(a[i], block[i], q);
        } else {
            const uint32_t e = add_small(0, block[i], q);
            a[i] = cm_subtract_once(a[i] + cm_montgomery_multiply(e, power, prime), 2u * q);
        }
    }
}

static void add_sampled(const cm_noise *noise, unsigned component, uint32_t *a, const cm_ring *ring,
                        const uint32_t *powers)
{
    const uint32_t points = cm_ring_points(ring);
    int8_t block[CM_SAMPLE_BLOCK];
    open_stream(noise, component);
    for (unsigned j = 0; j < 1u << ring->log2_tiles; j++) {
        for (uint32_t start = 0; start < points; start += CM_SAMPLE_BLOCK) {
            cm_sample_cbd(noise->stream, block);
            add_block(a + start, block, j, powers[j], ring->prime);
        }
    }
    cm_wipe(block, sizeof block);
    cm_wipe(noise->stream, sizeof *noise->stream);
}

/*
 * a[i] += the sum of e[j n/T + i] r^j: with |e| < 32, the sum lies within 32 T q, which the offset, a multiple of q, makes
 * positive; one reduction leaves less than q + 32.
 */
static inline void add_stretches(uint32_t *a, const int8_t *e, const cm_ring *ring, const uint32_t *powers,
                                 unsigned tiles)
{
    const cm_prime prime = *ring->prime; /* a copy, which a cannot alias */
    const uint32_t points = cm_ring_points(ring);
    const uint64_t offset = (uint64_t)prime.q * (32u * tiles);
    for (uint32_t i = 0; i < points; i++) {
        const int8_t *next = e + i;
        uint64_t sum = offset;
        for (unsigned j = 0; j < tiles; j++) {
            sum += (uint64_t)((int64_t)*next * (int32_t)powers[j]);
            next += points;
        }
        a[i] += cm_montgomery_reduce(sum, &prime);
    }
}

/* The whole ring: a multiple of four coefficients. */
static void add_whole(uint32_t *a, const int8_t *e, uint32_t n, uint32_t q)
{
    for (uint32_t i = 0; i < n; i += 4u) {
        const uint32_t a0 = add_small(a[i], e[i], q);
        const uint32_t a1 = add_small(a[i + 1u], e[i + 1u], q);
        const uint32_t a2 = add_small(a[i + 2u], e[i + 2u], q);
        const uint32_t a3 = add_small(a[i + 3u], e[i + 3u], q);
        a[i] = a0;
        a[i + 1u] = a1;
        a[i + 2u] = a2;
        a[i + 3u] = a3;
    }
}

static void add_stored(const int8_t *stored, uint32_t *a, const cm_ring *ring, const uint32_t *powers)
{
    if (ring->log2_tiles == 0) {
        add_whole(a, stored, cm_ring_points(ring), ring->prime->q);
    } else if (ring->log2_tiles == 1) {
        add_stretches(a, stored, ring, powers, 2);
    } else if (ring->log2_tiles == 2) {
        add_stretches(a, stored, ring, powers, 4);
    } else {
        add_stretches(a, stored, ring, powers, 1u << ring->log2_tiles);
    }
}

void cm_noise_add(const cm_noise *noise, unsigned component, uint32_t *a, const cm_ring *ring)
{
    uint32_t powers[CM_MAX_TILES];
    cm_ring_fold_powers(ring, powers);
    if (noise->stored) {
        add_stored(noise->stored + ((size_t)component << ring->log2_n), a, ring, powers);
    } else {
        add_sampled(noise, component, a, ring, powers);
    }
}
