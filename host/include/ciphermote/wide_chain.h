// SPDX-License-Identifier: Apache-2.0
// Chains with primes of up to 60 bits, as other libraries have, and the exact way between chains.
#ifndef CIPHERMOTE_WIDE_CHAIN_H
#define CIPHERMOTE_WIDE_CHAIN_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ciphermote/context.h"
#include "ciphermote/evaluate.h"

namespace ciphermote
{

// A ring degree and up to 64 primes, each below 2^61 and 1 mod 2n. Residues are uint64
// [polynomials][primes][n] at the first `primes` of them; calls throw Error for another size. It is for the
// door alone: nothing is evaluated here. All of it is immutable, and takes as long as its input says, so its
// input has to be public, but for to_coefficients and to_values of a secret key on its owner's machine.
class WideChain
{
  public:
    // log2_n: 10 .. 15. Error for what is no prime, has no transform, or is there twice.
    WideChain(unsigned log2_n, std::vector<std::uint64_t> primes);
    ~WideChain();
    WideChain(WideChain &&) noexcept;
    WideChain &operator=(WideChain &&) noexcept;

    std::size_t n() const;
    std::span<const std::uint64_t> primes() const;

    // The transform from values in SEAL's order, in place, and to them. Error for a residue that is not below
    // its prime.
    void to_coefficients(std::span<std::uint64_t> residues, unsigned primes) const;
    void to_values(std::span<std::uint64_t> residues, unsigned primes) const;

    // SEAL's expansion of a seed of 64 bytes by SHAKE256 or BLAKE2Xb: [primes][n], to be read as values or
    // as coefficients, as the ciphertext is.
    std::vector<std::uint64_t> expand(Xof xof, std::span<const std::uint8_t> seed, unsigned primes) const;

    // The nearest integer to x Q / P for each centred coefficient x, exactly: P is the product of the first
    // `primes` primes here, Q that of to's first to_primes. No x Q / P lies half-way. Coefficients in,
    // [polynomials][to_primes][n] out. Memory beyond that does not depend on the input.
    std::vector<std::uint64_t> switched(std::span<const std::uint64_t> coefficients, unsigned primes,
                                        const WideChain &to, unsigned to_primes) const;

  private:
    struct Body;
    const Body &body() const;
    std::unique_ptr<const Body> body_;
};

} // namespace ciphermote

#endif
