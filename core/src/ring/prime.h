/* The constants of a prime that no parameter set lists, such as BFV's plain modulus: found when they are needed. */
#ifndef CM_RING_PRIME_H
#define CM_RING_PRIME_H

#include <stdbool.h>
#include <stdint.h>

#include "ciphermote/params.h"

/* False, and prime undefined, unless q is a prime below 2^27 and 1 mod 2n. Time depends on q and n. */
bool cm_prime_init(cm_prime *prime, uint32_t q, unsigned log2_n);

/* base^exponent, base and result in Montgomery form. Time depends on the exponent. */
uint32_t cm_montgomery_power(uint32_t base, uint32_t exponent, const cm_prime *prime);

#endif
