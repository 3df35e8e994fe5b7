// SPDX-License-Identifier: Apache-2.0
// What the tests compute with: primes and residues, the same on every machine.
#ifndef CM_TESTS_HOST_INPUTS_H
#define CM_TESTS_HOST_INPUTS_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "rns/memory.h"

namespace ciphermote::testing
{

// Random numbers; the largest alone; half of them extreme; zeros with a largest here and there.
enum class Fill { random, largest, mixed, spikes };

class Inputs
{
  public:
    explicit Inputs(std::uint64_t seed) : state_(seed)
    {
    }
    std::uint64_t next(); // splitmix64
    std::uint32_t below(std::uint32_t bound)
    {
        return static_cast<std::uint32_t>((next() >> 32) * bound >> 32);
    }
    words residues(std::size_t count, std::uint32_t q, Fill fill = Fill::random);
    // In [-bound, bound].
    words signed_numbers(std::size_t count, std::uint32_t bound, Fill fill = Fill::random);
    // [polynomials][primes][n]
    std::vector<std::uint32_t> polynomials(unsigned count, const std::vector<std::uint32_t> &primes,
                                           std::size_t n, Fill fill = Fill::random);

  private:
    std::uint32_t word(std::size_t i, std::uint32_t bound, Fill fill);

    std::uint64_t state_;
};

// `count` primes below a bound that are 1 mod 2^(log2_n + 1), the largest first; and the smallest one.
std::vector<std::uint32_t> primes_below(std::uint32_t bound, unsigned log2_n, unsigned count);
std::uint32_t smallest_prime(unsigned log2_n);

// All of them; fewer at large degrees, which take long in simulators.
inline std::vector<Fill> fills_at(unsigned log2_n)
{
    if (log2_n >= 14) {
        return {Fill::mixed};
    }
    return log2_n == 13 ? std::vector{Fill::random, Fill::mixed}
                        : std::vector{Fill::random, Fill::largest, Fill::mixed, Fill::spikes};
}

} // namespace ciphermote::testing

#endif
