// SPDX-License-Identifier: Apache-2.0
// What a context holds.
#ifndef CM_HOST_EVALUATE_TABLES_H
#define CM_HOST_EVALUATE_TABLES_H

#include <array>
#include <complex>
#include <memory>
#include <vector>

#include "aligned.h"
#include "arch/kernels.h"
#include "ciphermote/evaluate.h"

namespace ciphermote
{

constexpr unsigned most_group_primes = 4;

// A prime with its roots.
class Modulus
{
  public:
    // Error unless q is a prime below 2^27 and 1 mod 2n.
    Modulus(std::uint32_t q, unsigned log2_n, unsigned lanes);

    void reduce_halfway()
    {
        prime_.reduces = true;
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

  private:
    void set_roots(std::uint32_t psi, unsigned lanes);

    arch::prime prime_;
    signed_words roots_, late_, inverse_, late_inverse_;
};

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
    // The first `count` of its primes' residues to digits, in place.
    void to_digits(const arch::kernels &kernels, std::uint32_t *const *residues, unsigned count) const;
    void lift(const arch::kernels &kernels, std::uint32_t *out, const std::uint32_t *const *digits,
              unsigned count, unsigned target) const;
    std::uint32_t product(unsigned target) const; // of the primes, modulo a modulus

  private:
    const std::vector<Modulus> *moduli_;
    unsigned first_, count_;
    std::array<const arch::prime *, most_group_primes> primes_{};
    arch::factor radix_[most_group_primes][most_group_primes]{};
    std::vector<std::array<arch::factor, most_group_primes>> weights_; // by target
};

/*
 * From slots to coefficients: the inverse of evaluating a real polynomial at psi^(3^j), j < n/2. Where 3^j
 * is 3 modulo 4, its conjugate psi^-(3^j) stands for it; then all exponents are 1 modulo 4, which are the
 * powers of 5, and X^(n/2) is i at all of them: coefficients k and k + n/2 are the real and imaginary part
 * of one complex coefficient. The transform of n/2 points is that of Cheon, Han, Kim, Kim and Song,
 * "Bootstrapping for approximate homomorphic encryption" (2018), section 5.
 */
class SlotTransform
{
  public:
    explicit SlotTransform(unsigned log2_n);
    // slots[n/2] to complex coefficients, in place.
    void to_coefficients(std::vector<std::complex<double>> &slots) const;

  private:
    unsigned log2_n_;
    std::vector<std::complex<double>> roots_; // exp(i pi k / n), k < 2n
    std::vector<std::uint32_t> powers_;       // 5^k mod 2n
    std::vector<std::uint32_t> places_;       // of slot j, among the powers of 5
};

struct Context::Tables {
    Chain chain;
    const arch::kernels *kernels;
    std::vector<Modulus> moduli; // the data primes, then the special ones
    std::vector<Group> digits;
    std::unique_ptr<Group> special; // null without special primes
    std::unique_ptr<SlotTransform> slots;
    std::vector<std::uint32_t> p_inverse; // 1/P modulo each data prime

    std::size_t n() const
    {
        return std::size_t{1} << chain.log2_n;
    }
    unsigned data() const
    {
        return static_cast<unsigned>(chain.data.size());
    }
    unsigned all() const
    {
        return static_cast<unsigned>(moduli.size());
    }
    const arch::prime &prime(unsigned modulus) const
    {
        return moduli[modulus].prime();
    }
};

} // namespace ciphermote

#endif
