// SPDX-License-Identifier: Apache-2.0
// All kernels, in lanes: a back-end includes its `simd` and `wide` first, then this.
#ifndef CM_HOST_ARCH_KERNELS_IMPL_H
#define CM_HOST_ARCH_KERNELS_IMPL_H

#include <type_traits>

#include "kernels.h"
#include "ntt.h"
#include "seal_uniform.h"
#include "uniform.h"

namespace
{

constexpr std::size_t L = simd::lanes;

inline simd broadcast(std::uint32_t x)
{
    return simd::all(static_cast<std::int32_t>(x));
}

void ntt_forward(std::uint32_t *a, const prime &p)
{
    forward<false>(a, in_place{a}, p);
}

void ntt_forward_lazy(std::uint32_t *a, const prime &p)
{
    forward<true>(a, in_place{a}, p);
}

void ntt_inverse(std::uint32_t *a, const prime &p)
{
    const simd q = broadcast(p.q);
    inverse(a, a, p, [=](std::size_t i, simd x) { canonical_of_product(x, q).store(a + i); });
}

// x in [0, 2q) to [0, q).
inline simd subtract_once(simd x, simd q)
{
    return simd::least(x, x - q);
}

/*
 * Barrett's reduction of a sum below 2 q^2, by the estimate floor((z >> (bits - 2)) factor / 2^33) of z / q
 * with factor = floor(2^(bits + 31) / q). The shift loses less than 1/2, the factor's rounding less than
 * 2^(bits - 30) <= 1/8, and the last rounding less than 1: the remainder is below 2q. A back-end may keep
 * less of z than 64 bits, and estimate from that.
 */
struct barrett {
    simd q, factor;
    unsigned shift;

    explicit barrett(const prime &p) : q(broadcast(p.q)), factor(broadcast(p.barrett)), shift(p.shift)
    {
    }
    auto product(simd a, simd b) const
    {
        return wide::product(a, b, shift);
    }
    template <class Product> simd operator()(Product z) const
    {
        return subtract_once(z.low() - simd::low(wide::estimate(z, shift, factor), q), q);
    }
};

void add(std::uint32_t *out, const std::uint32_t *a, const std::uint32_t *b, const prime &p)
{
    const simd q = broadcast(p.q);
    for (std::size_t i = 0, n = degree(p); i < n; i += L) {
        subtract_once(simd::load(a + i) + simd::load(b + i), q).store(out + i);
    }
}

void subtract(std::uint32_t *out, const std::uint32_t *a, const std::uint32_t *b, const prime &p)
{
    const simd q = broadcast(p.q);
    for (std::size_t i = 0, n = degree(p); i < n; i += L) {
        const simd x = simd::load(a + i) - simd::load(b + i);
        simd::least(x, x + q).store(out + i);
    }
}

void negate(std::uint32_t *out, const std::uint32_t *a, const prime &p)
{
    const simd q = broadcast(p.q);
    for (std::size_t i = 0, n = degree(p); i < n; i += L) {
        subtract_once(q - simd::load(a + i), q).store(out + i);
    }
}

void multiply(std::uint32_t *out, const std::uint32_t *a, const std::uint32_t *b, const prime &p)
{
    const barrett remainder(p);
    for (std::size_t i = 0, n = degree(p); i < n; i += L) {
        remainder(remainder.product(simd::load(a + i), simd::load(b + i))).store(out + i);
    }
}

void scale(std::uint32_t *out, const std::uint32_t *a, factor by, const prime &p)
{
    const simd q = broadcast(p.q);
    const uniform_multiplier w = broadcast(by);
    for (std::size_t i = 0, n = degree(p); i < n; i += L) {
        canonical_of_product(times(simd::load(a + i), w, q), q).store(out + i);
    }
}

void subtract_scale(std::uint32_t *out, const std::uint32_t *a, const std::uint32_t *b, factor by,
                    const prime &p)
{
    const simd q = broadcast(p.q);
    const uniform_multiplier w = broadcast(by);
    for (std::size_t i = 0, n = degree(p); i < n; i += L) {
        canonical_of_product(times(simd::load(a + i) - simd::load(b + i), w, q), q).store(out + i);
    }
}

void tensor(std::uint32_t *const out[3], const std::uint32_t *const a[2], const std::uint32_t *const b[2],
            const prime &p)
{
    const barrett remainder(p);
    std::uint32_t *const to[3] = {out[0], out[1], out[2]};
    const std::uint32_t *const left[2] = {a[0], a[1]}, *const right[2] = {b[0], b[1]};
    for (std::size_t i = 0, n = degree(p); i < n; i += L) {
        const simd a0 = simd::load(left[0] + i), a1 = simd::load(left[1] + i);
        const simd b0 = simd::load(right[0] + i), b1 = simd::load(right[1] + i);
        remainder(remainder.product(a0, b0)).store(to[0] + i);
        remainder(remainder.product(a0, b1) + remainder.product(a1, b0)).store(to[1] + i);
        remainder(remainder.product(a1, b1)).store(to[2] + i);
    }
}

// What `times` gives, and so within (-q/4, 5/4 q), to (-q/2, q/2]; with quotients of 31 bits, it is within
// 17/32 q of 0.
inline simd centred_of_product(simd x, simd q, simd half)
{
    simd moved = x + half;
    if constexpr (simd::quotient_bits == 31) {
        moved = simd::least(moved, moved + q);
    }
    return subtract_once(moved, q) - half;
}

// The mixed-radix digit after `count` others of the number that is x modulo this prime.
template <unsigned count> struct mixed_radix {
    const std::uint32_t *lower[count + 1]{}; // the last one is not used: count may be 0
    uniform_multiplier radix[count + 1]{};
    simd q, half;

    mixed_radix(const std::uint32_t *const *v, const factor *by, const prime &p)
        : q(broadcast(p.q)), half(broadcast(p.q / 2))
    {
        for (unsigned j = 0; j < count; j++) {
            lower[j] = v[j];
            radix[j] = broadcast(by[j]);
        }
    }
    simd operator()(std::size_t i, simd x) const
    {
#pragma GCC unroll 3
        for (unsigned j = 0; j < count; j++) {
            x = times(x - simd::load(lower[j] + i), radix[j], q);
        }
        return centred_of_product(x, q, half);
    }
};

// v[0] + v[1] weights[0] + ...
template <unsigned count> struct mixed_radix_sum {
    const std::uint32_t *digits[count];
    uniform_multiplier weights[count];
    simd q;

    mixed_radix_sum(const std::uint32_t *const *v, const factor *by, const prime &p) : q(broadcast(p.q))
    {
        for (unsigned k = 0; k < count; k++) {
            digits[k] = v[k];
            weights[k] = k == 0 ? uniform_multiplier{} : broadcast(by[k - 1]);
        }
    }
    simd operator()(std::size_t i) const
    {
        simd x = simd::load(digits[0] + i);
#pragma GCC unroll 3
        for (unsigned k = 1; k < count; k++) {
            x = x + times(simd::load(digits[k] + i), weights[k], q);
        }
        return x;
    }
};

// Calls what takes a count of 0 to 4 as a constant.
template <class Function> inline void with_constant(unsigned count, Function function)
{
    switch (count) {
    case 0:
        return function(std::integral_constant<unsigned, 0>{});
    case 1:
        return function(std::integral_constant<unsigned, 1>{});
    case 2:
        return function(std::integral_constant<unsigned, 2>{});
    case 3:
        return function(std::integral_constant<unsigned, 3>{});
    default:
        return function(std::integral_constant<unsigned, 4>{});
    }
}

void centre(std::uint32_t *a, const prime &p)
{
    const simd q = broadcast(p.q), half = broadcast(p.q / 2);
    for (std::size_t i = 0, n = degree(p); i < n; i += L) {
        centred_of_product(simd::load(a + i), q, half).store(a + i);
    }
}

void inverse_to_digit(std::uint32_t *out, const std::uint32_t *values, const std::uint32_t *const *v,
                      unsigned count, const factor *radix, const prime &p)
{
    with_constant(count, [&](auto lower) {
        const mixed_radix<lower> digit(v, radix, p);
        inverse(out, values, p, [=](std::size_t i, simd x) { digit(i, x).store(out + i); });
    });
}

inline void lift(std::uint32_t *out, const std::uint32_t *const *v, unsigned count, const factor *weights,
                 const prime &p)
{
    with_constant(count, [&](auto digits) {
        if constexpr (digits > 0) {
            const mixed_radix_sum<digits> sum(v, weights, p);
            for (std::size_t i = 0, n = degree(p); i < n; i += L) {
                sum(i).store(out + i);
            }
        }
    });
}

// A sum is better lifted on its own: the transform begins at eight places a power of two apart, and the
// first-level cache holds no more than one polynomial's.
void lift_to_values(std::uint32_t *out, const std::uint32_t *const *v, unsigned count, const factor *weights,
                    const prime &p)
{
    if (count == 1) {
        forward<true>(out, in_place{v[0]}, p);
    } else {
        lift(out, v, count, weights, p);
        forward<true>(out, in_place{out}, p);
    }
}

// Key switching's sums at one vector.
struct two_sums {
    wide first = wide::zero(), second = wide::zero();

    void add(simd digit, const std::uint32_t *key)
    {
        first = first + wide::signed_product(digit, simd::load(key));
        second = second + wide::signed_product(digit, simd::load(key + L));
    }
};

// Keys are read once and come from far: they are fetched while 16 vectors are summed.
constexpr std::size_t vectors_ahead = 16;

inline void fetch(const std::uint32_t *key)
{
    constexpr std::size_t line = 16;
    if constexpr (2 * L >= line) {
        for (std::size_t i = 0; i < 2 * L; i += line) {
            __builtin_prefetch(key + i);
        }
    }
}

// The digits, where stores do not touch them.
struct local_sums {
    const std::uint32_t *digits[32];
    const std::uint32_t *key;
    unsigned count;
    std::size_t vector_words; // of the key

    explicit local_sums(const struct key_sums &sums)
        : key(sums.key), count(sums.count), vector_words(2 * L * sums.stride)
    {
        for (unsigned j = 0; j < count; j++) {
            digits[j] = sums.digits[j];
        }
    }
    // Calls function(i, sums) for vectors; two at a time, for more that can be done at once.
    template <class Function> void for_each(std::size_t n, Function function) const
    {
        const std::uint32_t *from = key;
        for (std::size_t i = 0; i < n; i += 2 * L, from += 2 * vector_words) {
            two_sums left, right;
            for (unsigned j = 0; j < count; j++) {
                const std::uint32_t *const left_key = from + 2 * L * j, *const right_key =
                                                                            left_key + vector_words;
                fetch(left_key + vectors_ahead * vector_words);
                fetch(right_key + vectors_ahead * vector_words);
                left.add(simd::load(digits[j] + i), left_key);
                right.add(simd::load(digits[j] + i + L), right_key);
            }
            function(i, left);
            function(i + L, right);
        }
    }
};

/*
 * Sums of up to 31 products of a lazy value, below 2^31, and half a residue, below 2^26, to [0, q). They are
 * below 2^62, and so below 2^63 with what Montgomery's reduction subtracts, q 2^31. What it gives is a word;
 * within 2q, if sums are small.
 */
template <bool small> struct sum_reduction {
    field f;
    simd q_inv, double_q;

    explicit sum_reduction(const prime &p) : f(p), q_inv(broadcast(p.q_inv)), double_q(broadcast(2 * p.q))
    {
    }
    simd operator()(wide sum) const
    {
        const simd x = wide::montgomery(sum, f.q, q_inv);
        return small ? subtract_once(simd::least(x, x + double_q), f.q) : canonical(x, f);
    }
};

template <bool small>
inline void key_sums_to(std::uint32_t *out0, std::uint32_t *out1, const local_sums &sums, const prime &p)
{
    const sum_reduction<small> residue(p);
    sums.for_each(degree(p), [=](std::size_t i, const two_sums &total) {
        residue(total.first).store(out0 + i);
        residue(total.second).store(out1 + i);
    });
}

void key_sums_of(std::uint32_t *const out[2], const struct key_sums &sums, const prime &p)
{
    p.small_sums ? key_sums_to<true>(out[0], out[1], local_sums(sums), p)
                 : key_sums_to<false>(out[0], out[1], local_sums(sums), p);
}

template <bool small>
inline void key_finish_to(std::uint32_t *const out[2], const local_sums &sums, const key_correction &given,
                          const prime &p)
{
    const sum_reduction<small> residue(p);
    const simd by = simd::all(given.factor);
    const auto finish = [=](std::size_t i, wide sum, const std::uint32_t *remainder,
                            const std::uint32_t *addend, std::uint32_t *to) {
        simd x = residue(sum + wide::signed_product(simd::load(remainder + i), by));
        if (addend) {
            x = subtract_once(x + simd::load(addend + i), residue.f.q);
        }
        x.store(to + i);
    };
    const key_correction c = given;
    std::uint32_t *const out0 = out[0], *const out1 = out[1];
    sums.for_each(degree(p), [=](std::size_t i, const two_sums &total) {
        finish(i, total.first, c.remainder[0], c.addend[0], out0);
        finish(i, total.second, c.remainder[1], c.addend[1], out1);
    });
}

void key_finish(std::uint32_t *const out[2], const struct key_sums &sums, const key_correction &correction,
                const prime &p)
{
    p.small_sums ? key_finish_to<true>(out, local_sums(sums), correction, p)
                 : key_finish_to<false>(out, local_sums(sums), correction, p);
}

// floor(x / 2^32).
inline simd upper(wide x)
{
    const simd zero = simd::all(0);
    return wide::montgomery(x, zero, zero);
}

// The sum is below 35 2^25 after the first 32 bits, for `bits` is at most 25.
void quotients(std::uint32_t *out, const std::uint32_t *const *v, unsigned count,
               const std::uint32_t *reciprocals, unsigned bits, std::size_t n)
{
    const wide half = wide::zero() + wide::signed_product(broadcast(1u << (bits + 1)), broadcast(1u << 30));
    const simd shift = broadcast(1u << (32 - bits));
    for (std::size_t i = 0; i < n; i += L) {
        wide sum = half;
        for (unsigned k = 0; k < count; k++) {
            sum = sum + wide::signed_product(simd::load(v[k] + i), broadcast(reciprocals[k]));
        }
        upper(wide::zero() + wide::signed_product(upper(sum), shift)).store(out + i);
    }
}

// Sums of up to 40 products below 2^54, so below 2^60; four vectors at a time, in pieces that stay in the
// first cache for all targets.
void combine(std::uint32_t *const *out, const prime *const *primes, unsigned targets,
             const std::uint32_t *const *v, unsigned count, const std::uint32_t *weights)
{
    constexpr std::size_t piece = 256;
    for (std::size_t start = 0, n = degree(*primes[0]); start < n; start += piece) {
        for (unsigned target = 0; target < targets; target++) {
            const sum_reduction<false> residue(*primes[target]);
            const std::uint32_t *by = weights + std::size_t{target} * count;
            for (std::size_t i = start; i < start + piece; i += 4 * L) {
                wide sums[4] = {wide::zero(), wide::zero(), wide::zero(), wide::zero()};
                for (unsigned k = 0; k < count; k++) {
                    const simd weight = broadcast(by[k]);
#pragma GCC unroll 4
                    for (std::size_t j = 0; j < 4; j++) {
                        sums[j] = sums[j] + wide::signed_product(simd::load(v[k] + i + j * L), weight);
                    }
                }
#pragma GCC unroll 4
                for (std::size_t j = 0; j < 4; j++) {
                    residue(sums[j]).store(out[target] + i + j * L);
                }
            }
        }
    }
}

// b is below 2^31 - q in magnitude, and the product within (-q / 32, 33/32 q).
void scale_subtract(std::uint32_t *out, const std::uint32_t *a, factor by, const std::uint32_t *b,
                    const prime &p)
{
    const field f(p);
    const uniform_multiplier w = broadcast(by);
    for (std::size_t i = 0, n = degree(p); i < n; i += L) {
        const simd product = canonical_of_product(times(simd::load(a + i), w, f.q), f.q);
        canonical(product - simd::load(b + i), f).store(out + i);
    }
}

void permute(std::uint32_t *out, const std::uint32_t *a, const std::uint32_t *vectors,
             const std::uint32_t *in_vector, std::size_t n)
{
    for (std::size_t v = 0; v < n / L; v++) {
        const std::uint32_t from = vectors[v];
        simd::permute(simd::load(a + from / L * L), in_vector + from % L * L).store(out + v * L);
    }
}

constexpr kernels table(const char *name)
{
    return {name,
            simd::lanes,
            simd::quotient_bits,
            ntt_forward,
            ntt_forward_lazy,
            ntt_inverse,
            add,
            subtract,
            negate,
            multiply,
            scale,
            subtract_scale,
            tensor,
            centre,
            quotients,
            combine,
            scale_subtract,
            inverse_to_digit,
            lift_to_values,
            key_sums_of,
            key_finish,
            permute,
            unpack,
            uniform,
            uniform_of_seal};
}

} // namespace

#endif
