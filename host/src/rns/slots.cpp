// SPDX-License-Identifier: Apache-2.0
#include "rns/slots.h"

#include <numbers>

#include "rns/bits.h"

namespace ciphermote
{

SlotTransform::SlotTransform(unsigned log2_n) : log2_n_(log2_n)
{
    const std::size_t n = std::size_t{1} << log2_n, order = 2 * n, slots = n / 2;
    std::vector<std::uint32_t> powers, place_of(order); // 5^k mod 2n, and k
    std::size_t power = 1;
    for (std::size_t k = 0; k < slots; k++) {
        powers.push_back(static_cast<std::uint32_t>(power));
        place_of[power] = static_cast<std::uint32_t>(k);
        power = power * 5 % order;
    }
    power = 1;
    for (std::size_t j = 0; j < slots; j++) {
        places_.push_back(place_of[power % 4 == 1 ? power : order - power]);
        power = power * 3 % order;
    }
    for (std::size_t half = 1; half < slots; half *= 2) {
        for (std::size_t j = 0; j < half; j++) {
            const std::size_t whole = 8 * half; // of the circle, at this level
            const double part = static_cast<double>(powers[j] % whole) / static_cast<double>(whole);
            roots_.push_back(std::polar(1.0, 2 * std::numbers::pi * part));
        }
    }
}

void SlotTransform::to_coefficients(std::vector<std::complex<double>> &slots) const
{
    const std::size_t count = slots.size();
    std::vector<std::complex<double>> v(count);
    for (std::size_t j = 0; j < count; j++) {
        v[places_[j]] = j % 2 == 0 ? slots[j] : std::conj(slots[j]); // 3^j is 1 modulo 4 for even j
    }
    for (std::size_t half = count / 2; half >= 1; half /= 2) {
        const std::complex<double> *roots = &roots_[half - 1];
        for (std::size_t i = 0; i < count; i += 2 * half) {
            for (std::size_t j = 0; j < half; j++) {
                const std::complex<double> sum = v[i + j] + v[i + j + half];
                v[i + j + half] = (v[i + j] - v[i + j + half]) * std::conj(roots[j]);
                v[i + j] = sum;
            }
        }
    }
    for (std::size_t i = 0; i < count; i++) {
        slots[bit_reversed(i, log2_n_ - 1)] = v[i] / static_cast<double>(count);
    }
}

// Complex products by their parts: std::complex's branch on the result.
void SlotTransform::to_slots(std::span<double> values, std::span<double> scratch) const
{
    const std::size_t count = values.size() / 2;
    for (std::size_t i = 0; i < count; i++) {
        const std::size_t from = bit_reversed(i, log2_n_ - 1);
        scratch[2 * i] = values[from];
        scratch[2 * i + 1] = values[from + count];
    }
    for (std::size_t half = 1; half < count; half *= 2) {
        const std::complex<double> *roots = &roots_[half - 1];
        for (std::size_t i = 0; i < count; i += 2 * half) {
            for (std::size_t j = 0; j < half; j++) {
                double *const a = &scratch[2 * (i + j)], *const b = a + 2 * half;
                const double real = b[0] * roots[j].real() - b[1] * roots[j].imag();
                const double imaginary = b[0] * roots[j].imag() + b[1] * roots[j].real();
                b[0] = a[0] - real;
                b[1] = a[1] - imaginary;
                a[0] += real;
                a[1] += imaginary;
            }
        }
    }
    for (std::size_t j = 0; j < count; j++) {
        const std::size_t from = 2 * std::size_t{places_[j]};
        values[2 * j] = scratch[from];
        values[2 * j + 1] = j % 2 == 0 ? scratch[from + 1] : -scratch[from + 1];
    }
}

} // namespace ciphermote
