// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string>

#include "rns/expansion.h"
#include "rns/memory.h"
#include "rns/polynomials.h"

namespace ciphermote
{

struct SeededKey::Body {
    std::shared_ptr<const Context> context;
    unsigned pairs;
    std::array<std::uint8_t, seed_bytes> seed;
    key_words first; // [pairs][data + special primes][n]
};

SeededKey seeded_key(const std::shared_ptr<const Context> &context, unsigned pairs, const std::uint8_t *seed)
{
    std::array<std::uint8_t, SeededKey::seed_bytes> own;
    std::copy_n(seed, own.size(), own.begin());
    key_words first(std::size_t{pairs} * tables_of(context).all() * context->n());
    return Inside::make<SeededKey>(context, pairs, own, std::move(first));
}

std::uint32_t *polynomial(SeededKey &key, unsigned pair, unsigned prime)
{
    const Tables &t = tables_of(key);
    return Inside::body(key).first.data() + (std::size_t{pair} * t.all() + prime) * t.n();
}

void expand(const SeededKey &key, unsigned pair, unsigned prime, std::uint32_t *second)
{
    const Tables &t = tables_of(key);
    const std::uint8_t *const seed = Inside::body(key).seed.data();
    expand_uniform(*t.kernels, seed, pair * t.all() + prime, t.moduli[prime], second);
}

SeededKey::SeededKey(std::unique_ptr<Body> body) : body_(std::move(body))
{
}

namespace
{

unsigned pairs_of(const Tables &t, std::size_t count)
{
    const std::size_t one = t.all() * t.n(), digits = t.digits.size();
    if (count == one || (digits > 0 && count == digits * one)) {
        return static_cast<unsigned>(count / one);
    }
    throw Error(std::to_string(count) + " residues are given, and a seeded key of this chain has " +
                std::to_string(one) + " if it is a public key, and " + std::to_string(digits * one) +
                " if it switches keys: give [pairs][data + special primes][n] of them.");
}

} // namespace

SeededKey::SeededKey(std::shared_ptr<const Context> context, std::span<const std::uint8_t> seed,
                     std::span<const std::uint32_t> first)
{
    const Tables &t = tables_of(context);
    const unsigned pairs = pairs_of(t, first.size());
    if (seed.size() != seed_bytes) {
        throw Error("A key's seed of " + std::to_string(seed.size()) + " bytes is given: it has 32.");
    }
    *this = seeded_key(context, pairs, seed.data());
    std::copy(first.begin(), first.end(), body_->first.begin());
    for (unsigned i = 0; i < pairs * t.all(); i++) {
        const std::uint32_t q = t.prime(i % t.all()).q;
        const std::uint32_t *residues = polynomial(*this, i / t.all(), i % t.all());
        if (*std::max_element(residues, residues + t.n()) >= q) {
            throw Error("A key's residue is not below its prime " + std::to_string(q) +
                        ": the key is damaged, or of another chain.");
        }
    }
}

SeededKey::~SeededKey() = default;
SeededKey::SeededKey(SeededKey &&) noexcept = default;
SeededKey &SeededKey::operator=(SeededKey &&) noexcept = default;

const std::shared_ptr<const Context> &SeededKey::context() const
{
    return held(body_)->context;
}

unsigned SeededKey::pairs() const
{
    return held(body_)->pairs;
}

std::span<const std::uint8_t> SeededKey::seed() const
{
    return held(body_)->seed;
}

std::span<const std::uint32_t> SeededKey::first() const
{
    return held(body_)->first;
}

std::vector<std::uint32_t> SeededKey::expanded() const
{
    const Tables &t = tables_of(*this);
    const std::size_t half = t.all() * t.n();
    std::vector<std::uint32_t> residues(pairs() * 2 * half);
    for (unsigned pair = 0; pair < pairs(); pair++) {
        std::uint32_t *out = residues.data() + 2 * pair * half;
        std::copy_n(body_->first.data() + pair * half, half, out);
        for (unsigned m = 0; m < t.all(); m++) {
            expand(*this, pair, m, out + half + m * t.n());
        }
    }
    return residues;
}

} // namespace ciphermote
