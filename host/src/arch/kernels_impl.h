// SPDX-License-Identifier: Apache-2.0
// All kernels, in lanes: a back-end includes its `simd` and `wide` first, then this.
#ifndef CM_HOST_ARCH_KERNELS_IMPL_H
#define CM_HOST_ARCH_KERNELS_IMPL_H

#include "kernels.h"
#include "ntt.h"

namespace
{

constexpr std::size_t L = simd::lanes;

inline simd broadcast(std::uint32_t x)
{
    return simd::all(static_cast<std::int32_t>(x));
}

inline uniform_multiplier broadcast(factor by)
{
    return {simd::all(by.value), simd::all(by.quotient)};
}

void ntt_forward(std::uint32_t *a, const prime &p)
{
    ntt_forward_to<false>(a, p);
}

void ntt_forward_lazy(std::uint32_t *a, const prime &p)
{
    ntt_forward_to<true>(a, p);
}

// x in [0, 2q) to [0, q).
inline simd subtract_once(simd x, simd q)
{
    return simd::least(x, x - q);
}

// Barrett's reduction of a sum below 2 q^2, by the estimate floor((z >> (bits - 2)) factor / 2^33) of z / q
// with factor = floor(2^(bits + 31) / q). The shift loses less than 1/2, the factor's rounding less than
// 2^(bits - 30) <= 1/8, and the last rounding less than 1: the remainder is below 2q.
inline simd barrett(wide z, const prime &p, simd q)
{
    return subtract_once(z.low() - simd::low(wide::estimate(z, p.shift, broadcast(p.barrett)), q), q);
}

void add(std::uint32_t *out, const std::uint32_t *a, const std::uint32_t *b, const prime &p)
{
    const simd q = broadcast(p.q);
    for (std::size_t i = 0; i < degree(p); i += L) {
        subtract_once(simd::load(a + i) + simd::load(b + i), q).store(out + i);
    }
}

void subtract(std::uint32_t *out, const std::uint32_t *a, const std::uint32_t *b, const prime &p)
{
    const simd q = broadcast(p.q);
    for (std::size_t i = 0; i < degree(p); i += L) {
        const simd x = simd::load(a + i) - simd::load(b + i);
        simd::least(x, x + q).store(out + i);
    }
}

void negate(std::uint32_t *out, const std::uint32_t *a, const prime &p)
{
    const simd q = broadcast(p.q);
    for (std::size_t i = 0; i < degree(p); i += L) {
        subtract_once(q - simd::load(a + i), q).store(out + i);
    }
}

void multiply(std::uint32_t *out, const std::uint32_t *a, const std::uint32_t *b, const prime &p)
{
    const simd q = broadcast(p.q);
    for (std::size_t i = 0; i < degree(p); i += L) {
        barrett(wide::product(simd::load(a + i), simd::load(b + i)), p, q).store(out + i);
    }
}

void scale(std::uint32_t *out, const std::uint32_t *a, factor by, const prime &p)
{
    const simd q = broadcast(p.q);
    const uniform_multiplier w = broadcast(by);
    for (std::size_t i = 0; i < degree(p); i += L) {
        canonical(simd::load(a + i), w, q).store(out + i);
    }
}

void subtract_scale(std::uint32_t *out, const std::uint32_t *a, const std::uint32_t *b, factor by,
                    const prime &p)
{
    const simd q = broadcast(p.q);
    const uniform_multiplier w = broadcast(by);
    for (std::size_t i = 0; i < degree(p); i += L) {
        canonical(simd::load(a + i) - simd::load(b + i), w, q).store(out + i);
    }
}

void tensor(std::uint32_t *const out[3], const std::uint32_t *const a[2], const std::uint32_t *const b[2],
            const prime &p)
{
    const simd q = broadcast(p.q);
    for (std::size_t i = 0; i < degree(p); i += L) {
        const simd a0 = simd::load(a[0] + i), a1 = simd::load(a[1] + i);
        const simd b0 = simd::load(b[0] + i), b1 = simd::load(b[1] + i);
        barrett(wide::product(a0, b0), p, q).store(out[0] + i);
        barrett(wide::product(a0, b1) + wide::product(a1, b0), p, q).store(out[1] + i);
        barrett(wide::product(a1, b1), p, q).store(out[2] + i);
    }
}

// x in [0, q) to (-q/2, q/2].
inline simd centre(simd x, simd q, simd half)
{
    // If x > half, x - q: least(x + (2^32 - 1 - half)) would wrap, so compare by the smaller of x and half.
    const simd over = x - simd::least(x, half); // 0, or x - half > 0
    return x - simd::low(simd::least(over, simd::all(1)), q);
}

void garner(std::uint32_t *const *v, unsigned count, const prime *const *primes, const factor (*radix)[4])
{
    const std::size_t n = degree(*primes[0]);
    for (std::size_t i = 0; i < n; i += L) {
        simd digits[4];
        for (unsigned k = 0; k < count; k++) {
            const simd q = broadcast(primes[k]->q);
            simd x = simd::load(v[k] + i);
            for (unsigned j = 0; j < k; j++) {
                x = canonical(x - digits[j], broadcast(radix[k][j]), q);
            }
            digits[k] = centre(x, q, broadcast(primes[k]->q / 2));
            digits[k].store(v[k] + i);
        }
    }
}

void lift(std::uint32_t *out, const std::uint32_t *const *v, unsigned count, const factor *weights,
          const prime &p)
{
    const simd q = broadcast(p.q);
    for (std::size_t i = 0; i < degree(p); i += L) {
        simd x = simd::load(v[0] + i);
        for (unsigned k = 1; k < count; k++) {
            x = x + times(simd::load(v[k] + i), broadcast(weights[k - 1]), q);
        }
        x.store(out + i);
    }
}

struct two_sums {
    wide first, second;
};

inline two_sums sums_at(const struct key_sums &sums, std::size_t i)
{
    const std::uint32_t *key = sums.key + i * sums.stride * 2;
    two_sums total = {wide::zero(), wide::zero()};
    for (unsigned j = 0; j < sums.count; j++, key += 2 * L) {
        const simd digit = simd::load(sums.digits[j] + i);
        total.first = total.first + wide::signed_product(digit, simd::load(key));
        total.second = total.second + wide::signed_product(digit, simd::load(key + L));
    }
    return total;
}

// Of sums of up to 31 products of a lazy value, below 2^31, and a residue, below 2^27: below 2^63 with what
// Montgomery's reduction subtracts.
inline simd reduced(wide sum, const prime &p, simd q)
{
    return canonical(wide::montgomery(sum, q, broadcast(p.q_inv)), broadcast(p.one), q);
}

void key_sums_of(std::uint32_t *const out[2], const struct key_sums &sums, const prime &p)
{
    const simd q = broadcast(p.q);
    for (std::size_t i = 0; i < degree(p); i += L) {
        const two_sums total = sums_at(sums, i);
        reduced(total.first, p, q).store(out[0] + i);
        reduced(total.second, p, q).store(out[1] + i);
    }
}

void key_finish(std::uint32_t *const out[2], const struct key_sums &sums, const key_correction &correction,
                const prime &p)
{
    const simd q = broadcast(p.q), by = broadcast(correction.factor);
    for (std::size_t i = 0; i < degree(p); i += L) {
        const two_sums total = sums_at(sums, i);
        const wide corrected[2] = {
            total.first + wide::signed_product(simd::load(correction.remainder[0] + i), by),
            total.second + wide::signed_product(simd::load(correction.remainder[1] + i), by)};
        for (unsigned c = 0; c < 2; c++) {
            simd x = reduced(corrected[c], p, q);
            if (correction.addend[c]) {
                x = subtract_once(x + simd::load(correction.addend[c] + i), q);
            }
            x.store(out[c] + i);
        }
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
    return {name,        simd::lanes, ntt_forward, ntt_forward_lazy, ntt_inverse, add,    subtract,
            negate,      multiply,    scale,       subtract_scale,   tensor,      garner, lift,
            key_sums_of, key_finish,  permute};
}

} // namespace

#endif
