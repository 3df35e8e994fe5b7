/* SPDX-License-Identifier: Apache-2.0 */
/* What every call requires of a parameter set, which may be the user's own, of a secret key and of
   the arena. */
#ifndef CM_SCHEME_USABLE_H
#define CM_SCHEME_USABLE_H

#include <stdbool.h>

#include "arch/backends.h"
#include "ciphermote/emitter.h"
#include "ciphermote/encryptor.h"
#include "ciphermote/keys.h"
#include "ciphermote/params.h"
#include "common/bytes.h"
#include "common/compiler.h"
#include "common/declassify.h"
#include "ring/prime.h"
#include "ring/ring.h"

static inline bool cmi_params_usable(const cm_params *params)
{
    if (!params || params->log2_n < 10 || params->log2_n > CM_CONFIG_MAX_LOG2_N || params->data_primes < 1 ||
        params->key_primes > CM_MAX_PRIMES || !params->primes ||
        params->data_primes != (params->key_primes > 1 ? params->key_primes - 1 : 1)) {
        return false;
    }
    for (unsigned i = 0; i < params->key_primes; i++) {
        if (!cmi_prime_usable(&params->primes[i], params->log2_n)) {
            return false;
        }
    }
    return params->log2_q_data == cmi_log2_of_product(params->primes, params->data_primes);
}

/* Whether a setup names an XOF that this build has, for what holds a public seed. */
static inline cm_status cmi_check_xof(cm_xof_kind xof)
{
    if (xof == CM_XOF_NONE || xof > CM_XOF_CHACHA20) {
        return CM_ERR_ARGUMENT;
    }
    return cm_public_seed_bytes(xof) > 0 ? CM_OK : CM_ERR_UNSUPPORTED;
}

/* Whether some of these bytes are in the arena, and would be overwritten and wiped. */
static inline bool cmi_in_arena(const void *bytes, size_t length, const void *arena, size_t arena_bytes)
{
    const uintptr_t from = (uintptr_t)bytes;
    const uintptr_t to = (uintptr_t)arena;
    return from < to + arena_bytes && to < from + length;
}

/* The same for what a setup points at. Of the emitter, it is the part that encryption reads. */
static inline bool cmi_setup_in_arena(const cm_encryptor_setup *setup)
{
    return cmi_in_arena(setup->device, sizeof *setup->device, setup->arena, setup->arena_bytes) ||
           cmi_in_arena(setup->emitter, sizeof *setup->emitter, setup->arena, setup->arena_bytes);
}

/*
 * The same for a secret key, with the polynomial that calls read. On AVR, not the structure itself: unless
 * its address is taken, link-time optimisation leaves no copy of it in RAM.
 */
static inline bool cmi_key_in_arena(const cm_secret_key *key, const void *arena, size_t arena_bytes)
{
#ifndef __AVR__
    if (cmi_in_arena(key, sizeof *key, arena, arena_bytes)) {
        return true;
    }
#endif
#if !CM_CONFIG_TRANSFORMED_SECRET
    return cmi_in_arena(key->ternary, CM_TERNARY_BYTES((size_t)1 << key->params->log2_n), arena, arena_bytes);
#elif defined(__AVR__)
    (void)key;
    (void)arena;
    (void)arena_bytes;
    return false; /* flash has addresses of its own */
#else
    const size_t bytes = (sizeof(uint32_t) * key->params->data_primes) << key->params->log2_n;
    return cmi_in_arena(key->transformed, bytes, arena, arena_bytes);
#endif
}

/*
 * What an emitter answered; but CM_ERR_ARENA if its sink let something else use the arena, which wiped the
 * ring's prime: with the noise's key wiped too, anyone would know the noise.
 */
static inline cm_status cmi_unless_taken(const cmi_ring *ring, const cm_prime *prime, cm_status answer)
{
    return answer == CM_OK && ring->prime != prime ? CM_ERR_ARENA : answer;
}

/*
 * Whether memory or flash holds a polynomial of residues, rather than zeros or the ones of erased flash, with
 * which a real one begins once in 2^100 keys. The result is public, but what its parts reveal is not: hence a
 * single comparison, of residues that are read in place, because a copy would stay on the stack.
 */
static inline bool cmi_filled_in(const uint32_t *residues)
{
    uint32_t any = 0;
    for (unsigned i = 0; i < 4u; i++) {
        any |= residues[i];
    }
    return cmi_declassified((any - 1u) >> 27 == 0);
}

/*
 * The same for a ternary polynomial, whose digits are never 3. One that begins with 64 equal digits is not
 * filled in either: zero is 0x55 in every byte, and its ciphertexts would be the message in the clear. A
 * function of its own, so that what a compiler spills of the key lies where the caller's wipe reaches.
 */
static CM_NOINLINE_UNUSED bool cmi_filled_in_ternary(const uint8_t *ternary)
{
    const uint32_t equal = (ternary[0] & 3u) * 0x55u;
    uint32_t any = 0;
    uint32_t threes = 0;
    for (unsigned i = 0; i < 16u; i++) {
        any |= ternary[i] ^ equal;
        threes |= ternary[i] & (uint32_t)ternary[i] >> 1 & 0x55u;
    }
    return cmi_declassified(((any - 1u) >> 8 | threes) == 0);
}

/* Whether what encryption reads of it is there, apart from its parameter set. */
static inline bool cmi_secret_key_usable(const cm_secret_key *key)
{
    if (!key || key->key_id == 0) {
        return false;
    }
#if CM_CONFIG_TRANSFORMED_SECRET && defined(__AVR__)
    return key->transformed; /* in flash, a separate address space: not inspected */
#elif CM_CONFIG_TRANSFORMED_SECRET
    return key->transformed && cmi_filled_in(key->transformed);
#else
    return key->ternary && cmi_filled_in_ternary(key->ternary);
#endif
}

/* Whether memory only has a name for it: hardware drew and keeps it (arch/api.h). */
static inline bool cmi_secret_key_named(const cm_secret_key *key)
{
    return key && key->key_id != 0 && key->ternary && CM_ARCH_TRY(names_key, key->ternary);
}

/* The same at every prime of its set, which is known to be usable. */
static inline bool cmi_secret_key_whole(const cm_secret_key *key)
{
#if CM_CONFIG_TRANSFORMED_SECRET && !defined(__AVR__)
    for (unsigned i = 1; i < key->params->data_primes; i++) {
        if (!cmi_filled_in(key->transformed + ((size_t)i << key->params->log2_n))) {
            return false;
        }
    }
#else
    (void)key;
#endif
    return true;
}

#endif
