// SPDX-License-Identifier: Apache-2.0
// Both sides with keys and ciphertexts of the same numbers, and the operations that are compared.
#ifndef CM_BENCH_EVALUATOR_OPERATIONS_H
#define CM_BENCH_EVALUATOR_OPERATIONS_H

#include <complex>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <seal/seal.h>

#include "chains.h"
#include "ciphermote/evaluate.h"
#include "ciphermote/owner.h"

// What is encrypted, the same for both.
struct Numbers {
    std::vector<double> reals;          // CKKS's: n/2
    std::vector<std::int64_t> integers; // BFV's: n, in slots
    std::vector<std::uint64_t> unsigned_integers;
    double scale; // 1 for BFV

    explicit Numbers(const Pair &pair);
};

// A random step, and the signed powers of two that it is composed of with SEAL's default keys: its
// non-adjacent form. Both sides have keys for those, and switch keys as often.
struct RandomStep {
    int step;
    std::vector<int> parts;

    explicit RandomStep(unsigned log2_n);
};

// Steps of rotation keys: 1, the random step's parts, and others, up to `count` with the conjugation's key.
std::vector<int> rotation_steps(const Pair &pair, unsigned count);

class Ours
{
  public:
    // isa: empty for the fastest. Evaluation keys are made and loaded one at a time, in their seeded form.
    Ours(const Pair &pair, const std::string &isa, unsigned rotation_keys);

    const Pair pair;
    const Numbers numbers;
    const std::shared_ptr<const ciphermote::Context> context;
    const std::unique_ptr<ciphermote::Entropy> entropy;
    const ciphermote::SecretKey secret;
    const ciphermote::PublicKey public_key;
    ciphermote::EvaluationKeys keys;
    const ciphermote::Plaintext plain, zero; // zero: BFV's encryption adds the message to it
    const ciphermote::Ciphertext a, b, product, relinearized;
    std::vector<std::uint32_t> coefficients; // BFV's, decrypted

    unsigned primes() const
    {
        return static_cast<unsigned>(pair.chain.data.size());
    }
    ciphermote::Plaintext encoded() const;
    template <class Key>
    ciphermote::Ciphertext encrypted(const ciphermote::Plaintext &message, const Key &key)
    {
        if (pair.scheme == Scheme::ckks) {
            return encrypt(message, key, *entropy);
        }
        return add_plain(encrypt(zero, key, *entropy), message);
    }
};

class Seals
{
  public:
    Seals(const Pair &pair, unsigned rotation_keys);

    const Pair pair;
    const Numbers numbers;
    const seal::SEALContext context;
    seal::KeyGenerator generator;
    seal::PublicKey public_key;
    seal::RelinKeys relin;
    seal::GaloisKeys galois;
    seal::Evaluator evaluator;
    seal::Encryptor encryptor;
    seal::Decryptor decryptor;
    std::unique_ptr<seal::CKKSEncoder> ckks;
    std::unique_ptr<seal::BatchEncoder> bfv;
    seal::Plaintext plain, plain_values; // plain_values: BFV's, transformed
    seal::Ciphertext a, b, product, relinearized;
    // Results.
    seal::Ciphertext out;
    seal::Plaintext plain_out;
    std::vector<std::complex<double>> complex_out;
    std::vector<std::uint64_t> integers_out;

    void encode(seal::Plaintext &to);
};

struct Operation {
    std::string name;
    std::function<void(Seals &)> seal;
    std::function<void(Ours &)> own;
    std::string note = ""; // what the row is to say
};

std::vector<Operation> operations_of(const Pair &pair);

#endif
