// SPDX-License-Identifier: Apache-2.0
// Residues joined to numbers, at any number of data primes, in constant time.
#ifndef CM_HOST_OWNER_RADIX_H
#define CM_HOST_OWNER_RADIX_H

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rns/tables.h"

namespace ciphermote
{

/*
 * Mixed radix with centred digits: x = d_0 + q_0 (d_1 + q_1 (d_2 + ..)), d_i in [-(q_i - 1)/2, (q_i - 1)/2].
 * The primes are odd, so digits of k primes reach just the numbers from -(Q - 1)/2 to (Q - 1)/2, Q their
 * product, each once: the joined number is centred of itself.
 */
class Radix
{
  public:
    explicit Radix(const Tables &t);

    // The first `primes` residues of n numbers, [primes][n], to digits, in place.
    void to_digits(std::uint32_t *residues, unsigned primes) const;
    /*
     * The numbers, times `by`: [n]. For by = 1 the relative error is below 7 2^-53, and numbers below the
     * first two primes' product and 2^53 are exact. For let d W be the first term that is not 0. The next one
     * is below W / 2, and the rest are below 2^-12 of that. Each errs by 2^-53 of itself where its weight was
     * rounded, and again where it was, which d = 1 and 2 are not; so does each sum. With d = 1 that is 2.5
     * 2^-53 W before the last sum, which is above W / 2: at most 5 2^-53 of it, and 1 more. With larger d it
     * is less.
     */
    void to_doubles(const std::uint32_t *digits, unsigned primes, double by, double *numbers) const;
    // The product of the first primes.
    double product(unsigned primes) const
    {
        return products_[primes];
    }

  private:
    const Tables &t_;
    std::vector<arch::factor> inverses_; // 1/q_j modulo q_i, j < i, at i (i - 1) / 2 + j
    std::vector<double> products_;       // of the first i primes
};

} // namespace ciphermote

#endif
