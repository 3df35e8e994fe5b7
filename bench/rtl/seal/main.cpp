/* SPDX-License-Identifier: Apache-2.0 */
// One encryption and one decryption of an unchanged SEAL with the simulated accelerator and without, from the
// same random words: the same bits, and the time of each. n = 1024, one prime of 27 bits, a plain modulus of
// 8 bits: the parameters of Mert, Ozturk and Savas. Prints one JSON object of microseconds.
//
// SEAL's time is the least of ROUNDS on this machine. The accelerator's is simulated, from the write of a
// command to the end of its last packet out. With the accelerator, software is timed while its answers come
// from memory.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>

#include <seal/seal.h>
#include <seal/util/ntt.h>
#include <seal/util/polyarithsmallmod.h>

#include "wrap.h"

namespace
{

constexpr unsigned ROUNDS = 1000;
constexpr unsigned PLAIN_MODULUS = 251;

double now_us()
{
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

double shortest_us(double so_far, const std::function<void()> &work)
{
    const double start = now_us();
    work();
    return std::min(so_far, now_us() - start);
}

bool same(const seal::Ciphertext &a, const seal::Ciphertext &b)
{
    return a.size() == b.size() && std::equal(a.data(), a.data() + a.dyn_array().size(), b.data());
}

// Simulated time of what the work offloads, with all tables and factors loaded.
double hardware_us(offload &accelerator, const std::function<void()> &work)
{
    work();
    accelerator.record();
    accelerator.jobs_ps = accelerator.tables_ps = 0;
    work();
    require(accelerator.tables_ps == 0, "resident tables");
    return static_cast<double>(accelerator.jobs_ps) / 1e6;
}

// Random calls of each kind by themselves, which must give SEAL's own words; 0 if they do.
int calls_differ(offload &accelerator, const seal::util::NTTTables &tables)
{
    using seal::util::CoeffIter;
    using seal::util::ConstCoeffIter;
    const uint64_t q = tables.modulus().value();
    for (unsigned round = 0; round < 20; round++) {
        std::vector<uint64_t> results[2];
        const uint64_t seed = random_bits();
        for (offload *const to : {static_cast<offload *>(nullptr), &accelerator}) {
            offload_to = to;
            random_bits.seed(seed);
            std::vector<uint64_t> a(N);
            std::vector<uint64_t> b(N);
            for (unsigned i = 0; i < N; i++) {
                a[i] = random_bits() % q;
                b[i] = random_bits() % q;
            }
            seal::util::ntt_negacyclic_harvey(CoeffIter(a.data()), tables);
            std::vector<uint64_t> &all = results[to != nullptr];
            all = a;
            seal::util::dyadic_product_coeffmod(ConstCoeffIter(a.data()), ConstCoeffIter(b.data()), N,
                                                tables.modulus(), CoeffIter(b.data()));
            all.insert(all.end(), b.begin(), b.end());
            seal::util::inverse_ntt_negacyclic_harvey(CoeffIter(b.data()), tables);
            all.insert(all.end(), b.begin(), b.end());
        }
        if (results[0] != results[1]) {
            return 1;
        }
    }
    return 0;
}

} // namespace

int main()
{
    seal::EncryptionParameters parms(seal::scheme_type::bfv);
    parms.set_poly_modulus_degree(N);
    parms.set_coeff_modulus(seal::CoeffModulus::BFVDefault(N));
    parms.set_plain_modulus(PLAIN_MODULUS);
    parms.set_random_generator(std::make_shared<seal::Blake2xbPRNGFactory>(seal::prng_seed_type{1, 2, 3}));
    const seal::SEALContext context(parms);
    const seal::util::NTTTables &tables = context.first_context_data()->small_ntt_tables()[0];
    const uint64_t q = tables.modulus().value();

    seal::KeyGenerator generator(context);
    seal::PublicKey public_key;
    generator.create_public_key(public_key);
    seal::Encryptor encryptor(context, public_key);
    seal::Decryptor decryptor(context, generator.secret_key());
    seal::Plaintext message(N);
    for (unsigned i = 0; i < N; i++) {
        message[i] = i % PLAIN_MODULUS;
    }
    seal::Ciphertext ciphertext;
    seal::Plaintext decrypted;
    const std::function<void()> encrypt = [&] { encryptor.encrypt(message, ciphertext); };
    const std::function<void()> decrypt = [&] { decryptor.decrypt(ciphertext, decrypted); };

    encrypt();
    decrypt();
    const seal::Ciphertext own_ciphertext = ciphertext;
    const seal::Plaintext own_decrypted = decrypted;

    // Encryption and decryption have an accelerator each, as a client and a server would.
    const auto for_encryption = std::make_unique<offload>();
    const auto for_decryption = std::make_unique<offload>();
    offload_to = for_encryption.get();
    encrypt();
    const double tables_us = static_cast<double>(for_encryption->tables_ps) / 1e6;
    const double encryption_us = hardware_us(*for_encryption, encrypt);
    bool right = same(ciphertext, own_ciphertext) && offloaded_calls == 3 * 5 && kept_calls == 0;
    offload_to = for_decryption.get();
    const double decryption_us = hardware_us(*for_decryption, decrypt);
    right = right && decrypted == own_decrypted && own_decrypted == message;
    offloaded_calls = kept_calls = 0;
    const auto for_calls = std::make_unique<offload>();
    if (!right || calls_differ(*for_calls, tables) != 0) {
        std::fprintf(stderr, "SEAL's results with the accelerator differ from its own.\n");
        return 1;
    }

    double own_calls = 1e9, own_encryption = 1e9, own_decryption = 1e9;
    double own_decryption_calls = 1e9, with_encryption = 1e9, with_decryption = 1e9;
    std::vector<uint64_t> u(N), product(N);
    const uint64_t *const keys[2] = {public_key.data().data(0), public_key.data().data(1)};
    const auto products = [&](unsigned count) {
        using namespace seal::util;
        ntt_negacyclic_harvey(CoeffIter(u.data()), tables);
        for (unsigned i = 0; i < count; i++) {
            dyadic_product_coeffmod(ConstCoeffIter(u.data()), ConstCoeffIter(keys[i]), N, tables.modulus(),
                                    CoeffIter(product.data()));
            inverse_ntt_negacyclic_harvey(CoeffIter(product.data()), tables);
        }
    };
    for (unsigned round = 0; round < ROUNDS; round++) { // alternately: a busy machine slows all of them
        offload_to = nullptr;
        own_calls = shortest_us(own_calls, [&] { products(2); });
        own_decryption_calls = shortest_us(own_decryption_calls, [&] { products(1); });
        own_encryption = shortest_us(own_encryption, encrypt);
        own_decryption = shortest_us(own_decryption, decrypt);
        offload_to = for_encryption.get();
        for_encryption->replay();
        with_encryption = shortest_us(with_encryption, encrypt);
        offload_to = for_decryption.get();
        for_decryption->replay();
        with_decryption = shortest_us(with_decryption, decrypt);
    }
    if (!same(ciphertext, own_ciphertext) || !(decrypted == own_decrypted)) {
        std::fprintf(stderr, "SEAL's results with answers from memory differ from its own.\n");
        return 1;
    }
    std::printf("{\"q\": %llu, \"seal\": \"%d.%d.%d\", \"tables_us\": %.3f,\n",
                static_cast<unsigned long long>(q), SEAL_VERSION_MAJOR, SEAL_VERSION_MINOR,
                SEAL_VERSION_PATCH, tables_us);
    std::printf(" \"encryption\": {\"calls_us\": %.2f, \"hardware_us\": %.3f, \"whole_us\": %.2f, "
                "\"software_us\": %.2f},\n",
                own_calls, encryption_us, own_encryption, with_encryption);
    std::printf(" \"decryption\": {\"calls_us\": %.2f, \"hardware_us\": %.3f, \"whole_us\": %.2f, "
                "\"software_us\": %.2f}}\n",
                own_decryption_calls, decryption_us, own_decryption, with_decryption);
}
