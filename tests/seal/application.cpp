// SPDX-License-Identifier: Apache-2.0
// An application of SEAL with a chain of its own, whose ciphertexts Ciphermote computes on.
//
//   seal_application encrypt FOLDER ckks|bfv N LOG2_SCALE COUNT BITS...
//   seal_application decrypt FOLDER COUNT
//
// The first saves parameters, the secret key and ciphertexts 0.seal .. in FOLDER; BITS are the primes' sizes.
// Ciphertext i holds value(i, j) in slot j: seeded if i is even, under the public key otherwise. If i / 2 is
// odd, it is a square at the scale given, relinearized if i / 4 is even; the others have a 256th of that
// scale. They are switched to each level in turn. A line is printed for each: whether it is a square, and its
// primes. The second prints what slots 0 .. 7 of each 0.back .. hold.
#include <cmath>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include <seal/seal.h>

namespace
{

using seal::Ciphertext;
using seal::Plaintext;

int value(unsigned i, std::size_t j)
{
    return static_cast<int>((i + j) % 5) - 2;
}

template <class Object> void save(const Object &object, const std::string &path)
{
    std::ofstream file(path, std::ios::binary);
    object.save(file);
}

std::ifstream opened(const std::string &path)
{
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        throw std::runtime_error("cannot read " + path);
    }
    return file;
}

// Encodes integers, in slots of either scheme.
class Encoder
{
  public:
    explicit Encoder(const seal::SEALContext &context)
        : context_(context), is_ckks_(context.key_context_data()->parms().scheme() == seal::scheme_type::ckks)
    {
    }
    Plaintext encoded(unsigned i, double scale) const
    {
        Plaintext plain;
        if (is_ckks_) {
            seal::CKKSEncoder encoder(context_);
            std::vector<double> values(encoder.slot_count());
            for (std::size_t j = 0; j < values.size(); j++) {
                values[j] = value(i, j);
            }
            encoder.encode(values, scale, plain);
        } else {
            seal::BatchEncoder encoder(context_);
            std::vector<std::int64_t> values(encoder.slot_count());
            for (std::size_t j = 0; j < values.size(); j++) {
                values[j] = value(i, j);
            }
            encoder.encode(values, plain);
        }
        return plain;
    }
    std::vector<double> decoded(const Plaintext &plain) const
    {
        std::vector<double> values;
        if (is_ckks_) {
            seal::CKKSEncoder(context_).decode(plain, values);
        } else {
            std::vector<std::int64_t> integers;
            seal::BatchEncoder(context_).decode(plain, integers);
            values.assign(integers.begin(), integers.end());
        }
        return values;
    }
    bool is_ckks() const
    {
        return is_ckks_;
    }

  private:
    const seal::SEALContext &context_;
    bool is_ckks_;
};

void encrypt(const std::string &folder, const std::string &scheme, std::size_t n, double scale,
             unsigned count, const std::vector<int> &bits)
{
    seal::EncryptionParameters parms(scheme == "ckks" ? seal::scheme_type::ckks : seal::scheme_type::bfv);
    parms.set_poly_modulus_degree(n);
    parms.set_coeff_modulus(seal::CoeffModulus::Create(n, bits));
    if (scheme == "bfv") {
        parms.set_plain_modulus(seal::PlainModulus::Batching(n, 17));
    }
    const seal::SEALContext context(parms, true, seal::sec_level_type::tc128);
    seal::KeyGenerator keys(context);
    seal::PublicKey public_key;
    seal::RelinKeys relin_keys;
    keys.create_public_key(public_key);
    keys.create_relin_keys(relin_keys);
    save(parms, folder + "/parms.seal");
    save(keys.secret_key(), folder + "/secret.seal");
    const seal::Encryptor encryptor(context, public_key, keys.secret_key());
    seal::Evaluator evaluator(context);
    const Encoder encoder(context);
    const std::size_t top = bits.size() - 1;
    for (unsigned i = 0; i < count; i++) {
        const std::string path = folder + "/" + std::to_string(i) + ".seal";
        const bool squared = i / 2 % 2 == 1;
        const Plaintext plain = encoder.encoded(i, squared ? scale : scale / 256);
        std::size_t primes = top;
        if (i % 2 == 0) {
            save(encryptor.encrypt_symmetric(plain), path); // seeded
        } else {
            save(encryptor.encrypt(plain), path);
        }
        if (squared || i >= 4) {
            Ciphertext ciphertext;
            auto file = opened(path);
            ciphertext.load(context, file);
            if (squared) {
                evaluator.square_inplace(ciphertext);
                if (i / 4 % 2 == 0) {
                    evaluator.relinearize_inplace(ciphertext, relin_keys);
                }
                if (encoder.is_ckks()) {
                    evaluator.rescale_to_next_inplace(ciphertext);
                    primes--;
                }
            }
            // A product leaves no budget at the lowest levels.
            const std::size_t lowest = squared && !encoder.is_ckks() ? (top > 2 ? 3 : 2) : 1;
            const std::size_t level = primes - i % (primes - lowest + 1);
            for (; primes > level; primes--) {
                evaluator.mod_switch_to_next_inplace(ciphertext);
            }
            save(ciphertext, path);
        }
        std::cout << squared << ' ' << primes << '\n';
    }
}

void decrypt(const std::string &folder, unsigned count)
{
    seal::EncryptionParameters parms;
    auto file = opened(folder + "/parms.seal");
    parms.load(file);
    const seal::SEALContext context(parms, true, seal::sec_level_type::tc128);
    seal::SecretKey secret;
    auto key = opened(folder + "/secret.seal");
    secret.load(context, key);
    seal::Decryptor decryptor(context, secret);
    const Encoder encoder(context);
    for (unsigned i = 0; i < count; i++) {
        Ciphertext ciphertext;
        Plaintext plain;
        auto result = opened(folder + "/" + std::to_string(i) + ".back");
        ciphertext.load(context, result);
        decryptor.decrypt(ciphertext, plain);
        const std::vector<double> values = encoder.decoded(plain);
        for (unsigned j = 0; j < 8; j++) {
            std::cout << values[j] << (j < 7 ? ' ' : '\n');
        }
    }
}

} // namespace

int main(int argc, char **argv)
try {
    const std::vector<std::string> given(argv + 1, argv + argc);
    if (given.size() > 6 && given[0] == "encrypt") {
        std::vector<int> bits;
        for (std::size_t i = 6; i < given.size(); i++) {
            bits.push_back(std::stoi(given[i]));
        }
        encrypt(given[1], given[2], std::stoul(given[3]), std::pow(2.0, std::stoi(given[4])),
                static_cast<unsigned>(std::stoul(given[5])), bits);
    } else if (given.size() == 3 && given[0] == "decrypt") {
        std::cout.precision(15);
        decrypt(given[1], static_cast<unsigned>(std::stoul(given[2])));
    } else {
        std::cerr << "usage: seal_application encrypt|decrypt FOLDER ... (see its source)\n";
        return 2;
    }
    return 0;
} catch (const std::exception &error) {
    std::cerr << error.what() << '\n';
    return 1;
}
