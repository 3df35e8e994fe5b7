// SPDX-License-Identifier: Apache-2.0
#include "rns/wide_modulus.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string>

#include "ciphermote/context.h"

namespace ciphermote
{

namespace
{

std::size_t bit_reversed(std::size_t x, unsigned bits)
{
    std::size_t reversed = 0;
    for (unsigned i = 0; i < bits; i++) {
        reversed = reversed << 1 | (x >> i & 1);
    }
    return reversed;
}

} // namespace

WideFactor WideModulus::factor(std::uint64_t w) const
{
    std::uint64_t quotient = 0, rest = w; // long division of w 2^64, a bit a step: rest stays below q
    for (unsigned bit = 0; bit < 64; bit++) {
        rest <<= 1;
        quotient = quotient << 1 | (rest >= q_);
        rest -= rest >= q_ ? q_ : 0;
    }
    return {w, quotient};
}

std::uint64_t WideModulus::power(std::uint64_t base, std::uint64_t exponent) const
{
    std::uint64_t result = 1 % q_, square = base;
    for (; exponent != 0; exponent >>= 1) {
        const WideFactor by = factor(square);
        if (exponent & 1) {
            result = multiply(result, by);
        }
        square = multiply(square, by);
    }
    return result;
}

namespace
{

// Miller and Rabin's test, with bases that are enough below 2^64 (Sorenson and Webster, 2015).
bool is_prime(const WideModulus &modulus)
{
    const std::uint64_t q = modulus.q();
    const auto twos = static_cast<unsigned>(std::countr_zero(q - 1));
    for (const std::uint64_t base : {2u, 3u, 5u, 7u, 11u, 13u, 17u, 19u, 23u, 29u, 31u, 37u}) {
        std::uint64_t x = modulus.power(base, (q - 1) >> twos);
        bool passes = x == 1 || x == q - 1;
        for (unsigned i = 1; i < twos && !passes; i++) {
            x = modulus.multiply(x, modulus.factor(x));
            passes = x == q - 1;
        }
        if (!passes) {
            return false;
        }
    }
    return true;
}

// The smallest root of order 2n, as SEAL takes: the odd powers of any such root are all of them.
std::uint64_t smallest_root(const WideModulus &modulus, std::size_t n)
{
    const std::uint64_t q = modulus.q();
    std::uint64_t root = 0;
    for (std::uint64_t base = 2; root == 0; base++) {
        const std::uint64_t candidate = modulus.power(base, (q - 1) / (2 * n));
        root = modulus.power(candidate, n) == q - 1 ? candidate : 0;
    }
    const WideFactor square = modulus.factor(modulus.multiply(root, modulus.factor(root)));
    std::uint64_t smallest = root;
    for (std::size_t i = 1; i < n; i++) {
        root = modulus.multiply(root, square);
        smallest = std::min(smallest, root);
    }
    return smallest;
}

} // namespace

WideModulus::WideModulus(std::uint64_t q, unsigned log2_n) : q_(q)
{
    const std::size_t n = std::size_t{1} << log2_n;
    const bool shaped = q > 2 * n && q >> 61 == 0 && q % (2 * n) == 1;
    if (shaped) {
        one_ = factor(1);
    }
    if (!shaped || !is_prime(*this)) {
        throw Error("The chain's number " + std::to_string(q) + " is no prime below 2^61 that is 1 mod " +
                    std::to_string(2 * n) + ": give primes that have a transform.");
    }
    n_inverse_ = factor(inverse(n));
    roots_.resize(n);
    inverse_roots_.resize(n);
    const std::uint64_t root = smallest_root(*this, n);
    const WideFactor step = factor(root), back = factor(inverse(root));
    std::uint64_t power = 1, inverse_power = 1;
    for (std::size_t i = 0; i < n; i++) {
        const std::size_t at = bit_reversed(i, log2_n);
        roots_[at] = factor(power);
        inverse_roots_[at] = factor(inverse_power);
        power = multiply(power, step);
        inverse_power = multiply(inverse_power, back);
    }
}

void WideModulus::forward(std::span<std::uint64_t> polynomial) const
{
    const std::size_t n = roots_.size();
    for (std::size_t blocks = 1, half = n / 2; blocks < n; blocks *= 2, half /= 2) {
        for (std::size_t block = 0; block < blocks; block++) {
            const WideFactor &root = roots_[blocks + block];
            std::uint64_t *const low = polynomial.data() + 2 * block * half, *const high = low + half;
            for (std::size_t i = 0; i < half; i++) {
                const std::uint64_t product = multiply(high[i], root);
                high[i] = subtract(low[i], product);
                low[i] = add(low[i], product);
            }
        }
    }
}

void WideModulus::backward(std::span<std::uint64_t> polynomial) const
{
    const std::size_t n = roots_.size();
    for (std::size_t blocks = n / 2, half = 1; blocks > 0; blocks /= 2, half *= 2) {
        for (std::size_t block = 0; block < blocks; block++) {
            const WideFactor &root = inverse_roots_[blocks + block];
            std::uint64_t *const low = polynomial.data() + 2 * block * half, *const high = low + half;
            for (std::size_t i = 0; i < half; i++) {
                const std::uint64_t difference = subtract(low[i], high[i]);
                low[i] = add(low[i], high[i]);
                high[i] = multiply(difference, root);
            }
        }
    }
    for (std::size_t i = 0; i < n; i++) {
        polynomial[i] = multiply(polynomial[i], n_inverse_);
    }
}

} // namespace ciphermote
