/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a prime and its constants, which came from outside, belong together. Nothing here is secret. */
#include "ring/prime.h"
#include "ring/ring.h"

#if CM_CONFIG_SMALL

static bool is_root(const cm_prime *prime, unsigned log2_n)
{
    (void)log2_n;
    return prime->psi != 0;
}

#else

/* Whether psi^n = -1. */
static bool is_root(const cm_prime *prime, unsigned log2_n)
{
    uint32_t power = cmi_montgomery_residue(prime->psi, prime->r2, prime);
    for (unsigned i = 0; i < log2_n; i++) {
        power = cmi_montgomery_residue(power, power, prime);
    }
    return power == prime->q - prime->r1;
}

#endif

bool cmi_prime_usable(const cm_prime *prime, unsigned log2_n)
{
    const uint32_t q = prime->q;
#if defined(__AVR__) && CM_CONFIG_PRIME_BITS
    if (q >> (CM_CONFIG_PRIME_BITS - 1) != 1) {
        return false;
    }
#endif
    if (!cmi_prime_in_range(q, log2_n) || q * prime->neg_q_inv != UINT32_MAX ||
        prime->n_inv != cmi_inverse_degree(q, log2_n) || prime->r1 >= q || prime->r2 >= q ||
        prime->psi >= q) {
        return false;
    }
    /* A product with 1 removes a factor of 2^32. */
    return cmi_montgomery_residue(prime->r1, 1, prime) == 1u &&
           cmi_montgomery_residue(prime->r2, 1, prime) == prime->r1 && is_root(prime, log2_n);
}

/*
 * The product is kept as a 32-bit significand (2^31 stands for 1) and truncated: its relative error is below
 * 2^-25. A product that is less than this above a power of two may seem to be below it; such a set is then
 * refused, for it states another log2_q_data. No built-in set is (test_scheme.c).
 */
unsigned cmi_log2_of_product(const cm_prime *primes, unsigned count)
{
    uint32_t significand = (uint32_t)1 << 31;
    unsigned log2 = 0;
    for (unsigned i = 0; i < count; i++) {
        uint32_t q = primes[i].q;
        unsigned places = 0;
        while (q >> 31 == 0) {
            q <<= 1;
            places++;
        }
        significand = (uint32_t)(cmi_product(significand, q) >> 32);
        log2 += 31u - places + (significand >> 31);
        significand <<= 1u - (significand >> 31);
    }
    return log2 < 255u ? log2 : 255u;
}
