// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <string>

#include "ciphermote/ciphertext.h"
#include "rns/level.h"
#include "rns/memory.h"
#include "rns/tables.h"
#include "rns/words.h"

namespace ciphermote
{

struct Ciphertext::Body {
    words residues;
};

Ciphertext::Ciphertext(std::shared_ptr<const Context> context, unsigned components, unsigned primes,
                       double scale)
    : context_(held(context)), components_(components), primes_(primes), scale_(scale),
      body_(std::make_unique<Body>())
{
    body_->residues.resize(components * primes * context_->n());
}

void check_level(const Context::Tables &t, unsigned components, unsigned primes, double scale)
{
    if (components < 2 || components > 3 || primes < 1 || primes > t.data()) {
        throw Error("A ciphertext of " + std::to_string(components) + " polynomials at " + primes_of(primes) +
                    " is given: this chain's have 2 or 3, at 1 to " + std::to_string(t.data()) + ".");
    }
    if (!(scale >= 1 && std::isfinite(scale))) {
        throw Error("The scale is " + std::to_string(scale) + ": give a finite one of at least 1.");
    }
    if (t.integers && scale != 1) {
        throw Error("The scale is " + std::to_string(scale) + ", and BFV has none: give 1.");
    }
    check_scale_fits(t, primes, scale);
}

void check_scale_fits(const Context::Tables &t, unsigned primes, double scale)
{
    const double log2_modulus = t.log2_modulus(primes);
    if (!t.integers && std::log2(scale) >= log2_modulus) {
        const char *const more = primes < t.data() ? "keep more primes" : "take a longer chain";
        throw Error("The scale of 2^" + std::to_string(std::log2(scale)) +
                    " is not below the modulus, which at " + primes_of(primes) + " is 2^" +
                    std::to_string(log2_modulus) + ": " + more +
                    ", rescale before, or encrypt at a smaller scale.");
    }
}

void check_batches(const Context::Tables &t, const char *what)
{
    if (t.integers && !t.integers->batches) {
        throw Error("The plain modulus " + std::to_string(t.integers->t) + " has no slots, which " + what +
                    " are of: take a prime that is 1 modulo " + std::to_string(2 * t.n()) + ".");
    }
}

namespace
{

void check_shape(const Context::Tables &t, unsigned components, unsigned primes, double scale,
                 std::size_t count)
{
    check_level(t, components, primes, scale);
    if (count != components * primes * t.n()) {
        throw Error(std::to_string(count) + " residues are given, and such a ciphertext has " +
                    std::to_string(components * primes * t.n()) + ": give [components][primes][n] of them.");
    }
}

} // namespace

Ciphertext::Ciphertext(std::shared_ptr<const Context> context, unsigned components, unsigned primes,
                       double scale, std::span<const std::uint32_t> residues, Form form)
    : context_(held(context)), components_(components), primes_(primes), scale_(scale)
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
        if (form == Form::coefficients) {
            t.kernels->ntt_forward(polynomial(i / primes, i % primes), t.prime(i % primes));
        }
    }
}

Ciphertext::~Ciphertext() = default;
Ciphertext::Ciphertext(Ciphertext &&) noexcept = default;
Ciphertext &Ciphertext::operator=(Ciphertext &&) noexcept = default;

Ciphertext::Ciphertext(const Ciphertext &other)
    : context_(other.context()), components_(other.components_), primes_(other.primes_), scale_(other.scale_),
      body_(std::make_unique<Body>(*other.body_))
{
}

Ciphertext &Ciphertext::operator=(const Ciphertext &other)
{
    return *this = Ciphertext(other);
}

std::span<const std::uint32_t> Ciphertext::residues() const
{
    return held(body_)->residues;
}

std::vector<std::uint32_t> Ciphertext::coefficients() const
{
    const Context::Tables &t = context()->tables();
    words residues = body_->residues;
    for (unsigned i = 0; i < components_ * primes_; i++) {
        t.kernels->ntt_inverse(residues.data() + i * t.n(), t.prime(i % primes_));
    }
    return {residues.begin(), residues.end()};
}

std::uint32_t *Ciphertext::polynomial(unsigned component, unsigned prime)
{
    return held(body_)->residues.data() + (component * primes_ + prime) * context_->n();
}

const std::uint32_t *Ciphertext::polynomial(unsigned component, unsigned prime) const
{
    return held(body_)->residues.data() + (component * primes_ + prime) * context_->n();
}

} // namespace ciphermote
