/* SPDX-License-Identifier: Apache-2.0 */
/* The compact sets, and the search by id. */
#include "ciphermote/compact_key.h"
#include "params/compact_only.h"

/*
 * On AVR, constants are copied to RAM. In a build for one set, they are parts of the code
 * (params/compact_only.h), and what keys point at, for its address alone, stays in flash.
 */
#if defined(__AVR__) && defined(CM_COMPACT_ONLY_SET)
#include <avr/pgmspace.h>
#define DEFINE_SET(set, constants) const cm_compact_set set PROGMEM = constants(0)
#else
#define DEFINE_SET(set, constants) \
    static const cm_prime set##_primes[] = constants##_PRIMES; \
    const cm_compact_set set = constants(set##_primes)
#endif

DEFINE_SET(cm_compact_a10, CM_COMPACT_A10);
DEFINE_SET(cm_compact_a16, CM_COMPACT_A16);
DEFINE_SET(cm_compact_b, CM_COMPACT_B);
DEFINE_SET(cm_compact_c, CM_COMPACT_C);
DEFINE_SET(cm_compact_d, CM_COMPACT_D);
DEFINE_SET(cm_compact_l, CM_COMPACT_L);

const cm_compact_set *cm_compact_set_by_id(uint8_t id)
{
#if defined(__AVR__) && defined(CM_COMPACT_ONLY_SET)
    return id == cmi_only_set.id ? &cmi_only_set : 0;
#else
    switch (id) {
    case 1:
        return &cm_compact_a10;
    case 2:
        return &cm_compact_a16;
    case 3:
        return &cm_compact_b;
    case 4:
        return &cm_compact_c;
    case 5:
        return &cm_compact_d;
    case 6:
        return &cm_compact_l;
    default:
        return 0;
    }
#endif
}
