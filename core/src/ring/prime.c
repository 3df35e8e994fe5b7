/* SPDX-License-Identifier: Apache-2.0 */
/* The constants of a prime, computed from the prime alone. Nothing here is secret. */
#include "ring/prime.h"

#include "ring/ring.h"

uint32_t cmi_montgomery_power(uint32_t base, uint32_t exponent, const cm_prime *prime)
{
    uint32_t power = prime->r1;
    for (unsigned bit = 32; bit-- > 0;) {
        power = cmi_montgomery_residue(power, power, prime);
        if (exponent >> bit & 1u) {
            power = cmi_montgomery_residue(power, base, prime);
        }
    }
    return power;
}

/* Bit by bit. The quotient replaces x. */
uint64_t cmi_quotient(uint64_t x, uint32_t divisor, uint32_t *remainder)
{
    uint64_t rest = 0;
    for (unsigned i = 0; i < 64; i++) {
        rest = rest << 1 | x >> 63;
        x <<= 1;
        if (rest >= divisor) {
            rest -= divisor;
            x |= 1u;
        }
    }
    *remainder = (uint32_t)rest;
    return x;
}

/* An odd q is its own inverse modulo 8, and each step doubles the number of correct bits. */
static uint32_t negated_inverse(uint32_t q)
{
    uint32_t inverse = q;
    for (unsigned i = 0; i < 4; i++) {
        inverse *= 2u - q * inverse;
    }
    return 0u - inverse;
}

/* Whether x^n = -1, for x in Montgomery form. */
static bool negates_one(uint32_t root, const cm_prime *prime, unsigned log2_n)
{
    return cmi_montgomery_power(root, (uint32_t)1 << log2_n, prime) == prime->q - prime->r1;
}

/*
 * An x, in Montgomery form, with x^n = -1, or 0 if q is not prime. The power (q - 1) / 2n of any quadratic
 * non-residue is one, and the least non-residue of a prime below 2^27 is at most 67 (sequence A000229 of the
 * OEIS). A composite q has none: modulo each of its prime factors x would have order 2n, so all of them would
 * be 1 mod 2048; but the smallest such prime is 12289, and 12289^2 > 2^27.
 */
static uint32_t some_root(const cm_prime *prime, unsigned log2_n)
{
    for (uint32_t base = 2; base <= 67; base++) {
        const uint32_t element = cmi_montgomery_residue(base, prime->r2, prime);
        const uint32_t root = cmi_montgomery_power(element, (prime->q - 1u) >> (log2_n + 1u), prime);
        if (negates_one(root, prime, log2_n)) {
            return root;
        }
    }
    return 0;
}

/* The smallest odd power of a root; they come in pairs, x and q - x. */
static uint32_t smallest_root(uint32_t root, const cm_prime *prime, unsigned log2_n)
{
    const uint32_t square = cmi_montgomery_residue(root, root, prime);
    uint32_t power = cmi_montgomery_residue(root, 1, prime);
    uint32_t smallest = power;
    for (uint32_t i = (uint32_t)1 << (log2_n - 1u); i > 0; i--) {
        const uint32_t other = prime->q - power;
        const uint32_t smaller = power < other ? power : other;
        smallest = smaller < smallest ? smaller : smallest;
        power = cmi_montgomery_residue(power, square, prime);
    }
    return smallest;
}

/* x 2^bits mod q, for x < q, without a division. */
static uint32_t doubled(uint32_t x, unsigned bits, uint32_t q)
{
    while (bits-- > 0) {
        x = cmi_subtract_once(2u * x, q);
    }
    return x;
}

static uint32_t find_root(const cm_prime *prime, unsigned log2_n, const cm_root_table *tables)
{
    const cm_root_table *table = cmi_root_table_for(tables, prime->q);
    if (table && negates_one(cmi_montgomery_residue(table->psi, prime->r2, prime), prime, log2_n)) {
        return table->psi; /* else the tables are for another degree */
    }
    const uint32_t root = some_root(prime, log2_n);
    return root == 0 ? 0 : smallest_root(root, prime, log2_n);
}

bool cmi_prime_init(cm_prime *prime, uint32_t q, unsigned log2_n, const cm_root_table *tables)
{
    if (!cmi_prime_in_range(q, log2_n)) {
        return false;
    }
    prime->q = q;
    prime->neg_q_inv = negated_inverse(q);
    prime->r1 = doubled(1, 32, q);
    prime->r2 = doubled(prime->r1, 32, q);
    prime->n_inv = cmi_inverse_degree(q, log2_n);
    prime->psi = find_root(prime, log2_n, tables);
    return prime->psi != 0;
}
