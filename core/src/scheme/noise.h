/* Noise, regenerated from its seed wherever it is needed rather than stored. */
#ifndef CM_SCHEME_NOISE_H
#define CM_SCHEME_NOISE_H

#include <stdint.h>

#include "ciphermote/keys.h"
#include "random/xof.h"
#include "ring/ring.h"

/*
 * Add the noise polynomial of a component to a, in coefficient form: n values at most 2q become values below 3q.
 * The same key and component give the same noise at every prime.
 */
void cm_add_noise(uint32_t *a, const uint8_t key[CM_SEED_BYTES], unsigned component, const cm_ring *ring,
                  cm_stream *stream);

#endif
