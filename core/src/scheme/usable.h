/* What every call asks of a parameter set, which may be the user's own, and of a secret key. */
#ifndef CM_SCHEME_USABLE_H
#define CM_SCHEME_USABLE_H

#include <stdbool.h>

#include "ciphermote/keys.h"
#include "ciphermote/params.h"

static inline bool cm_params_usable(const cm_params *params)
{
    return params && params->log2_n >= 10 && params->log2_n <= CM_CONFIG_MAX_LOG2_N &&
           params->data_primes >= 1 && params->data_primes <= params->key_primes &&
           params->key_primes <= CM_MAX_PRIMES;
}

/* What encryption reads of it, but for its parameter set. */
static inline bool cm_secret_key_usable(const cm_secret_key *key)
{
#if CM_CONFIG_TRANSFORMED_SECRET
    return key && key->transformed;
#else
    return key && key->ternary;
#endif
}

#endif
