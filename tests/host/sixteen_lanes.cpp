// SPDX-License-Identifier: Apache-2.0
// AVX-512's number of lanes in plain C++: what the templates do with sixteen is tested on every machine.
#include <algorithm>
#include <cstdint>
#include <utility>

namespace
{

constexpr unsigned lane_count = 16;

std::int32_t signed_of(std::uint32_t x)
{
    return static_cast<std::int32_t>(x);
}

std::uint64_t product_of_signed(std::uint32_t a, std::uint32_t b)
{
    return static_cast<std::uint64_t>(std::int64_t{signed_of(a)} * signed_of(b));
}

template <class Lane> struct lanes_of {
    Lane v[lane_count];

    template <class Function> static lanes_of each(Function of)
    {
        lanes_of result;
        for (unsigned i = 0; i < lane_count; i++) {
            result.v[i] = static_cast<Lane>(of(i));
        }
        return result;
    }
};

struct simd : lanes_of<std::uint32_t> {
    static constexpr unsigned lanes = lane_count;
    static constexpr unsigned quotient_bits = 32;

    template <class Word> static simd load(const Word *at)
    {
        return {each([=](unsigned i) { return at[i]; })};
    }
    template <class Word> void store(Word *at) const
    {
        std::copy_n(v, lanes, at);
    }
    static simd all(std::int32_t x)
    {
        return {each([=](unsigned) { return x; })};
    }
    friend simd operator+(simd a, simd b)
    {
        return {each([&](unsigned i) { return a.v[i] + b.v[i]; })};
    }
    friend simd operator-(simd a, simd b)
    {
        return {each([&](unsigned i) { return a.v[i] - b.v[i]; })};
    }
    friend simd operator^(simd a, simd b)
    {
        return {each([&](unsigned i) { return a.v[i] ^ b.v[i]; })};
    }
    friend simd operator&(simd a, simd b)
    {
        return {each([&](unsigned i) { return a.v[i] & b.v[i]; })};
    }
    template <int bits> static simd rotate(simd x)
    {
        return {each([&](unsigned i) { return x.v[i] << bits | x.v[i] >> (32 - bits); })};
    }
    static simd window(simd low, simd high, simd from)
    {
        return {each([&](unsigned i) { return (std::uint64_t{high.v[i]} << 32 | low.v[i]) >> from.v[i]; })};
    }
    static unsigned signs(simd x)
    {
        unsigned bits = 0;
        for (unsigned i = 0; i < lanes; i++) {
            bits |= (x.v[i] >> 31) << i;
        }
        return bits;
    }
    static simd least(simd a, simd b)
    {
        return {each([&](unsigned i) { return std::min(a.v[i], b.v[i]); })};
    }
    static simd low(simd a, simd b)
    {
        return {each([&](unsigned i) { return a.v[i] * b.v[i]; })};
    }
    static simd high(simd a, simd b)
    {
        return {each([&](unsigned i) { return product_of_signed(a.v[i], b.v[i]) >> 32; })};
    }
    static simd high_by_all(simd a, simd b)
    {
        return high(a, b);
    }
    static void keep(simd &)
    {
    }
    static void transpose(simd *x)
    {
        for (unsigned i = 0; i < lanes; i++) {
            for (unsigned j = 0; j < i; j++) {
                std::swap(x[i].v[j], x[j].v[i]);
            }
        }
    }
    static simd permute(simd x, const std::uint32_t *places)
    {
        return {each([&](unsigned i) { return x.v[places[i]]; })};
    }
};

struct wide : lanes_of<std::uint64_t> {
    static wide zero()
    {
        return {};
    }
    static wide product(simd a, simd b, unsigned = 0)
    {
        return {each([&](unsigned i) { return std::uint64_t{a.v[i]} * b.v[i]; })};
    }
    friend wide operator+(wide a, wide b)
    {
        return {each([&](unsigned i) { return a.v[i] + b.v[i]; })};
    }
    static wide signed_product(simd a, simd b)
    {
        return {each([&](unsigned i) { return product_of_signed(a.v[i], b.v[i]); })};
    }
    static simd montgomery(wide sum, simd q, simd q_inv)
    {
        return {simd::each([&](unsigned i) {
            const std::uint32_t m = static_cast<std::uint32_t>(sum.v[i]) * q_inv.v[i];
            return (sum.v[i] - product_of_signed(m, q.v[i])) >> 32;
        })};
    }
    static simd estimate(wide sum, unsigned shift, simd factor)
    {
        return {simd::each([&](unsigned i) { return (sum.v[i] >> shift) * factor.v[i] >> 33; })};
    }
    simd low() const
    {
        return {simd::each([&](unsigned i) { return v[i]; })};
    }
};

} // namespace

#include "arch/kernels_impl.h"

#include "topics.h"

namespace ciphermote::arch
{

const kernels sixteen_lanes = table("sixteen lanes");

} // namespace ciphermote::arch
