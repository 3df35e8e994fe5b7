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
    // Error unless there are 2 or 3 components of 1 .. data primes, every residue is below its prime, and the
    // scale is at least 1 and below the primes' product (BFV: 1).
    Ciphertext(std::shared_ptr<const Context> context, unsigned components, unsigned primes, double scale,
               std::span<const std::uint32_t> residues, Form form = Form::values);
    ~Ciphertext();
    Ciphertext(const Ciphertext &);
    Ciphertext(Ciphertext &&) noexcept;
    Ciphertext &operator=(const Ciphertext &);
    Ciphertext &operator=(Ciphertext &&) noexcept;

    const std::shared_ptr<const Context> &context() const
    {
        return held(context_);
    }
    unsigned components() const
    {
        return components_;
    }
    unsigned primes() const
    {
        return primes_;
    }
    double scale() const
    {
        return scale_;
    }
    std::span<const std::uint32_t> residues() const; // values
    std::vector<std::uint32_t> coefficients() const;

    struct Body; // for the library's own files
    Ciphertext(std::shared_ptr<const Context> context, unsigned components, unsigned primes, double scale);
    std::uint32_t *polynomial(unsigned component, unsigned prime);
    const std::uint32_t *polynomial(unsigned component, unsigned prime) const;
    void set_scale(double scale)
    {
        scale_ = scale;
    }

  private:
    std::shared_ptr<const Context> context_;
    unsigned components_, primes_;
    double scale_;
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

    const std::shared_ptr<const Context> &context() const
    {
        return held(context_);
    }
    unsigned primes() const
    {
        return primes_;
    }
    double scale() const // 1 for BFV
    {
        return scale_;
    }
    std::span<const std::uint32_t> residues() const;

    // For the library's own files.
    const std::uint32_t *polynomial(unsigned prime) const;
    // What encryption and sums add, values [primes][n] for a ciphertext of so many primes. CKKS: the
    // residues. BFV: of round(Q m / t), Q the primes' product; made in scratch, addend_words of them.
    const std::uint32_t *addend(unsigned primes, std::uint32_t *scratch) const;
    std::size_t addend_words(unsigned primes) const;

  private:
    struct Body;
    Plaintext(std::shared_ptr<const Context> context, double scale, unsigned primes);
    void fill(double coefficient); // an integer, the constant one
    std::shared_ptr<const Context> context_;
    unsigned primes_;
    double scale_;
    std::unique_ptr<Body> body_;
};

// BFV: the integers, 0 .. t - 1, in the n slots of the polynomial with these n coefficients modulo t, which
// decryption gives. Error for fewer, for ones from t on, and if t has no slots.
std::vector<std::uint32_t> slots_of(const Context &context, std::span<const std::uint32_t> coefficients);

} // namespace ciphermote

#endif
