// SPDX-License-Identifier: Apache-2.0
// Ciphertexts and encoded numbers.
#ifndef CIPHERMOTE_CIPHERTEXT_H
#define CIPHERMOTE_CIPHERTEXT_H

#include <complex>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ciphermote/context.h"

namespace ciphermote
{

// What residues are: a polynomial's coefficients, or its values in SEAL's order (after its transform).
enum class Form { values, coefficients };

// Residues: uint32 [components][primes][n], kept as values.
class Ciphertext
{
  public:
    // Holds nothing, and is no operand, until a result is written into it (evaluate.h).
    Ciphertext();
    // Error unless there are 2 or 3 components of 1 .. data primes, every residue is below its prime, and the
    // scale is at least 1 and below the primes' product (BFV: 1).
    Ciphertext(std::shared_ptr<const Context> context, unsigned components, unsigned primes, double scale,
               std::span<const std::uint32_t> residues, Form form = Form::values);
    ~Ciphertext();
    Ciphertext(const Ciphertext &);
    Ciphertext(Ciphertext &&) noexcept;
    Ciphertext &operator=(const Ciphertext &);
    Ciphertext &operator=(Ciphertext &&) noexcept;

    bool empty() const; // whether it holds nothing, as after it was moved from
    const std::shared_ptr<const Context> &context() const;
    unsigned components() const;
    unsigned primes() const;
    double scale() const;
    std::span<const std::uint32_t> residues() const; // values
    std::vector<std::uint32_t> coefficients() const;

  private:
    friend struct Inside;
    struct Body;
    std::unique_ptr<Body> body_;
};

// Where BFV's integers are.
enum class Places { slots, coefficients };

// Encoded numbers: uint32 [primes][n], values in SEAL's order.
class Plaintext
{
  public:
    // CKKS: with n/2 slots, slot j is the polynomial at psi^(3^j), over the scale. Error unless there are at
    // most n/2 finite values, 1 .. data primes, a scale of at least 1, and every rounded coefficient is below
    // half the modulus.
    Plaintext(std::shared_ptr<const Context> context, std::span<const double> values, double scale,
              unsigned primes);
    Plaintext(std::shared_ptr<const Context> context, std::span<const std::complex<double>> values,
              double scale, unsigned primes);
    // BFV: integers modulo t, given with -t < x < t; up to n of them, the rest zeros. Slot j of the first
    // n/2 is the polynomial at psi^(3^j), of the others at psi^-(3^j). Error for more or larger ones, and for
    // slots if t is not a prime below 2^27 and 1 mod 2n.
    Plaintext(std::shared_ptr<const Context> context, std::span<const std::int64_t> integers, Places places,
              unsigned primes);
    // One number in every slot: CKKS's, where it times the scale is below half the modulus; and BFV's, as the
    // constant coefficient. So where t has no slots it multiplies all coefficients, but is added to the first
    // alone.
    static Plaintext constant(std::shared_ptr<const Context> context, double value, double scale,
                              unsigned primes);
    static Plaintext constant(std::shared_ptr<const Context> context, std::int64_t integer, unsigned primes);
    ~Plaintext();
    Plaintext(Plaintext &&) noexcept;
    Plaintext &operator=(Plaintext &&) noexcept;

    const std::shared_ptr<const Context> &context() const;
    unsigned primes() const;
    double scale() const; // 1 for BFV
    std::span<const std::uint32_t> residues() const;

  private:
    friend struct Inside;
    struct Body;
    explicit Plaintext(std::unique_ptr<Body> body);
    std::unique_ptr<Body> body_;
};

// BFV: the integers, 0 .. t - 1, in the n slots of the polynomial with these n coefficients modulo t, which
// decryption gives. Error for fewer, for ones from t on, and if t has no slots.
std::vector<std::uint32_t> slots_of(const Context &context, std::span<const std::uint32_t> coefficients);

} // namespace ciphermote

#endif
