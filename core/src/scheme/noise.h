/* SPDX-License-Identifier: Apache-2.0 */
/* The noise of one ciphertext: sampled once and kept, or regenerated from its seed wherever it is needed. */
#ifndef CM_SCHEME_NOISE_H
#define CM_SCHEME_NOISE_H

#include <stdint.h>

#include "ciphermote/config.h"
#include "common/names.h"
#include "random/xof.h"
#include "ring/ring.h"
#include "scheme/encrypt.h"

CMI_HIDDEN_BEGIN

typedef struct cmi_noise {
    cmi_stream stream;  /* its key is the secret seed */
    const int8_t *kept; /* the first CM_KEPT_NOISE coefficients of component 0; null if none are kept */
} cmi_noise;

#if CM_KEPT_NOISE

/* Sample the coefficients that are kept. */
void cmi_noise_keep_first(cmi_stream *stream, int8_t kept[CM_KEPT_NOISE]);

#endif

#if CM_CONFIG_STORE_NOISE

/* Sample the n coefficients of component 0, and keep them where the message needs them. */
void cmi_noise_keep_for(cmi_noise *noise, const cm_message_source *source, int8_t *kept, uint32_t n);

/* Sample those of component 1, which has no message, and keep them in order. */
void cmi_noise_keep(cmi_noise *noise, int8_t *kept, uint32_t n);

/* Noise kept in order, folded into the ring or tile: n/T values below 2q. */
void cmi_noise_fold(const int8_t *kept, const cmi_ring *ring, uint32_t *out);

/* The same, and transformed: n/T lazy values. */
void cmi_noise_transform(const int8_t *kept, const cmi_ring *ring, uint32_t *out);

#endif

/*
 * Sample the noise polynomial of a component and add it, folded into the ring or tile, to a: n/T values below
 * 4q, before and after. The same key and component give the same noise at every prime and tile.
 */
void cmi_noise_add(cmi_noise *noise, unsigned component, uint32_t *a, const cmi_ring *ring);

CMI_HIDDEN_END

#endif
