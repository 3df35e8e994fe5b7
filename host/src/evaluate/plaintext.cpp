// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "tables.h"

namespace ciphermote
{

// ---- SlotTransform ----

SlotTransform::SlotTransform(unsigned log2_n) : log2_n_(log2_n)
{
    const std::size_t n = std::size_t{1} << log2_n, order = 2 * n, slots = n / 2;
    for (std::size_t k = 0; k < order; k++) {
        roots_.push_back(std::polar(1.0, std::numbers::pi * static_cast<double>(k) / static_cast<double>(n)));
    }
    std::vector<std::uint32_t> place_of(order);
    std::size_t power = 1;
    for (std::size_t k = 0; k < slots; k++) {
        powers_.push_back(static_cast<std::uint32_t>(power));
        place_of[power] = static_cast<std::uint32_t>(k);
        power = power * 5 % order;
    }
    power = 1;
    for (std::size_t j = 0; j < slots; j++) {
        places_.push_back(place_of[power % 4 == 1 ? power : order - power]);
        power = power * 3 % order;
    }
}

void SlotTransform::to_coefficients(std::vector<std::complex<double>> &slots) const
{
    const std::size_t count = slots.size();
    std::vector<std::complex<double>> v(count);
    for (std::size_t j = 0; j < count; j++) {
        v[places_[j]] = j % 2 == 0 ? slots[j] : std::conj(slots[j]); // 3^j is 1 modulo 4 for even j
    }
    const std::size_t order = roots_.size();
    for (std::size_t length = count; length >= 2; length /= 2) {
        const std::size_t half = length / 2, step = order / (4 * length);
        for (std::size_t i = 0; i < count; i += length) {
            for (std::size_t j = 0; j < half; j++) {
                const std::size_t exponent = 4 * length - powers_[j] % (4 * length);
                const std::complex<double> sum = v[i + j] + v[i + j + half];
                v[i + j + half] = (v[i + j] - v[i + j + half]) * roots_[exponent * step];
                v[i + j] = sum;
            }
        }
    }
    for (std::size_t i = 0; i < count; i++) {
        std::size_t reversed = 0;
        for (unsigned bit = 0; bit + 1 < log2_n_; bit++) {
            reversed |= (i >> bit & 1) << (log2_n_ - 2 - bit);
        }
        slots[reversed] = v[i] / static_cast<double>(count);
    }
}

// ---- Plaintext ----

struct Plaintext::Body {
    words residues;
};

namespace
{

// The coefficients of scale times the polynomial whose slots these are, rounded.
std::vector<std::int64_t> coefficients_of(const Context::Tables &t, std::vector<std::complex<double>> slots,
                                          double scale, unsigned primes)
{
    double log2_modulus = 0;
    for (unsigned m = 0; m < primes; m++) {
        log2_modulus += std::log2(t.moduli[m].q());
    }
    const double bound = std::exp2(std::min(62.0, log2_modulus - 1));
    t.slots->to_coefficients(slots);
    std::vector<std::int64_t> coefficients(t.n());
    for (std::size_t k = 0; k < slots.size(); k++) {
        const double parts[2] = {slots[k].real() * scale, slots[k].imag() * scale};
        for (std::size_t part = 0; part < 2; part++) {
            if (!(std::abs(parts[part]) < bound)) {
                throw Error(
                    "A value times the scale, 2^" + std::to_string(std::log2(scale)) +
                    ", is not finite, or not below 2^62 and half the modulus: encode smaller values, at a "
                    "smaller scale or at more primes.");
            }
            coefficients[k + part * slots.size()] = std::llrint(parts[part]);
        }
    }
    return coefficients;
}

void check_encoding(const Context::Tables &t, std::size_t count, double scale, unsigned primes)
{
    if (count > t.n() / 2) {
        throw Error(std::to_string(count) + " values are given, and a plaintext of this chain has " +
                    std::to_string(t.n() / 2) + " slots: give fewer.");
    }
    if (primes < 1 || primes > t.data()) {
        throw Error("A plaintext at " + std::to_string(primes) + " primes is asked for: give 1 to " +
                    std::to_string(t.data()) + ".");
    }
    if (!(scale >= 1 && std::isfinite(scale))) {
        throw Error("The scale is " + std::to_string(scale) + ": give a finite one of at least 1.");
    }
}

} // namespace

Plaintext::Plaintext(std::shared_ptr<const Context> context, std::span<const std::complex<double>> values,
                     double scale, unsigned primes)
    : context_(std::move(context)), primes_(primes), scale_(scale), body_(std::make_unique<Body>())
{
    const Context::Tables &t = context_->tables();
    check_encoding(t, values.size(), scale, primes);
    std::vector<std::complex<double>> slots(t.n() / 2);
    std::copy(values.begin(), values.end(), slots.begin());
    const std::vector<std::int64_t> coefficients = coefficients_of(t, std::move(slots), scale, primes);
    body_->residues.resize(primes * t.n());
    for (unsigned m = 0; m < primes; m++) {
        const std::int64_t q = t.moduli[m].q();
        std::uint32_t *out = body_->residues.data() + m * t.n();
        for (std::size_t k = 0; k < t.n(); k++) {
            const std::int64_t residue = coefficients[k] % q; // centred, for the transform's bounds
            const std::int64_t centred = residue > q / 2      ? residue - q
                                         : residue < -(q / 2) ? residue + q
                                                              : residue;
            out[k] = static_cast<std::uint32_t>(centred);
        }
        t.kernels->ntt_forward(out, t.prime(m));
    }
}

Plaintext::Plaintext(std::shared_ptr<const Context> context, std::span<const double> values, double scale,
                     unsigned primes)
    : Plaintext(std::move(context), std::vector<std::complex<double>>(values.begin(), values.end()), scale,
                primes)
{
}

Plaintext::~Plaintext() = default;
Plaintext::Plaintext(Plaintext &&) noexcept = default;
Plaintext &Plaintext::operator=(Plaintext &&) noexcept = default;

std::span<const std::uint32_t> Plaintext::residues() const
{
    return body_->residues;
}

const std::uint32_t *Plaintext::polynomial(unsigned prime) const
{
    return body_->residues.data() + prime * context_->n();
}

} // namespace ciphermote
