// SPDX-License-Identifier: Apache-2.0
// The negacyclic transform in lanes of 32 bits: a template over `simd`, which is included before.
#ifndef CM_HOST_ARCH_NTT_H
#define CM_HOST_ARCH_NTT_H

#include <cstddef>
#include <cstdint>

#include "kernels.h"

namespace
{

using namespace ciphermote::arch;

inline std::size_t degree(const prime &p)
{
    return std::size_t{1} << p.log2_n;
}

constexpr unsigned log2_lanes = simd::lanes == 16 ? 4 : simd::lanes == 8 ? 3 : simd::lanes == 4 ? 2 : 0;

struct multiplier {
    simd w, quotient;
};

// One that is the same in all lanes.
struct uniform_multiplier {
    simd w, quotient;
};

// x w - q floor(x w' / 2^32), for w' = round(w 2^32 / q) and |w| <= q / 2: within
// (-|x| q / 2^33, q + |x| q / 2^33).
inline simd times(simd x, multiplier by, simd q)
{
    return simd::low(x, by.w) - simd::low(q, simd::high(x, by.quotient));
}

inline simd times(simd x, uniform_multiplier by, simd q)
{
    return simd::low(x, by.w) - simd::low(q, simd::high_by_all(x, by.quotient));
}

// What `times` gives, to [0, q).
inline simd canonical_of_product(simd x, simd q)
{
    x = simd::least(x, x + q);
    return simd::least(x, x - q);
}

template <class Multiplier> inline simd canonical(simd x, Multiplier one, simd q)
{
    return canonical_of_product(times(x, one, q), q);
}

inline uniform_multiplier all(const std::int32_t *w, std::size_t quotients)
{
    return {simd::all(w[0]), simd::all(w[quotients])};
}

template <class Multiplier> inline void down(simd &a, simd &b, Multiplier by, simd q)
{
    simd product = times(b, by, q);
    simd::keep(product);
    b = a - product;
    a = a + product;
}

template <class Multiplier> inline void up(simd &a, simd &b, Multiplier by, simd q)
{
    const simd difference = a - b;
    a = a + b;
    b = times(difference, by, q);
}

// One level: blocks of 2 half.
inline void level_down(std::uint32_t *a, const prime &p, std::size_t m, std::size_t half)
{
    const simd q = simd::all(static_cast<std::int32_t>(p.q));
    for (std::size_t i = 0; i < m; i++) {
        const uniform_multiplier by = all(p.roots + m + i, degree(p));
        std::uint32_t *at = a + 2 * i * half;
        for (std::size_t j = 0; j < half; j += simd::lanes) {
            simd x = simd::load(at + j), y = simd::load(at + half + j);
            down(x, y, by, q);
            x.store(at + j);
            y.store(at + half + j);
        }
    }
}

inline void two_levels_down(std::uint32_t *a, const prime &p, std::size_t m, std::size_t quarter)
{
    const simd q = simd::all(static_cast<std::int32_t>(p.q));
    for (std::size_t i = 0; i < m; i++) {
        const uniform_multiplier outer = all(p.roots + m + i, degree(p));
        const uniform_multiplier left = all(p.roots + 2 * (m + i), degree(p));
        const uniform_multiplier right = all(p.roots + 2 * (m + i) + 1, degree(p));
        std::uint32_t *at = a + 4 * i * quarter;
        for (std::size_t j = 0; j < quarter; j += simd::lanes) {
            std::uint32_t *x_at = at + j;
            simd x0 = simd::load(x_at), x1 = simd::load(x_at + quarter);
            simd x2 = simd::load(x_at + 2 * quarter), x3 = simd::load(x_at + 3 * quarter);
            down(x0, x2, outer, q);
            down(x1, x3, outer, q);
            down(x0, x1, left, q);
            down(x2, x3, right, q);
            x0.store(x_at);
            x1.store(x_at + quarter);
            x2.store(x_at + 2 * quarter);
            x3.store(x_at + 3 * quarter);
        }
    }
}

// The levels within `lanes` neighbours, on lanes^2 numbers at a time; then [0, q), unless lazy.
template <bool lazy> inline void last_levels_down(std::uint32_t *a, const prime &p)
{
    const simd q = simd::all(static_cast<std::int32_t>(p.q));
    const uniform_multiplier one = {simd::all(1), simd::all(p.one.quotient)};
    constexpr std::size_t L = simd::lanes;
    const std::int32_t *w = p.late;
    for (std::size_t at = 0; at < degree(p); at += L * L) {
        simd x[L];
        for (std::size_t k = 0; k < L; k++) {
            x[k] = simd::load(a + at + k * L);
        }
        simd::transpose(x);
#pragma GCC unroll 4
        for (std::size_t half = L / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
            for (std::size_t s = 0; s < L / (2 * half); s++, w += 2 * L) {
                const multiplier by = {simd::load(w), simd::load(w + L)};
#pragma GCC unroll 8
                for (std::size_t j = 0; j < half; j++) {
                    down(x[2 * s * half + j], x[2 * s * half + half + j], by, q);
                }
            }
        }
        simd::transpose(x);
#pragma GCC unroll 16
        for (std::size_t k = 0; k < L; k++) {
            (lazy ? x[k] : canonical(x[k], one, q)).store(a + at + k * L);
        }
    }
}

inline void reduce(std::uint32_t *a, const prime &p)
{
    const simd q = simd::all(static_cast<std::int32_t>(p.q));
    const uniform_multiplier one = {simd::all(1), simd::all(p.one.quotient)};
    for (std::size_t i = 0; i < degree(p); i += simd::lanes) {
        times(simd::load(a + i), one, q).store(a + i);
    }
}

template <bool lazy> inline void ntt_forward_to(std::uint32_t *a, const prime &p)
{
    const unsigned early = p.log2_n - log2_lanes;
    std::size_t m = 1, size = degree(p);
    if (early % 2) {
        level_down(a, p, m, size / 2);
        m *= 2;
        size /= 2;
    }
    bool reduces = p.reduces;
    for (unsigned level = early % 2; level < early; level += 2, m *= 4, size /= 4) {
        two_levels_down(a, p, m, size / 4);
        if (reduces && 2 * (level + 2) >= p.log2_n) {
            reduce(a, p);
            reduces = false;
        }
    }
    last_levels_down<lazy>(a, p);
}

inline void first_levels_up(std::uint32_t *a, const prime &p)
{
    const simd q = simd::all(static_cast<std::int32_t>(p.q));
    const uniform_multiplier one = {simd::all(1), simd::all(p.one.quotient)};
    constexpr std::size_t L = simd::lanes;
    const std::int32_t *w = p.late_inverse;
    for (std::size_t at = 0; at < degree(p); at += L * L) {
        simd x[L];
        for (std::size_t k = 0; k < L; k++) {
            x[k] = simd::load(a + at + k * L);
        }
        simd::transpose(x);
#pragma GCC unroll 4
        for (std::size_t half = 1; half < L; half *= 2) {
#pragma GCC unroll 8
            for (std::size_t s = 0; s < L / (2 * half); s++, w += 2 * L) {
                const multiplier by = {simd::load(w), simd::load(w + L)};
#pragma GCC unroll 8
                for (std::size_t j = 0; j < half; j++) {
                    up(x[2 * s * half + j], x[2 * s * half + half + j], by, q);
                }
            }
            // Below 2.5 q again, from sums of eight and of four, or of four alone.
            if (L == 8 && half == 4) {
                x[0] = times(x[0], one, q);
                x[1] = times(x[1], one, q);
            } else if (L != 8 && half == 2) {
#pragma GCC unroll 4
                for (std::size_t s = 0; s < L; s += 4) {
                    x[s] = times(x[s], one, q);
                }
            } else if (half == 8) {
#pragma GCC unroll 4
                for (std::size_t s = 0; s < 4; s++) {
                    x[s] = times(x[s], one, q);
                }
            }
        }
        simd::transpose(x);
#pragma GCC unroll 16
        for (std::size_t k = 0; k < L; k++) {
            x[k].store(a + at + k * L);
        }
    }
}

inline void level_up(std::uint32_t *a, const prime &p, std::size_t m, std::size_t half)
{
    const simd q = simd::all(static_cast<std::int32_t>(p.q));
    const uniform_multiplier one = {simd::all(1), simd::all(p.one.quotient)};
    for (std::size_t i = 0; i < m; i++) {
        const uniform_multiplier by = all(p.inverse + m + i, degree(p));
        std::uint32_t *at = a + 2 * i * half;
        for (std::size_t j = 0; j < half; j += simd::lanes) {
            simd x = simd::load(at + j), y = simd::load(at + half + j);
            up(x, y, by, q);
            times(x, one, q).store(at + j);
            y.store(at + half + j);
        }
    }
}

inline void two_levels_up(std::uint32_t *a, const prime &p, std::size_t m, std::size_t quarter)
{
    const simd q = simd::all(static_cast<std::int32_t>(p.q));
    const uniform_multiplier one = {simd::all(1), simd::all(p.one.quotient)};
    for (std::size_t i = 0; i < m; i++) {
        const uniform_multiplier outer = all(p.inverse + m + i, degree(p));
        const uniform_multiplier left = all(p.inverse + 2 * (m + i), degree(p));
        const uniform_multiplier right = all(p.inverse + 2 * (m + i) + 1, degree(p));
        std::uint32_t *at = a + 4 * i * quarter;
        for (std::size_t j = 0; j < quarter; j += simd::lanes) {
            std::uint32_t *x_at = at + j;
            simd x0 = simd::load(x_at), x1 = simd::load(x_at + quarter);
            simd x2 = simd::load(x_at + 2 * quarter), x3 = simd::load(x_at + 3 * quarter);
            up(x0, x1, left, q);
            up(x2, x3, right, q);
            up(x0, x2, outer, q);
            up(x1, x3, outer, q);
            times(x0, one, q).store(x_at);
            x1.store(x_at + quarter);
            x2.store(x_at + 2 * quarter);
            x3.store(x_at + 3 * quarter);
        }
    }
}

// The last one or two levels, with 1/n; then [0, q).
inline void last_level_up(std::uint32_t *a, const prime &p)
{
    const simd q = simd::all(static_cast<std::int32_t>(p.q));
    const uniform_multiplier sum = {simd::all(p.n_inverse.value), simd::all(p.n_inverse.quotient)};
    const uniform_multiplier difference = {simd::all(p.last.value), simd::all(p.last.quotient)};
    const std::size_t half = degree(p) / 2;
    for (std::size_t j = 0; j < half; j += simd::lanes) {
        const simd x = simd::load(a + j), y = simd::load(a + half + j);
        canonical_of_product(times(x + y, sum, q), q).store(a + j);
        canonical_of_product(times(x - y, difference, q), q).store(a + half + j);
    }
}

inline void ntt_inverse(std::uint32_t *a, const prime &p)
{
    const unsigned levels = p.log2_n - log2_lanes - 1;
    first_levels_up(a, p);
    std::size_t m = degree(p) / (2 * simd::lanes), quarter = simd::lanes;
    for (unsigned level = 0; level + 1 < levels; level += 2, m /= 4, quarter *= 4) {
        two_levels_up(a, p, m / 2, quarter);
    }
    if (levels % 2) {
        level_up(a, p, m, quarter);
    }
    last_level_up(a, p);
}

} // namespace

#endif
