// SPDX-License-Identifier: Apache-2.0
// Parameters, and what their arithmetic needs.
#ifndef CIPHERMOTE_CONTEXT_H
#define CIPHERMOTE_CONTEXT_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "ciphermote/coprocessor.h"

namespace ciphermote
{

class Error : public std::runtime_error
{
  public:
    using std::runtime_error::runtime_error;
};

struct Inside; // what the library's own files see of the objects below (src/rns/inside.h)
struct Tables;

// A ring degree and its primes, each below 2^27 and 1 mod 2n. Ciphertexts are modulo the first data primes;
// key switching raises them to the special primes as well, in digits of so many data primes. SEAL's key
// switching is that with one special prime and digits of one.
//
// A chain is secure if the product of all its primes, the special ones too, is at most 2^26 at n = 1024, 2^53
// at 2048, 2^106 at 4096, 2^214 at 8192, 2^430 at 16384 and 2^868 at 32768: 128 bits by the guidelines of
// 2024 (ePrint 2024/463), for a ternary secret (docs/security.md).
struct Chain {
    unsigned log2_n = 0;                // 10 .. 15
    std::vector<std::uint32_t> data;    // 1 .. 32 of them
    std::vector<std::uint32_t> special; // up to 4; none: no key switching
    unsigned digit_primes = 1;          // 1 .. 4
    std::uint32_t plain_modulus = 0;    // BFV's t, at least 2; or 0: CKKS

    bool operator==(const Chain &) const = default;
};

// A chain of any size, whose ciphertexts may not be secure: for tests, and for sets that rely on an older
// table.
struct Insecure {
    Chain chain;
};

// What a chain's arithmetic needs. Immutable. Operands are of one context, or of equal ones: of one chain,
// computing with the same instructions.
class Context
{
  public:
    // isa: "portable", "avx2", "avx512", "neon" or "wasm"; empty: the fastest that this machine runs. Error
    // for primes that are none or repeated, special primes whose product is more than digit_primes bits below
    // that of a digit, more than 30 digits, a plain modulus that is not below the data primes' product or is
    // a multiple of one, and for an isa that is not here. A Chain also has to be secure.
    //
    // coprocessor: computes the evaluator's operations that its machine can hold; null: none. Error if it has
    // another degree.
    explicit Context(Chain chain, const std::string &isa = "",
                     std::unique_ptr<Coprocessor> coprocessor = nullptr);
    explicit Context(Insecure given, const std::string &isa = "",
                     std::unique_ptr<Coprocessor> coprocessor = nullptr);
    ~Context();
    Context(const Context &) = delete;
    Context &operator=(const Context &) = delete;

    const Chain &chain() const;
    std::size_t n() const;
    const char *isa() const;
    bool operator==(const Context &other) const; // whatever their coprocessors
    CoprocessorUse coprocessor_use() const;      // zeros without a coprocessor

  private:
    friend struct Inside;
    std::unique_ptr<const Tables> tables_;
};

} // namespace ciphermote

#endif
