// SPDX-License-Identifier: Apache-2.0
#include "inputs.h"

namespace ciphermote::testing
{

std::uint64_t Inputs::next()
{
    state_ += 0x9E3779B97F4A7C15u;
    std::uint64_t x = state_;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

// Number i, in [0, bound).
std::uint32_t Inputs::word(std::size_t i, std::uint32_t bound, Fill fill)
{
    switch (fill) {
    case Fill::largest:
        return bound - 1;
    case Fill::mixed: {
        const std::uint32_t edges[] = {0, 1, bound / 2, bound / 2 + 1, bound - 2, bound - 1};
        const std::uint32_t which = below(12);
        return which < 6 ? edges[which] : below(bound);
    }
    case Fill::spikes:
        return i % 1021 == 5 ? bound - 1 : 0;
    default:
        return below(bound);
    }
}

words Inputs::residues(std::size_t count, std::uint32_t q, Fill fill)
{
    words found(count);
    for (std::size_t i = 0; i < count; i++) {
        found[i] = word(i, q, fill);
    }
    return found;
}

words Inputs::signed_numbers(std::size_t count, std::uint32_t bound, Fill fill)
{
    words found = residues(count, bound + 1, fill);
    for (std::uint32_t &x : found) {
        x = next() & 1 ? 0u - x : x;
    }
    return found;
}

std::vector<std::uint32_t> Inputs::polynomials(unsigned count, const std::vector<std::uint32_t> &primes,
                                               std::size_t n, Fill fill)
{
    std::vector<std::uint32_t> found;
    found.reserve(count * primes.size() * n);
    for (unsigned i = 0; i < count; i++) {
        for (const std::uint32_t q : primes) {
            const words residues_of = residues(n, q, fill);
            found.insert(found.end(), residues_of.begin(), residues_of.end());
        }
    }
    return found;
}

static bool is_prime(std::uint32_t q)
{
    for (std::uint32_t d = 3; d * d <= q; d += 2) {
        if (q % d == 0) {
            return false;
        }
    }
    return q > 2 && q % 2 == 1;
}

std::vector<std::uint32_t> primes_below(std::uint32_t bound, unsigned log2_n, unsigned count)
{
    std::vector<std::uint32_t> found;
    const std::uint32_t step = 2u << log2_n;
    for (std::uint32_t q = (bound - 2) / step * step + 1; found.size() < count; q -= step) {
        if (is_prime(q)) {
            found.push_back(q);
        }
    }
    return found;
}

std::uint32_t smallest_prime(unsigned log2_n)
{
    std::uint32_t q = (2u << log2_n) + 1;
    while (!is_prime(q)) {
        q += 2u << log2_n;
    }
    return q;
}

} // namespace ciphermote::testing
