// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <string>

#include "tables.h"

namespace ciphermote
{

struct Ciphertext::Body {
    words residues;
};

Ciphertext::Ciphertext(std::shared_ptr<const Context> context, unsigned components, unsigned primes,
                       double scale)
    : context_(std::move(context)), components_(components), primes_(primes), scale_(scale),
      body_(std::make_unique<Body>())
{
    body_->residues.resize(components * primes * context_->n());
}

namespace
{

void check_shape(const Context::Tables &t, unsigned components, unsigned primes, double scale,
                 std::size_t count)
{
    if (components < 2 || components > 3 || primes < 1 || primes > t.data()) {
        throw Error("A ciphertext of " + std::to_string(components) + " polynomials at " +
                    std::to_string(primes) + " primes is given: this chain's have 2 or 3, at 1 to " +
                    std::to_string(t.data()) + ".");
    }
    if (!(scale >= 1 && std::isfinite(scale))) {
        throw Error("The scale is " + std::to_string(scale) + ": give a finite one of at least 1.");
    }
    if (count != components * primes * t.n()) {
        throw Error(std::to_string(count) + " residues are given, and such a ciphertext has " +
                    std::to_string(components * primes * t.n()) + ": give [components][primes][n] of them.");
    }
}

} // namespace

Ciphertext::Ciphertext(std::shared_ptr<const Context> context, unsigned components, unsigned primes,
                       double scale, std::span<const std::uint32_t> residues)
    : context_(std::move(context)), components_(components), primes_(primes), scale_(scale)
{
    const Context::Tables &t = context_->tables();
    check_shape(t, components, primes, scale, residues.size());
    body_ = std::make_unique<Body>();
    body_->residues.assign(residues.begin(), residues.end());
    for (unsigned i = 0; i < components * primes; i++) {
        const std::uint32_t q = t.prime(i % primes).q;
        const auto from = residues.begin() + static_cast<std::ptrdiff_t>(i * t.n());
        if (*std::max_element(from, from + static_cast<std::ptrdiff_t>(t.n())) >= q) {
            throw Error("A residue of polynomial " + std::to_string(i / primes) + " is not below its prime " +
                        std::to_string(q) + ": the ciphertext is damaged, or of another chain.");
        }
    }
}

Ciphertext::~Ciphertext() = default;
Ciphertext::Ciphertext(Ciphertext &&) noexcept = default;
Ciphertext &Ciphertext::operator=(Ciphertext &&) noexcept = default;

Ciphertext::Ciphertext(const Ciphertext &other)
    : context_(other.context_), components_(other.components_), primes_(other.primes_), scale_(other.scale_),
      body_(std::make_unique<Body>(*other.body_))
{
}

Ciphertext &Ciphertext::operator=(const Ciphertext &other)
{
    return *this = Ciphertext(other);
}

std::span<const std::uint32_t> Ciphertext::residues() const
{
    return body_->residues;
}

std::uint32_t *Ciphertext::polynomial(unsigned component, unsigned prime)
{
    return body_->residues.data() + (component * primes_ + prime) * context_->n();
}

const std::uint32_t *Ciphertext::polynomial(unsigned component, unsigned prime) const
{
    return body_->residues.data() + (component * primes_ + prime) * context_->n();
}

} // namespace ciphermote
