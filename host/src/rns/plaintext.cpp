// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <string>

#include "rns/memory.h"
#include "rns/polynomials.h"
#include "rns/words.h"

namespace ciphermote
{

struct Plaintext::Body {
    std::shared_ptr<const Context> context;
    unsigned primes;
    double scale;
    words residues{}; // [primes][n], values
    words integers{}; // BFV: [n], centred modulo t
};

namespace
{

// A coefficient at a scale, rounded: an integer, below half the modulus.
class Rounding
{
  public:
    Rounding(const Tables &t, double scale, unsigned primes)
        : scale_(scale), bound_(std::exp2(t.log2_modulus(primes) - 1))
    {
    }
    double operator()(double x) const
    {
        const double scaled = x * scale_;
        if (!(std::abs(scaled) < bound_)) {
            throw Error("A value times the scale, 2^" + std::to_string(std::log2(scale_)) +
                        ", is not finite, or not below half the modulus: encode smaller values, at a smaller "
                        "scale or at more primes.");
        }
        return std::nearbyint(scaled);
    }

  private:
    double scale_, bound_;
};

// The coefficients of scale times the polynomial whose slots these are, rounded.
std::vector<double> coefficients_of(const Tables &t, std::vector<std::complex<double>> slots,
                                    const Rounding &rounded)
{
    t.slots->to_coefficients(slots);
    std::vector<double> coefficients(t.n());
    for (std::size_t k = 0; k < slots.size(); k++) {
        coefficients[k] = rounded(slots[k].real());
        coefficients[k + slots.size()] = rounded(slots[k].imag());
    }
    return coefficients;
}

/*
 * Residues [primes][n] of integers of any size: each is a sum of signed digits times powers of 2^31, which
 * are taken off from the highest; a double's digits are exact.
 */
void set_residues(const Tables &t, words &out, std::vector<double> integers, unsigned primes)
{
    const std::size_t n = t.n();
    double largest = 0;
    for (const double x : integers) {
        largest = std::max(largest, std::abs(x));
    }
    const auto count = static_cast<unsigned>(std::max(1, std::ilogb(largest + 1) / 31 + 1));
    words digits(count * n), part(n);
    for (unsigned i = count; i-- > 0;) {
        const double unit = std::ldexp(1.0, static_cast<int>(31 * i));
        for (std::size_t k = 0; k < n; k++) {
            const double digit = std::trunc(integers[k] / unit);
            integers[k] -= digit * unit;
            digits[i * n + k] = static_cast<std::uint32_t>(static_cast<std::int32_t>(digit));
        }
    }
    out.resize(primes * n);
    for (unsigned m = 0; m < primes; m++) {
        const Modulus &modulus = t.moduli[m];
        const arch::prime &prime = modulus.prime();
        std::uint32_t *to = out.data() + m * n;
        t.kernels->scale(to, digits.data(), prime.one, prime);
        std::uint32_t unit = 1;
        for (unsigned i = 1; i < count; i++) {
            unit = modulus.multiply(unit, modulus.residue(1u << 31));
            t.kernels->scale(part.data(), digits.data() + i * n, modulus.factor(unit), prime);
            t.kernels->add(to, to, part.data(), prime);
        }
        t.kernels->ntt_forward(to, prime);
    }
}

void check_room(std::size_t count, std::size_t most)
{
    if (count > most) {
        throw Error(std::to_string(count) + " values are given, and a plaintext of this chain has room for " +
                    std::to_string(most) + ": give fewer.");
    }
}

// Checked before they are copied.
std::vector<std::complex<double>> as_complex(const Context &context, std::span<const double> values)
{
    check_room(values.size(), context.n() / 2);
    return {values.begin(), values.end()};
}

void check_primes(const Tables &t, unsigned primes)
{
    if (primes < 1 || primes > t.data()) {
        throw Error("A plaintext at " + primes_of(primes) + " is asked for: give 1 to " +
                    std::to_string(t.data()) + ".");
    }
}

void check_integers(const Tables &t)
{
    if (!t.integers) {
        throw Error("The chain has no plain modulus, so it is CKKS's, and integers are BFV's: give a scale.");
    }
}

void check_scale(const Tables &t, double scale)
{
    if (t.integers) {
        throw Error("The chain has a plain modulus, so it is BFV's, and numbers at a scale are CKKS's: give "
                    "integers.");
    }
    if (!(scale >= 1 && std::isfinite(scale))) {
        throw Error("The scale is " + std::to_string(scale) + ": give a finite one of at least 1.");
    }
}

// x modulo t, given with -t < x < t.
std::uint32_t residue_of(std::int64_t x, std::uint32_t t)
{
    if (x <= -std::int64_t{t} || x >= std::int64_t{t}) {
        throw Error("The integer " + std::to_string(x) + " is given, and the plain modulus is " +
                    std::to_string(t) + ": give integers below it in magnitude.");
    }
    return static_cast<std::uint32_t>(x < 0 ? x + t : x);
}

std::int32_t centred(std::uint32_t residue, std::uint32_t t)
{
    return static_cast<std::int32_t>(residue > t / 2 ? residue - t : residue);
}

void check_slots(const Tables &t)
{
    if (!t.integers->slots) {
        throw Error("The plain modulus " + std::to_string(t.integers->t) +
                    " has no slots: encode in coefficients, or take a prime below 2^27 that is 1 modulo " +
                    std::to_string(2 * t.n()) + ".");
    }
}

// The polynomial modulo t, coefficients from 0 to t - 1.
words integers_of(const Tables &t, std::span<const std::int64_t> integers, Places places)
{
    words polynomial(t.n());
    std::fill(polynomial.begin(), polynomial.end(), 0u);
    if (places == Places::coefficients) {
        std::transform(integers.begin(), integers.end(), polynomial.begin(),
                       [&t](std::int64_t x) { return residue_of(x, t.integers->t); });
        return polynomial;
    }
    check_slots(t);
    for (std::size_t j = 0; j < integers.size(); j++) {
        polynomial[t.integers->slot_places[j]] = residue_of(integers[j], t.integers->t);
    }
    t.kernels->ntt_inverse(polynomial.data(), t.integers->slots->prime());
    return polynomial;
}

// The same polynomial of one coefficient at each of so many primes: an integer, the constant one.
words constant_residues(const Tables &t, double coefficient, unsigned primes)
{
    int exponent = 0; // beyond 2^62, a double is an integer of 53 bits times 2^exponent
    std::frexp(coefficient, &exponent);
    exponent = std::max(0, exponent - 62);
    const auto integer = static_cast<std::int64_t>(std::ldexp(coefficient, -exponent));
    words residues(primes * t.n());
    for (unsigned m = 0; m < primes; m++) {
        const Modulus &modulus = t.moduli[m];
        const std::int64_t q = modulus.q(), signed_residue = integer % q;
        auto residue = static_cast<std::uint32_t>(signed_residue < 0 ? signed_residue + q : signed_residue);
        for (int i = 0; i < exponent; i++) {
            residue = modulus.residue(2 * residue);
        }
        std::fill_n(residues.data() + m * t.n(), t.n(), residue);
    }
    return residues;
}

} // namespace

Plaintext::Plaintext(std::unique_ptr<Body> body) : body_(std::move(body))
{
}

Plaintext::Plaintext(std::shared_ptr<const Context> context, std::span<const std::complex<double>> values,
                     double scale, unsigned primes)
{
    const Tables &t = tables_of(context);
    check_room(values.size(), t.n() / 2);
    check_primes(t, primes);
    check_scale(t, scale);
    std::vector<std::complex<double>> slots(t.n() / 2);
    std::copy(values.begin(), values.end(), slots.begin());
    Inside::fill(*this, std::move(context), primes, scale);
    set_residues(t, body_->residues, coefficients_of(t, std::move(slots), Rounding(t, scale, primes)),
                 primes);
}

Plaintext::Plaintext(std::shared_ptr<const Context> context, std::span<const double> values, double scale,
                     unsigned primes)
    : Plaintext(context, as_complex(*held(context), values), scale, primes)
{
}

Plaintext::Plaintext(std::shared_ptr<const Context> context, std::span<const std::int64_t> integers,
                     Places places, unsigned primes)
{
    const Tables &t = tables_of(context);
    check_room(integers.size(), t.n());
    check_primes(t, primes);
    check_integers(t);
    Inside::fill(*this, std::move(context), primes, 1.0);
    body_->integers = integers_of(t, integers, places);
    for (std::uint32_t &x : body_->integers) {
        x = static_cast<std::uint32_t>(centred(x, t.integers->t));
    }
    body_->residues.resize(primes * t.n());
    for (unsigned m = 0; m < primes; m++) {
        std::uint32_t *out = body_->residues.data() + m * t.n();
        t.kernels->scale(out, body_->integers.data(), t.prime(m).one, t.prime(m));
        t.kernels->ntt_forward(out, t.prime(m));
    }
}

Plaintext Plaintext::constant(std::shared_ptr<const Context> context, double value, double scale,
                              unsigned primes)
{
    const Tables &t = tables_of(context);
    check_scale(t, scale);
    check_primes(t, primes);
    words residues = constant_residues(t, Rounding(t, scale, primes)(value), primes);
    return Inside::make<Plaintext>(std::move(context), primes, scale, std::move(residues));
}

Plaintext Plaintext::constant(std::shared_ptr<const Context> context, std::int64_t integer, unsigned primes)
{
    const Tables &t = tables_of(context);
    check_integers(t);
    check_primes(t, primes);
    const std::int32_t coefficient = centred(residue_of(integer, t.integers->t), t.integers->t);
    words integers(t.n());
    std::fill(integers.begin(), integers.end(), 0u);
    integers[0] = static_cast<std::uint32_t>(coefficient);
    return Inside::make<Plaintext>(std::move(context), primes, 1.0, constant_residues(t, coefficient, primes),
                                   std::move(integers));
}

Plaintext::~Plaintext() = default;
Plaintext::Plaintext(Plaintext &&) noexcept = default;
Plaintext &Plaintext::operator=(Plaintext &&) noexcept = default;

const std::shared_ptr<const Context> &Plaintext::context() const
{
    return held(body_)->context;
}

unsigned Plaintext::primes() const
{
    return held(body_)->primes;
}

double Plaintext::scale() const
{
    return held(body_)->scale;
}

std::span<const std::uint32_t> Plaintext::residues() const
{
    return held(body_)->residues;
}

const std::uint32_t *polynomial(const Plaintext &plaintext, unsigned prime)
{
    const auto &body = Inside::body(plaintext);
    return body.residues.data() + prime * body.context->n();
}

std::size_t addend_words(const Plaintext &plaintext, unsigned primes)
{
    const Tables &t = tables_of(plaintext);
    return t.integers ? (std::size_t{primes} + 2) * t.n() : 0;
}

// floor(Q/t) m + floor(((Q mod t) m + floor(t/2)) / t), for centred m.
const std::uint32_t *addend(const Plaintext &plaintext, unsigned primes, std::uint32_t *scratch)
{
    const Tables &t = tables_of(plaintext);
    if (!t.integers) {
        return polynomial(plaintext, 0);
    }
    const ProductLevel &level = t.integers->levels[primes - 1];
    const std::int64_t modulus = t.integers->t, rest = level.q_mod_t, half = modulus / 2;
    const std::uint32_t *const integers = Inside::body(plaintext).integers.data();
    std::uint32_t *const rounded = scratch + primes * t.n(), *const part = rounded + t.n();
    for (std::size_t i = 0; i < t.n(); i++) {
        const std::int64_t numerator = rest * static_cast<std::int32_t>(integers[i]) + half;
        const std::int64_t quotient = numerator / modulus - (numerator % modulus < 0 ? 1 : 0);
        rounded[i] = static_cast<std::uint32_t>(quotient);
    }
    for (unsigned m = 0; m < primes; m++) {
        const arch::prime &prime = t.prime(m);
        std::uint32_t *to = scratch + m * t.n();
        t.kernels->scale(to, integers, t.moduli[m].factor(level.delta[m]), prime);
        t.kernels->scale(part, rounded, prime.one, prime);
        t.kernels->add(to, to, part, prime);
        t.kernels->ntt_forward(to, prime);
    }
    return scratch;
}

std::vector<std::uint32_t> slots_of(const Context &context, std::span<const std::uint32_t> coefficients)
{
    const Tables &t = tables_of(context);
    check_integers(t);
    check_slots(t);
    if (coefficients.size() != t.n() ||
        *std::max_element(coefficients.begin(), coefficients.end()) >= t.integers->t) {
        throw Error("Slots are those of " + std::to_string(t.n()) + " coefficients below the plain modulus " +
                    std::to_string(t.integers->t) + ": give what decrypt_bfv gives.");
    }
    words values(coefficients.begin(), coefficients.end());
    t.kernels->ntt_forward(values.data(), t.integers->slots->prime());
    std::vector<std::uint32_t> integers(t.n());
    for (std::size_t j = 0; j < integers.size(); j++) {
        integers[j] = values[t.integers->slot_places[j]];
    }
    return integers;
}

} // namespace ciphermote
