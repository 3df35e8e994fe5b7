// SPDX-License-Identifier: Apache-2.0
// One lane: portable C++.
#ifndef CM_HOST_ARCH_SIMD_PORTABLE_H
#define CM_HOST_ARCH_SIMD_PORTABLE_H

#include <cstdint>

namespace
{ // each back-end has a simd of its own

struct simd {
    static constexpr unsigned lanes = 1;
    static constexpr unsigned quotient_bits = 32;
    std::uint32_t v;

    static simd load(const std::int32_t *at)
    {
        return {static_cast<std::uint32_t>(*at)};
    }
    static simd load(const std::uint32_t *at)
    {
        return {*at};
    }
    void store(std::int32_t *at) const
    {
        *at = static_cast<std::int32_t>(v);
    }
    void store(std::uint32_t *at) const
    {
        *at = v;
    }
    static simd all(std::int32_t x)
    {
        return {static_cast<std::uint32_t>(x)};
    }
    friend simd operator+(simd a, simd b)
    {
        return {a.v + b.v};
    }
    friend simd operator-(simd a, simd b)
    {
        return {a.v - b.v};
    }
    friend simd operator^(simd a, simd b)
    {
        return {a.v ^ b.v};
    }
    friend simd operator&(simd a, simd b)
    {
        return {a.v & b.v};
    }
    // Each lane rotated to the left.
    template <int bits> static simd rotate(simd x)
    {
        return {x.v << bits | x.v >> (32 - bits)};
    }
    // The 32 bits of low + 2^32 high from bit `from` of each lane on, for lanes of from below 32.
    static simd window(simd low, simd high, simd from)
    {
        return {static_cast<std::uint32_t>((std::uint64_t{high.v} << 32 | low.v) >> from.v)};
    }
    // Lane i's top bit is bit i.
    static unsigned signs(simd x)
    {
        return x.v >> 31;
    }
    static simd least(simd a, simd b)
    {
        return {a.v < b.v ? a.v : b.v};
    } // as unsigned numbers
    static simd low(simd a, simd b)
    {
        return {a.v * b.v};
    }
    // floor(a b / 2^32), as signed numbers.
    static simd high(simd a, simd b)
    {
        const std::int64_t product =
            std::int64_t{static_cast<std::int32_t>(a.v)} * static_cast<std::int32_t>(b.v);
        return {static_cast<std::uint32_t>(static_cast<std::uint64_t>(product) >> 32)};
    }
    static simd high_by_all(simd a, simd b)
    {
        return high(a, b);
    }
    static void keep(simd &)
    {
    }
    static void transpose(simd *)
    {
    }
    // Lane i of the result is lane places[i].
    static simd permute(simd x, const std::uint32_t *)
    {
        return x;
    }
};

// Sums of products, 64 bits a lane.
struct wide {
    std::uint64_t v;

    static wide zero()
    {
        return {0};
    }
    static wide product(simd a, simd b, unsigned = 0)
    {
        return {std::uint64_t{a.v} * b.v};
    }
    friend wide operator+(wide a, wide b)
    {
        return {a.v + b.v};
    }
    static wide signed_product(simd a, simd b)
    {
        return {static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(a.v)} *
                                           static_cast<std::int32_t>(b.v))};
    }
    // (sum - q (sum / q mod 2^32, centred)) / 2^32, signed.
    static simd montgomery(wide sum, simd q, simd q_inv)
    {
        const std::int32_t m = static_cast<std::int32_t>(static_cast<std::uint32_t>(sum.v) * q_inv.v);
        const std::uint64_t multiple = static_cast<std::uint64_t>(std::int64_t{m} * q.v);
        return {static_cast<std::uint32_t>((sum.v - multiple) >> 32)};
    }
    // floor((sum >> shift) factor / 2^33)
    static simd estimate(wide sum, unsigned shift, simd factor)
    {
        return {static_cast<std::uint32_t>((sum.v >> shift) * factor.v >> 33)};
    }
    simd low() const
    {
        return {static_cast<std::uint32_t>(v)};
    }
};

} // namespace

#endif
