// SPDX-License-Identifier: Apache-2.0
// A prime with its roots.
#ifndef CM_HOST_RNS_MODULUS_H
#define CM_HOST_RNS_MODULUS_H

#include <cstddef>
#include <cstdint>

#include "arch/kernels.h"
#include "rns/memory.h"

namespace ciphermote
{

class Modulus
{
  public:
    // Error unless q is a prime below 2^27 and 1 mod 2n.
    Modulus(std::uint32_t q, unsigned log2_n, const arch::kernels &kernels);

    Modulus(const Modulus &) = delete; // the prime points to its roots
    Modulus(Modulus &&) noexcept = default;

    // Whether q is such a prime.
    static bool fits(std::uint32_t q, unsigned log2_n);

    // The bound on a forward transform that never reduces, for coefficients of at most `start` in magnitude.
    double largest_value(double start) const;
    // Coefficients of forward transforms are at most `start` in magnitude, below 3.6 * 2^27.
    void transforms_up_to(double start);
    // Key switching's sums are below 3/2 2^32 q (arch/kernels_impl.h).
    void expect_small_sums()
    {
        prime_.small_sums = true;
    }
    const arch::prime &prime() const
    {
        return prime_;
    }
    std::uint32_t q() const
    {
        return prime_.q;
    }
    std::uint32_t residue(std::uint64_t x) const
    {
        return static_cast<std::uint32_t>(x % prime_.q);
    }
    std::uint32_t multiply(std::uint32_t a, std::uint32_t b) const
    {
        return residue(std::uint64_t{a} * b);
    }
    std::uint32_t inverse(std::uint32_t a) const;
    arch::factor factor(std::uint32_t residue) const;
    std::uint32_t residue_of(arch::factor factor) const // canonical
    {
        return static_cast<std::uint32_t>(factor.value) + (factor.value < 0 ? prime_.q : 0);
    }
    std::uint32_t root(std::size_t i) const // psi^bitrev(i)
    {
        return residue_of({roots_[i], 0});
    }

  private:
    void set_roots(std::uint32_t psi, unsigned lanes);

    arch::prime prime_;
    unsigned quotient_bits_;
    signed_words roots_, late_, inverse_, late_inverse_;
};

} // namespace ciphermote

#endif
