/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seed expander lets a device decrypt what a device encrypted under the secret key. Component 1 of such a
 * ciphertext is sent as a seed; the expander stands between frame reader and decryption and replaces the seed
 * with its expansion. A cm_decryptor only needs its memory (cm_decryptor_setup.expander).
 *     cm_seed_expander_init(&expander, &decryption.receiver);
 *     cm_frame_reader_init(&reader, key.params, &expander.receiver);
 * Ciphertexts without a seed pass through unchanged, so it can always be there. It holds no secrets.
 */
#ifndef CIPHERMOTE_EXPANDER_H
#define CIPHERMOTE_EXPANDER_H

#include <stdint.h>

#include "ciphermote/emitter.h"
#include "ciphermote/receiver.h"

#ifdef __cplusplus
extern "C" {
#endif

CM_REFUSE_PACKING(expander);

#define CM_EXPANDER_STATE_BYTES 320

/* Treat as opaque. */
typedef struct cm_seed_expander {
    cm_receiver receiver; /* first: hand &expander.receiver to a frame reader */
    cm_receiver *next;
    cm_ciphertext_info info; /* of the seed, once it has come */
    uint8_t stage;
    uint64_t state[CM_EXPANDER_STATE_BYTES / 8];
} cm_seed_expander;

/*
 * next, a decryption's receiver, gets the expanded ciphertext. Besides next's own statuses the frame reader
 * then returns CM_ERR_FRAME_ORDER for residues before their seed or for a second seed, and
 * CM_ERR_FRAME_FOREIGN for residues of another ciphertext.
 */
void cm_seed_expander_init(cm_seed_expander *expander, cm_receiver *next);

#ifdef __cplusplus
}
#endif
#endif
