/* SPDX-License-Identifier: Apache-2.0 */
/* The set of compact keys, a constant in a build that names one (CM_CONFIG_COMPACT_SET). */
#ifndef CM_PARAMS_COMPACT_ONLY_H
#define CM_PARAMS_COMPACT_ONLY_H

#include "ciphermote/compact_key.h"
#include "params/compact_constants.h"

#if CM_CONFIG_COMPACT_SET == CM_CONFIG_COMPACT_SET_A10
#define CM_COMPACT_ONLY_SET cm_compact_a10
#define CM_COMPACT_ONLY CM_COMPACT_A10
#define CM_COMPACT_ONLY_PRIMES CM_COMPACT_A10_PRIMES
#elif CM_CONFIG_COMPACT_SET == CM_CONFIG_COMPACT_SET_A16
#define CM_COMPACT_ONLY_SET cm_compact_a16
#define CM_COMPACT_ONLY CM_COMPACT_A16
#define CM_COMPACT_ONLY_PRIMES CM_COMPACT_A16_PRIMES
#elif CM_CONFIG_COMPACT_SET == CM_CONFIG_COMPACT_SET_B
#define CM_COMPACT_ONLY_SET cm_compact_b
#define CM_COMPACT_ONLY CM_COMPACT_B
#define CM_COMPACT_ONLY_PRIMES CM_COMPACT_B_PRIMES
#elif CM_CONFIG_COMPACT_SET == CM_CONFIG_COMPACT_SET_C
#define CM_COMPACT_ONLY_SET cm_compact_c
#define CM_COMPACT_ONLY CM_COMPACT_C
#define CM_COMPACT_ONLY_PRIMES CM_COMPACT_C_PRIMES
#elif CM_CONFIG_COMPACT_SET == CM_CONFIG_COMPACT_SET_D
#define CM_COMPACT_ONLY_SET cm_compact_d
#define CM_COMPACT_ONLY CM_COMPACT_D
#define CM_COMPACT_ONLY_PRIMES CM_COMPACT_D_PRIMES
#elif CM_CONFIG_COMPACT_SET == CM_CONFIG_COMPACT_SET_L
#define CM_COMPACT_ONLY_SET cm_compact_l
#define CM_COMPACT_ONLY CM_COMPACT_L
#define CM_COMPACT_ONLY_PRIMES CM_COMPACT_L_PRIMES
#endif

#ifdef CM_COMPACT_ONLY_SET
static const cm_prime cmi_only_primes[] = CM_COMPACT_ONLY_PRIMES;
static const cm_compact_set cmi_only_set = CM_COMPACT_ONLY(cmi_only_primes);
#endif

/* The set of a usable key. */
static inline const cm_compact_set *cmi_compact_set_of(const cm_compact_key *key)
{
#ifdef CM_COMPACT_ONLY_SET
    (void)key;
    return &cmi_only_set;
#else
    return key->set;
#endif
}

#endif
