/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys as the device holds them, and how the owner makes them.
 *
 * A ternary polynomial is packed into n/4 bytes: four coefficients per byte, the first in the lowest two
 * bits, each as its value + 1 (0, 1 or 2). Key material is used in place, for instance in flash; nothing
 * copies it.
 */
#ifndef CIPHERMOTE_KEYS_H
#define CIPHERMOTE_KEYS_H

#include <stddef.h>
#include <stdint.h>

#include "ciphermote/config.h"
#include "ciphermote/params.h"
#include "ciphermote/status.h"

#ifdef __cplusplus
extern "C" {
#endif

CM_REFUSE_PACKING(keys);

#define CM_TERNARY_BYTES(n) ((size_t)(n) / 4u)
#define CM_SEED_BYTES 32 /* of a secret seed */

typedef struct cm_secret_key {
    const cm_params *params;
    uint64_t key_id; /* names the key pair on the wire; 0 means forgotten, and is refused */
    /* A build uses one of the next two, and the other may be null: transformed with
       CM_CONFIG_TRANSFORMED_SECRET, otherwise ternary. */
    const uint8_t *ternary;      /* CM_TERNARY_BYTES(n) */
    const uint32_t *transformed; /* [data_primes][n] words, by cm_secret_key_transform; on AVR in PROGMEM */
#ifndef __AVR__
    const cm_root_table *roots; /* the set's, for CM_CONFIG_NTT_ROOTS; null: computed when needed */
#endif
} cm_secret_key;

typedef struct cm_public_key {
    const cm_params *params;
    uint64_t key_id;
    /*
     * Returns n residues, NTT form, of one component (0 or 1) at one data prime; null if they are not
     * available. They must not be in the arena, and must stay valid until the call after the next one: so a
     * device can load its key from elsewhere, one prime at a time. A polynomial that begins with four zeros
     * is refused, but swapped or equal components, or those of another set, are not noticed.
     */
    const uint32_t *(*polynomial)(void *context, unsigned component, unsigned prime);
    void *context;
#ifndef __AVR__
    const cm_root_table *roots; /* as in cm_secret_key */
#endif
} cm_public_key;

/* For a public key that is in memory as a whole: let polynomial be this function, and context point at a
   cm_flat_public_key, with n the ring degree and residues [data_primes][2][n]. */
typedef struct cm_flat_public_key {
    const uint32_t *residues;
    uint32_t n;
} cm_flat_public_key;
const uint32_t *cm_flat_public_key_polynomial(void *context, unsigned component, unsigned prime);

/*
 * The following four return CM_ERR_ARGUMENT for a null pointer, a prime that the set does not have, or a
 * secret key that was never filled in (one that begins with 64 equal coefficients); and CM_ERR_PARAMS for a
 * set that the build cannot use (params.h).
 */

/* Draw a secret key: uniform ternary, from a 32-byte seed of full entropy. ternary holds
   CM_TERNARY_BYTES(n). */
CM_MUST_CHECK cm_status cm_secret_key_generate(const cm_params *params, const uint8_t seed[CM_SEED_BYTES],
                                               uint8_t *ternary);

/* The secret key's n residues at one prime (0 .. key_primes - 1), in NTT form: SEAL's own representation. */
CM_MUST_CHECK cm_status cm_secret_key_residues(const cm_params *params, const uint8_t *ternary,
                                               unsigned prime, uint32_t *residues);

/* The secret key at one data prime, in the form that CM_CONFIG_TRANSFORMED_SECRET needs: the n residues of
   NTT(-s) * 2^32. */
CM_MUST_CHECK cm_status cm_secret_key_transform(const cm_params *params, const uint8_t *ternary,
                                                unsigned prime, uint32_t *transformed);

/*
 * An encryption of zero at one prime, NTT form: c0 = e - a s, c1 = a, where a and e are drawn from the seed;
 * the same seed at every prime gives one RNS element. This is a public key; a key-switching key also adds its
 * target. c0 and c1 have n words each. Never use a seed for two elements.
 */
CM_MUST_CHECK cm_status cm_zero_encryption(const cm_params *params, const uint8_t *ternary,
                                           const uint8_t seed[CM_SEED_BYTES], unsigned prime, uint32_t *c0,
                                           uint32_t *c1);

#ifdef __cplusplus
}
#endif
#endif
