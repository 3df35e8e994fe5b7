// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "ciphermote/evaluate.h"
#include "rns/expansion.h"
#include "rns/inside.h"
#include "rns/lock.h"
#include "rns/memory.h"

namespace ciphermote
{

struct CompactSum::Body {
    std::shared_ptr<const Context> context;
    Lock busy;     // whoever adds or asks waits
    words sums;    // [2][primes][n]
    words summand; // [n]

    const Tables &tables() const
    {
        return tables_of(context);
    }
    std::uint64_t modulus() const;
    void check(std::span<const std::uint32_t> positions, std::span<const std::uint64_t> payload,
               unsigned dropped_bits) const;
    void add_coefficients(unsigned prime, std::span<const std::uint32_t> positions,
                          std::span<const std::uint64_t> payload, unsigned dropped_bits,
                          std::uint32_t weight);
    void add_expansion(unsigned prime, const std::uint8_t *seed, std::uint32_t weight);
};

CompactSum::CompactSum(std::shared_ptr<const Context> context) : body_(std::make_unique<Body>())
{
    body_->context = held(context);
    const Tables &t = body_->tables();
    if (t.data() > 2) {
        throw Error("The chain has " + std::to_string(t.data()) +
                    " data primes, and compact sets have 1 or 2: give the context of such a set.");
    }
    body_->sums.resize(2 * t.data() * t.n(), 0);
    body_->summand.resize(t.n());
}

CompactSum::~CompactSum() = default;
CompactSum::CompactSum(CompactSum &&) noexcept = default;
CompactSum &CompactSum::operator=(CompactSum &&) noexcept = default;

std::uint64_t CompactSum::Body::modulus() const
{
    const Tables &t = tables();
    return t.data() == 1 ? t.prime(0).q : std::uint64_t{t.prime(0).q} * t.prime(1).q;
}

void CompactSum::Body::check(std::span<const std::uint32_t> positions, std::span<const std::uint64_t> payload,
                             unsigned dropped_bits) const
{
    const Tables &t = tables();
    const std::uint64_t largest = dropped_bits < 64 ? (modulus() - 1) >> dropped_bits : 0;
    if (positions.size() != payload.size()) {
        throw Error(std::to_string(payload.size()) + " coefficients are given for " +
                    std::to_string(positions.size()) + " positions: give one for each.");
    }
    if (largest == 0) {
        throw Error(std::to_string(dropped_bits) + " bits are dropped, which leaves none of " +
                    std::to_string(modulus()) + ": drop fewer.");
    }
    for (std::size_t i = 0; i < positions.size(); i++) {
        if (positions[i] >= t.n() || (i > 0 && positions[i] <= positions[i - 1])) {
            throw Error("Position " + std::to_string(positions[i]) +
                        " is past the ring, or not above the one before it: give positions that go up.");
        }
        if (payload[i] > largest) {
            throw Error("A coefficient is above " + std::to_string(largest) +
                        ": the window is damaged, or of another set.");
        }
    }
}

void CompactSum::Body::add_coefficients(unsigned prime, std::span<const std::uint32_t> positions,
                                        std::span<const std::uint64_t> payload, unsigned dropped_bits,
                                        std::uint32_t weight)
{
    const Modulus &modulus = tables().moduli[prime];
    const std::uint64_t middle = (std::uint64_t{1} << dropped_bits) >> 1;
    std::uint32_t *sum = sums.data() + prime * tables().n();
    for (std::size_t i = 0; i < positions.size(); i++) {
        const std::uint64_t restored = (payload[i] << dropped_bits) + middle; // modulo Q or not, is the same
        const std::uint64_t product = modulus.multiply(modulus.residue(restored), weight);
        sum[positions[i]] = modulus.residue(sum[positions[i]] + product);
    }
}

void CompactSum::Body::add_expansion(unsigned prime, const std::uint8_t *seed, std::uint32_t weight)
{
    const Tables &t = tables();
    const arch::prime &p = t.prime(prime);
    std::uint32_t *sum = sums.data() + (t.data() + prime) * t.n();
    expand_uniform(*t.kernels, seed, prime, t.moduli[prime], summand.data());
    if (weight != 1) {
        t.kernels->scale(summand.data(), summand.data(), t.moduli[prime].factor(weight), p);
    }
    t.kernels->add(sum, sum, summand.data(), p);
}

void CompactSum::add(std::span<const std::uint8_t> seed, std::span<const std::uint32_t> positions,
                     std::span<const std::uint64_t> payload, unsigned dropped_bits, std::int64_t weight)
{
    [[maybe_unused]] const Turn turn(held(body_)->busy);
    if (seed.size() != 32) {
        throw Error("The seed has " + std::to_string(seed.size()) + " bytes: a window's has 32.");
    }
    body_->check(positions, payload, dropped_bits);
    for (unsigned m = 0; m < body_->tables().data(); m++) {
        const std::int64_t q = body_->tables().prime(m).q;
        const auto residue = static_cast<std::uint32_t>((weight % q + q) % q);
        body_->add_coefficients(m, positions, payload, dropped_bits, residue);
        body_->add_expansion(m, seed.data(), residue);
    }
}

unsigned CompactSum::primes() const
{
    return held(body_)->tables().data();
}

std::vector<std::uint32_t> CompactSum::residues() const
{
    [[maybe_unused]] const Turn turn(held(body_)->busy);
    return {body_->sums.begin(), body_->sums.end()};
}

} // namespace ciphermote
