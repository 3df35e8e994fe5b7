/* SPDX-License-Identifier: Apache-2.0 */
/* The constants of a prime that no parameter set lists, such as BFV's plain modulus: computed when needed. */
#ifndef CM_RING_PRIME_H
#define CM_RING_PRIME_H

#include <stdbool.h>
#include <stdint.h>

#include "ciphermote/params.h"
#include "common/names.h"

CMI_HIDDEN_BEGIN

/* Whether q may be a prime of rings of this degree: below 2^27, and 1 mod 2n. */
static inline bool cmi_prime_in_range(uint32_t q, unsigned log2_n)
{
    const uint32_t order = (uint32_t)2 << log2_n;
    return q >> 27 == 0 && q > order && (q & (order - 1u)) == 1u;
}

/* How many bits a usable prime has. */
static inline unsigned cmi_bits_of(uint32_t q)
{
#if CM_PRIME_BITS != 0
    (void)q;
    return CM_PRIME_BITS;
#else
    unsigned bits = 0;
    while (q >> bits) {
        bits++;
    }
    return bits;
#endif
}

/* n^-1 mod q, because n (q - 1) / n = -1. */
static inline uint32_t cmi_inverse_degree(uint32_t q, unsigned log2_n)
{
    return q - ((q - 1u) >> log2_n);
}

/*
 * False, and prime undefined, unless q is a prime below 2^27 and 1 mod 2n. psi comes from the table for q, if
 * tables has one for this degree. Time depends on q and n, and on whether it does.
 */
bool cmi_prime_init(cm_prime *prime, uint32_t q, unsigned log2_n, const cm_root_table *tables);

/*
 * Whether the constants of a prime from outside belong to it: otherwise its Montgomery arithmetic would be
 * silently wrong. That q is prime, and psi the smallest of its roots, is left to `ciphermote params`; with
 * CM_CONFIG_SMALL, so is all of psi but its range.
 */
bool cmi_prime_usable(const cm_prime *prime, unsigned log2_n);

/* The floor of log2 of the product of primes below 2^27, at most 255. */
unsigned cmi_log2_of_product(const cm_prime *primes, unsigned count);

/* base^exponent, base and result in Montgomery form. Time depends on the exponent. */
uint32_t cmi_montgomery_power(uint32_t base, uint32_t exponent, const cm_prime *prime);

/*
 * x / divisor rounded down, for public numbers only: time depends on them. The library divides nowhere else,
 * and never with a divide instruction, because on many cores its time depends on the operands; so counting
 * divide instructions shows it.
 */
uint64_t cmi_quotient(uint64_t x, uint32_t divisor, uint32_t *remainder);

CMI_HIDDEN_END

#endif
