// SPDX-License-Identifier: Apache-2.0
// Several primes taken as one modulus.
#ifndef CM_HOST_RNS_GROUP_H
#define CM_HOST_RNS_GROUP_H

#include <array>
#include <vector>

#include "rns/modulus.h"

namespace ciphermote
{

constexpr unsigned most_group_primes = 4;

// Neighbouring primes whose residues together are one number: a digit of key switching, the special primes,
// or the primes that rescaling divides by. The number's centred mixed-radix digits carry it to other
// moduli.
class Group
{
  public:
    Group(const std::vector<Modulus> &moduli, unsigned first, unsigned count);

    unsigned first() const
    {
        return first_;
    }
    unsigned count() const
    {
        return count_;
    }
    // From values at the first `count` of its primes to digits, which may be in their place; and from digits
    // to the lazy values of the number modulo a target.
    void values_to_digits(const arch::kernels &kernels, std::uint32_t *const *digits,
                          const std::uint32_t *const *values, unsigned count) const;
    void lift_to_values(const arch::kernels &kernels, std::uint32_t *out, const std::uint32_t *const *digits,
                        unsigned count, unsigned target) const;
    std::uint32_t product(unsigned target) const // of the primes, modulo a modulus
    {
        return product(target, count_);
    }
    std::uint32_t product(unsigned target, unsigned count) const; // of the first ones

  private:
    const std::vector<Modulus> *moduli_;
    unsigned first_, count_;
    std::array<const arch::prime *, most_group_primes> primes_{};
    arch::factor radix_[most_group_primes][most_group_primes]{};
    std::vector<std::array<arch::factor, most_group_primes>> weights_; // by target
};

} // namespace ciphermote

#endif
