// SPDX-License-Identifier: Apache-2.0
/*
 * The evaluator: it computes on ciphertexts, CKKS's and BFV's, and never sees a secret key.
 *
 *     auto context = std::make_shared<const ciphermote::Context>(chain);
 *     ciphermote::EvaluationKeys keys(context);
 *     keys.add_galois(element, residues);
 *     ciphermote::Ciphertext sum = ciphermote::add(a, b);
 *     ciphermote::Ciphertext rotated = ciphermote::rotate(a, 1, keys);
 *
 * Each operation has two forms. One returns its result; the other writes it into a ciphertext that is there,
 * whatever that held before, even one of the operands:
 *
 *     ciphermote::Ciphertext product, total = first;
 *     for (const ciphermote::Ciphertext &x : rest) {
 *         ciphermote::multiply_plain(x, weight, product);
 *         ciphermote::add(total, product, total);
 *     }
 *
 * From its second round on, such a loop allocates nothing: the result's memory is used again, and the memory
 * that a call computes in is its thread's, which keeps 64 MiB at most. Where out is an operand of anything
 * but sums, negations and products with plaintexts, the result is computed beside it, and takes its place.
 *
 * Contexts, keys, ciphertexts, plaintexts and matrices that are not being changed may be shared between
 * threads.
 *
 * Errors are exceptions, all of them ciphermote::Error, with one sentence that says what is wrong and what to
 * do: so are null contexts, missing keys, and objects that were moved from. Then out is as it was.
 */
#ifndef CIPHERMOTE_EVALUATE_H
#define CIPHERMOTE_EVALUATE_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ciphermote/ciphertext.h"
#include "ciphermote/context.h"
#include "ciphermote/seeded_key.h"

namespace ciphermote
{

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
    // The same from seeds, expanded a polynomial at a time: beside the key that stays, the memory of four
    // polynomials. Error unless of this very context, and a key that switches keys.
    void add_relinearization(const SeededKey &key);
    void add_galois(std::uint32_t element, const SeededKey &key);

    const std::shared_ptr<const Context> &context() const;
    std::size_t bytes() const; // of memory

  private:
    friend struct Inside;
    struct Body;
    std::unique_ptr<Body> body_;
};

// Brings ciphertexts under a device's own key under the owner's, who makes it (owner.h: make_rekey_key).
// Nothing here names keys: which one a ciphertext is under, and which one this leads to, is for the caller to
// know.
class RekeyKey
{
  public:
    // residues: as EvaluationKeys takes them.
    RekeyKey(std::shared_ptr<const Context> context, std::span<const std::uint32_t> residues);
    ~RekeyKey();
    RekeyKey(RekeyKey &&) noexcept;
    RekeyKey &operator=(RekeyKey &&) noexcept;

    const std::shared_ptr<const Context> &context() const;

  private:
    friend struct Inside;
    struct Body;
    std::unique_ptr<Body> body_;
};

// Operands are of one context, and have equally many primes; CKKS's sums also need one scale. Error
// otherwise.
//
// Nothing here sees values, so nothing says when CKKS's outgrow the modulus and wrap around: |value| times
// the scale must stay below a quarter of it (owner.h: decrypt). Rotations, conjugation, inner sums, matrices
// and polynomials are of slots: Error if BFV's t has none, because it is no prime that is 1 modulo 2n.
void add(const Ciphertext &a, const Ciphertext &b, Ciphertext &out);
void subtract(const Ciphertext &a, const Ciphertext &b, Ciphertext &out);
void negate(const Ciphertext &a, Ciphertext &out);
// The plaintext has at least as many primes; CKKS's sums also need one scale.
void add_plain(const Ciphertext &a, const Plaintext &b, Ciphertext &out);
void multiply_plain(const Ciphertext &a, const Plaintext &b, Ciphertext &out);
// Three components: relinearize before anything but sums. Slot by slot; BFV's where t has no slots: of the
// polynomials modulo X^n + 1. Error if CKKS's scale of the product is not below the modulus.
void multiply(const Ciphertext &a, const Ciphertext &b, Ciphertext &out);
// The same, relinearized.
void multiply(const Ciphertext &a, const Ciphertext &b, const EvaluationKeys &keys, Ciphertext &out);
void square(const Ciphertext &a, Ciphertext &out);
void relinearize(const Ciphertext &a, const EvaluationKeys &keys, Ciphertext &out);
// The same content under the key's owner. Error for three components.
void rekey(const Ciphertext &a, const RekeyKey &key, Ciphertext &out);
// CKKS: divide by the last `count` primes, 1 to 4, and round; the scale is divided too.
void rescale(const Ciphertext &a, unsigned count, Ciphertext &out);
// Without the last `count` primes, and of unchanged content: CKKS leaves them out, BFV divides by them. Error
// if CKKS's scale is not below the modulus that is left.
void mod_switch(const Ciphertext &a, unsigned count, Ciphertext &out);
// Slot i of the result is slot i + step of a, for steps below n/2 in magnitude; BFV: in both rows.
void rotate(const Ciphertext &a, int step, const EvaluationKeys &keys, Ciphertext &out);
// BFV: the rows change places.
void conjugate(const Ciphertext &a, const EvaluationKeys &keys, Ciphertext &out);

inline Ciphertext add(const Ciphertext &a, const Ciphertext &b)
{
    Ciphertext out;
    add(a, b, out);
    return out;
}

inline Ciphertext subtract(const Ciphertext &a, const Ciphertext &b)
{
    Ciphertext out;
    subtract(a, b, out);
    return out;
}

inline Ciphertext negate(const Ciphertext &a)
{
    Ciphertext out;
    negate(a, out);
    return out;
}

inline Ciphertext add_plain(const Ciphertext &a, const Plaintext &b)
{
    Ciphertext out;
    add_plain(a, b, out);
    return out;
}

inline Ciphertext multiply_plain(const Ciphertext &a, const Plaintext &b)
{
    Ciphertext out;
    multiply_plain(a, b, out);
    return out;
}

inline Ciphertext multiply(const Ciphertext &a, const Ciphertext &b)
{
    Ciphertext out;
    multiply(a, b, out);
    return out;
}

inline Ciphertext multiply(const Ciphertext &a, const Ciphertext &b, const EvaluationKeys &keys)
{
    Ciphertext out;
    multiply(a, b, keys, out);
    return out;
}

inline Ciphertext square(const Ciphertext &a)
{
    Ciphertext out;
    square(a, out);
    return out;
}

inline Ciphertext relinearize(const Ciphertext &a, const EvaluationKeys &keys)
{
    Ciphertext out;
    relinearize(a, keys, out);
    return out;
}

inline Ciphertext rekey(const Ciphertext &a, const RekeyKey &key)
{
    Ciphertext out;
    rekey(a, key, out);
    return out;
}

inline Ciphertext rescale(const Ciphertext &a, unsigned count = 1)
{
    Ciphertext out;
    rescale(a, count, out);
    return out;
}

inline Ciphertext mod_switch(const Ciphertext &a, unsigned count = 1)
{
    Ciphertext out;
    mod_switch(a, count, out);
    return out;
}

inline Ciphertext rotate(const Ciphertext &a, int step, const EvaluationKeys &keys)
{
    Ciphertext out;
    rotate(a, step, keys, out);
    return out;
}

inline Ciphertext conjugate(const Ciphertext &a, const EvaluationKeys &keys)
{
    Ciphertext out;
    conjugate(a, keys, out);
    return out;
}

// ---- operations of several steps: they allocate what they need, and return their results ----

// Several rotations of one ciphertext, whose digits are transformed once.
std::vector<Ciphertext> rotate_hoisted(const Ciphertext &a, std::span<const int> steps,
                                       const EvaluationKeys &keys);
// Slot i of the result is the sum of slots i .. i + count - 1 of a, count 1 .. n/2; BFV: in both rows.
// The keys are for inner_sum_steps.
Ciphertext inner_sum(const Ciphertext &a, std::size_t count, const EvaluationKeys &keys);
std::vector<int> inner_sum_steps(const Context &context, std::size_t count);

// A matrix in the clear, row by row; at most n/2 rows and columns, not all entries 0 at the scale.
class Matrix
{
  public:
    // CKKS: encoded at a scale, for ciphertexts of at most so many primes.
    Matrix(std::shared_ptr<const Context> context, std::span<const double> numbers, std::size_t rows,
           std::size_t columns, double scale, unsigned primes);
    // BFV, modulo t: both rows of a ciphertext are multiplied.
    Matrix(std::shared_ptr<const Context> context, std::span<const std::int64_t> integers, std::size_t rows,
           std::size_t columns, unsigned primes);
    ~Matrix();
    Matrix(Matrix &&) noexcept;
    Matrix &operator=(Matrix &&) noexcept;

    const std::vector<int> &steps() const; // the rotations that the product takes

  private:
    friend struct Inside;
    struct Body;
    std::unique_ptr<Body> body_;
};

// Slot i of the result is row i times the first slots of a; slots beyond the rows are 0. CKKS: of both
// scales' product.
Ciphertext multiply(const Matrix &matrix, const Ciphertext &a, const EvaluationKeys &keys);

// p(a) in every slot, coefficients from the constant one up; not constant, degree d. CKKS: at a's scale s,
// after ceil(log2(d + 1)) levels of so many primes, the fewest that there can be. Each level rounds, with an
// error of about n/6 over s in a slot. Powers of a are near the scale q that a level divides by, so s may be
// any up to about q. Error for powers at scales above 32 q, which s above 2 q soon leads to; and if s is not
// below the modulus that is left.
Ciphertext evaluate_polynomial(const Ciphertext &a, std::span<const double> coefficients,
                               const EvaluationKeys &keys, unsigned primes_per_level = 1);
// BFV: modulo t.
Ciphertext evaluate_polynomial(const Ciphertext &a, std::span<const std::int64_t> coefficients,
                               const EvaluationKeys &keys);

// What expands a public seed, numbered as on the wire (docs/wire-format.md).
enum class Xof : std::uint8_t { blake2xb = 1, shake256 = 2, chacha20 = 3 };

// What a symmetric ciphertext says of itself besides its first polynomial: the second one is the seed's
// expansion, in the same form.
struct Seeded {
    Xof xof;
    std::span<const std::uint8_t> seed; // 32 bytes for ChaCha20, 64 for the others
    double scale = 1;                   // BFV: 1
    Form form = Form::values;
};

// A sum of ciphertexts that are added as they come, thousands of them: it keeps no more than a sum and a
// polynomial. All are of one context, level, scale and form, and residues below their primes. Error
// otherwise, and the sum stays as it was. Threads may share one, and take turns.
class Sum
{
  public:
    explicit Sum(std::shared_ptr<const Context> context);
    ~Sum();
    Sum(Sum &&) noexcept;
    Sum &operator=(Sum &&) noexcept;

    void add(const Ciphertext &ciphertext);
    // residues: uint32 [components][primes][n], 2 or 3 components.
    void add(unsigned components, std::span<const std::uint32_t> residues, double scale, Form form);
    // residues: uint32 [primes][n] of the first polynomial.
    void add(const Seeded &seeded, std::span<const std::uint32_t> residues);
    // packed: for each prime, its n residues in as many bits each as it has, low bits first: a frame's
    // payload, or those of its tiles one after the other.
    void add(const Seeded &seeded, std::span<const std::span<const std::uint8_t>> packed);

    std::uint64_t count() const; // of what was added
    // Error if nothing was added.
    Ciphertext total() const;
    // CKKS: the total at a scale as many times as large. Error as total's, if that scale is not below the
    // modulus, and for BFV.
    Ciphertext mean() const;

  private:
    struct Body;
    std::unique_ptr<Body> body_;
};

// A weighted sum of the compact lane's windows (ciphermote/compact.h), each of which has sent some
// coefficients of its first polynomial, and a seed stands for its second one. It keeps the sum and a
// polynomial. All windows of a sum have sent the same coefficients, or what it decrypts to there is noise:
// that is the caller's to see to. Threads may share one, and take turns.
class CompactSum
{
  public:
    // How many of the chain's data primes: 1 or 2.
    explicit CompactSum(std::shared_ptr<const Context> context);
    ~CompactSum();
    CompactSum(CompactSum &&) noexcept;
    CompactSum &operator=(CompactSum &&) noexcept;

    // Add weight times a window. seed: 32 bytes. payload: coefficients modulo the primes' product Q at
    // positions, without their low bits, of which the middle is taken. Error unless there are as many of
    // both, positions go up and are below n, no value is above (Q - 1) >> dropped_bits, and those are fewer
    // than Q's; the sum stays as it was then.
    void add(std::span<const std::uint8_t> seed, std::span<const std::uint32_t> positions,
             std::span<const std::uint64_t> payload, unsigned dropped_bits, std::int64_t weight);
    unsigned primes() const;
    // uint32 [2][primes][n], coefficients.
    std::vector<std::uint32_t> residues() const;

  private:
    struct Body;
    std::unique_ptr<Body> body_;
};

// Linear forms of the values in one window of the compact lane: for each row of weights, a ciphertext whose
// constant coefficient decrypts to the sum of weights times values, and whose other coefficients are noise.
// With weights w at positions p its second polynomial is the window's times the sum of w X^-p, and of the
// first one only the constant coefficient is known. Whether the noise leaves that right is the caller's to
// see to. Threads may share one.
class CompactForms
{
  public:
    // positions: those that windows have sent, which go up. weights: [forms][positions], of at most 2^20 in
    // magnitude. Error for anything else, and unless the chain has 1 or 2 data primes.
    CompactForms(std::shared_ptr<const Context> context, std::span<const std::uint32_t> positions,
                 std::span<const std::int64_t> weights);
    ~CompactForms();
    CompactForms(CompactForms &&) noexcept;
    CompactForms &operator=(CompactForms &&) noexcept;

    std::size_t count() const; // of forms
    unsigned primes() const;
    // uint32 [windows][forms][primes]: the constant coefficients of the first polynomials. payload:
    // [windows][positions], as for CompactSum::add, with its errors.
    std::vector<std::uint32_t> constants(std::span<const std::uint64_t> payload, unsigned dropped_bits) const;
    // uint32 [forms][primes][n], coefficients: the second polynomials. seed: a window's, 32 bytes.
    std::vector<std::uint32_t> polynomials(std::span<const std::uint8_t> seed) const;

  private:
    struct Body;
    std::unique_ptr<Body> body_;
};

// X -> X^element
std::uint32_t galois_element(const Context &context, int step);

} // namespace ciphermote

#endif
