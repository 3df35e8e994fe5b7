/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The emitter: how residue polynomials leave the encryptor. frame.h and seal.h each provide one.
 *
 * For each ciphertext the encryptor calls begin once, then residues for each polynomial or tile, then end.
 * Any status but CM_OK ends the encryption with that status.
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

/* With SEAL's numbers for BFV and CKKS. A public key is an encryption of zero, for either scheme. */
typedef enum cm_scheme { CM_PUBLIC_KEY = 0, CM_BFV = 1, CM_CKKS = 2 } cm_scheme;

/* What expands a public seed to a uniform polynomial. 1 and 2 are SEAL's numbers and expansions. */
typedef enum cm_xof_kind {
    CM_XOF_NONE = 0, /* no seed: both components are sent */
    CM_XOF_BLAKE2XB = 1,
    CM_XOF_SHAKE256 = 2,
    CM_XOF_CHACHA20 = 3
} cm_xof_kind;

#define CM_MAX_PUBLIC_SEED_BYTES (CM_CONFIG_SMALL ? 32 : 64)
/* Bytes of a seed: 32 for ChaCha20, 64 for SEAL's two; 0 for none and for XOFs that the build leaves out. */
size_t cm_public_seed_bytes(cm_xof_kind xof);

/* What every frame says about its ciphertext. */
typedef struct cm_ciphertext_info {
    const cm_params *params;
    cm_scheme scheme : 8;
    bool ntt_form;
    uint8_t components; /* 2 for a fresh ciphertext */
    uint8_t primes; /* residues per coefficient: data_primes for a fresh ciphertext, key_primes for a public
                       key */
    uint8_t log2_tiles;  /* residues come in 2^log2_tiles tiles of n >> log2_tiles */
    cm_xof_kind xof : 8; /* CM_XOF_NONE, or what expands the seed in place of component 1 */
    uint64_t key_id;
    uint64_t counter;
    union {
        uint64_t scale_bits;    /* CKKS: the scale as IEEE 754 binary64; a key: 0 */
        uint64_t plain_modulus; /* BFV */
    };                          /* the same bytes of a frame */
    uint8_t seed[CM_MAX_PUBLIC_SEED_BYTES];
} cm_ciphertext_info;

/* Compile an emitter of your own with the library's options: the linker does not check a file that calls none
   of the functions in config.h. */
typedef struct cm_emitter cm_emitter;
struct cm_emitter {
    cm_status (*begin)(cm_emitter *self, const cm_ciphertext_info *info);
    /* n >> info.log2_tiles residues, each below its prime: one tile of one component at one prime. */
    cm_status (*residues)(cm_emitter *self, unsigned component, unsigned prime, unsigned tile,
                          const uint32_t *residues);
    cm_status (*end)(cm_emitter *self);
    bool component_major : 1; /* wants component 0 at all primes, then component 1; otherwise gets components
                                 1 and 0 of each tile in turn */
    bool expands_seed : 1;    /* wants component 1 of a symmetric ciphertext as residues too */
    cm_ciphertext_info info;  /* filled by the encryptor; begin's argument points here */
};

/* Where bytes go. write returns 0 if it took them all; anything else ends the encryption with CM_ERR_SINK. */
typedef struct cm_sink {
    int (*write)(void *context, const uint8_t *bytes, size_t length);
    void *context;
} cm_sink;

#ifdef __cplusplus
}
#endif
#endif
