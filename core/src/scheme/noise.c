/* Centred binomial noise, added in place. */
#include "scheme/noise.h"

#include "random/sample.h"
#include "random/wipe.h"

void cm_add_noise(uint32_t *a, const uint8_t key[CM_SEED_BYTES], unsigned component, const cm_ring *ring,
                  cm_stream *stream)
{
    const uint32_t nonce[3] = {CM_LABEL_NOISE, component, 0};
    const uint32_t n = (uint32_t)1 << ring->log2_n;
    const uint32_t q = ring->prime->q;
    int8_t noise[CM_SAMPLE_BLOCK];
    cm_stream_init(stream, key, nonce);
    for (uint32_t start = 0; start < n; start += CM_SAMPLE_BLOCK) {
        cm_sample_cbd(stream, noise);
        for (uint32_t i = 0; i < CM_SAMPLE_BLOCK; i++) {
            const uint32_t e = (uint32_t)(int32_t)noise[i];
            a[start + i] += e + (q & (0u - (e >> 31)));
        }
    }
    cm_wipe(noise, sizeof noise);
    cm_wipe(stream, sizeof *stream);
}
