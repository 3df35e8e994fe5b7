/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The emitter: how residue polynomials leave the encryptor. frame.h and seal.h each provide one.
 *
 * The encryptor calls begin once, then residues for each polynomial, then end; an error returned by any of
 * them ends the encryption with that status.
 */
#ifndef CIPHERMOTE_EMITTER_H
#define CIPHERMOTE_EMITTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ciphermote/config.h"
#include "ciphermote/params.h"
#include "ciphermote/status.h"

#ifdef __cplusplus
extern "C" {
#endif

CM_REFUSE_PACKING(emitter);

/* BFV and CKKS as in SEAL's bytes. A public key is an encryption of zero at all primes, of no scheme. */
typedef enum cm_scheme { CM_PUBLIC_KEY = 0, CM_BFV = 1, CM_CKKS = 2 } cm_scheme;

/* What expands a public seed into a uniform polynomial. 1 and 2 are SEAL's own numbers and expansions. */
typedef enum cm_xof_kind {
    CM_XOF_NONE = 0, /* no seed: both components are sent */
    CM_XOF_BLAKE2XB = 1,
    CM_XOF_SHAKE256 = 2,
    CM_XOF_CHACHA20 = 3
} cm_xof_kind;

#define CM_MAX_PUBLIC_SEED_BYTES (CM_CONFIG_SMALL ? 32 : 64)
/* 32 for ChaCha20, 64 for SEAL's two, 0 for none and for what is not built. */
size_t cm_public_seed_bytes(cm_xof_kind xof);

/* What every frame of a ciphertext says about it. */
typedef struct cm_ciphertext_info {
    const cm_params *params;
    cm_scheme scheme : 8;
    bool ntt_form;
    uint8_t components; /* 2 for a fresh ciphertext */
    uint8_t primes; /* how many residues each coefficient has: data_primes for a fresh ciphertext, key_primes
                       for a key */
    uint8_t log2_tiles;  /* residues come in 2^log2_tiles pieces of n >> log2_tiles */
    cm_xof_kind xof : 8; /* CM_XOF_NONE, or what expands the seed in place of component 1 */
    uint64_t key_id;
    uint64_t counter;
    uint64_t scale_or_t; /* CKKS: the scale as IEEE 754 binary64 bits; BFV: the plaintext modulus; key: 0 */
    uint8_t seed[CM_MAX_PUBLIC_SEED_BYTES];
} cm_ciphertext_info;

/* An emitter of your own is compiled with the library's options: no symbol checks a file that calls none of
   its functions. */
typedef struct cm_emitter cm_emitter;
struct cm_emitter {
    cm_status (*begin)(cm_emitter *self, const cm_ciphertext_info *info);
    /* n >> info.log2_tiles residues, each below its prime: one tile of one component at one prime. */
    cm_status (*residues)(cm_emitter *self, unsigned component, unsigned prime, unsigned tile,
                          const uint32_t *residues);
    cm_status (*end)(cm_emitter *self);
    bool component_major; /* wants component 0 at all primes, then component 1; otherwise 1 and 0 of each tile
                             in turn */
    bool expands_seed;    /* wants component 1 of a seeded ciphertext as residues too */
    cm_ciphertext_info info; /* the encryptor's copy; begin's argument points here */
};

/* Where bytes go. Returns 0 when it took all of them; anything else ends the encryption with CM_ERR_SINK. */
typedef struct cm_sink {
    int (*write)(void *context, const uint8_t *bytes, size_t length);
    void *context;
} cm_sink;

#ifdef __cplusplus
}
#endif
#endif
