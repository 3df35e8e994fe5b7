// SPDX-License-Identifier: Apache-2.0
/*
 * The evaluator: it computes on CKKS ciphertexts, and never sees a secret key.
 *
 *     auto context = std::make_shared<const ciphermote::Context>(chain);
 *     ciphermote::EvaluationKeys keys(context);
 *     keys.add_galois(element, residues);
 *     ciphermote::Ciphertext sum = ciphermote::add(a, b);
 *     ciphermote::Ciphertext rotated = ciphermote::rotate(a, 1, keys);
 *
 * Contexts, keys and ciphertexts that are not being changed may be shared between threads.
 *
 * Errors are exceptions, all of them ciphermote::Error, with one sentence that says what is wrong and what to
 * do.
 */
#ifndef CIPHERMOTE_EVALUATE_H
#define CIPHERMOTE_EVALUATE_H

#include <complex>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace ciphermote
{

class Error : public std::runtime_error
{
  public:
    using std::runtime_error::runtime_error;
};

// A ring degree and its primes, each below 2^27 and 1 mod 2n. Ciphertexts are modulo the first data primes;
// key switching raises them to the special primes as well, in digits of so many data primes. SEAL's key
// switching is that with one special prime and digits of one.
struct Chain {
    unsigned log2_n = 0; // 10 .. 15
    std::vector<std::uint32_t> data;
    std::vector<std::uint32_t> special;
    unsigned digit_primes = 1; // 1 .. 4
};

// What a chain's arithmetic needs. Immutable.
class Context
{
  public:
    // isa: "portable", "avx2" or "avx512"; empty: the fastest that this machine runs. Error for primes that
    // are none, repeated or too large for the degree's lazy arithmetic, and for an isa that is not here.
    explicit Context(Chain chain, const std::string &isa = "");
    ~Context();
    Context(const Context &) = delete;
    Context &operator=(const Context &) = delete;

    const Chain &chain() const;
    std::size_t n() const;
    const char *isa() const;

    struct Tables; // for the library's own files
    const Tables &tables() const
    {
        return *tables_;
    }

  private:
    std::unique_ptr<const Tables> tables_;
};

// Residues: uint32 [components][primes][n], values in SEAL's order (after its transform).
class Ciphertext
{
  public:
    // Error unless there are 2 or 3 components of 1 .. data primes, every residue is below its prime, and the
    // scale is at least 1 and finite.
    Ciphertext(std::shared_ptr<const Context> context, unsigned components, unsigned primes, double scale,
               std::span<const std::uint32_t> residues);
    ~Ciphertext();
    Ciphertext(const Ciphertext &);
    Ciphertext(Ciphertext &&) noexcept;
    Ciphertext &operator=(const Ciphertext &);
    Ciphertext &operator=(Ciphertext &&) noexcept;

    const std::shared_ptr<const Context> &context() const
    {
        return context_;
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
    std::span<const std::uint32_t> residues() const;

    struct Body; // for the library's own files
    Ciphertext(std::shared_ptr<const Context> context, unsigned components, unsigned primes, double scale);
    std::uint32_t *polynomial(unsigned component, unsigned prime);
    const std::uint32_t *polynomial(unsigned component, unsigned prime) const;

  private:
    std::shared_ptr<const Context> context_;
    unsigned components_, primes_;
    double scale_;
    std::unique_ptr<Body> body_;
};

// Encoded numbers: uint32 [primes][n], values in SEAL's order. With n/2 slots, slot j is the polynomial at
// psi^(3^j), over the scale.
class Plaintext
{
  public:
    // Error unless there are at most n/2 finite values, 1 .. data primes, a scale of at least 1, and every
    // rounded coefficient is below 2^62 and half the modulus.
    Plaintext(std::shared_ptr<const Context> context, std::span<const double> values, double scale,
              unsigned primes);
    Plaintext(std::shared_ptr<const Context> context, std::span<const std::complex<double>> values,
              double scale, unsigned primes);
    ~Plaintext();
    Plaintext(Plaintext &&) noexcept;
    Plaintext &operator=(Plaintext &&) noexcept;

    const std::shared_ptr<const Context> &context() const
    {
        return context_;
    }
    unsigned primes() const
    {
        return primes_;
    }
    double scale() const
    {
        return scale_;
    }
    std::span<const std::uint32_t> residues() const;
    const std::uint32_t *polynomial(unsigned prime) const; // for the library's own files

  private:
    struct Body;
    std::shared_ptr<const Context> context_;
    unsigned primes_;
    double scale_;
    std::unique_ptr<Body> body_;
};

// Keys that switch products and rotated ciphertexts back to the secret key.
class EvaluationKeys
{
  public:
    explicit EvaluationKeys(std::shared_ptr<const Context> context);
    ~EvaluationKeys();
    EvaluationKeys(EvaluationKeys &&) noexcept;
    EvaluationKeys &operator=(EvaluationKeys &&) noexcept;

    // residues: uint32 [digits][2][data + special primes][n], values in SEAL's order, where digit j encrypts
    // P s' on the data primes of digit j and 0 elsewhere. Error unless that many, each below its prime.
    void add_relinearization(std::span<const std::uint32_t> residues);
    // For the automorphism X -> X^element, element odd in 3 .. 2n - 1.
    void add_galois(std::uint32_t element, std::span<const std::uint32_t> residues);

    const std::shared_ptr<const Context> &context() const
    {
        return context_;
    }
    std::size_t bytes() const; // of memory

    struct Key;
    const Key &relinearization() const; // Error if it is missing
    const Key &galois(std::uint32_t element) const;

  private:
    std::shared_ptr<const Context> context_;
    std::unique_ptr<Key> relinearization_;
    std::map<std::uint32_t, std::unique_ptr<Key>> galois_;
};

// Operands are of one context, and have equally many primes; sums also need one scale. Error otherwise.
Ciphertext add(const Ciphertext &a, const Ciphertext &b);
Ciphertext subtract(const Ciphertext &a, const Ciphertext &b);
Ciphertext negate(const Ciphertext &a);
// The plaintext has at least as many primes; sums also need one scale.
Ciphertext add_plain(const Ciphertext &a, const Plaintext &b);
Ciphertext multiply_plain(const Ciphertext &a, const Plaintext &b);
// Three components: relinearize before anything but sums. Error if the product's scale is not below the
// modulus.
Ciphertext multiply(const Ciphertext &a, const Ciphertext &b);
Ciphertext relinearize(const Ciphertext &a, const EvaluationKeys &keys);
// Divide by the last `count` primes, 1 to 4, and round; the scale is divided too.
Ciphertext rescale(const Ciphertext &a, unsigned count = 1);
// Leave the last `count` primes out; the scale stays.
Ciphertext drop_primes(const Ciphertext &a, unsigned count = 1);
// Slot i of the result is slot i + step of a, for steps below n/2 in magnitude.
Ciphertext rotate(const Ciphertext &a, int step, const EvaluationKeys &keys);
Ciphertext conjugate(const Ciphertext &a, const EvaluationKeys &keys);
// Several rotations of one ciphertext, whose digits are transformed once.
std::vector<Ciphertext> rotate_hoisted(const Ciphertext &a, std::span<const int> steps,
                                       const EvaluationKeys &keys);
// X -> X^element
std::uint32_t galois_element(const Context &context, int step);

} // namespace ciphermote

#endif
