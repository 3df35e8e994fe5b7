// SPDX-License-Identifier: Apache-2.0
#include "rns/modulus.h"

#include <bit>
#include <string>

#include "ciphermote/context.h"
#include "rns/bits.h"

extern "C" {
#include "ring/prime.h"
}

namespace ciphermote
{

bool Modulus::fits(std::uint32_t q, unsigned log2_n)
{
    cm_prime constants;
    return cmi_prime_init(&constants, q, log2_n, nullptr);
}

Modulus::Modulus(std::uint32_t q, unsigned log2_n, const arch::kernels &kernels)
    : quotient_bits_(kernels.quotient_bits)
{
    cm_prime constants;
    if (!cmi_prime_init(&constants, q, log2_n, nullptr)) {
        throw Error("The chain's " + std::to_string(q) + " is no prime below 2^27 that is 1 modulo " +
                    std::to_string(std::size_t{2} << log2_n) + ": take primes made for this ring degree.");
    }
    prime_ = {};
    prime_.q = q;
    prime_.log2_n = log2_n;
    prime_.q_inv = 0u - constants.neg_q_inv;
    const unsigned bits = static_cast<unsigned>(std::bit_width(q));
    prime_.shift = bits - 2;
    prime_.barrett = static_cast<std::uint32_t>((std::uint64_t{1} << (bits + 31)) / q);
    prime_.one = factor(1);
    prime_.n_inverse = factor(constants.n_inv);
    set_roots(constants.psi, kernels.lanes);
}

// A lazy product lies within (-|x| q / 2^33, q + |x| q / 2^33), and each level adds one.
double Modulus::largest_value(double start) const
{
    double largest = start;
    for (unsigned level = 0; level < prime_.log2_n; level++) {
        largest += prime_.q + largest * prime_.q / 0x1p33;
    }
    return largest;
}

/*
 * A word holds less than 2^31, from which a residue may then be subtracted. Where values would grow out of
 * it, they are reduced after three levels. Then they fit for every prime: three levels make less than
 * 7 * 2^27 of the start, and reduced it is below 1.11 * 2^27; twelve levels more make less than 14.5 * 2^27,
 * and 2^31 - q is more than 15 * 2^27.
 */
void Modulus::transforms_up_to(double start)
{
    prime_.reduces = largest_value(start) + prime_.q >= 0x1p31;
}

std::uint32_t Modulus::inverse(std::uint32_t a) const
{
    std::uint32_t power = 1;
    for (std::uint32_t exponent = prime_.q - 2; exponent > 0; exponent >>= 1) {
        power = exponent & 1 ? multiply(power, a) : power;
        a = multiply(a, a);
    }
    return power;
}

arch::factor Modulus::factor(std::uint32_t residue) const
{
    const std::int64_t q = prime_.q;
    const std::int64_t centred = residue > q / 2 ? residue - q : residue;
    // round(centred 2^bits / q): floor((centred 2^(bits + 1) + q) / 2q)
    const std::int64_t numerator = centred * (std::int64_t{2} << quotient_bits_) + q;
    const std::int64_t quotient = numerator / (2 * q) - (numerator % (2 * q) < 0 ? 1 : 0);
    return {static_cast<std::int32_t>(centred), static_cast<std::int32_t>(quotient)};
}

// The roots of the levels within `lanes` neighbours, in the order in which they are used: by group of lanes^2
// numbers, level and block; then lane by lane, first roots and then quotients.
static signed_words late_roots(const signed_words &roots, std::size_t n, std::size_t lanes, bool inverse)
{
    signed_words late;
    for (std::size_t group = 0; group < n / (lanes * lanes); group++) {
        for (std::size_t step = 1; step < lanes; step *= 2) {
            const std::size_t half = inverse ? step : lanes / (2 * step);
            const std::size_t blocks = lanes / (2 * half), level = n / (2 * half);
            for (std::size_t block = 0; block < blocks; block++) {
                for (const std::size_t part : {std::size_t{0}, n}) {
                    for (std::size_t lane = 0; lane < lanes; lane++) {
                        late.push_back(roots[part + level + (group * lanes + lane) * blocks + block]);
                    }
                }
            }
        }
    }
    return late;
}

void Modulus::set_roots(std::uint32_t psi, unsigned lanes)
{
    const std::size_t n = std::size_t{1} << prime_.log2_n;
    const std::uint32_t psi_inverse = inverse(psi);
    roots_.resize(2 * n);
    inverse_.resize(2 * n);
    std::uint32_t power = 1, inverse_power = 1;
    for (std::size_t exponent = 0; exponent < n; exponent++) {
        const std::size_t at = bit_reversed(exponent, prime_.log2_n);
        const arch::factor root = factor(power), other = factor(inverse_power);
        roots_[at] = root.value;
        roots_[n + at] = root.quotient;
        inverse_[at] = other.value;
        inverse_[n + at] = other.quotient;
        power = multiply(power, psi);
        inverse_power = multiply(inverse_power, psi_inverse);
    }
    late_ = late_roots(roots_, n, lanes, false);
    late_inverse_ = late_roots(inverse_, n, lanes, true);
    const std::int64_t q = prime_.q;
    const auto residue_of = [q](std::int64_t centred) {
        return static_cast<std::uint32_t>(centred < 0 ? centred + q : centred);
    };
    prime_.last = factor(multiply(residue_of(prime_.n_inverse.value), residue_of(inverse_[1])));
    prime_.roots = roots_.data();
    prime_.late = late_.data();
    prime_.inverse = inverse_.data();
    prime_.late_inverse = late_inverse_.data();
}

} // namespace ciphermote
