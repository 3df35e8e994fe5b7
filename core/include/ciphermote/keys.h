/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys as the device holds them, and how the owner makes them.
 *
 * A ternary polynomial is packed four coefficients a byte, the first in the lowest two bits, each as value +
 * 1 (0, 1 or 2): n/4 bytes. Key material is used where it lies (flash); nothing copies it.
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
    uint64_t key_id; /* names the key pair on the wire; 0 is one that was forgotten, and refused */
    /* A build uses one of the two, the second with CM_CONFIG_TRANSFORMED_SECRET; the other may be null. */
    const uint8_t *ternary;      /* CM_TERNARY_BYTES(n) */
    const uint32_t *transformed; /* [data prime][n] words of cm_secret_key_transform; on AVR in PROGMEM */
#ifndef __AVR__
    const cm_root_table *roots; /* for CM_CONFIG_NTT_ROOTS: those of the set; null if they are to be
                                   computed */
#endif
} cm_secret_key;

typedef struct cm_public_key {
    const cm_params *params;
    uint64_t key_id;
    /*
     * n residues, NTT form, of one component (0 or 1) at one data prime, or null if they cannot be had; never
     * in the arena. Four zeros in front count as none; components that are exchanged or equal, or those of
     * another set, look as good as the right ones. They must stay valid until the call after the next one, so
     * that a device may keep its key outside its memory, a prime at a time.
     */
    const uint32_t *(*polynomial)(void *context, unsigned component, unsigned prime);
    void *context;
#ifndef __AVR__
    const cm_root_table *roots; /* as of a secret key */
#endif
} cm_public_key;

/* A polynomial() for a key that lies in memory whole: context points at [data prime][component][n] residues
   with this header in front. */
typedef struct cm_flat_public_key {
    const uint32_t *residues;
    uint32_t n;
} cm_flat_public_key;
const uint32_t *cm_flat_public_key_polynomial(void *context, unsigned component, unsigned prime);

/* All four: CM_ERR_ARGUMENT for a null pointer or no such prime, CM_ERR_PARAMS for a set that this build
   cannot use (params.h). */

/* Draw a secret key: uniform ternary, from a 32-byte seed of full entropy. ternary holds
   CM_TERNARY_BYTES(n). */
CM_MUST_CHECK cm_status cm_secret_key_generate(const cm_params *params, const uint8_t seed[CM_SEED_BYTES],
                                               uint8_t *ternary);

/* The secret key's residues at one prime (0 .. key_primes - 1), NTT form: SEAL's own representation. n
   words. */
CM_MUST_CHECK cm_status cm_secret_key_residues(const cm_params *params, const uint8_t *ternary,
                                               unsigned prime, uint32_t *residues);

/* The secret key at one data prime as CM_CONFIG_TRANSFORMED_SECRET takes it: NTT(-s) times 2^32, residues. n
   words. */
CM_MUST_CHECK cm_status cm_secret_key_transform(const cm_params *params, const uint8_t *ternary,
                                                unsigned prime, uint32_t *transformed);

/*
 * An encryption of zero at one prime, NTT form: c0 = e - a s, c1 = a, with a and e drawn from the seed; the
 * same seed at every prime gives one RNS element. It is a public key as it stands; a key-switch key adds its
 * target. c0 and c1 hold n words each. Never use a seed twice.
 */
CM_MUST_CHECK cm_status cm_zero_encryption(const cm_params *params, const uint8_t *ternary,
                                           const uint8_t seed[CM_SEED_BYTES], unsigned prime, uint32_t *c0,
                                           uint32_t *c1);

#ifdef __cplusplus
}
#endif
#endif
