/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An encryptor is set up once with a device, a key, memory and the emitter that its output goes to. Then each
 * call encrypts values to one ciphertext: cm_ckks_encrypt (ckks.h), cm_bfv_encrypt (bfv.h).
 *
 *     cm_encryptor encryptor;
 *     const cm_encryptor_setup setup = {.device = &device,
 *                                       .emitter = &frames.emitter,
 *                                       .arena = arena,
 *                                       .arena_bytes = sizeof arena,
 *                                       .xof = CM_XOF_CHACHA20,
 *                                       .log2_tiles = CM_LOG2_TILES};
 *     status = cm_encryptor_init_symmetric(&encryptor, &cm_provisioned_secret_key, &setup);
 *     ... status = cm_ckks_encrypt(&encryptor, &values); ...
 *
 * Nothing is allocated, and no ciphertext is ever held: each residue polynomial, or tile of one, is emitted
 * as soon as it is computed.
 */
#ifndef CIPHERMOTE_ENCRYPTOR_H
#define CIPHERMOTE_ENCRYPTOR_H

#include <stddef.h>
#include <stdint.h>

#include "ciphermote/config.h"
#include "ciphermote/device.h"
#include "ciphermote/emitter.h"
#include "ciphermote/keys.h"
#include "ciphermote/status.h"
#include "ciphermote/values.h"

#if SIZE_MAX < 0xFFFFFFFFu && CM_CONFIG_MAX_LOG2_N > 11
#error \
    "Sizes have 16 bits here, and arenas for n above 2048 have more: set CM_CONFIG_MAX_LOG2_N to 11 or less."
#endif

#ifdef __cplusplus
extern "C" {
#endif

CM_REFUSE_PACKING(encryptor);

/*
 * What all encryptions have in common. The objects pointed at, the key and the arrays that it points at must
 * stay, unchanged and outside the arena, as long as the encryptor is used; a secret key that was wiped is
 * refused (CM_ERR_ARGUMENT). While an encryption runs, nothing else may use its arena, device or emitter: no
 * sink, interrupt or other task may encrypt or decrypt in the same arena. A sink that does ends the
 * encryption with CM_ERR_ARENA; another task that does may go unnoticed.
 */
typedef struct cm_encryptor_setup {
    cm_device *device;
    cm_emitter *emitter; /* where ciphertexts go: a frame writer's (frame.h) or a SEAL writer's (seal.h) */
    void *arena;         /* aligned to 8 bytes; used and wiped by each encryption */
    size_t arena_bytes;  /* CM_CKKS_..._ARENA_BYTES or CM_BFV_..._ARENA_BYTES */
    cm_xof_kind xof : 8; /* what expands the public seed: CM_XOF_CHACHA20, or one of SEAL's two for SEAL's
                            seeded form; CM_XOF_NONE under a public key, where nothing has a seed */
    uint8_t log2_tiles;  /* work in tiles of n / 2^log2_tiles coefficients: 0 .. 4, but 3 on AVR and 0
                            with CM_CONFIG_ACCELERATOR; CM_LOG2_TILES is the preset's choice */
} cm_encryptor_setup;

typedef struct cm_encryptor cm_encryptor;
struct cm_message_source;

/* Treat as opaque. It holds no secret, and may be copied. */
struct cm_encryptor {
    cm_status (*encrypt)(const void *key, const cm_encryptor_setup *setup, struct cm_message_source *source);
    const void *key;
    cm_encryptor_setup setup;
};

/*
 * Encrypt under the secret key: c0 = m + e - a s, c1 = a, where a is the expansion of a public seed by xof.
 * Errors: CM_ERR_ARGUMENT for null pointers, an incomplete key or no XOF, CM_ERR_PARAMS, CM_ERR_ARENA (also
 * if the arena overlaps the key, the device or the emitter; on AVR, of the key only what it points at is
 * compared), CM_ERR_UNSUPPORTED for an XOF or log2_tiles that the build leaves out. After an error the
 * encryptor refuses all encryptions (CM_ERR_ARGUMENT).
 */
CM_MUST_CHECK cm_status cm_encryptor_init_symmetric(cm_encryptor *encryptor, const cm_secret_key *key,
                                                    const cm_encryptor_setup *setup);

/* Encrypt under the public key: c0 = u pk0 + e0 + m, c1 = u pk1 + e1. Errors as above; CM_ERR_ARGUMENT also
   if setup->xof is not CM_XOF_NONE. */
CM_MUST_CHECK cm_status cm_encryptor_init_asymmetric(cm_encryptor *encryptor, const cm_public_key *key,
                                                     const cm_encryptor_setup *setup);

/* What follows the message in the arena: workspace, one or two tiles, and what the options and the kind of
   key need. */
#if CM_CONFIG_SEAL_XOFS
#define CM_WORKSPACE_BYTES 704u
#elif defined(__AVR__)
#define CM_WORKSPACE_BYTES (245u + 8u * CM_CONFIG_MAX_LOG2_N)
#else
#define CM_WORKSPACE_BYTES 512u
#endif
#define CM_TILE_BYTES(n, log2_tiles) (4u * (size_t)(n) >> (log2_tiles))
#define CM_SYMMETRIC_WORK_BYTES(n, log2_tiles) \
    (CM_WORKSPACE_BYTES + (CM_CONFIG_TRANSFORMED_SECRET ? 1u : 2u) * CM_TILE_BYTES(n, log2_tiles) + \
     (CM_CONFIG_STORE_NOISE ? (size_t)(n) : CM_KEPT_NOISE))
#define CM_ASYMMETRIC_WORK_BYTES(n, log2_tiles) \
    (CM_WORKSPACE_BYTES + 2u * CM_TILE_BYTES(n, log2_tiles) + (size_t)(n) / 4u + \
     (CM_CONFIG_STORE_NOISE ? 2u * (size_t)(n) : 0u) + (CM_CONFIG_ACCELERATOR ? 4u * (size_t)(n) : 0u))

#ifdef __cplusplus
}
#endif
#endif
