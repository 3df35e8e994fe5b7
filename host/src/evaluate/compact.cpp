// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "ciphermote/evaluate.h"
#include "rns/expansion.h"
#include "rns/inside.h"
#include "rns/lock.h"
#include "rns/memory.h"

namespace ciphermote
{

namespace
{

std::shared_ptr<const Context> held_for_compact(const std::shared_ptr<const Context> &context)
{
    const unsigned primes = tables_of(held(context)).data();
    if (primes > 2) {
        throw Error("The chain has " + std::to_string(primes) +
                    " data primes, and compact sets have 1 or 2: give the context of such a set.");
    }
    return context;
}

std::uint64_t modulus_of(const Tables &t)
{
    return t.data() == 1 ? t.prime(0).q : std::uint64_t{t.prime(0).q} * t.prime(1).q;
}

void check_positions(const Tables &t, std::span<const std::uint32_t> positions)
{
    for (std::size_t i = 0; i < positions.size(); i++) {
        if (positions[i] >= t.n() || (i > 0 && positions[i] <= positions[i - 1])) {
            throw Error("Position " + std::to_string(positions[i]) +
                        " is past the ring, or not above the one before it: give positions that go up.");
        }
    }
}

void check_payload(const Tables &t, std::span<const std::uint64_t> payload, unsigned dropped_bits)
{
    const std::uint64_t largest = dropped_bits < 64 ? (modulus_of(t) - 1) >> dropped_bits : 0;
    if (largest == 0) {
        throw Error(std::to_string(dropped_bits) + " bits are dropped, which leaves none of " +
                    std::to_string(modulus_of(t)) + ": drop fewer.");
    }
    for (const std::uint64_t coefficient : payload) {
        if (coefficient > largest) {
            throw Error("A coefficient is above " + std::to_string(largest) +
                        ": the window is damaged, or of another set.");
        }
    }
}

void check_seed(std::span<const std::uint8_t> seed)
{
    if (seed.size() != 32) {
        throw Error("The seed has " + std::to_string(seed.size()) + " bytes: a window's has 32.");
    }
}

// A coefficient with its dropped bits as their middle. Modulo Q or not, it is the same modulo its primes.
std::uint64_t restored(std::uint64_t coefficient, unsigned dropped_bits)
{
    return (coefficient << dropped_bits) + ((std::uint64_t{1} << dropped_bits) >> 1);
}

std::uint32_t residue_of(std::int64_t x, std::int64_t q)
{
    return static_cast<std::uint32_t>((x % q + q) % q);
}

} // namespace

// ---- sums ----

struct CompactSum::Body {
    std::shared_ptr<const Context> context;
    Lock busy;     // whoever adds or asks waits
    words sums;    // [2][primes][n]
    words summand; // [n]

    const Tables &tables() const
    {
        return tables_of(context);
    }
    void check(std::span<const std::uint32_t> positions, std::span<const std::uint64_t> payload,
               unsigned dropped_bits) const;
    void add_coefficients(unsigned prime, std::span<const std::uint32_t> positions,
                          std::span<const std::uint64_t> payload, unsigned dropped_bits,
                          std::uint32_t weight);
    void add_expansion(unsigned prime, const std::uint8_t *seed, std::uint32_t weight);
};

CompactSum::CompactSum(std::shared_ptr<const Context> context) : body_(std::make_unique<Body>())
{
    body_->context = held_for_compact(context);
    const Tables &t = body_->tables();
    body_->sums.resize(2 * t.data() * t.n(), 0);
    body_->summand.resize(t.n());
}

CompactSum::~CompactSum() = default;
CompactSum::CompactSum(CompactSum &&) noexcept = default;
CompactSum &CompactSum::operator=(CompactSum &&) noexcept = default;

void CompactSum::Body::check(std::span<const std::uint32_t> positions, std::span<const std::uint64_t> payload,
                             unsigned dropped_bits) const
{
    if (positions.size() != payload.size()) {
        throw Error(std::to_string(payload.size()) + " coefficients are given for " +
                    std::to_string(positions.size()) + " positions: give one for each.");
    }
    check_positions(tables(), positions);
    check_payload(tables(), payload, dropped_bits);
}

void CompactSum::Body::add_coefficients(unsigned prime, std::span<const std::uint32_t> positions,
                                        std::span<const std::uint64_t> payload, unsigned dropped_bits,
                                        std::uint32_t weight)
{
    const Modulus &modulus = tables().moduli[prime];
    std::uint32_t *sum = sums.data() + prime * tables().n();
    for (std::size_t i = 0; i < positions.size(); i++) {
        const std::uint32_t coefficient = modulus.residue(restored(payload[i], dropped_bits));
        const std::uint64_t product = modulus.multiply(coefficient, weight);
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
    check_seed(seed);
    body_->check(positions, payload, dropped_bits);
    for (unsigned m = 0; m < body_->tables().data(); m++) {
        const std::uint32_t residue = residue_of(weight, body_->tables().prime(m).q);
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

// ---- linear forms ----

constexpr std::int64_t largest_weight = 1 << 20; // n products of it and a residue are below 2^61

struct CompactForms::Body {
    std::shared_ptr<const Context> context;
    std::vector<std::uint32_t> positions;
    std::vector<std::int64_t> weights; // [forms][positions]

    const Tables &tables() const
    {
        return tables_of(context);
    }
    std::size_t count() const
    {
        return weights.size() / positions.size();
    }
    std::span<const std::int64_t> row(std::size_t form) const
    {
        return std::span(weights).subspan(form * positions.size(), positions.size());
    }
    std::uint32_t constant(std::size_t form, unsigned prime, std::span<const std::uint64_t> window,
                           unsigned dropped_bits) const;
    void combine(std::size_t form, std::int64_t q, const std::int32_t *turned, std::int64_t *sums,
                 std::uint32_t *out) const;
};

CompactForms::CompactForms(std::shared_ptr<const Context> context, std::span<const std::uint32_t> positions,
                           std::span<const std::int64_t> weights)
    : body_(std::make_unique<Body>())
{
    body_->context = held_for_compact(context);
    check_positions(body_->tables(), positions);
    if (positions.empty() || weights.empty() || weights.size() % positions.size() != 0) {
        throw Error(std::to_string(weights.size()) + " weights are given for " +
                    std::to_string(positions.size()) + " positions: give one for each, in every form.");
    }
    for (const std::int64_t weight : weights) {
        if (weight < -largest_weight || weight > largest_weight) {
            throw Error("A weight is " + std::to_string(weight) + ": give weights of at most " +
                        std::to_string(largest_weight) + " in magnitude.");
        }
    }
    body_->positions.assign(positions.begin(), positions.end());
    body_->weights.assign(weights.begin(), weights.end());
}

CompactForms::~CompactForms() = default;
CompactForms::CompactForms(CompactForms &&) noexcept = default;
CompactForms &CompactForms::operator=(CompactForms &&) noexcept = default;

std::size_t CompactForms::count() const
{
    return held(body_)->count();
}

unsigned CompactForms::primes() const
{
    return held(body_)->tables().data();
}

std::uint32_t CompactForms::Body::constant(std::size_t form, unsigned prime,
                                           std::span<const std::uint64_t> window, unsigned dropped_bits) const
{
    const Modulus &modulus = tables().moduli[prime];
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < window.size(); i++) {
        sum += row(form)[i] * std::int64_t{modulus.residue(restored(window[i], dropped_bits))};
    }
    return residue_of(sum, modulus.q());
}

std::vector<std::uint32_t> CompactForms::constants(std::span<const std::uint64_t> payload,
                                                   unsigned dropped_bits) const
{
    const Body &body = *held(body_);
    const std::size_t values = body.positions.size();
    if (payload.size() % values != 0) {
        throw Error(std::to_string(payload.size()) + " coefficients are no whole number of windows of " +
                    std::to_string(values) + ": give all of each.");
    }
    check_payload(body.tables(), payload, dropped_bits);
    std::vector<std::uint32_t> found;
    found.reserve(payload.size() / values * body.count() * body.tables().data());
    for (std::size_t at = 0; at < payload.size(); at += values) {
        for (std::size_t form = 0; form < body.count(); form++) {
            for (unsigned m = 0; m < body.tables().data(); m++) {
                found.push_back(body.constant(form, m, payload.subspan(at, values), dropped_bits));
            }
        }
    }
    return found;
}

// turned: a and then -a, so that coefficient j of a X^-p is turned[j + p].
void CompactForms::Body::combine(std::size_t form, std::int64_t q, const std::int32_t *turned,
                                 std::int64_t *sums, std::uint32_t *out) const
{
    const std::size_t n = tables().n();
    std::fill_n(sums, n, 0);
    for (std::size_t i = 0; i < positions.size(); i++) {
        const std::int64_t weight = row(form)[i];
        const std::int32_t *shifted = turned + positions[i];
        if (weight == 0) {
            continue;
        }
        for (std::size_t j = 0; j < n; j++) {
            sums[j] += weight * shifted[j];
        }
    }
    for (std::size_t j = 0; j < n; j++) {
        out[j] = residue_of(sums[j], q);
    }
}

std::vector<std::uint32_t> CompactForms::polynomials(std::span<const std::uint8_t> seed) const
{
    const Body &body = *held(body_);
    const Tables &t = body.tables();
    check_seed(seed);
    words expansion(t.n());
    std::vector<std::int32_t> turned(2 * t.n());
    std::vector<std::int64_t> sums(t.n());
    std::vector<std::uint32_t> found(body.count() * t.data() * t.n());
    for (unsigned m = 0; m < t.data(); m++) {
        expand_uniform(*t.kernels, seed.data(), m, t.moduli[m], expansion.data());
        for (std::size_t j = 0; j < t.n(); j++) {
            turned[j] = static_cast<std::int32_t>(expansion[j]);
            turned[t.n() + j] = -turned[j];
        }
        for (std::size_t form = 0; form < body.count(); form++) {
            std::uint32_t *out = found.data() + (form * t.data() + m) * t.n();
            body.combine(form, t.prime(m).q, turned.data(), sums.data(), out);
        }
    }
    return found;
}

} // namespace ciphermote
