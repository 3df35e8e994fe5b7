// SPDX-License-Identifier: Apache-2.0
/*
 * The owner: makes keys, encrypts and decrypts.
 *
 *     ciphermote::Entropy entropy(seed);                      // 32 bytes from the system
 *     ciphermote::SecretKey secret(context, entropy);
 *     ciphermote::SeededKey relin = ciphermote::make_relinearization_key(secret, entropy);
 *     ciphermote::Ciphertext c = ciphermote::encrypt(plaintext, secret, entropy);
 *     std::vector<std::complex<double>> slots = ciphermote::decrypt(c, secret);
 *
 * No branch and no address depends on a secret key, on noise, on masks or on what is decrypted, but that a
 * call is refused (docs/security.md). Residues of secrets are wiped before their memory is given back; what a
 * call returns, and what is encrypted, is the caller's to wipe.
 *
 * Beside what it returns, a call allocates at most data primes + 6 polynomials of n words, and a PublicKey of
 * a seeded key 2 (data + special primes). Contexts, keys and Entropy may be shared between threads.
 *
 * Errors are exceptions, all of them ciphermote::Error, with one sentence that says what is wrong and what to
 * do.
 */
#ifndef CIPHERMOTE_OWNER_H
#define CIPHERMOTE_OWNER_H

#include <complex>
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

// A decryption that gives noise, as under another key, or values that outgrew the modulus.
class NoiseError : public Error
{
  public:
    using Error::Error;
};

// Seeds, each drawn once: for every key and every encryption two of its own, one public and one secret,
// blocks of the ChaCha20 key stream.
class Entropy
{
  public:
    static constexpr std::size_t seed_bytes = 32;

    // seed: 32 random bytes, of the system's source, which nothing else ever uses: two of one seed would give
    // two keys the same noise. Error for another number, and for equal bytes, as a failing source gives.
    explicit Entropy(std::span<const std::uint8_t> seed);
    ~Entropy(); // wiped
    Entropy(const Entropy &) = delete;
    Entropy &operator=(const Entropy &) = delete;

  private:
    friend struct Inside;
    struct Body;
    std::unique_ptr<Body> body_;
};

class SecretKey
{
  public:
    // Uniform ternary, as SEAL's.
    SecretKey(std::shared_ptr<const Context> context, Entropy &entropy);
    // coefficients: [n] of -1, 0 and 1. Error for anything else, and if all are 0.
    SecretKey(std::shared_ptr<const Context> context, std::span<const std::int8_t> coefficients);
    ~SecretKey(); // wiped
    SecretKey(const SecretKey &) = delete;
    SecretKey &operator=(const SecretKey &) = delete;
    SecretKey(SecretKey &&) noexcept;
    SecretKey &operator=(SecretKey &&) noexcept;

    const std::shared_ptr<const Context> &context() const;
    std::span<const std::int8_t> coefficients() const; // [n]
    // uint32 [data + special primes][n], values in SEAL's order: SEAL's own form.
    std::span<const std::uint32_t> residues() const;

  private:
    friend struct Inside;
    struct Body;
    std::unique_ptr<Body> body_;
};

// What encrypts without a secret.
class PublicKey
{
  public:
    // residues: uint32 [2][data + special primes][n], values in SEAL's order. Error unless that many, each
    // below its prime, and no polynomial zero at one.
    PublicKey(std::shared_ptr<const Context> context, std::span<const std::uint32_t> residues);
    explicit PublicKey(const SeededKey &key); // of one pair; Error otherwise
    ~PublicKey();
    PublicKey(PublicKey &&) noexcept;
    PublicKey &operator=(PublicKey &&) noexcept;

    const std::shared_ptr<const Context> &context() const;

  private:
    friend struct Inside;
    struct Body;
    std::unique_ptr<Body> body_;
};

// ---- keys ----

// At all primes, the special ones too, as SEAL's.
SeededKey make_public_key(const SecretKey &secret, Entropy &entropy);
// Keys for EvaluationKeys, a pair a digit: pair j encrypts P s' at the data primes of digit j and 0
// elsewhere, where s' is what is switched from: s^2; s(X^element), element odd in 3 .. 2n - 1; or another
// secret key. Error if the chain has no special prime, and so no key switching.
SeededKey make_relinearization_key(const SecretKey &secret, Entropy &entropy);
SeededKey make_galois_key(const SecretKey &secret, std::uint32_t element, Entropy &entropy);
// Brings what is under the device's key (second) under the owner's (first), so that the owner reads it. The
// order is all that says which key is whose, and it cannot be checked. Never swap them: a key made of
// (device, owner) lets whoever has it and that device read what the owner reads.
SeededKey make_rekey_key(const SecretKey &owner, const SecretKey &device, Entropy &entropy);

// ---- encryption: at the plaintext's primes and scale; BFV's integers m as round(Q m / t) ----

// Under a public key; and with less noise, under the secret key. out: replaced, as the evaluator does
// (evaluate.h).
void encrypt(const Plaintext &plaintext, const PublicKey &key, Entropy &entropy, Ciphertext &out);
void encrypt(const Plaintext &plaintext, const SecretKey &secret, Entropy &entropy, Ciphertext &out);

inline Ciphertext encrypt(const Plaintext &plaintext, const PublicKey &key, Entropy &entropy)
{
    Ciphertext out;
    encrypt(plaintext, key, entropy, out);
    return out;
}

inline Ciphertext encrypt(const Plaintext &plaintext, const SecretKey &secret, Entropy &entropy)
{
    Ciphertext out;
    encrypt(plaintext, secret, entropy, out);
    return out;
}

// ---- decryption: of two or three components, at any number of primes ----

// CKKS: the n/2 slots, over the scale, as they are modulo Q, the primes' product. NoiseError if the real or
// imaginary part of one, times the scale, is then not below Q/4, as under another key; how rarely noise
// passes: docs/security.md. Values whose coefficients reached Q/2 on the way have wrapped around, and those
// that ended near a multiple of Q pass as small ones: 2 at the scale Q/2 decrypts to 0. So whoever computes
// keeps |value| times the scale below Q/4, at each level. Error for BFV's.
// Residues are joined to doubles of relative error below 7 2^-53.
std::vector<std::complex<double>> decrypt(const Ciphertext &ciphertext, const SecretKey &secret);
// The same, as the polynomial's n coefficients, not divided by the scale.
std::vector<double> decrypt_coefficients(const Ciphertext &ciphertext, const SecretKey &secret);
// The same, exact: int32 [primes][n], centred digits d of coefficients d_0 + q_0 (d_1 + q_1 (d_2 + ..)).
std::vector<std::int32_t> decrypt_digits(const Ciphertext &ciphertext, const SecretKey &secret);
// BFV: the n coefficients modulo t, the context's, or, if it has none, 2 .. 2^32 - 1 and no multiple of a
// prime of the chain. They are round(t x / Q) mod t for coefficients x modulo Q, the primes' product; exact.
// NoiseError if the noise may be too large, as under another key; Error for a ciphertext with a scale, which
// is CKKS's.
std::vector<std::uint32_t> decrypt_bfv(const Ciphertext &ciphertext, const SecretKey &secret,
                                       std::uint32_t plain_modulus);

// Some coefficients x of BFV: the messages, round(t x / Q) mod t, and how far each t x / Q is from a whole
// number: within -1/2 .. 1/2. A message is right if its true noise is within that too.
struct Coefficients {
    std::vector<std::uint32_t> messages;
    std::vector<double> noise;
};
// Those at some positions, of a ciphertext that has nothing at others: the compact lane's. Whether the noise
// is that of a message is the caller's to judge. Error as decrypt_bfv's, and for a position past the ring.
Coefficients decrypt_bfv_at(const Ciphertext &ciphertext, const SecretKey &secret,
                            std::uint32_t plain_modulus, std::span<const std::uint32_t> positions);

} // namespace ciphermote

#endif
