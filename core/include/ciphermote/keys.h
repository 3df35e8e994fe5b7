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
     * available (CM_ERR_ARGUMENT), cm_refused_polynomial if they are not the owner's (CM_ERR_PUBLIC_KEY).
     * They must not be in the arena, and must stay valid until the call after the next one, or until one for
     * another prime: so a device can load its key from elsewhere, one prime at a time. A polynomial that
     * begins with four zeros is refused. That residues are altered, swapped or of another key is not noticed
     * here, but by cm_streamed_public_key.
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

#ifndef __AVR__ /* whose RAM has no room for polynomials */

/* What the callback returns in place of residues that are not the owner's: zeros, which are never a key. */
extern const uint32_t cm_refused_polynomial[4];

#define CM_KEY_DIGEST_BYTES 32

/*
 * For a public key that comes while it is used, a prime at a time, from where anybody may alter it: let
 * polynomial be cm_streamed_public_key_polynomial, and context point at this. Both polynomials of a prime are
 * loaded and compared with their digests before either is used. One that differs is wiped, and ends the
 * encryption with CM_ERR_PUBLIC_KEY: what was sent until then is of earlier primes, under the owner's key,
 * and never becomes a whole ciphertext. An emitter that is component_major has the key loaded twice.
 *
 * A digest is BLAKE2b-256 of the 4n bytes, keyed with what the polynomial is (docs/wire-format.md);
 * `ciphermote provision --stream-public-key` writes all of a key's.
 */
typedef struct cm_streamed_public_key {
    const cm_params *params; /* this and the key id are those of the cm_public_key */
    uint64_t key_id;
    const uint8_t *digests; /* [data_primes][2][CM_KEY_DIGEST_BYTES], from the owner */
    uint32_t *residues;     /* [2][n]: memory for the polynomials at one prime, outside the arena */
    /* Put the polynomial's length = 4n bytes at bytes: residues, little-endian. CM_OK, or why it did not. */
    cm_status (*load)(void *context, unsigned component, unsigned prime, uint8_t *bytes, size_t length);
    void *context;
    cm_status status; /* after CM_ERR_PUBLIC_KEY: load's, or CM_ERR_PUBLIC_KEY for a digest that differs */
    uint8_t held;     /* the prime whose polynomials residues holds, plus 1; 0: none */
} cm_streamed_public_key;
const uint32_t *cm_streamed_public_key_polynomial(void *context, unsigned component, unsigned prime);

#endif

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
