/* What every call asks of a parameter set, which may be the user's own, and of a secret key. */
#ifndef CM_SCHEME_USABLE_H
#define CM_SCHEME_USABLE_H

#include <stdbool.h>

#include "ciphermote/emitter.h"
#include "ciphermote/keys.h"
#include "ciphermote/params.h"
#include "random/declassify.h"
#include "ring/prime.h"

static inline bool cm_params_usable(const cm_params *params)
{
    if (!params || params->log2_n < 10 || params->log2_n > CM_CONFIG_MAX_LOG2_N || params->data_primes < 1 ||
        params->data_primes > params->key_primes || params->key_primes > CM_MAX_PRIMES || !params->primes) {
        return false;
    }
    for (unsigned i = 0; i < params->key_primes; i++) {
        if (!cm_prime_usable(&params->primes[i], params->log2_n)) {
            return false;
        }
    }
    return true;
}

/* CM_XOF_NONE is one that was forgotten. */
static inline cm_status cm_check_xof(cm_xof_kind xof)
{
    const bool built = xof == CM_XOF_CHACHA20 || (xof == CM_XOF_SHAKE256 && CM_CONFIG_XOF_SHAKE256) ||
                       (xof == CM_XOF_BLAKE2XB && CM_CONFIG_XOF_BLAKE2XB);
    if (xof == CM_XOF_NONE) {
        return CM_ERR_ARGUMENT;
    }
    return built ? CM_OK : CM_ERR_UNSUPPORTED;
}

/* Whether some of these bytes lie in the arena, which would overwrite and wipe them. */
static inline bool cm_in_arena(const void *bytes, size_t length, const void *arena, size_t arena_bytes)
{
    const uintptr_t from = (uintptr_t)bytes;
    const uintptr_t to = (uintptr_t)arena;
    return from < to + arena_bytes && to < from + length;
}

/* Whether the part of a secret key that calls read does. */
static inline bool cm_key_in_arena(const cm_secret_key *key, const void *arena, size_t arena_bytes)
{
#if !CM_CONFIG_TRANSFORMED_SECRET
    return cm_in_arena(key->ternary, CM_TERNARY_BYTES((size_t)1 << key->params->log2_n), arena, arena_bytes);
#elif defined(__AVR__)
    (void)key;
    (void)arena;
    (void)arena_bytes;
    return false; /* flash has addresses of its own */
#else
    const size_t bytes = (sizeof(uint32_t) * key->params->data_primes) << key->params->log2_n;
    return cm_in_arena(key->transformed, bytes, arena, arena_bytes);
#endif
}

/*
 * What encryption reads of it, but for its parameter set. A key that was never filled in begins with zeros; one that was does
 * with a chance below 2^-100. What the result tells is public.
 */
static inline bool cm_secret_key_usable(const cm_secret_key *key)
{
    uint32_t any = 0;
#if CM_CONFIG_TRANSFORMED_SECRET
    if (!key || key->key_id == 0 || !key->transformed) {
        return false;
    }
#ifdef __AVR__
    any = 1; /* it lies in flash, where nobody forgets it */
#else
    for (unsigned i = 0; i < 4u; i++) {
        any |= key->transformed[i];
    }
#endif
#else
    if (!key || key->key_id == 0 || !key->ternary) {
        return false;
    }
    for (unsigned i = 0; i < 16u; i++) {
        any |= key->ternary[i];
    }
#endif
    return cm_declassified(any != 0);
}

#endif
