// SPDX-License-Identifier: Apache-2.0
/*
 * The negacyclic transform in lanes of 32 bits: a template over `simd`, which is included before.
 *
 * Three levels at a time, or two, go through registers. The first three (the last three of the inverse) cut a
 * polynomial into eighths; then each part of it goes through all its other levels while the first-level cache
 * holds it.
 */
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

// lanes^2 neighbours are a block: `lanes` vectors, which are in registers for the levels within them. So are
// they for as many levels between them, unless the roots of these would take more registers than there are.
constexpr unsigned block_levels = simd::lanes == 16 ? 0 : log2_lanes;
constexpr unsigned levels_in_blocks = log2_lanes + block_levels;

// Parts that go through their levels one after the other: eighths, or whole blocks where they are larger, as
// 16 lanes' are at n = 1024.
inline std::size_t part_count(const prime &p)
{
    const std::size_t blocks = degree(p) / (simd::lanes * simd::lanes);
    return blocks < 8 ? blocks : 8;
}

struct multiplier {
    simd w, quotient;
};

// One that is the same in all lanes.
struct uniform_multiplier {
    simd w, quotient;
};

inline uniform_multiplier broadcast(factor by)
{
    return {simd::all(by.value), simd::all(by.quotient)};
}

// A prime and round(2^32 / q) in all lanes.
struct field {
    simd q, one;

    explicit field(const prime &p)
        : q(simd::all(static_cast<std::int32_t>(p.q))), one(simd::all(p.one.quotient))
    {
    }
};

// x w - q floor(x w' / 2^32), for w' = round(w 2^32 / q) and |w| <= q / 2: within
// (-|x| q / 2^33, q + |x| q / 2^33). With quotients of 31 bits, x w - q round(x w' / 2^31): at most
// q / 2 + |x| q / 2^32 in magnitude, which is below q, and so no further from 0 than the other.
inline simd times(simd x, multiplier by, simd q)
{
    simd product = simd::low(x, by.w) - simd::low(q, simd::high(x, by.quotient));
    simd::keep(product);
    return product;
}

inline simd times(simd x, uniform_multiplier by, simd q)
{
    simd product = simd::low(x, by.w) - simd::low(q, simd::high_by_all(x, by.quotient));
    simd::keep(product);
    return product;
}

// `times` by one.
inline simd reduced(simd x, const field &f)
{
    return x - simd::low(f.q, simd::high_by_all(x, f.one));
}

// What `times` gives, to [0, q).
inline simd canonical_of_product(simd x, simd q)
{
    x = simd::least(x, x + q);
    return simd::quotient_bits == 31 ? x : simd::least(x, x - q);
}

inline simd canonical(simd x, const field &f)
{
    return canonical_of_product(reduced(x, f), f.q);
}

inline uniform_multiplier all(const std::int32_t *w, std::size_t quotients)
{
    return {simd::all(w[0]), simd::all(w[quotients])};
}

template <class Multiplier> inline void down(simd &a, simd &b, Multiplier by, simd q)
{
    const simd product = times(b, by, q);
    b = a - product;
    a = a + product;
}

template <class Multiplier> inline void up(simd &a, simd &b, Multiplier by, simd q)
{
    const simd difference = a - b;
    a = a + b;
    b = times(difference, by, q);
}

// Levels go three at a time, or two where one would be left alone.
inline unsigned next_levels(unsigned left)
{
    return left < 3 ? left : left == 4 ? 2 : 3;
}

template <unsigned count> struct level_count {
    static constexpr unsigned value = count;
};

template <class Function> inline void with_levels(unsigned levels, Function function)
{
    switch (levels) {
    case 1:
        return function(level_count<1>{});
    case 2:
        return function(level_count<2>{});
    default:
        return function(level_count<3>{});
    }
}

// The roots of `levels` levels below block i of the level with m: block s of level l is at 2^l + s.
template <unsigned levels>
inline void take_roots(uniform_multiplier *by, const std::int32_t *roots, const prime &p, std::size_t block)
{
    for (unsigned l = 0; l < levels; l++) {
        for (std::size_t s = 0; s < std::size_t{1} << l; s++) {
            by[(std::size_t{1} << l) + s] = all(roots + (block << l) + s, degree(p));
        }
    }
}

struct in_place {
    const std::uint32_t *a;

    simd operator()(std::size_t i) const
    {
        return simd::load(a + i);
    }
};

// The levels of a pass on x[parts], from that with half-blocks of `half` to single ones.
template <std::size_t parts, std::size_t half>
[[gnu::always_inline]] inline void pass_down(simd *x, const uniform_multiplier *by, const field &f)
{
#pragma GCC unroll 8
    for (std::size_t k = 0; k < parts / 2; k++) {
        const std::size_t s = k / half, upper = s * half + k;
        down(x[upper], x[upper + half], by[parts / (2 * half) + s], f.q);
    }
    if constexpr (half > 1) {
        pass_down<parts, half / 2>(x, by, f);
    }
}

// `levels` levels of `blocks` blocks, from the one at `first`, of the level with m; then reduced, if that
// is asked for.
template <unsigned levels, bool reduces, class Source>
inline void levels_down(std::uint32_t *a, Source source, const prime &p, std::size_t m, std::size_t first,
                        std::size_t blocks)
{
    constexpr std::size_t parts = std::size_t{1} << levels;
    const field f(p);
    const std::size_t stride = degree(p) / (m * parts);
    for (std::size_t block = first; block < first + blocks; block++) {
        uniform_multiplier by[parts];
        take_roots<levels>(by, p.roots, p, m + block);
        const std::size_t begin = block * parts * stride;
        for (std::size_t at = begin; at < begin + stride; at += simd::lanes) {
            simd x[parts];
#pragma GCC unroll 8
            for (std::size_t k = 0; k < parts; k++) {
                x[k] = source(at + k * stride);
            }
            pass_down<parts, parts / 2>(x, by, f);
#pragma GCC unroll 8
            for (std::size_t k = 0; k < parts; k++) {
                (reduces ? reduced(x[k], f) : x[k]).store(a + at + k * stride);
            }
        }
    }
}

// The same within a vector, transposed: each lane has roots of its own, in the order of their use.
template <std::size_t half>
[[gnu::always_inline]] inline void late_down(simd *x, const std::int32_t *w, const field &f)
{
    if constexpr (half > 0) {
        constexpr std::size_t L = simd::lanes, blocks = L / (2 * half);
#pragma GCC unroll 8
        for (std::size_t s = 0; s < blocks; s++) {
            const multiplier by = {simd::load(w + 2 * L * s), simd::load(w + 2 * L * s + L)};
#pragma GCC unroll 8
            for (std::size_t j = 2 * s * half; j < (2 * s + 1) * half; j++) {
                down(x[j], x[j + half], by, f.q);
            }
        }
        late_down<half / 2>(x, w + 2 * L * blocks, f);
    }
}

// The levels in blocks, of a part of the polynomial; then [0, q), unless lazy.
template <bool lazy> inline void last_levels_down(std::uint32_t *a, const prime &p, std::size_t part)
{
    const field f(p);
    constexpr std::size_t L = simd::lanes;
    const std::size_t size = degree(p) / part_count(p);
    constexpr std::size_t roots = 2 * L * (L - 1);
    const std::int32_t *w = p.late + part * size / (L * L) * roots;
    for (std::size_t at = part * size; at < (part + 1) * size; at += L * L, w += roots) {
        simd x[L];
#pragma GCC unroll 16
        for (std::size_t k = 0; k < L; k++) {
            x[k] = simd::load(a + at + k * L);
        }
        if constexpr (block_levels > 0) {
            uniform_multiplier by[L];
            take_roots<block_levels>(by, p.roots, p, (degree(p) + at) / (L * L));
            pass_down<L, L / 2>(x, by, f);
        }
        simd::transpose(x);
        late_down<L / 2>(x, w, f);
        simd::transpose(x);
#pragma GCC unroll 16
        for (std::size_t k = 0; k < L; k++) {
            (lazy ? x[k] : canonical(x[k], f)).store(a + at + k * L);
        }
    }
}

template <bool lazy, class Source> inline void forward(std::uint32_t *a, Source source, const prime &p)
{
    if (p.reduces) {
        levels_down<3, true>(a, source, p, 1, 0, 1);
    } else {
        levels_down<3, false>(a, source, p, 1, 0, 1);
    }
    const std::size_t parts = part_count(p);
    for (std::size_t part = 0; part < parts; part++) {
        std::size_t m = 8;
        for (unsigned left = p.log2_n - levels_in_blocks - 3; left > 0;) {
            const unsigned levels = next_levels(left);
            with_levels(levels, [=, &p](auto count) {
                levels_down<count.value, false>(a, in_place{a}, p, m, part * m / parts, m / parts);
            });
            m <<= levels;
            left -= levels;
        }
        last_levels_down<lazy>(a, p, part);
    }
}

// Backwards within a vector, transposed. Sums of eight and of four, or of four alone, are reduced, so that
// all are below 5/2 q in the end.
template <std::size_t half>
[[gnu::always_inline]] inline void late_up(simd *x, const std::int32_t *w, const field &f)
{
    constexpr std::size_t L = simd::lanes, blocks = L / (2 * half);
    if constexpr (blocks > 0) {
#pragma GCC unroll 8
        for (std::size_t s = 0; s < blocks; s++) {
            const multiplier by = {simd::load(w + 2 * L * s), simd::load(w + 2 * L * s + L)};
#pragma GCC unroll 8
            for (std::size_t j = 2 * s * half; j < (2 * s + 1) * half; j++) {
                up(x[j], x[j + half], by, f.q);
            }
        }
        if constexpr (L == 8 && half == 4) {
            x[0] = reduced(x[0], f);
            x[1] = reduced(x[1], f);
        } else if constexpr (half == 8 || (L != 8 && half == 2)) {
            constexpr std::size_t step = half == 8 ? 1 : 4;
#pragma GCC unroll 4
            for (std::size_t j = 0; j < (half == 8 ? 4 : L); j += step) {
                x[j] = reduced(x[j], f);
            }
        }
        late_up<2 * half>(x, w + 2 * L * blocks, f);
    }
}

/*
 * The levels of a pass, from that with half-blocks of `half` to that of `last`. All x are in (-q/2, 5/2 q)
 * before and after: products and what is reduced are in (-q/4, 5/4 q), because a word is below 2^31. Sums of
 * four, up to 10 q < 2^31, are reduced, and of two where there is no other level; differences are of numbers
 * that have been added once at most.
 */
template <std::size_t parts, std::size_t half, std::size_t last>
[[gnu::always_inline]] inline void pass_up(simd *x, const uniform_multiplier *by, const field &f)
{
#pragma GCC unroll 8
    for (std::size_t k = 0; k < parts / 2; k++) {
        const std::size_t s = k / half, upper = s * half + k;
        up(x[upper], x[upper + half], by[parts / (2 * half) + s], f.q);
    }
    if constexpr (parts == 2) {
        x[0] = reduced(x[0], f);
    } else if constexpr (half == 2) {
#pragma GCC unroll 2
        for (std::size_t k = 0; k < parts; k += 4) {
            x[k] = reduced(x[k], f);
        }
    } else if constexpr (half == 4) {
        x[1] = reduced(x[1], f);
    }
    if constexpr (half < last) {
        pass_up<parts, 2 * half, last>(x, by, f);
    }
}

// The levels in blocks of numbers in [0, q), of a part of the polynomial: results are in (-q/2, 5/2 q).
inline void first_levels_up(std::uint32_t *a, const std::uint32_t *values, const prime &p, std::size_t part)
{
    const field f(p);
    constexpr std::size_t L = simd::lanes;
    const std::size_t size = degree(p) / part_count(p);
    constexpr std::size_t roots = 2 * L * (L - 1);
    const std::int32_t *w = p.late_inverse + part * size / (L * L) * roots;
    for (std::size_t at = part * size; at < (part + 1) * size; at += L * L, w += roots) {
        simd x[L];
#pragma GCC unroll 16
        for (std::size_t k = 0; k < L; k++) {
            x[k] = simd::load(values + at + k * L);
        }
        simd::transpose(x);
        late_up<1>(x, w, f);
        simd::transpose(x);
        if constexpr (block_levels > 0) {
            uniform_multiplier by[L];
            take_roots<block_levels>(by, p.inverse, p, (degree(p) + at) / (L * L));
            pass_up<L, 1, L / 2>(x, by, f);
        }
#pragma GCC unroll 16
        for (std::size_t k = 0; k < L; k++) {
            x[k].store(a + at + k * L);
        }
    }
}

template <unsigned levels>
inline void levels_up(std::uint32_t *a, const prime &p, std::size_t m, std::size_t first, std::size_t blocks)
{
    constexpr std::size_t parts = std::size_t{1} << levels;
    const field f(p);
    const std::size_t stride = degree(p) / (m * parts);
    for (std::size_t block = first; block < first + blocks; block++) {
        uniform_multiplier by[parts];
        take_roots<levels>(by, p.inverse, p, m + block);
        const std::size_t begin = block * parts * stride;
        for (std::size_t at = begin; at < begin + stride; at += simd::lanes) {
            simd x[parts];
#pragma GCC unroll 8
            for (std::size_t k = 0; k < parts; k++) {
                x[k] = simd::load(a + at + k * stride);
            }
            pass_up<parts, 1, parts / 2>(x, by, f);
#pragma GCC unroll 8
            for (std::size_t k = 0; k < parts; k++) {
                x[k].store(a + at + k * stride);
            }
        }
    }
}

// The last three levels, with 1/n. sink takes an index and what is within (-q/4, 5/4 q).
template <class Sink> inline void last_levels_up(const std::uint32_t *a, const prime &p, Sink sink)
{
    const field f(p);
    uniform_multiplier by[8];
    take_roots<3>(by, p.inverse, p, 1);
    const uniform_multiplier sum = broadcast(p.n_inverse), difference = broadcast(p.last);
    const std::size_t stride = degree(p) / 8;
    for (std::size_t at = 0; at < stride; at += simd::lanes) {
        simd x[8];
#pragma GCC unroll 8
        for (std::size_t k = 0; k < 8; k++) {
            x[k] = simd::load(a + at + k * stride);
        }
        pass_up<8, 1, 2>(x, by, f);
#pragma GCC unroll 4
        for (std::size_t k = 0; k < 4; k++) {
            sink(at + k * stride, times(x[k] + x[k + 4], sum, f.q));
            sink(at + (k + 4) * stride, times(x[k] - x[k + 4], difference, f.q));
        }
    }
}

template <class Sink>
inline void inverse(std::uint32_t *a, const std::uint32_t *values, const prime &p, Sink sink)
{
    const std::size_t parts = part_count(p);
    for (std::size_t part = 0; part < parts; part++) {
        first_levels_up(a, values, p, part);
        std::size_t m = degree(p) >> levels_in_blocks;
        for (unsigned left = p.log2_n - levels_in_blocks - 3; left > 0;) {
            const unsigned levels = next_levels(left);
            m >>= levels;
            left -= levels;
            with_levels(levels, [=, &p](auto count) {
                levels_up<count.value>(a, p, m, part * m / parts, m / parts);
            });
        }
    }
    last_levels_up(a, p, sink);
}

} // namespace

#endif
