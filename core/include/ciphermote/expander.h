/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seed expander lets a device decrypt what a device encrypted under the secret key. Component 1 of such a
 * ciphertext is sent as a seed; the expander stands between frame reader and decryption and replaces the seed
 * with its expansion. An application sets it up and hands it to the decryptor:
 *     cm_seed_expander_init(&expander);
 *     const cm_decryptor_setup setup = {..., .expander = &expander};
 * Where none is set up, none of its code is linked. Ciphertexts without a seed pass through unchanged, so it
 * can always be there. Each decryptor needs one of its own. It holds no secrets.
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
typedef struct cm_seed_expander cm_seed_expander;
struct cm_seed_expander {
    cm_receiver receiver; /* first: what a frame reader hands residues to */
    cm_receiver *(*begin)(cm_seed_expander *self, cm_receiver *next);
    const cm_seed_expander *self; /* its own address, once it is set up */
    cm_receiver *next;
    cm_ciphertext_info info; /* of the seed, once it has come */
    uint8_t stage;
    uint64_t state[CM_EXPANDER_STATE_BYTES / 8];
};

/* Set it up, once; a decryptor does the rest. */
void cm_seed_expander_init(cm_seed_expander *expander);

/*
 * For a receiver of your own: a new ciphertext begins, and next, a decryption's receiver, gets it expanded.
 * Returns what to give a frame reader. Besides next's own statuses the reader then returns
 * CM_ERR_FRAME_ORDER for residues before their seed or for a second seed, and CM_ERR_FRAME_FOREIGN for
 * residues of another ciphertext.
 */
cm_receiver *cm_seed_expander_begin(cm_seed_expander *expander, cm_receiver *next);

#ifdef __cplusplus
}
#endif
#endif
