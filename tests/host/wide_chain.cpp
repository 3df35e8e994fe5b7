// SPDX-License-Identifier: Apache-2.0
/*
 * Chains of wide primes: exact switches and transforms, in words of 64 bits on every target; misuse ends in
 * one sentence. The last line says "N passed, N failed". tests/python/test_seal_chains.py has SEAL beside it.
 */
#include "ciphermote/wide_chain.h"

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <utility>

#include "check.h"
#include "rns/wide_modulus.h"

cm_checks cm_check_state;

namespace
{

using namespace ciphermote;

constexpr unsigned log2_n = 12;
constexpr std::size_t n = std::size_t{1} << log2_n;

const std::vector<std::uint64_t> wide{68719403009, 68719230977, 137438822401},
    narrow{67043329, 67084289, 66994177};

std::vector<std::uint64_t> drawn(const WideChain &chain, unsigned polynomials, unsigned primes)
{
    std::mt19937_64 draw(7);
    std::vector<std::uint64_t> words(polynomials * primes * n);
    for (std::size_t i = 0; i < words.size(); i++) {
        words[i] = draw() % chain.primes()[i / n % primes];
    }
    return words;
}

// Up to a larger modulus and back: what rounding adds there is less than a half when it comes back.
void test_there_and_back()
{
    const WideChain from(log2_n, wide), to(log2_n, narrow);
    for (const auto &[primes, to_primes] : {std::pair{1u, 2u}, {2u, 3u}, {1u, 3u}}) {
        const auto x = drawn(from, 2, primes);
        BEHAVIOUR("what goes up to a larger modulus comes back unchanged");
        CHECK(to.switched(from.switched(x, primes, to, to_primes), to_primes, from, primes) == x);
    }
}

// One prime of at most 31 bits to another: 64 bits hold the product.
void test_rounding()
{
    const std::uint64_t p = 1073668097, q = 67043329;
    const WideChain from(log2_n, {p}), to(log2_n, {q});
    auto x = drawn(from, 1, 1);
    x[0] = 0;
    x[1] = p / 2;
    x[2] = p / 2 + 1;
    x[3] = p - 1;
    const auto y = from.switched(x, 1, to, 1);
    BEHAVIOUR("a switch gives the nearest integer to x Q / P");
    bool same = true;
    for (std::size_t i = 0; i < n; i++) {
        same = same && y[i] == (2 * x[i] * q + p) / (2 * p) % q;
    }
    CHECK(same);
}

void test_transforms()
{
    const WideChain chain(log2_n, wide);
    const auto x = drawn(chain, 1, 3);
    auto y = x;
    chain.to_values(y, 3);
    BEHAVIOUR("a transform changes what it is given");
    CHECK(y != x);
    chain.to_coefficients(y, 3);
    BEHAVIOUR("a transform there and back changes nothing");
    CHECK(y == x);

    const WideModulus modulus(wide[2], log2_n);
    std::vector<std::uint64_t> one_step(n), rest(n);
    one_step[1] = 1;
    rest[n - 1] = 1;
    modulus.forward(one_step);
    modulus.forward(rest);
    BEHAVIOUR("values multiply as polynomials modulo X^n + 1: X times X^(n-1) is -1");
    bool same = true;
    for (std::size_t i = 0; i < n; i++) {
        same = same && modulus.multiply(one_step[i], modulus.factor(rest[i])) == modulus.q() - 1;
    }
    CHECK(same);
}

void test_seeds()
{
    const WideChain chain(log2_n, wide);
    const std::vector<std::uint8_t> seed(64, 5);
    const auto found = chain.expand(Xof::shake256, seed, 2);
    BEHAVIOUR("a seed gives residues below their primes, and others for another function");
    bool below = found.size() == 2 * n && found != chain.expand(Xof::blake2xb, seed, 2);
    for (std::size_t i = 0; i < found.size(); i++) {
        below = below && found[i] < wide[i / n];
    }
    CHECK(below);
}

// The sentence must contain these words.
void refused(const char *what, const char *words, const std::function<void()> &act)
{
    BEHAVIOUR(what);
    std::string sentence = "(no error)";
    try {
        act();
    } catch (const Error &error) {
        sentence = error.what();
    }
    if (!CHECK(sentence.find(words) != std::string::npos && sentence.back() == '.')) {
        std::printf("    %s: %s\n", what, sentence.c_str());
    }
}

void test_misuse()
{
    for (const std::uint64_t q : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{8193},
                                  std::uint64_t{8192}, (std::uint64_t{1} << 61) + 1, ~std::uint64_t{0}}) {
        refused("a number that is no prime of a chain", "no prime", [q] { WideChain(log2_n, {q}); });
    }
    refused("a prime twice", "twice", [] { WideChain(log2_n, {wide[0], wide[0]}); });
    refused("no primes", "give 1 to 64", [] { WideChain(log2_n, {}); });
    for (const unsigned bits : {0u, 9u, 16u, 99u}) {
        refused("a ring degree out of range", "ring degree", [bits] { WideChain(bits, wide); });
    }
    const WideChain chain(log2_n, wide), other(log2_n + 1, {8796092858369});
    std::vector<std::uint64_t> words(2 * n);
    refused("a level that there is not", "level of 4", [&] { chain.to_values(words, 4); });
    refused("a level of 0", "level of 0", [&] { chain.to_values(words, 0); });
    refused("part of a polynomial", "whole polynomials", [&] { chain.to_values(words, 3); });
    refused("nothing", "whole polynomials", [&] { (void)chain.switched({}, 1, chain, 1); });
    refused("another degree", "ring degrees", [&] { (void)chain.switched(words, 2, other, 1); });
    refused("a level of the other chain", "level of 4", [&] { (void)chain.switched(words, 2, chain, 4); });
    refused("a short seed", "64 bytes", [&] { (void)chain.expand(Xof::shake256, {}, 1); });
    words[n] = wide[1];
    refused("a residue that is no residue", "not below", [&] { (void)chain.switched(words, 2, chain, 1); });
    WideChain moved(log2_n, wide);
    const WideChain taker = std::move(moved);
    refused("a chain that was moved from", "moved", [&] { (void)moved.n(); });
}

} // namespace

int main()
{
    cm_check_state.topic = "wide chains";
    test_there_and_back();
    test_rounding();
    test_transforms();
    test_seeds();
    test_misuse();
    return cm_check_summary();
}
