// SPDX-License-Identifier: Apache-2.0
// From residues modulo some primes to residues modulo others, without large integers.
#ifndef CM_HOST_RNS_EXTENSION_H
#define CM_HOST_RNS_EXTENSION_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "rns/modulus.h"

namespace ciphermote
{

/*
 * A number x modulo M, the product of the primes m_i, is the sum of y_i M/m_i, less v M, where
 * y_i = x (M/m_i)^-1 modulo m_i is its place at m_i. The centred x has v = round(y_0 / m_0 + y_1 / m_1 + ...)
 * (Halevi, Polyakov and Shoup, "An improved RNS variant of the BFV homomorphic encryption scheme", 2018).
 * Here v comes from a few bits of each quotient, so x may be off by M where it is close to +-M/2: what is
 * extended must allow that.
 */
class Extension
{
  public:
    using Factor = std::function<std::uint32_t(const Modulus &)>;

    // factor: what x is multiplied by, by target; 1 if there is none. Targets outlive this.
    Extension(std::span<const Modulus> from, std::span<const Modulus> to, const Factor &factor = {});

    // (M/m_i)^-1 modulo m_i.
    std::uint32_t place(unsigned i) const
    {
        return places_[i];
    }
    // What extend computes with: v is round((sum of y_i reciprocals[i]) / 2^shift), and the residue modulo a
    // target is the sum of y_i weight(i) and v weight(count).
    const std::vector<std::uint32_t> &reciprocals() const
    {
        return reciprocals_;
    }
    unsigned shift() const
    {
        return 32 + bits_;
    }
    std::uint32_t montgomery_weight(unsigned target, unsigned i) const // times 2^32
    {
        return weights_[std::size_t{target} * (count_ + 1) + i];
    }
    // places: count + 1 polynomials, the last to be written: v. out: [targets].
    void extend(const arch::kernels &kernels, std::uint32_t *const *out, std::uint32_t *const *places) const;

  private:
    unsigned count_, bits_;
    std::vector<const arch::prime *> targets_;
    std::vector<std::uint32_t> places_, reciprocals_,
        weights_; // weights: [target][count + 1], Montgomery form
};

} // namespace ciphermote

#endif
