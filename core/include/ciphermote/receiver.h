/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The receiver: how residue polynomials reach a decryption (decryptor.h), the counterpart of an emitter. The
 * frame reader in frame.h calls it.
 *
 * The caller calls begin for each polynomial, or tile of one, then residues until all have been passed, then
 * end once it knows that they arrived undamaged. After an error, its own or one that a call returned, it
 * calls fail and nothing more.
 */
#ifndef CIPHERMOTE_RECEIVER_H
#define CIPHERMOTE_RECEIVER_H

#include <stdint.h>

#include "ciphermote/emitter.h"
#include "ciphermote/status.h"

#ifdef __cplusplus
extern "C" {
#endif

CM_REFUSE_PACKING(receiver);

typedef struct cm_receiver cm_receiver;
struct cm_receiver {
    /* info is valid only during the call: copy what is needed later. A seed comes as component 1, prime 0,
       tile 0. */
    cm_status (*begin)(cm_receiver *self, const cm_ciphertext_info *info, unsigned component, unsigned prime,
                       unsigned tile);
    /* The next count residues, a multiple of 4, each below its prime; or all bytes of a seed as little-endian
       words. */
    cm_status (*residues)(cm_receiver *self, const uint32_t *residues, uint32_t count);
    cm_status (*end)(cm_receiver *self);
    /* What came so far must not be used. */
    void (*fail)(cm_receiver *self, cm_status status);
};

#ifdef __cplusplus
}
#endif
#endif
