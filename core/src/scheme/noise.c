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

/* A small signed number as a residue. */
static inline uint32_t noise_residue(int8_t noise, uint32_t q)
{
    const uint32_t e = (uint32_t)(int32_t)noise;
    return e + (q & (0u - (e >> 31)));
}

/* A block of coefficients that share a power of r; the first stretch of n/T has r^0 = 1. */
static void add_block(uint32_t *a, const int8_t *block, unsigned stretch, uint32_t power,
                      const cm_prime *prime)
{
    for (uint32_t i = 0; i < CM_SAMPLE_BLOCK; i++) {
        const uint32_t e = noise_residue(block[i], prime->q);
        if (stretch == 0) {
            a[i] += e;
        } else {
            a[i] = cm_subtract_once(a[i] + cm_montgomery_multiply(e, power, prime), 2u * prime->q);
        }
    }
}

void cm_noise_add(const cm_noise *noise, unsigned component, uint32_t *a, const cm_ring *ring)
{
    const uint32_t points = cm_ring_points(ring);
    const int8_t *stored = noise->stored ? noise->stored + ((size_t)component << ring->log2_n) : NULL;
    uint32_t powers[CM_MAX_TILES];
    int8_t sampled[CM_SAMPLE_BLOCK];
    cm_ring_fold_powers(ring, powers);
    if (!stored) {
        open_stream(noise, component);
    }
    for (unsigned j = 0; j < 1u << ring->log2_tiles; j++) {
        for (uint32_t start = 0; start < points; start += CM_SAMPLE_BLOCK) {
            const int8_t *block = sampled;
            if (stored) {
                block = stored + (size_t)j * points + start;
            } else {
                cm_sample_cbd(noise->stream, sampled);
            }
            add_block(a + start, block, j, powers[j], ring->prime);
        }
    }
    cm_wipe(sampled, sizeof sampled);
    cm_wipe(noise->stream, sizeof *noise->stream);
}
