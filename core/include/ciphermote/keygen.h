/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys made on the device: a secret key that never leaves it, and its public key, exported one tile of one
 * prime at a time. The owner's toolkit reads the public key's frames (ciphermote.formats.device_public_key),
 * and SEAL can use the key.
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
 * Draw a secret key into ternary, CM_TERNARY_BYTES(n) bytes, for the caller to store where nobody else can
 * read them. *key_id, drawn with it, names the key pair. Errors: CM_ERR_ARGUMENT, CM_ERR_PARAMS,
 * CM_ERR_RANDOM, CM_ERR_COUNTER. *key_id is then 0, and ternary is zeroed if the parameter set is valid,
 * which gives its size.
 */
CM_MUST_CHECK cm_status cm_device_make_secret_key(cm_device *device, const cm_params *params,
                                                  uint8_t *ternary, uint64_t *key_id);

/* Bytes of the arena: an integer constant expression. n is the ring degree. */
#define CM_PUBLIC_KEY_ARENA_BYTES(n, log2_tiles) (CM_WORKSPACE_BYTES + CM_TILE_BYTES(n, log2_tiles))

/*
 * Emit a public key for a secret key: p0 = e - a s, p1 = a at all primes of the set, the special one
 * included, in NTT form; a is the expansion of a public seed by setup->xof. Each call makes a different,
 * equally valid key. It goes to the setup's emitter like a ciphertext, with CM_PUBLIC_KEY as its scheme;
 * only frames can express that (CM_ERR_UNSUPPORTED otherwise). Further errors: CM_ERR_ARGUMENT,
 * CM_ERR_PARAMS, CM_ERR_ARENA (also if the arena overlaps ternary), CM_ERR_RANDOM, CM_ERR_COUNTER,
 * CM_ERR_SINK. The arena is wiped if the call has used it.
 */
CM_MUST_CHECK cm_status cm_device_emit_public_key(const cm_encryptor_setup *setup, const cm_params *params,
                                                  const uint8_t *ternary, uint64_t key_id);

#ifdef __cplusplus
}
#endif
#endif
