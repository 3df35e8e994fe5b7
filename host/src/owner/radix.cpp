// SPDX-License-Identifier: Apache-2.0
#include "owner/radix.h"

#include <cmath>

namespace ciphermote
{

Radix::Radix(const Tables &t) : t_(t)
{
    double high = 1, low = 0; // their sum is the product to 2^-95: each step errs by 2^-104 of it at most
    products_.push_back(1);
    for (unsigned i = 0; i < t.data(); i++) {
        const Modulus &own = t.moduli[i];
        for (unsigned j = 0; j < i; j++) {
            inverses_.push_back(own.factor(own.inverse(own.residue(t.moduli[j].q()))));
        }
        const double q = own.q(), product = high * q;
        const double rest = std::fma(high, q, -product) + low * q;
        high = product + rest;
        low = rest - (high - product);
        products_.push_back(high);
    }
}

void Radix::to_digits(std::uint32_t *residues, unsigned primes) const
{
    const std::size_t n = t_.n();
    const arch::factor *inverse = inverses_.data();
    for (unsigned i = 0; i < primes; i++) {
        std::uint32_t *own = residues + i * n;
        const arch::prime &prime = t_.prime(i);
        for (unsigned j = 0; j < i; j++, inverse++) {
            t_.kernels->subtract_scale(own, own, residues + j * n, *inverse, prime);
        }
        t_.kernels->centre(own, prime);
    }
}

void Radix::to_doubles(const std::uint32_t *digits, unsigned primes, double by, double *numbers) const
{
    const std::size_t n = t_.n();
    for (std::size_t k = 0; k < n; k++) {
        numbers[k] = static_cast<std::int32_t>(digits[k]) * by;
    }
    for (unsigned i = 1; i < primes; i++) {
        const double weight = products_[i] * by;
        for (std::size_t k = 0; k < n; k++) {
            numbers[k] += static_cast<std::int32_t>(digits[i * n + k]) * weight;
        }
    }
}

} // namespace ciphermote
