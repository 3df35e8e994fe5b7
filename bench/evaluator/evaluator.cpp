// SPDX-License-Identifier: Apache-2.0
/*
 * The evaluator beside Microsoft SEAL, one thread: both take turns, and each operation's row is the ratio of
 * their medians. Prints one JSON object a line: name, value, unit, params.
 *
 *     evaluator [SECONDS]      per row; default 0.5
 *
 * Keys and ciphertexts are random residues: no operation's time depends on them.
 */
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <seal/seal.h>

#include "ciphermote/evaluate.h"

namespace
{

using clock_type = std::chrono::steady_clock;

double seconds_of(const std::function<void()> &operation)
{
    const auto start = clock_type::now();
    operation();
    return std::chrono::duration<double>(clock_type::now() - start).count();
}

double median(std::vector<double> times)
{
    std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2),
                     times.end());
    return times[times.size() / 2];
}

// Medians of each operation's time; they take turns for so long, and 15 times at least.
std::vector<double> medians(const std::vector<std::function<void()>> &operations, double seconds)
{
    std::vector<std::vector<double>> times(operations.size());
    for (const auto &operation : operations) {
        operation();
    }
    const auto start = clock_type::now();
    while (times[0].size() < 15 ||
           std::chrono::duration<double>(clock_type::now() - start).count() < seconds) {
        for (std::size_t i = 0; i < operations.size(); i++) {
            times[i].push_back(seconds_of(operations[i]));
        }
    }
    std::vector<double> found;
    for (auto &t : times) {
        found.push_back(median(std::move(t)));
    }
    return found;
}

struct Ring {
    unsigned log2_n;
    std::vector<std::uint32_t> data, special;
    unsigned digit_primes;
    std::vector<int> seal_bits;
};

// Primes 1 mod 2n, downwards from a bound.
std::vector<std::uint32_t> primes_below(std::uint32_t bound, unsigned log2_n, unsigned count,
                                        std::vector<std::uint32_t> without = {})
{
    std::vector<std::uint32_t> found;
    const std::uint32_t step = 2u << log2_n;
    for (std::uint32_t q = bound / step * step + 1; found.size() < count; q -= step) {
        if (q < bound && seal::Modulus(q).is_prime() &&
            std::find(without.begin(), without.end(), q) == without.end()) {
            found.push_back(q);
        }
    }
    return found;
}

Ring ring_of(unsigned log2_n)
{
    switch (log2_n) {
    case 12: {
        const auto data = primes_below(1u << 26, 12, 3);
        return {12, data, primes_below(1u << 27, 12, 1), 1, {35, 35, 36}};
    }
    case 13: {
        auto data = primes_below(1u << 24, 13, 5);
        const auto special = primes_below(1u << 24, 13, 2, data);
        for (const std::uint32_t q : primes_below(1u << 23, 13, 2)) {
            data.push_back(q);
        }
        return {13, data, special, 2, {42, 43, 43, 43, 43}};
    }
    default: {
        const auto data = primes_below(1u << 26, 14, 14);
        return {14,
                data,
                primes_below(static_cast<std::uint32_t>(0.88 * (1u << 27)), 14, 2),
                2,
                {47, 48, 48, 48, 48, 47, 48, 48, 48}};
    }
    }
}

double log2_of(const std::vector<std::uint32_t> &primes)
{
    double sum = 0;
    for (const std::uint32_t q : primes) {
        sum += std::log2(q);
    }
    return sum;
}

void row(const std::string &name, double value, const char *unit, const std::string &params)
{
    std::printf("{\"name\": \"%s\", \"value\": %.6g, \"unit\": \"%s\", \"params\": {%s}}\n", name.c_str(),
                value, unit, params.c_str());
    std::fflush(stdout);
}

class Random
{
  public:
    std::vector<std::uint32_t> residues(unsigned polynomials, const std::vector<std::uint32_t> &primes,
                                        std::size_t n)
    {
        std::vector<std::uint32_t> words(polynomials * primes.size() * n);
        for (std::size_t i = 0; i < words.size(); i++) {
            words[i] = static_cast<std::uint32_t>(generator_() % primes[i / n % primes.size()]);
        }
        return words;
    }

  private:
    std::mt19937_64 generator_{1};
};

struct Ours {
    std::shared_ptr<const ciphermote::Context> context;
    ciphermote::EvaluationKeys keys;
    ciphermote::Ciphertext a, b, product;

    static Ours make(const Ring &ring, const std::string &isa)
    {
        Random random;
        auto context = std::make_shared<const ciphermote::Context>(
            ciphermote::Chain{ring.log2_n, ring.data, ring.special, ring.digit_primes}, isa);
        const std::size_t n = context->n();
        ciphermote::EvaluationKeys keys(context);
        std::vector<std::uint32_t> all = ring.data;
        all.insert(all.end(), ring.special.begin(), ring.special.end());
        const unsigned digits =
            (static_cast<unsigned>(ring.data.size()) + ring.digit_primes - 1) / ring.digit_primes;
        keys.add_relinearization(random.residues(2 * digits, all, n));
        keys.add_galois(ciphermote::galois_element(*context, 1), random.residues(2 * digits, all, n));
        const unsigned primes = static_cast<unsigned>(ring.data.size());
        ciphermote::Ciphertext a(context, 2, primes, 0x1p30, random.residues(2, ring.data, n));
        ciphermote::Ciphertext b(context, 2, primes, 0x1p30, random.residues(2, ring.data, n));
        ciphermote::Ciphertext product = ciphermote::multiply(a, b);
        return {context, std::move(keys), std::move(a), std::move(b), std::move(product)};
    }
};

struct Seals {
    seal::SEALContext context;
    seal::Evaluator evaluator;
    seal::RelinKeys relin;
    seal::GaloisKeys galois;
    seal::Ciphertext a, b, product;

    static seal::EncryptionParameters parameters(const Ring &ring)
    {
        seal::EncryptionParameters parms(seal::scheme_type::ckks);
        const std::size_t n = std::size_t{1} << ring.log2_n;
        parms.set_poly_modulus_degree(n);
        parms.set_coeff_modulus(seal::CoeffModulus::Create(n, ring.seal_bits));
        return parms;
    }

    explicit Seals(const Ring &ring)
        : context(parameters(ring), true, seal::sec_level_type::tc128), evaluator(context)
    {
        seal::KeyGenerator generator(context);
        generator.create_relin_keys(relin);
        generator.create_galois_keys(std::vector<int>{1}, galois);
        seal::CKKSEncoder encoder(context);
        seal::Encryptor encryptor(context, generator.secret_key());
        seal::Plaintext plain;
        encoder.encode(1.5, 0x1p30, plain);
        encryptor.encrypt_symmetric(plain, a);
        encryptor.encrypt_symmetric(plain, b);
        evaluator.multiply(a, b, product);
    }
};

void compare(const Ring &ring, double seconds, const std::vector<std::string> &isas)
{
    Seals theirs(ring);
    seal::Ciphertext out;
    const std::string name = "ckks.n" + std::to_string(1u << ring.log2_n);
    double seal_bits = 0;
    for (const auto &q : theirs.context.first_context_data()->parms().coeff_modulus()) {
        seal_bits += std::log2(q.value());
    }
    row(name + ".data_bits", log2_of(ring.data), "bits",
        "\"special_bits\": " + std::to_string(log2_of(ring.special)) +
            ", \"digit_primes\": " + std::to_string(ring.digit_primes));
    row(name + ".seal_data_bits", seal_bits, "bits", "");
    std::vector<Ours> ours;
    for (const std::string &isa : isas) {
        ours.push_back(Ours::make(ring, isa));
    }
    using namespace ciphermote;
    const unsigned rescaled =
        ring.log2_n == 12 ? 1 : 2; // 26 bits, or 48 to 52, where SEAL's prime has 35 to 48
    struct {
        const char *name;
        std::function<void()> seal;
        std::function<void(const Ours &)> own;
    } operations[] = {
        {"add", [&] { theirs.evaluator.add(theirs.a, theirs.b, out); }, [](const Ours &o) { add(o.a, o.b); }},
        {"multiply", [&] { theirs.evaluator.multiply(theirs.a, theirs.b, out); },
         [](const Ours &o) { multiply(o.a, o.b); }},
        {"relinearize", [&] { theirs.evaluator.relinearize(theirs.product, theirs.relin, out); },
         [](const Ours &o) { relinearize(o.product, o.keys); }},
        {"rotate", [&] { theirs.evaluator.rotate_vector(theirs.a, 1, theirs.galois, out); },
         [](const Ours &o) { rotate(o.a, 1, o.keys); }},
        {"rescale", [&] { theirs.evaluator.rescale_to_next(theirs.product, out); },
         [rescaled](const Ours &o) { rescale(o.product, rescaled); }},
    };
    for (const auto &operation : operations) {
        std::vector<std::function<void()>> turns = {operation.seal};
        for (const Ours &own : ours) {
            turns.push_back([&] { operation.own(own); });
        }
        const std::vector<double> times = medians(turns, seconds);
        for (std::size_t i = 0; i < isas.size(); i++) {
            char params[150];
            std::snprintf(params, sizeof params,
                          "\"us\": %.4g, \"seal_us\": %.4g, \"seal\": \"" SEAL_VERSION "\"",
                          times[i + 1] * 1e6, times[0] * 1e6);
            row(name + "." + operation.name + "." + isas[i] + ".ratio_to_seal", times[0] / times[i + 1], "",
                params);
        }
    }
}

} // namespace

int main(int count, char **arguments)
{
    const double seconds = count > 1 ? std::atof(arguments[1]) : 0.5;
    std::vector<std::string> isas;
    for (const char *isa : {"avx2", "avx512"}) {
        try {
            ciphermote::Context({10, {12289}, {}, 1}, isa);
            isas.push_back(isa);
        } catch (const ciphermote::Error &error) {
            std::fprintf(stderr, "%s Its rows are left out.\n", error.what());
        }
    }
    for (const unsigned log2_n : {12u, 13u, 14u}) {
        compare(ring_of(log2_n), seconds, isas);
    }
    return 0;
}
