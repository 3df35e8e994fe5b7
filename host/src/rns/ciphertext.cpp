// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <string>

#include "rns/level.h"
#include "rns/memory.h"
#include "rns/polynomials.h"
#include "rns/words.h"

namespace ciphermote
{

struct Ciphertext::Body {
    std::shared_ptr<const Context> context;
    unsigned components, primes;
    double scale;
    words residues;
};

void check_level(const Tables &t, unsigned components, unsigned primes, double scale)
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

void check_scale_fits(const Tables &t, unsigned primes, double scale)
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

void check_batches(const Tables &t, const char *what)
{
    if (t.integers && !t.integers->batches) {
        throw Error("The plain modulus " + std::to_string(t.integers->t) + " has no slots, which " + what +
                    " are of: take a prime that is 1 modulo " + std::to_string(2 * t.n()) + ".");
    }
}

namespace
{

void check_shape(const Tables &t, unsigned components, unsigned primes, double scale, std::size_t count)
{
    check_level(t, components, primes, scale);
    if (count != components * primes * t.n()) {
        throw Error(std::to_string(count) + " residues are given, and such a ciphertext has " +
                    std::to_string(components * primes * t.n()) + ": give [components][primes][n] of them.");
    }
}

} // namespace

void reshape(Ciphertext &c, const std::shared_ptr<const Context> &context, unsigned components,
             unsigned primes, double scale)
{
    if (c.empty()) {
        Inside::fill(c);
    }
    auto &body = Inside::body(c);
    body.residues.resize(components * primes * context->n());
    body.context = context;
    body.components = components;
    body.primes = primes;
    body.scale = scale;
}

std::uint32_t *polynomial(Ciphertext &c, unsigned component, unsigned prime)
{
    auto &body = Inside::body(c);
    return body.residues.data() + (component * body.primes + prime) * body.context->n();
}

const std::uint32_t *polynomial(const Ciphertext &c, unsigned component, unsigned prime)
{
    const auto &body = Inside::body(c);
    return body.residues.data() + (component * body.primes + prime) * body.context->n();
}

Ciphertext::Ciphertext() = default;

Ciphertext::Ciphertext(std::shared_ptr<const Context> context, unsigned components, unsigned primes,
                       double scale, std::span<const std::uint32_t> residues, Form form)
{
    const Tables &t = tables_of(context);
    check_shape(t, components, primes, scale, residues.size());
    reshape(*this, context, components, primes, scale);
    std::copy(residues.begin(), residues.end(), body_->residues.begin());
    for (unsigned i = 0; i < components * primes; i++) {
        const std::uint32_t q = t.prime(i % primes).q;
        std::uint32_t *const own = polynomial(*this, i / primes, i % primes);
        if (*std::max_element(own, own + t.n()) >= q) {
            throw Error("A residue of polynomial " + std::to_string(i / primes) + " is not below its prime " +
                        std::to_string(q) + ": the ciphertext is damaged, or of another chain.");
        }
        if (form == Form::coefficients) {
            t.kernels->ntt_forward(own, t.prime(i % primes));
        }
    }
}

Ciphertext::~Ciphertext() = default;
Ciphertext::Ciphertext(Ciphertext &&) noexcept = default;
Ciphertext &Ciphertext::operator=(Ciphertext &&) noexcept = default;

Ciphertext::Ciphertext(const Ciphertext &other) : body_(std::make_unique<Body>(*held(other.body_)))
{
}

Ciphertext &Ciphertext::operator=(const Ciphertext &other)
{
    if (body_) {
        *body_ = *held(other.body_);
        return *this;
    }
    return *this = Ciphertext(other);
}

bool Ciphertext::empty() const
{
    return !body_;
}

const std::shared_ptr<const Context> &Ciphertext::context() const
{
    return held(body_)->context;
}

unsigned Ciphertext::components() const
{
    return held(body_)->components;
}

unsigned Ciphertext::primes() const
{
    return held(body_)->primes;
}

double Ciphertext::scale() const
{
    return held(body_)->scale;
}

std::span<const std::uint32_t> Ciphertext::residues() const
{
    return held(body_)->residues;
}

std::vector<std::uint32_t> Ciphertext::coefficients() const
{
    const Tables &t = tables_of(*this);
    words residues = body_->residues;
    for (unsigned i = 0; i < components() * primes(); i++) {
        t.kernels->ntt_inverse(residues.data() + i * t.n(), t.prime(i % primes()));
    }
    return {residues.begin(), residues.end()};
}

} // namespace ciphermote
