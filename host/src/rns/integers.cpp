// SPDX-License-Identifier: Apache-2.0
#include "rns/integers.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <string>

#include "ciphermote/context.h"
#include "rns/bits.h"

namespace ciphermote
{

namespace
{

double log2_of(std::span<const Modulus> moduli)
{
    return std::accumulate(moduli.begin(), moduli.end(), 0.0,
                           [](double sum, const Modulus &m) { return sum + std::log2(m.q()); });
}

std::uint32_t product_of(std::span<const Modulus> moduli, const Modulus &modulus)
{
    return std::accumulate(moduli.begin(), moduli.end(), std::uint32_t{1},
                           [&](std::uint32_t product, const Modulus &m) {
                               return modulus.multiply(product, modulus.residue(m.q()));
                           });
}

// The largest primes below 2^27 that are not taken, until their product has so many bits.
std::vector<Modulus> auxiliary_primes(double log2_product, const std::vector<std::uint32_t> &taken,
                                      unsigned log2_n, const arch::kernels &kernels)
{
    std::vector<Modulus> found;
    const std::uint32_t step = 2u << log2_n;
    for (std::uint32_t q = (1u << 27) - step + 1; log2_of(found) < log2_product; q -= step) {
        if (std::find(taken.begin(), taken.end(), q) == taken.end() && Modulus::fits(q, log2_n)) {
            found.emplace_back(q, log2_n, kernels);
        }
    }
    return found;
}

ProductLevel level_of(std::uint32_t t, std::span<const Modulus> data, std::span<const Modulus> auxiliary)
{
    const double log2_least = log2_of(data) + 8;
    std::size_t count = 1;
    while (log2_of(auxiliary.first(count)) < log2_least) {
        count++;
    }
    const std::span<const Modulus> p = auxiliary.first(count);
    const Extension to_data(p, data);
    const auto p_inverse = [p](const Modulus &q) { return q.inverse(product_of(p, q)); };
    // b' is (P b - remainder) / Q, and P is 0 modulo its primes.
    const auto scaled = [&](const Modulus &m) {
        const auto at = static_cast<unsigned>(&m - p.data());
        return m.multiply(m.q() - m.inverse(product_of(data, m)), to_data.place(at));
    };
    ProductLevel level{
        .auxiliary = static_cast<unsigned>(count),
        .first = {},
        .second = {},
        .to_auxiliary = Extension(data, p, [t](const Modulus &m) { return m.residue(t); }),
        .scaled = Extension(data, p, scaled),
        .to_data = to_data,
        .remainder = Extension(p, data, p_inverse),
        .t_over_p = {},
        .delta = {},
        .q_mod_t = 1 % t,
    };
    for (const Modulus &q : data) {
        const std::uint32_t place = level.scaled.place(static_cast<unsigned>(&q - data.data()));
        level.first.push_back(q.factor(place));
        level.second.push_back(q.factor(q.multiply(place, product_of(p, q))));
        level.t_over_p.push_back(q.factor(q.multiply(q.residue(t), p_inverse(q))));
        level.q_mod_t = static_cast<std::uint32_t>(std::uint64_t{level.q_mod_t} * q.q() % t);
    }
    for (const Modulus &q : data) { // (Q - (Q mod t)) / t, where Q is 0
        const std::uint32_t negative = q.residue(q.q() - q.residue(level.q_mod_t));
        level.delta.push_back(q.multiply(negative, q.inverse(q.residue(t))));
    }
    return level;
}

std::vector<std::uint32_t> places_of_slots(unsigned log2_n)
{
    const std::size_t n = std::size_t{1} << log2_n;
    std::vector<std::uint32_t> places(n);
    std::size_t power = 1;
    for (std::size_t j = 0; j < n / 2; j++) {
        places[j] = static_cast<std::uint32_t>(bit_reversed((power - 1) / 2, log2_n));
        places[n / 2 + j] = static_cast<std::uint32_t>(bit_reversed((2 * n - power - 1) / 2, log2_n));
        power = power * 3 % (2 * n);
    }
    return places;
}

bool is_prime(std::uint32_t t)
{
    std::uint64_t divisor = 2;
    while (divisor * divisor <= t && t % divisor != 0) {
        divisor++;
    }
    return divisor * divisor > t && t > 1;
}

} // namespace

Integers::Integers(std::uint32_t plain_modulus, std::span<const Modulus> data,
                   const std::vector<std::uint32_t> &taken, unsigned log2_n, const arch::kernels &kernels)
    : t(plain_modulus), batches(t % (std::uint32_t{2} << log2_n) == 1 && is_prime(t))
{
    if (t < 2) {
        throw Error("The plain modulus is " + std::to_string(t) + ": take one of at least 2.");
    }
    for (const Modulus &q : data) {
        if (q.residue(t) == 0) {
            throw Error("The plain modulus " + std::to_string(t) + " is a multiple of the chain's prime " +
                        std::to_string(q.q()) + ": take another plain modulus.");
        }
    }
    if (std::log2(t) >= log2_of(data)) {
        throw Error(
            "The plain modulus " + std::to_string(t) +
            " is not below the modulus, the data primes' product: take a smaller one, or more primes.");
    }
    auxiliary = auxiliary_primes(log2_of(data) + 8, taken, log2_n, kernels);
    for (std::size_t count = 1; count <= data.size(); count++) {
        levels.push_back(level_of(t, data.first(count), auxiliary));
    }
    for (Modulus &modulus : auxiliary) {
        modulus.transforms_up_to(modulus.q());
    }
    if (Modulus::fits(t, log2_n)) {
        slots = std::make_unique<Modulus>(t, log2_n, kernels);
        slots->transforms_up_to(t);
        slot_places = places_of_slots(log2_n);
    }
}

} // namespace ciphermote
