// SPDX-License-Identifier: Apache-2.0
/*
 * Polynomials of a ciphertext, after Paterson and Stockmeyer: p = q x^(2^k) + r, down to sums of low powers.
 *
 * CKKS: a polynomial of degree below 2^d takes d levels, the fewest there can be. A sum of powers below 2^m
 * takes a level for its coefficients on top of the m that the powers take; so only where a level is to spare
 * does the recursion stop at powers, and else goes on until the powers are few enough. Scales are chosen from
 * the result backwards, so that both terms of each sum have one scale exactly, as Bossuat, Mouchet,
 * Troncoso-Pastoriza and Hubaux do ("Efficient bootstrapping for approximate homomorphic encryption with
 * non-sparse keys", 2021).
 *
 * CKKS's powers are kept near the scale q that a level divides by. A square has the scale s^2 / q, so what s
 * lacks to q would double with each level, until nothing but rounding is left. So each product is multiplied
 * by the largest integer k that brings it no further than q^2, and said to be at a scale k times as large,
 * before it is divided by q: the same value, the same relative error, and no level. All sums in between are
 * at x's own scale s: such a sum times a power has the scale s q, and is at s after the level.
 */
#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <string>

#include "ciphermote/evaluate.h"
#include "rns/inside.h"
#include "rns/level.h"

namespace ciphermote
{

namespace
{

// The levels of a polynomial with so many coefficients: degree below 2^levels.
unsigned levels_of(std::size_t coefficients)
{
    return static_cast<unsigned>(std::bit_width(coefficients - 1));
}

template <class Number> class Polynomial
{
  public:
    // step: primes that each level takes; 0 for BFV.
    Polynomial(const Ciphertext &x, const EvaluationKeys &keys, unsigned levels, unsigned step)
        : context_(x.context()), keys_(keys), step_(step), power_scale_(divisor(x.primes() - step))
    {
        for (unsigned level = 2; level <= levels; level++) {
            power_scale_ = std::min(power_scale_, divisor(x.primes() - level * step));
        }
        powers_.emplace(1, x);
    }

    // At so many primes and this scale, with at most so many levels below x.
    Ciphertext operator()(std::span<const Number> coefficients, unsigned levels, unsigned primes,
                          double scale)
    {
        const std::size_t low = low_powers(coefficients.size(), levels);
        if (coefficients.size() <= low + 1) {
            return sum_of_powers(coefficients, primes, scale);
        }
        const std::size_t split = std::bit_floor(coefficients.size() - 1);
        const std::span<const Number> high = coefficients.subspan(split), rest = coefficients.first(split);
        const Ciphertext giant = mod_switched(power(split), primes + step_);
        const double unscaled = scale * divisor(primes);
        Ciphertext product = [&] {
            if (high.size() == 1) {
                return multiply_plain(giant, constant(high[0], unscaled / giant.scale(), giant.primes()));
            }
            const Ciphertext factor = (*this)(high, levels - 1, primes + step_, unscaled / giant.scale());
            return multiply(factor, giant, keys_);
        }();
        Ciphertext scaled = rescaled(std::move(product));
        return plus(std::move(scaled), rest, levels, primes, scale);
    }

  private:
    // The powers to which recursion goes down: those below 2^m for which there are levels, and no more than
    // are worth it.
    std::size_t low_powers(std::size_t coefficients, unsigned levels) const
    {
        const unsigned most = step_ == 0 ? levels : levels - 1;
        const unsigned worth = (levels_of(coefficients) + 1) / 2;
        return (std::size_t{1} << std::min(most, worth)) - 1;
    }

    Ciphertext plus(Ciphertext &&sum, std::span<const Number> rest, unsigned levels, unsigned primes,
                    double scale)
    {
        while (!rest.empty() && rest.back() == 0) {
            rest = rest.first(rest.size() - 1);
        }
        if (rest.empty()) {
            return std::move(sum);
        }
        if (rest.size() == 1) {
            return add_plain(sum, constant(rest[0], scale, primes));
        }
        return add(sum, (*this)(rest, levels, primes, scale));
    }

    Ciphertext sum_of_powers(std::span<const Number> coefficients, unsigned primes, double scale)
    {
        const double unscaled = scale * divisor(primes);
        std::unique_ptr<Ciphertext> sum;
        for (std::size_t k = 1; k < coefficients.size(); k++) {
            if (coefficients[k] == 0) {
                continue;
            }
            const Ciphertext at = mod_switched(power(k), primes + step_);
            Ciphertext term =
                multiply_plain(at, constant(coefficients[k], unscaled / at.scale(), at.primes()));
            sum = std::make_unique<Ciphertext>(sum ? add(*sum, term) : std::move(term));
        }
        Ciphertext out = rescaled(std::move(*sum));
        return coefficients[0] == 0 ? std::move(out)
                                    : add_plain(out, constant(coefficients[0], scale, primes));
    }

    const Ciphertext &power(std::size_t exponent)
    {
        const auto found = powers_.find(exponent);
        if (found != powers_.end()) {
            return found->second;
        }
        // The halves, so that the power takes as few levels as it can.
        const std::size_t half = std::bit_floor(exponent - 1);
        const Ciphertext &left = power(half), &right = power(exponent - half);
        const unsigned primes = std::min(left.primes(), right.primes());
        const double unscaled = power_scale_ * divisor(primes - step_);
        check_power(exponent, left.scale() * right.scale() / unscaled);
        const Ciphertext product = multiply(mod_switched(left, primes), mod_switched(right, primes));
        Ciphertext scaled = rescaled(raised(relinearize(product, keys_), unscaled));
        return powers_.emplace(exponent, std::move(scaled)).first->second;
    }

    // excess: of a power's scale over power_scale_. The scale of what is multiplied by it lacks as much.
    void check_power(std::size_t exponent, double excess) const
    {
        if (excess > 32) {
            throw Error("The polynomial's power " + std::to_string(exponent) + " would have the scale 2^" +
                        std::to_string(std::log2(excess * power_scale_)) + ", where a level divides by 2^" +
                        std::to_string(std::log2(power_scale_)) +
                        ": bring the ciphertext's scale near that (encrypt at a smaller one, or rescale), or "
                        "take more primes a level.");
        }
    }

    // The same value at an integer times its scale, at most the given one; and by 1 % more, so that 2^25 is
    // doubled where primes are just below 2^26.
    Ciphertext raised(Ciphertext a, double scale) const
    {
        if constexpr (std::is_same_v<Number, double>) {
            const double times = std::floor(1.01 * scale / a.scale());
            return times < 2 ? std::move(a) : multiply_plain(a, constant(1, times, a.primes()));
        }
        return a;
    }

    Plaintext constant(Number value, double scale, unsigned primes) const
    {
        if constexpr (std::is_same_v<Number, double>) {
            return Plaintext::constant(context_, value, scale, primes);
        } else {
            return Plaintext::constant(context_, value, primes);
        }
    }

    // What rescaling to so many primes divides by.
    double divisor(unsigned primes) const
    {
        double product = 1;
        for (unsigned m = primes; m < primes + step_; m++) {
            product *= context_->chain().data[m];
        }
        return product;
    }

    Ciphertext rescaled(Ciphertext &&a) const
    {
        return step_ == 0 ? std::move(a) : rescale(a, step_);
    }

    static Ciphertext mod_switched(const Ciphertext &a, unsigned primes)
    {
        return a.primes() == primes ? a : mod_switch(a, a.primes() - primes);
    }

    std::shared_ptr<const Context> context_;
    const EvaluationKeys &keys_;
    unsigned step_;
    double power_scale_; // the least that a level divides by
    std::map<std::size_t, Ciphertext> powers_;
};

template <class Number> std::span<const Number> trimmed(std::span<const Number> coefficients)
{
    while (!coefficients.empty() && coefficients.back() == 0) {
        coefficients = coefficients.first(coefficients.size() - 1);
    }
    if (coefficients.size() < 2) {
        throw Error(
            "The polynomial is constant, and so would the result be, in the clear: there is nothing to "
            "compute.");
    }
    return coefficients;
}

// A level's coefficients are encoded at about x's scale, and the result is at that scale.
void check_levels(const Ciphertext &x, std::size_t degree, unsigned taken)
{
    const std::string polynomial = "A polynomial of degree " + std::to_string(degree);
    if (taken >= x.primes()) {
        throw Error(polynomial + " takes " + std::to_string(taken) + " primes, and the ciphertext has " +
                    std::to_string(x.primes()) +
                    ", of which one must be left: take a longer chain, or a lower degree.");
    }
    const double log2_scale = std::log2(x.scale());
    const double log2_modulus = tables_of(x).log2_modulus(x.primes() - taken);
    if (log2_scale < 1 || log2_scale >= log2_modulus) {
        throw Error(
            polynomial + " leaves a modulus of 2^" + std::to_string(log2_modulus) +
            ", and the result has the ciphertext's scale, 2^" + std::to_string(log2_scale) +
            ": take a scale of at least 2, and below that modulus, a longer chain, or a lower degree.");
    }
}

} // namespace

Ciphertext evaluate_polynomial(const Ciphertext &x, std::span<const double> coefficients,
                               const EvaluationKeys &keys, unsigned primes_per_level)
{
    const std::span<const double> p = trimmed(coefficients);
    if (tables_of(x).integers) {
        throw Error("A BFV ciphertext takes a polynomial of integers: real numbers are given.");
    }
    if (primes_per_level < 1 || primes_per_level > most_group_primes) {
        throw Error(std::to_string(primes_per_level) + " primes a level are given: give 1 to 4.");
    }
    const unsigned levels = levels_of(p.size());
    check_levels(x, p.size() - 1, levels * primes_per_level);
    return Polynomial<double>(x, keys, levels,
                              primes_per_level)(p, levels, x.primes() - levels * primes_per_level, x.scale());
}

Ciphertext evaluate_polynomial(const Ciphertext &x, std::span<const std::int64_t> coefficients,
                               const EvaluationKeys &keys)
{
    const std::span<const std::int64_t> p = trimmed(coefficients);
    check_batches(tables_of(x), "polynomials");
    const unsigned levels = levels_of(p.size());
    return Polynomial<std::int64_t>(x, keys, levels, 0)(p, levels, x.primes(), 1);
}

} // namespace ciphermote
