// SPDX-License-Identifier: Apache-2.0
// Whole operations on every back-end beside portable C++'s; and digests of what they give, to be compared
// between machines.
#include <cstdio>
#include <map>
#include <memory>

#include "arch/kernels.h"
#include "ciphermote/evaluate.h"
#include "inputs.h"
#include "topics.h"

extern "C" {
#include "random/xof.h"
}

namespace
{

using namespace ciphermote;
using namespace ciphermote::testing;

using Results = std::map<std::string, words>;

// Two chains for each degree: SEAL's shape, and one with digits and special primes in groups, whose last
// digit is shorter.
std::vector<Chain> chains(unsigned log2_n)
{
    const auto large = primes_below(1u << 27, log2_n, 4), middle = primes_below(1u << 26, log2_n, 2),
               small = primes_below(1u << 24, log2_n, 2);
    const std::uint32_t smallest = smallest_prime(log2_n);
    return {{log2_n, {middle[0], large[1], small[0]}, {large[0]}, 1},
            {log2_n, {large[2], small[0], middle[0], middle[1], smallest}, {large[0], large[1], large[3]}, 3},
            {log2_n, {middle[0], large[1], small[0], smallest}, {large[0]}, 1, 786433}};
}

void keep(Results &results, std::string name, const Ciphertext &found)
{
    name = found.context()->chain().plain_modulus ? "bfv_" + name : name;
    words &all = results[name];
    all.insert(all.end(), found.residues().begin(), found.residues().end());
}

Plaintext plaintext(const std::shared_ptr<const Context> &context, Inputs &inputs, double scale,
                    unsigned primes)
{
    const std::uint32_t t = context->chain().plain_modulus;
    if (t) {
        std::vector<std::int64_t> integers(context->n());
        for (std::int64_t &x : integers) {
            x = inputs.below(t);
        }
        return Plaintext(context, integers, Places::slots, primes);
    }
    std::vector<double> numbers(context->n() / 2);
    for (double &x : numbers) {
        x = static_cast<double>(inputs.below(1u << 20)) / 0x1p19 - 1;
    }
    return Plaintext(context, numbers, scale, primes);
}

// Each operation on the same residues. CKKS's plaintexts are encoded with floating point, whose last bits
// depend on the machine: they are compared between back-ends, and have no digest.
Results results_on(const std::shared_ptr<const Context> &context, Fill fill)
{
    const Chain &chain = context->chain();
    const std::size_t n = context->n();
    const unsigned primes = static_cast<unsigned>(chain.data.size());
    std::vector<std::uint32_t> all = chain.data;
    all.insert(all.end(), chain.special.begin(), chain.special.end());
    const unsigned digits = (primes + chain.digit_primes - 1) / chain.digit_primes;

    Inputs inputs(2);
    EvaluationKeys keys(context);
    const std::uint32_t conjugation = static_cast<std::uint32_t>(2 * n - 1);
    keys.add_relinearization(inputs.polynomials(2 * digits, all, n, fill));
    for (const std::uint32_t element :
         {galois_element(*context, 1), galois_element(*context, -3), conjugation}) {
        keys.add_galois(element, inputs.polynomials(2 * digits, all, n, fill));
    }
    const double scale = chain.plain_modulus ? 1 : 0x1p26; // products fit two primes
    const Ciphertext a(context, 2, primes, scale, inputs.polynomials(2, chain.data, n, fill));
    const Ciphertext b(context, 2, primes, scale, inputs.polynomials(2, chain.data, n, fill));
    const Ciphertext product = multiply(a, b);

    Results results;
    keep(results, "add", add(a, b));
    keep(results, "subtract", subtract(a, b));
    keep(results, "subtract_product",
         subtract(add(a, a), Ciphertext(context, 3, primes, scale, product.residues())));
    keep(results, "negate", negate(a));
    keep(results, "multiply", product);
    keep(results, "relinearize", relinearize(product, keys));
    keep(results, "relinearize", relinearize(mod_switch(product), keys));
    if (chain.plain_modulus) {
        keep(results, "mod_switch", mod_switch(product, 2));
    } else {
        keep(results, "rescale", rescale(product));
        keep(results, "rescale_two", rescale(product, 2));
    }
    keep(results, "rotate", rotate(a, 1, keys));
    keep(results, "rotate", rotate(mod_switch(b), -3, keys));
    keep(results, "conjugate", conjugate(a, keys));
    const int steps[] = {-3, 0, 1};
    for (const Ciphertext &rotated : rotate_hoisted(b, steps, keys)) {
        keep(results, "rotate_hoisted", rotated);
    }
    const Plaintext plain = plaintext(context, inputs, scale, primes);
    keep(results, "add_plain", add_plain(a, plain));
    keep(results, "multiply_plain", multiply_plain(a, plain));
    return results;
}

std::string hex_digest(const words &found)
{
    std::uint8_t digest[32];
    std::vector<std::uint8_t> bytes(4 * found.size());
    for (std::size_t i = 0; i < bytes.size(); i++) {
        bytes[i] = static_cast<std::uint8_t>(found[i / 4] >> 8 * (i % 4));
    }
    cmi_blake2b(digest, sizeof digest, nullptr, 0, bytes.data(), bytes.size());
    std::string hex;
    for (const std::uint8_t byte : digest) {
        char two[3];
        std::snprintf(two, sizeof two, "%02x", byte);
        hex += two;
    }
    return hex;
}

template <class Call> bool is_refused(const Call &call)
{
#if defined(__wasi__)
    (void)call; // an exception ends the program there (wasi.cpp)
    return true;
#else
    try {
        call();
    } catch (const Error &) {
        return true;
    }
    return false;
#endif
}

// A key from its seed is the key from all its residues.
void test_seeded_keys(const std::shared_ptr<const Context> &context)
{
    const Chain &chain = context->chain();
    const std::size_t n = context->n();
    const unsigned primes = static_cast<unsigned>(chain.data.size());
    std::vector<std::uint32_t> all = chain.data;
    all.insert(all.end(), chain.special.begin(), chain.special.end());
    Inputs inputs(3);
    const std::vector<std::uint8_t> seed(SeededKey::seed_bytes, 7);
    const unsigned digits = (primes + chain.digit_primes - 1) / chain.digit_primes;
    const SeededKey seeded(context, seed, inputs.polynomials(digits, all, n, Fill::random));
    EvaluationKeys keys(context), expanded(context);
    const std::uint32_t element = galois_element(*context, 1);
    keys.add_relinearization(seeded);
    keys.add_galois(element, seeded);
    expanded.add_relinearization(seeded.expanded());
    expanded.add_galois(element, seeded.expanded());
    const double scale = chain.plain_modulus ? 1 : 0x1p26; // products fit two primes
    const Ciphertext a(context, 3, primes, scale, inputs.polynomials(3, chain.data, n, Fill::random));
    const Ciphertext pair = relinearize(a, expanded);
    check_same(relinearize(a, keys).residues(), pair.residues(), "a seeded relinearization key", chain.log2_n,
               context->isa());
    check_same(rotate(pair, 1, keys).residues(), rotate(pair, 1, expanded).residues(), "a seeded Galois key",
               chain.log2_n, context->isa());

    BEHAVIOUR("seeded keys of another context, and public keys, are refused");
    const SeededKey public_key(context, seed, inputs.polynomials(1, all, n, Fill::random));
    Chain changed = chain;
    changed.plain_modulus = chain.plain_modulus ? 0 : 257;
    EvaluationKeys others(std::make_shared<const Context>(Insecure{changed}));
    CHECK(is_refused([&] { keys.add_relinearization(public_key); }));
    CHECK(is_refused([&] { keys.add_galois(element, public_key); }));
    CHECK(is_refused([&] { keys.add_galois(2, seeded); }));
    CHECK(is_refused([&] { others.add_relinearization(seeded); }));
    CHECK(is_refused([&] { others.add_galois(element, seeded); }));
    EvaluationKeys equal(std::make_shared<const Context>(Insecure{chain}, context->isa()));
    equal.add_galois(element, seeded);
    check_same(rotate(pair, 1, equal).residues(), rotate(pair, 1, expanded).residues(),
               "keys of an equal context", chain.log2_n, context->isa());
    BEHAVIOUR("(no behaviour named)");
}

// Integers come back from the slots that they were put in.
void test_slots(const std::shared_ptr<const Context> &context)
{
    const std::uint32_t t = context->chain().plain_modulus;
    Inputs inputs(4);
    std::vector<std::int64_t> integers(context->n());
    for (std::int64_t &x : integers) {
        x = inputs.below(t);
    }
    const Plaintext plain(context, integers, Places::slots, 1);
    std::vector<std::uint32_t> twice(plain.residues().begin(), plain.residues().end());
    twice.insert(twice.end(), plain.residues().begin(), plain.residues().end());
    std::vector<std::uint32_t> coefficients = Ciphertext(context, 2, 1, 1, twice).coefficients();
    coefficients.resize(context->n());
    const std::uint32_t q = context->chain().data[0]; // above t: residues are of centred coefficients
    for (std::uint32_t &x : coefficients) {
        x = x > q / 2 ? x - q + t : x;
    }
    check_same(slots_of(*context, coefficients), std::vector<std::uint32_t>(integers.begin(), integers.end()),
               "integers in slots", context->chain().log2_n, context->isa());
    BEHAVIOUR("slots of other than n coefficients below t are refused");
    coefficients[1] = t;
    CHECK(is_refused([&] { slots_of(*context, coefficients); }));
    CHECK(is_refused([&] { slots_of(*context, std::span(coefficients).first(1)); }));
    BEHAVIOUR("(no behaviour named)");
}

} // namespace

void test_operations(unsigned log2_n)
{
    Results pinned;
    for (const Chain &chain : chains(log2_n)) {
        const auto portable = std::make_shared<const Context>(Insecure{chain}, "portable");
        std::vector<std::shared_ptr<const Context>> others;
        for (const arch::kernels *kernels : arch::usable_kernels()) {
            if (kernels != &arch::portable) {
                others.push_back(std::make_shared<const Context>(Insecure{chain}, kernels->name));
            }
        }
        test_seeded_keys(others.empty() ? portable : others.front());
        if (chain.plain_modulus) {
            test_slots(portable);
        }
        for (const Fill fill : fills_at(log2_n)) {
            const Results expected = results_on(portable, fill);
            for (const auto &context : others) {
                for (const auto &[name, found] : results_on(context, fill)) {
                    check_same(found, expected.at(name), name, log2_n, context->isa());
                }
            }
            for (const auto &[name, found] : expected) {
                words &all = pinned[name];
                all.insert(all.end(), found.begin(), found.end());
            }
        }
    }
    for (const auto &[name, found] : pinned) {
        if (name != "add_plain" && name != "multiply_plain") {
            std::printf("digest n%zu %s %s\n", std::size_t{1} << log2_n, name.c_str(),
                        hex_digest(found).c_str());
        }
    }
}
