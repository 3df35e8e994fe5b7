/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The receiver: how residue polynomials reach a decryption (decryptor.h), the counterpart of an emitter.
 * frame.h has what hands them on.
 *
 * A sender calls begin for a polynomial (or a tile of one), residues until all of them are there, then end,
 * once it knows that they came undamaged; then begin for the next. After an error, its own or one that a call
 * returned, it calls fail and nothing more.
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
    /* info is the sender's: what is needed later must be copied. A seed comes as component 1 at prime 0 and
       tile 0. */
    cm_status (*begin)(cm_receiver *self, const cm_ciphertext_info *info, unsigned component, unsigned prime,
                       unsigned tile);
    /* The next count residues, a multiple of 4, each below its prime; or all words of a seed,
       little-endian. */
    cm_status (*residues)(cm_receiver *self, const uint32_t *residues, uint32_t count);
    cm_status (*end)(cm_receiver *self);
    /* Nothing that came so far may be used. */
    void (*fail)(cm_receiver *self, cm_status status);
};

#ifdef __cplusplus
}
#endif
#endif
