// SPDX-License-Identifier: Apache-2.0
#include "chains.h"

#include <algorithm>
#include <cmath>

#include <seal/seal.h>

namespace
{

// Primes 1 mod 2n, downwards from a bound.
std::vector<std::uint32_t> primes_below(double bound, unsigned log2_n, unsigned count,
                                        const std::vector<std::uint32_t> &without = {})
{
    std::vector<std::uint32_t> found;
    const std::uint32_t step = 2u << log2_n;
    for (std::uint32_t q = static_cast<std::uint32_t>(bound) / step * step + 1; found.size() < count;
         q -= step) {
        if (q < bound && seal::Modulus(q).is_prime() &&
            std::find(without.begin(), without.end(), q) == without.end()) {
            found.push_back(q);
        }
    }
    return found;
}

// SEAL's bits are those of its default chain, lowered to the 2024 bound; but at n = 2048 its default is one
// prime, without key switching, and here both sides have a special one.
Pair ckks_pair(unsigned log2_n)
{
    switch (log2_n) {
    case 10:
        return {Scheme::ckks, {10, primes_below(0x1p26, 10, 1), {}, 1}, {26}};
    case 11:
        return {Scheme::ckks, {11, primes_below(0x1p26, 11, 1), primes_below(0x1p27, 11, 1), 1}, {26, 27}};
    case 12:
        return {
            Scheme::ckks, {12, primes_below(0x1p26, 12, 3), primes_below(0x1p27, 12, 1), 1}, {35, 35, 36}};
    case 13: {
        auto data = primes_below(0x1p24, 13, 5);
        const auto special = primes_below(0x1p24, 13, 2, data);
        for (const std::uint32_t q : primes_below(0x1p23, 13, 2)) {
            data.push_back(q);
        }
        return {Scheme::ckks, {13, data, special, 2}, {42, 43, 43, 43, 43}};
    }
    case 14:
        return {Scheme::ckks,
                {14, primes_below(0x1p26, 14, 14), primes_below(0.88 * 0x1p27, 14, 2), 2},
                {47, 48, 48, 48, 48, 47, 48, 48, 48}};
    default: {
        const auto special = primes_below(0.88 * 0x1p27, 15, 3);
        return {Scheme::ckks,
                {15, primes_below(0.88 * 0x1p27, 15, 29, special), special, 3},
                {54, 54, 54, 54, 54, 54, 54, 54, 54, 54, 54, 54, 55, 55, 55, 55}};
    }
    }
}

} // namespace

std::string Pair::name() const
{
    return std::string(scheme == Scheme::ckks ? "ckks" : "bfv") + ".n" + std::to_string(n());
}

Pair pair_of(Scheme scheme, unsigned log2_n)
{
    Pair pair = ckks_pair(log2_n);
    pair.scheme = scheme;
    if (scheme == Scheme::bfv) {
        // With 65537 the noise of a fresh ciphertext would not fit the one prime of n = 1024.
        pair.chain.plain_modulus = log2_n == 10 ? 12289 : 65537;
    }
    return pair;
}

Scheme scheme_named(const std::string &name)
{
    if (name != "ckks" && name != "bfv") {
        throw ciphermote::Error("There is no scheme " + name + " here: say ckks or bfv.");
    }
    return name == "ckks" ? Scheme::ckks : Scheme::bfv;
}

double log2_of(const std::vector<std::uint32_t> &primes)
{
    double sum = 0;
    for (const std::uint32_t q : primes) {
        sum += std::log2(q);
    }
    return sum;
}
