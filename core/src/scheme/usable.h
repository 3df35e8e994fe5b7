/* What every call asks of a parameter set, which may be the user's own, and of a secret key. */
#ifndef CM_SCHEME_USABLE_H
#define CM_SCHEME_USABLE_H

#include <stdbool.h>

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

/*
 * What encryption reads of it, but for its parameter set. A key that was never filled in begins with zeros; one that was does
 * with a chance below 2^-100. What the result tells is public.
 */
static inline bool cm_secret_key_usable(const cm_secret_key *key)
{
    uint32_t any = 0;
#if CM_CONFIG_TRANSFORMED_SECRET
    if (!key || !key->transformed) {
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
    if (!key || !key->ternary) {
        return false;
    }
    for (unsigned i = 0; i < 16u; i++) {
        any |= key->ternary[i];
    }
#endif
    return cm_declassified(any != 0);
}

#endif
