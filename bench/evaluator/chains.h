// SPDX-License-Identifier: Apache-2.0
// Parameters that are compared: ours and SEAL's at each degree, both inside the 2024 bound.
#ifndef CM_BENCH_EVALUATOR_CHAINS_H
#define CM_BENCH_EVALUATOR_CHAINS_H

#include <cstdint>
#include <string>
#include <vector>

#include "ciphermote/context.h"

enum class Scheme { ckks, bfv };

struct Pair {
    Scheme scheme;
    ciphermote::Chain chain;
    std::vector<int> seal_bits;

    std::size_t n() const
    {
        return std::size_t{1} << chain.log2_n;
    }
    bool switches_keys() const
    {
        return !chain.special.empty();
    }
    // How many of our primes make one of SEAL's: what rescaling and modulus switching drop.
    unsigned primes_a_level() const
    {
        return chain.log2_n <= 12 ? 1 : 2;
    }
    std::string name() const; // <scheme>.n<n>
};

// log2_n: 10 .. 15
Pair pair_of(Scheme scheme, unsigned log2_n);
Scheme scheme_named(const std::string &name);

double log2_of(const std::vector<std::uint32_t> &primes);

#endif
