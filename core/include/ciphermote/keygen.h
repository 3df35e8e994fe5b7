/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys made on the device: a secret key that never leaves it, and the public key that belongs to it, exported
 * a tile of a prime at a time. The owner's toolkit reads its frames (ciphermote.returning.read_public_key),
 * and SEAL can use it.
 */
#ifndef CIPHERMOTE_KEYGEN_H
#define CIPHERMOTE_KEYGEN_H

#include <stddef.h>
#include <stdint.h>

#include "ciphermote/encryptor.h"
#include "ciphermote/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Draw a secret key: ternary holds CM_TERNARY_BYTES(n), for the caller to store where nobody else reads.
 * *key_id, drawn with it, names the pair. CM_ERR_ARGUMENT, CM_ERR_PARAMS, CM_ERR_RANDOM, CM_ERR_COUNTER; the
 * key id is 0 then, and ternary zeroed if the set tells its size.
 */
CM_MUST_CHECK cm_status cm_device_make_secret_key(cm_device *device, const cm_params *params,
                                                  uint8_t *ternary, uint64_t *key_id);

/* Bytes of the arena; n is the ring degree: an integer constant expression. */
#define CM_PUBLIC_KEY_ARENA_BYTES(n, log2_tiles) (CM_WORKSPACE_BYTES + CM_TILE_BYTES(n, log2_tiles))

/*
 * A public key for a secret one: p0 = e - a s, p1 = a at all primes of the set, the special one too, in NTT
 * form; a is the expansion of a public seed by setup->xof. Each call makes another, as good. It goes to the
 * setup's emitter as a ciphertext would, with CM_PUBLIC_KEY for its scheme; frames alone can say so.
 * CM_ERR_ARGUMENT, CM_ERR_PARAMS, CM_ERR_ARENA, CM_ERR_UNSUPPORTED, CM_ERR_RANDOM, CM_ERR_COUNTER,
 * CM_ERR_SINK. The arena is wiped once the call has begun to work in it; ternary may not lie there
 * (CM_ERR_ARENA).
 */
CM_MUST_CHECK cm_status cm_device_emit_public_key(const cm_encryptor_setup *setup, const cm_params *params,
                                                  const uint8_t *ternary, uint64_t key_id);

#ifdef __cplusplus
}
#endif
#endif
