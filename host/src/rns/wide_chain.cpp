// SPDX-License-Identifier: Apache-2.0
#include "ciphermote/wide_chain.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string>

#include "rns/inside.h"
#include "rns/wide_modulus.h"

extern "C" {
#include "random/xof.h"
}

namespace ciphermote
{

namespace
{

constexpr std::size_t most_primes = 64;
constexpr std::size_t seed_bytes = 64;

using Moduli = std::span<const WideModulus>;

/*
 * The way from P = p_0 p_1 .. to Q = q_0 q_1 .., for one coefficient x, of which only residues are known.
 *
 * Let a_j = x (P / p_j)^-1 mod p_j. Then x = sum a_j P / p_j modulo P, so x Q / P = sum a_j Q / p_j modulo Q,
 * whichever representative x is: the centred one too. Let Q = s_j p_j + r_j and a_j r_j = u_j p_j + w_j. Then
 *
 *     x Q / P = sum (a_j s_j + u_j) + sum w_j / p_j   modulo Q.
 *
 * The first sum is an integer, and the second is below the number of primes. It is never half an odd number,
 * as its denominator divides P, which is odd, so the digits that round() compares decide at last.
 */
class Switch
{
  public:
    Switch(Moduli from, Moduli to) : from_(from), to_(to)
    {
        for (std::size_t j = 0; j < from.size(); j++) {
            const WideModulus &p = from[j];
            std::uint64_t others = 1, rest = 1;
            for (std::size_t i = 0; i < from.size(); i++) {
                others = i == j ? others : p.multiply(others, p.factor(p.residue(from[i].q())));
            }
            for (const WideModulus &q : to) {
                rest = p.multiply(rest, p.factor(p.residue(q.q())));
            }
            places_.push_back(p.factor(p.inverse(others)));
            rests_.push_back(p.factor(rest));
            for (std::size_t i = 0; i < to.size(); i++) {
                wholes_.push_back(to[i].factor(whole(p, rest, i)));
            }
            digit_bits_ = std::min(digit_bits_, static_cast<unsigned>(std::bit_width(p.q())) - 1);
        }
        for (const WideModulus &p : from) {
            digits_.push_back(p.factor(std::uint64_t{1} << digit_bits_));
        }
    }

    // x: residue j of the coefficient at x[j * stride]; likewise y.
    void apply(const std::uint64_t *x, std::uint64_t *y, std::size_t stride) const
    {
        std::array<std::uint64_t, most_primes> remainders, sums{};
        for (std::size_t j = 0; j < from_.size(); j++) {
            const std::uint64_t a = from_[j].multiply(x[j * stride], places_[j]);
            const std::uint64_t u = from_[j].divide(a, rests_[j], &remainders[j]);
            for (std::size_t i = 0; i < to_.size(); i++) {
                const WideModulus &q = to_[i];
                const std::uint64_t whole = q.multiply(a, wholes_[j * to_.size() + i]);
                sums[i] = q.add(sums[i], q.add(whole, q.residue(u)));
            }
        }
        const std::uint64_t rounded = round(remainders);
        for (std::size_t i = 0; i < to_.size(); i++) {
            y[i * stride] = to_[i].add(sums[i], to_[i].residue(rounded));
        }
    }

  private:
    // floor(Q / p) modulo q_i; rest is Q mod p.
    std::uint64_t whole(const WideModulus &p, std::uint64_t rest, std::size_t i) const
    {
        const WideModulus &q = to_[i];
        if (p.q() != q.q()) { // Q is 0 modulo q_i
            const WideFactor inverse = q.factor(q.inverse(q.residue(p.q())));
            return q.multiply(q.subtract(0, q.residue(rest)), inverse);
        }
        std::uint64_t others = 1;
        for (std::size_t k = 0; k < to_.size(); k++) {
            others = k == i ? others : q.multiply(others, q.factor(q.residue(to_[k].q())));
        }
        return others;
    }

    // The sum of the next digit of each fraction w_j / p_j in base 2^digit_bits, and what is left of them.
    std::uint64_t next_digits(std::array<std::uint64_t, most_primes> &remainders) const
    {
        std::uint64_t sum = 0;
        for (std::size_t j = 0; j < from_.size(); j++) {
            sum += from_[j].divide(remainders[j], digits_[j], &remainders[j]);
        }
        return sum;
    }

    // The sum of the fractions, rounded. What is left after a digit is below one of its units a fraction.
    std::uint64_t round(std::array<std::uint64_t, most_primes> &remainders) const
    {
        const std::uint64_t unit = std::uint64_t{1} << digit_bits_, count = from_.size();
        const std::uint64_t sum = next_digits(remainders) + unit / 2;
        const std::uint64_t below = sum / unit;
        std::uint64_t missing = unit - sum % unit; // what the rest has to reach, for one more
        while (missing < count) {
            const std::uint64_t digits = next_digits(remainders);
            if (digits >= missing * unit) {
                return below + 1;
            }
            missing = missing * unit - digits;
        }
        return below;
    }

    Moduli from_, to_;
    std::vector<WideFactor> places_; // (P / p_j)^-1
    std::vector<WideFactor> rests_;  // Q mod p_j
    std::vector<WideFactor> wholes_; // [from][to]: floor(Q / p_j) modulo q_i
    std::vector<WideFactor> digits_; // 2^digit_bits modulo p_j, which is above it
    unsigned digit_bits_ = 32;
};

} // namespace

struct WideChain::Body {
    unsigned log2_n;
    std::vector<std::uint64_t> primes;
    std::vector<WideModulus> moduli;

    std::size_t n() const
    {
        return std::size_t{1} << log2_n;
    }
    Moduli first(unsigned count) const
    {
        if (count < 1 || count > moduli.size()) {
            throw Error("The chain has " + std::to_string(moduli.size()) + " primes, and a level of " +
                        std::to_string(count) + " is asked for: name one that there is.");
        }
        return Moduli(moduli).first(count);
    }
    // Calls for each of the polynomials' residues at one prime.
    template <class Words, class Call>
    void for_each(std::span<Words> residues, unsigned count, const Call &call) const
    {
        const Moduli at = first(count);
        if (residues.empty() || residues.size() % (count * n()) != 0) {
            throw Error(std::to_string(residues.size()) + " residues are given, and polynomials of " +
                        std::to_string(count) + " primes have a multiple of " + std::to_string(count * n()) +
                        ": give whole polynomials.");
        }
        for (std::size_t row = 0; row < residues.size() / n(); row++) {
            call(at[row % count], residues.subspan(row * n(), n()));
        }
    }
    template <class Words> void check(std::span<Words> residues, unsigned count) const
    {
        for_each(residues, count, [](const WideModulus &modulus, std::span<Words> row) {
            for (const std::uint64_t x : row) {
                if (x >= modulus.q()) {
                    throw Error("A residue is " + std::to_string(x) + ", not below its prime " +
                                std::to_string(modulus.q()) + ": the bytes are damaged.");
                }
            }
        });
    }
};

const WideChain::Body &WideChain::body() const
{
    return *held(body_);
}

WideChain::WideChain(unsigned log2_n, std::vector<std::uint64_t> primes)
{
    if (log2_n < 10 || log2_n > 15) {
        throw Error("The ring degree is 2^" + std::to_string(log2_n) + ": give log2_n from 10 to 15.");
    }
    if (primes.empty() || primes.size() > most_primes) {
        throw Error(std::to_string(primes.size()) + " primes are given: give 1 to 64.");
    }
    std::vector<WideModulus> moduli;
    for (std::size_t i = 0; i < primes.size(); i++) {
        if (std::find(primes.begin(), primes.begin() + static_cast<std::ptrdiff_t>(i), primes[i]) !=
            primes.begin() + static_cast<std::ptrdiff_t>(i)) {
            throw Error("A prime is given twice: give each prime of the chain once.");
        }
        moduli.emplace_back(primes[i], log2_n);
    }
    body_.reset(new Body{log2_n, std::move(primes), std::move(moduli)});
}

WideChain::~WideChain() = default;
WideChain::WideChain(WideChain &&) noexcept = default;
WideChain &WideChain::operator=(WideChain &&) noexcept = default;

std::size_t WideChain::n() const
{
    return body().n();
}

std::span<const std::uint64_t> WideChain::primes() const
{
    return body().primes;
}

void WideChain::to_coefficients(std::span<std::uint64_t> residues, unsigned primes) const
{
    body().check(residues, primes);
    body().for_each(residues, primes,
                    [](const WideModulus &modulus, std::span<std::uint64_t> row) { modulus.backward(row); });
}

void WideChain::to_values(std::span<std::uint64_t> residues, unsigned primes) const
{
    body().check(residues, primes);
    body().for_each(residues, primes,
                    [](const WideModulus &modulus, std::span<std::uint64_t> row) { modulus.forward(row); });
}

std::vector<std::uint64_t> WideChain::expand(Xof xof, std::span<const std::uint8_t> seed,
                                             unsigned primes) const
{
    (void)body().first(primes); // refuses others
    if ((xof != Xof::shake256 && xof != Xof::blake2xb) || seed.size() != seed_bytes) {
        throw Error("SEAL's seeds have 64 bytes, and SHAKE256 or BLAKE2Xb expands them: give such a seed.");
    }
    const cm_xof_kind kind = xof == Xof::shake256 ? CM_XOF_SHAKE256 : CM_XOF_BLAKE2XB;
    std::vector<std::uint64_t> residues(primes * n());
    cmi_seal_stream stream, redrawn;
    cmi_seal_stream_init(&stream, kind, seed.data(), 0);
    // What is drawn again comes from what follows the whole polynomial.
    cmi_seal_stream_init(&redrawn, kind, seed.data(), 8 * residues.size());
    body().for_each(std::span(residues), primes,
                    [&](const WideModulus &modulus, std::span<std::uint64_t> row) {
                        const std::uint64_t limit = UINT64_MAX - modulus.residue(UINT64_MAX) - 1;
                        for (std::uint64_t &residue : row) {
                            std::uint64_t x = cmi_seal_stream_next(&stream);
                            while (x >= limit) {
                                x = cmi_seal_stream_next(&redrawn);
                            }
                            residue = modulus.residue(x);
                        }
                    });
    return residues;
}

std::vector<std::uint64_t> WideChain::switched(std::span<const std::uint64_t> coefficients, unsigned primes,
                                               const WideChain &to, unsigned to_primes) const
{
    body().check(coefficients, primes);
    if (to.n() != n()) {
        throw Error("The chains have the ring degrees " + std::to_string(n()) + " and " +
                    std::to_string(to.n()) + ": take chains of one.");
    }
    const Switch way(body().first(primes), to.body().first(to_primes));
    const std::size_t polynomials = coefficients.size() / (primes * n());
    std::vector<std::uint64_t> result(polynomials * to_primes * n());
    for (std::size_t polynomial = 0; polynomial < polynomials; polynomial++) {
        const std::uint64_t *const x = coefficients.data() + polynomial * primes * n();
        std::uint64_t *const y = result.data() + polynomial * to_primes * n();
        for (std::size_t k = 0; k < n(); k++) {
            way.apply(x + k, y + k, n());
        }
    }
    return result;
}

} // namespace ciphermote
