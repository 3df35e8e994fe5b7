/* SPDX-License-Identifier: Apache-2.0 */
#include "roots.h"

#include <stdbool.h>
#include <stddef.h>

enum { MOST_PRIMES = 3, MOST_LOG2_N = 12 };

static cm_root roots[MOST_PRIMES][1 << MOST_LOG2_N];
static cm_root_table tables[MOST_PRIMES + 1];

static uint32_t bit_reversed(uint32_t x, unsigned bits)
{
    uint32_t reversed = 0;
    for (unsigned i = 0; i < bits; i++) {
        reversed = reversed << 1 | (x >> i & 1u);
    }
    return reversed;
}

/*
 * By division, instead of the library's own arithmetic. The quotient is rounded; the dividend is made
 * positive.
 */
static cm_root entry(uint32_t power, uint32_t q)
{
    const int64_t root = power > q / 2u ? (int64_t)power - q : (int64_t)power;
    const uint64_t positive = (uint64_t)(root + q) << 33;
    return (cm_root){(int32_t)root, (int32_t)((int64_t)((positive + q) / (2u * q)) - ((int64_t)1 << 32))};
}

/* Whether the tables are already those of the set. */
static bool filled_for(const cm_params *params)
{
    static uint8_t log2_n;
    bool filled = log2_n == params->log2_n && tables[params->data_primes].q == 0;
    for (unsigned i = 0; i < params->data_primes; i++) {
        filled = filled && tables[i].q == params->primes[i].q && tables[i].psi == params->primes[i].psi;
    }
    log2_n = params->log2_n;
    return filled;
}

const cm_root_table *test_roots(const cm_params *params)
{
    if (!CM_CONFIG_NTT_ROOTS || params->log2_n > MOST_LOG2_N || params->data_primes > MOST_PRIMES) {
        return NULL;
    }
    if (filled_for(params)) {
        return tables;
    }
    for (unsigned i = 0; i < params->data_primes; i++) {
        const cm_prime *prime = &params->primes[i];
        uint64_t power = 1;
        for (uint32_t j = 0; j < (uint32_t)1 << params->log2_n; j++) {
            roots[i][bit_reversed(j, params->log2_n)] = entry((uint32_t)power, prime->q);
            power = power * prime->psi % prime->q;
        }
        tables[i] = (cm_root_table){prime->q, prime->psi, roots[i]};
    }
    tables[params->data_primes] = (cm_root_table){0, 0, NULL};
    return tables;
}
