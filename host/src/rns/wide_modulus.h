// SPDX-License-Identifier: Apache-2.0
// Arithmetic modulo a prime below 2^61, in words of 64 bits and nothing wider, which 32-bit targets lack.
#ifndef CM_HOST_RNS_WIDE_MODULUS_H
#define CM_HOST_RNS_WIDE_MODULUS_H

#include <cstdint>
#include <span>
#include <vector>

namespace ciphermote
{

// The upper 64 bits of a product of 128.
inline std::uint64_t upper_product(std::uint64_t a, std::uint64_t b)
{
    const std::uint64_t a0 = a & 0xFFFFFFFF, a1 = a >> 32, b0 = b & 0xFFFFFFFF, b1 = b >> 32;
    const std::uint64_t middle = a1 * b0 + (a0 * b0 >> 32);
    const std::uint64_t other = a0 * b1 + (middle & 0xFFFFFFFF);
    return a1 * b1 + (middle >> 32) + (other >> 32);
}

// A number w below q, and floor(w 2^64 / q): Shoup's way to multiply by a number that is known before.
struct WideFactor {
    std::uint64_t w = 0;
    std::uint64_t quotient = 0;
};

class WideModulus
{
  public:
    // Error unless q is a prime below 2^61 and 1 mod 2n.
    WideModulus(std::uint64_t q, unsigned log2_n);

    std::uint64_t q() const
    {
        return q_;
    }
    // w below q.
    WideFactor factor(std::uint64_t w) const;
    // x w mod q for any x.
    std::uint64_t multiply(std::uint64_t x, const WideFactor &by) const
    {
        const std::uint64_t r = x * by.w - upper_product(x, by.quotient) * q_;
        return r >= q_ ? r - q_ : r;
    }
    // x w / q as quotient and remainder, for any x.
    std::uint64_t divide(std::uint64_t x, const WideFactor &by, std::uint64_t *remainder) const
    {
        std::uint64_t quotient = upper_product(x, by.quotient);
        std::uint64_t r = x * by.w - quotient * q_;
        if (r >= q_) {
            r -= q_;
            quotient++;
        }
        *remainder = r;
        return quotient;
    }
    std::uint64_t residue(std::uint64_t x) const
    {
        return multiply(x, one_);
    }
    // a, b below q.
    std::uint64_t add(std::uint64_t a, std::uint64_t b) const
    {
        const std::uint64_t sum = a + b;
        return sum >= q_ ? sum - q_ : sum;
    }
    std::uint64_t subtract(std::uint64_t a, std::uint64_t b) const
    {
        return a >= b ? a - b : a + q_ - b;
    }
    std::uint64_t power(std::uint64_t base, std::uint64_t exponent) const;
    std::uint64_t inverse(std::uint64_t x) const
    {
        return power(x, q_ - 2);
    }

    // In place, between n coefficients and n values in SEAL's order, all below q.
    void forward(std::span<std::uint64_t> polynomial) const;
    void backward(std::span<std::uint64_t> polynomial) const;

  private:
    std::uint64_t q_;
    WideFactor one_, n_inverse_;
    std::vector<WideFactor> roots_, inverse_roots_; // psi^bitrev(i) and its inverse, as blocks take them
};

} // namespace ciphermote

#endif
