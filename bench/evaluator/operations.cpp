// SPDX-License-Identifier: Apache-2.0
#include "operations.h"

#include <algorithm>
#include <random>

#include <seal/util/numth.h>

using ciphermote::Ciphertext;
using ciphermote::Plaintext;

Numbers::Numbers(const Pair &pair)
{
    std::mt19937_64 random(1);
    const std::uint32_t t = pair.chain.plain_modulus;
    if (t) {
        scale = 1;
        for (std::size_t i = 0; i < pair.n(); i++) {
            unsigned_integers.push_back(random() % t);
            integers.push_back(static_cast<std::int64_t>(unsigned_integers.back()));
        }
        return;
    }
    // Products are to stay below the modulus.
    scale = pair.chain.log2_n < 12 ? 0x1p11 : 0x1p30;
    for (std::size_t i = 0; i < pair.n() / 2; i++) {
        reals.push_back(static_cast<double>(random() >> 11) * 0x1p-52 - 1);
    }
}

// Below n/4 in magnitude: steps that differ by n/2 are the same.
RandomStep::RandomStep(unsigned log2_n)
    : step(static_cast<int>(std::mt19937(log2_n)() % ((1u << log2_n) / 4 - 1) + 1)),
      parts(seal::util::naf(step))
{
}

std::vector<int> rotation_steps(const Pair &pair, unsigned count)
{
    std::vector<int> steps = RandomStep(pair.chain.log2_n).parts;
    for (int step = 1; steps.size() + 1 < count || step == 1; step++) {
        if (std::find(steps.begin(), steps.end(), step) == steps.end()) {
            steps.push_back(step);
        }
    }
    return steps;
}

// ---- ours ----

namespace
{

std::shared_ptr<const ciphermote::Context> context_of(const Pair &pair, const std::string &isa)
{
    return std::make_shared<const ciphermote::Context>(pair.chain, isa);
}

// Counts of instructions are to be the same in every run.
std::unique_ptr<ciphermote::Entropy> fixed_entropy()
{
    std::vector<std::uint8_t> seed(ciphermote::Entropy::seed_bytes);
    for (std::size_t i = 0; i < seed.size(); i++) {
        seed[i] = static_cast<std::uint8_t>(i);
    }
    return std::make_unique<ciphermote::Entropy>(seed);
}

ciphermote::EvaluationKeys keys_of(const Pair &pair, const ciphermote::SecretKey &secret,
                                   ciphermote::Entropy &entropy, unsigned rotation_keys)
{
    ciphermote::EvaluationKeys keys(secret.context());
    if (!pair.switches_keys()) {
        return keys;
    }
    keys.add_relinearization(make_relinearization_key(secret, entropy));
    std::vector<std::uint32_t> elements = {static_cast<std::uint32_t>(2 * pair.n() - 1)};
    for (const int step : rotation_steps(pair, rotation_keys)) {
        elements.push_back(galois_element(*secret.context(), step));
    }
    for (const std::uint32_t element : elements) {
        keys.add_galois(element, make_galois_key(secret, element, entropy));
    }
    return keys;
}

Plaintext zero_of(const Ours &ours)
{
    return ours.pair.scheme == Scheme::bfv ? Plaintext::constant(ours.context, 0, ours.primes())
                                           : Plaintext::constant(ours.context, 0.0, 1, ours.primes());
}

} // namespace

Ours::Ours(const Pair &of, const std::string &isa, unsigned rotation_keys)
    : pair(of), numbers(of), context(context_of(of, isa)), entropy(fixed_entropy()),
      secret(context, *entropy), public_key(make_public_key(secret, *entropy)),
      keys(keys_of(of, secret, *entropy, rotation_keys)), plain(encoded()), zero(zero_of(*this)),
      a(encrypted(plain, secret)), b(encrypted(plain, secret)), product(multiply(a, b)),
      relinearized(pair.switches_keys() ? relinearize(product, keys) : a)
{
    if (pair.scheme == Scheme::bfv) {
        coefficients = decrypt_bfv(a, secret, pair.chain.plain_modulus);
    }
}

Plaintext Ours::encoded() const
{
    if (pair.scheme == Scheme::ckks) {
        return Plaintext(context, numbers.reals, numbers.scale, primes());
    }
    return Plaintext(context, numbers.integers, ciphermote::Places::slots, primes());
}

// ---- SEAL's ----

namespace
{

seal::EncryptionParameters parameters(const Pair &pair)
{
    const bool is_ckks = pair.scheme == Scheme::ckks;
    seal::EncryptionParameters parms(is_ckks ? seal::scheme_type::ckks : seal::scheme_type::bfv);
    parms.set_poly_modulus_degree(pair.n());
    parms.set_coeff_modulus(seal::CoeffModulus::Create(pair.n(), pair.seal_bits));
    if (!is_ckks) {
        parms.set_plain_modulus(pair.chain.plain_modulus);
    }
    // Counts of instructions are to be the same in every run.
    parms.set_random_generator(std::make_shared<seal::Blake2xbPRNGFactory>(seal::prng_seed_type{1}));
    return parms;
}

seal::PublicKey public_key_of(seal::KeyGenerator &generator)
{
    seal::PublicKey key;
    generator.create_public_key(key);
    return key;
}

std::vector<std::uint32_t> elements_of(const seal::SEALContext &context, std::vector<int> steps)
{
    steps.push_back(0); // SEAL's name for the conjugation, and the exchange of columns
    return context.key_context_data()->galois_tool()->get_elts_from_steps(steps);
}

} // namespace

Seals::Seals(const Pair &of, unsigned rotation_keys)
    : pair(of), numbers(of), context(parameters(of), true, seal::sec_level_type::tc128), generator(context),
      public_key(public_key_of(generator)), evaluator(context),
      encryptor(context, public_key, generator.secret_key()), decryptor(context, generator.secret_key())
{
    if (pair.scheme == Scheme::ckks) {
        ckks = std::make_unique<seal::CKKSEncoder>(context);
    } else {
        bfv = std::make_unique<seal::BatchEncoder>(context);
    }
    encode(plain);
    plain_out = plain;
    encryptor.encrypt_symmetric(plain, a);
    encryptor.encrypt_symmetric(plain, b);
    evaluator.multiply(a, b, product);
    if (pair.scheme == Scheme::bfv) {
        evaluator.transform_to_ntt(plain, a.parms_id(), plain_values);
    }
    if (pair.switches_keys()) {
        generator.create_relin_keys(relin);
        generator.create_galois_keys(elements_of(context, rotation_steps(pair, rotation_keys)), galois);
        evaluator.relinearize(product, relin, relinearized);
    }
}

void Seals::encode(seal::Plaintext &to)
{
    if (ckks) {
        ckks->encode(numbers.reals, numbers.scale, to);
    } else {
        bfv->encode(numbers.unsigned_integers, to);
    }
}

// ---- both ----

namespace
{

Ciphertext rotated_by_parts(const Ours &o, const std::vector<int> &parts)
{
    Ciphertext c = rotate(o.a, parts[0], o.keys);
    for (std::size_t i = 1; i < parts.size(); i++) {
        c = rotate(c, parts[i], o.keys);
    }
    return c;
}

std::vector<Operation> every_degree()
{
    return {
        {"batch", [](Seals &s) { s.encode(s.plain_out); }, [](Ours &o) { o.encoded(); },
         "\"ours\": \"to values at all primes\""},
        {"encrypt", [](Seals &s) { s.encryptor.encrypt(s.plain, s.out); },
         [](Ours &o) { o.encrypted(o.plain, o.public_key); }, "\"key\": \"public\""},
        {"encrypt_symmetric", [](Seals &s) { s.encryptor.encrypt_symmetric(s.plain, s.out); },
         [](Ours &o) { o.encrypted(o.plain, o.secret); }},
        {"add", [](Seals &s) { s.evaluator.add(s.a, s.b, s.out); }, [](Ours &o) { add(o.a, o.b); }},
        {"multiply", [](Seals &s) { s.evaluator.multiply(s.a, s.b, s.out); },
         [](Ours &o) { multiply(o.a, o.b); }},
        {"square", [](Seals &s) { s.evaluator.square(s.a, s.out); }, [](Ours &o) { square(o.a); }},
    };
}

std::vector<Operation> of_ckks()
{
    return {
        {"decrypt_unbatch",
         [](Seals &s) {
             s.decryptor.decrypt(s.a, s.plain_out);
             s.ckks->decode(s.plain_out, s.complex_out);
         },
         [](Ours &o) { decrypt(o.a, o.secret); }, "\"ours\": \"one call\""},
        {"multiply_plain", [](Seals &s) { s.evaluator.multiply_plain(s.a, s.plain, s.out); },
         [](Ours &o) { multiply_plain(o.a, o.plain); }},
    };
}

std::vector<Operation> of_bfv()
{
    return {
        {"decrypt", [](Seals &s) { s.decryptor.decrypt(s.a, s.plain_out); },
         [](Ours &o) { o.coefficients = decrypt_bfv(o.a, o.secret, o.pair.chain.plain_modulus); }},
        {"unbatch", [](Seals &s) { s.bfv->decode(s.plain, s.integers_out); },
         [](Ours &o) { slots_of(*o.context, o.coefficients); }},
        // SEAL transforms plaintext and ciphertext in each call, and the product back.
        {"multiply_plain", [](Seals &s) { s.evaluator.multiply_plain(s.a, s.plain, s.out); },
         [](Ours &o) {
             multiply_plain(
                 o.a, Plaintext(o.context, o.numbers.integers, ciphermote::Places::coefficients, o.primes()));
         },
         "\"plaintext\": \"from coefficients in each call, both\""},
        {"multiply_plain_prepared",
         [](Seals &s) {
             s.evaluator.transform_to_ntt(s.a, s.out);
             s.evaluator.multiply_plain_inplace(s.out, s.plain_values);
             s.evaluator.transform_from_ntt_inplace(s.out);
         },
         [](Ours &o) { multiply_plain(o.a, o.plain); },
         "\"plaintext\": \"transformed beforehand, both; our ciphertexts always are\""},
    };
}

std::vector<Operation> key_switching(const Pair &pair)
{
    const bool is_ckks = pair.scheme == Scheme::ckks;
    const RandomStep random(pair.chain.log2_n);
    const auto rotate_seal = [is_ckks](Seals &s, int step) {
        is_ckks ? s.evaluator.rotate_vector(s.a, step, s.galois, s.out)
                : s.evaluator.rotate_rows(s.a, step, s.galois, s.out);
    };
    return {
        {"relinearize", [](Seals &s) { s.evaluator.relinearize(s.product, s.relin, s.out); },
         [](Ours &o) { relinearize(o.product, o.keys); }},
        {"rotate", [rotate_seal](Seals &s) { rotate_seal(s, 1); }, [](Ours &o) { rotate(o.a, 1, o.keys); },
         "\"step\": 1"},
        {"rotate_random", [rotate_seal, random](Seals &s) { rotate_seal(s, random.step); },
         [random](Ours &o) { rotated_by_parts(o, random.parts); },
         "\"step\": " + std::to_string(random.step) +
             ", \"key_switches\": " + std::to_string(random.parts.size())},
        {is_ckks ? "conjugate" : "rotate_columns",
         [is_ckks](Seals &s) {
             is_ckks ? s.evaluator.complex_conjugate(s.a, s.galois, s.out)
                     : s.evaluator.rotate_columns(s.a, s.galois, s.out);
         },
         [](Ours &o) { conjugate(o.a, o.keys); }},
    };
}

// To the next of SEAL's levels, which is one or two of our primes.
Operation to_next_level(const Pair &pair)
{
    const unsigned count = pair.primes_a_level();
    const std::string note = "\"primes\": " + std::to_string(count) +
                             ", \"seal_bits\": " + std::to_string(pair.seal_bits[pair.seal_bits.size() - 2]);
    if (pair.scheme == Scheme::ckks) {
        return {"rescale", [](Seals &s) { s.evaluator.rescale_to_next(s.relinearized, s.out); },
                [count](Ours &o) { rescale(o.relinearized, count); }, note};
    }
    return {"mod_switch", [](Seals &s) { s.evaluator.mod_switch_to_next(s.a, s.out); },
            [count](Ours &o) { mod_switch(o.a, count); }, note};
}

} // namespace

std::vector<Operation> operations_of(const Pair &pair)
{
    std::vector<Operation> all = every_degree();
    const auto append = [&all](std::vector<Operation> more) {
        all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    };
    append(pair.scheme == Scheme::ckks ? of_ckks() : of_bfv());
    if (pair.switches_keys()) {
        append(key_switching(pair));
    }
    if (pair.chain.data.size() > 1) {
        all.push_back(to_next_level(pair));
    }
    return all;
}
