// SPDX-License-Identifier: Apache-2.0
#include "ciphermote/seeded_key.h"

#include <algorithm>
#include <string>

#include "rns/expansion.h"
#include "rns/memory.h"
#include "rns/tables.h"

namespace ciphermote
{

struct SeededKey::Body {
    key_words first;
};

SeededKey::SeededKey(std::shared_ptr<const Context> context, unsigned pairs)
    : context_(held(context)), pairs_(pairs), body_(std::make_unique<Body>())
{
    body_->first.resize(std::size_t{pairs} * context_->tables().all() * context_->n());
}

namespace
{

unsigned pairs_of(const Context::Tables &t, std::size_t count)
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
    : SeededKey(context, pairs_of(held(context)->tables(), first.size()))
{
    if (seed.size() != seed_bytes) {
        throw Error("A key's seed of " + std::to_string(seed.size()) + " bytes is given: it has 32.");
    }
    std::copy(seed.begin(), seed.end(), seed_.begin());
    std::copy(first.begin(), first.end(), body_->first.begin());
    const Context::Tables &t = context_->tables();
    for (unsigned i = 0; i < pairs_ * t.all(); i++) {
        const std::uint32_t q = t.prime(i % t.all()).q;
        const std::uint32_t *residues = polynomial(i / t.all(), i % t.all());
        if (*std::max_element(residues, residues + t.n()) >= q) {
            throw Error("A key's residue is not below its prime " + std::to_string(q) +
                        ": the key is damaged, or of another chain.");
        }
    }
}

SeededKey::~SeededKey() = default;
SeededKey::SeededKey(SeededKey &&) noexcept = default;
SeededKey &SeededKey::operator=(SeededKey &&) noexcept = default;

std::span<const std::uint32_t> SeededKey::first() const
{
    return held(body_)->first;
}

std::uint32_t *SeededKey::polynomial(unsigned pair, unsigned prime)
{
    return held(body_)->first.data() + (std::size_t{pair} * context_->tables().all() + prime) * context_->n();
}

void SeededKey::expand(unsigned pair, unsigned prime, std::uint32_t *second) const
{
    const Context::Tables &t = context_->tables();
    expand_uniform(*t.kernels, seed_.data(), pair * t.all() + prime, t.moduli[prime], second);
}

std::vector<std::uint32_t> SeededKey::expanded() const
{
    const Context::Tables &t = context()->tables();
    const std::size_t half = t.all() * t.n();
    std::vector<std::uint32_t> residues(pairs_ * 2 * half);
    for (unsigned pair = 0; pair < pairs_; pair++) {
        std::uint32_t *out = residues.data() + 2 * pair * half;
        std::copy_n(body_->first.data() + pair * half, half, out);
        for (unsigned m = 0; m < t.all(); m++) {
            expand(pair, m, out + half + m * t.n());
        }
    }
    return residues;
}

} // namespace ciphermote
