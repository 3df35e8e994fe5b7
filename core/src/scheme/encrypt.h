/* Encryption as all schemes share it: what they differ in is a message, which is encoded once and folded into tiles. */
#ifndef CM_SCHEME_ENCRYPT_H
#define CM_SCHEME_ENCRYPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ciphermote/device.h"
#include "ciphermote/emitter.h"
#include "ciphermote/keys.h"
#include "ring/ring.h"

/* The names carry the options: objects that were compiled with others do not link (ciphermote/symbols.h). */
#define cm_encrypt_symmetric CM_SYMBOL(cm_encrypt_symmetric)
#define cm_encrypt_asymmetric CM_SYMBOL(cm_encrypt_asymmetric)

/* A scheme's message, at the start of its own struct. */
typedef struct cm_message_source cm_message_source;
struct cm_message_source {
    /* Check the values and encode them into the arena's first bytes. ring is idle. */
    cm_status (*encode)(cm_message_source *self, const cm_params *params, void *arena, cm_ring *ring);
    /* m at one prime, folded into the ring or tile: n/T values below 4q. With CM_CONFIG_STORE_NOISE, m + e of the noise kept. */
    void (*fold)(const cm_message_source *self, const int8_t *noise, const cm_ring *ring, uint32_t *out);
    /*
     * With CM_CONFIG_STORE_NOISE: keep CM_SAMPLE_BLOCK coefficients of noise, those from start on, where fold wants them. start is a
     * multiple of CM_SAMPLE_BLOCK, and kept holds n bytes.
     */
    void (*keep_noise)(const cm_message_source *self, uint32_t start, const int8_t *block, int8_t *kept);
    const cm_root_table *tables; /* the key's */
    const void *data; /* the caller's numbers, which may be at the arena's start; null is refused */
    uint8_t bytes_per_coefficient; /* of the message in the arena, 2, 4 or 8 */
    cm_scheme scheme;
    bool ntt_form;       /* what leaves the device */
    uint64_t scale_or_t; /* as in cm_ciphertext_info */
};

CM_MUST_CHECK cm_status cm_encrypt_symmetric(cm_device *device, const cm_secret_key *key, cm_xof_kind xof,
                                             cm_message_source *source, void *arena, size_t arena_bytes,
                                             cm_emitter *emitter);

CM_MUST_CHECK cm_status cm_encrypt_asymmetric(cm_device *device, const cm_public_key *key,
                                              cm_message_source *source, void *arena, size_t arena_bytes,
                                              cm_emitter *emitter);

/* Whether there is an emitter, and one that was initialised. */
static inline bool cm_emitter_usable(const cm_emitter *emitter)
{
    return emitter && emitter->begin && emitter->residues && emitter->end;
}

#endif
