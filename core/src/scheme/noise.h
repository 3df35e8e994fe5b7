/* Noise of one ciphertext: sampled once and kept, or regenerated from its seed wherever it is needed. */
#ifndef CM_SCHEME_NOISE_H
#define CM_SCHEME_NOISE_H

#include <stdint.h>

#include "ciphermote/keys.h"
#include "random/xof.h"
#include "ring/ring.h"

typedef struct cm_noise {
    const uint8_t *key;   /* CM_SEED_BYTES; the caller keeps it alive */
    cm_stream *stream;    /* scratch */
    const int8_t *stored; /* n coefficients of each component, or null: regenerate */
} cm_noise;

/* Sample n coefficients of a component. */
void cm_noise_sample(const cm_noise *noise, unsigned component, int8_t *out, uint32_t n);

/*
 * Add the noise polynomial of a component, folded into the ring or tile, to a: n/T values below 2q become values
 * below 4q. The same key and component give the same noise at every prime and tile.
 */
void cm_noise_add(const cm_noise *noise, unsigned component, uint32_t *a, const cm_ring *ring);

#endif
