// SPDX-License-Identifier: Apache-2.0
// Four lanes: NEON, of ARMv7 and of AArch64.
#ifndef CM_HOST_ARCH_SIMD_NEON_H
#define CM_HOST_ARCH_SIMD_NEON_H

#include <arm_neon.h>
#include <cstdint>

namespace
{ // each back-end has a simd of its own

struct simd {
    static constexpr unsigned lanes = 4;
    static constexpr unsigned quotient_bits = 31;
    int32x4_t v;

    static simd load(const std::int32_t *at)
    {
        return {vld1q_s32(at)};
    }
    static simd load(const std::uint32_t *at)
    {
        return {vreinterpretq_s32_u32(vld1q_u32(at))};
    }
    void store(std::uint32_t *at) const
    {
        vst1q_u32(at, bits());
    }
    uint32x4_t bits() const
    {
        return vreinterpretq_u32_s32(v);
    }
    static simd from(uint32x4_t bits)
    {
        return {vreinterpretq_s32_u32(bits)};
    }
    static simd all(std::int32_t x)
    {
        return {vdupq_n_s32(x)};
    }
    // gcc is not to see through x: it would turn a - (b - c) and a + (b - c) into four sums instead of three.
    static void keep(simd &x)
    {
        asm("" : "+w"(x.v));
    }
    friend simd operator+(simd a, simd b)
    {
        return {vaddq_s32(a.v, b.v)};
    }
    friend simd operator-(simd a, simd b)
    {
        return {vsubq_s32(a.v, b.v)};
    }
    friend simd operator^(simd a, simd b)
    {
        return {veorq_s32(a.v, b.v)};
    }
    friend simd operator&(simd a, simd b)
    {
        return {vandq_s32(a.v, b.v)};
    }
    // Each lane rotated to the left.
    template <int bits> static simd rotate(simd x)
    {
        return from(vsriq_n_u32(vshlq_n_u32(x.bits(), bits), x.bits(), 32 - bits));
    }
    // The 32 bits of low + 2^32 high from bit `from` of each lane on, for lanes of from below 32.
    static simd window(simd low, simd high, simd first)
    {
        const uint32x4_t right = vshlq_u32(low.bits(), vnegq_s32(first.v));
        return from(vorrq_u32(right, vshlq_u32(high.bits(), vsubq_s32(vdupq_n_s32(32), first.v))));
    }
    // Lane i's top bit is bit i.
    static unsigned signs(simd x)
    {
        static constexpr std::int32_t places[4] = {0, 1, 2, 3};
        const uint32x4_t bits = vshlq_u32(vshrq_n_u32(x.bits(), 31), vld1q_s32(places));
        const uint32x2_t pairs = vadd_u32(vget_low_u32(bits), vget_high_u32(bits));
        return vget_lane_u32(vpadd_u32(pairs, pairs), 0);
    }
    static simd least(simd a, simd b)
    {
        return from(vminq_u32(a.bits(), b.bits()));
    } // as unsigned numbers
    static simd low(simd a, simd b)
    {
        return {vmulq_s32(a.v, b.v)};
    }
    // round(a b / 2^31), as signed numbers; b is below 2^30 in magnitude.
    static simd high(simd a, simd b)
    {
        return {vqrdmulhq_s32(a.v, b.v)};
    }
    static simd high_by_all(simd a, simd b)
    {
        return high(a, b);
    }
    // Lane i of the result is lane places[i].
    static simd permute(simd x, const std::uint32_t *places)
    {
        // The four bytes of a lane: 4 place + 0, 1, 2, 3.
        const uint8x16_t bytes =
            vreinterpretq_u8_u32(vmlaq_n_u32(vdupq_n_u32(0x03020100), vld1q_u32(places), 0x04040404));
        const uint8x16_t from = vreinterpretq_u8_s32(x.v);
#if defined(__aarch64__)
        return {vreinterpretq_s32_u8(vqtbl1q_u8(from, bytes))};
#else
        const uint8x8x2_t table = {{vget_low_u8(from), vget_high_u8(from)}};
        return {vreinterpretq_s32_u8(
            vcombine_u8(vtbl2_u8(table, vget_low_u8(bytes)), vtbl2_u8(table, vget_high_u8(bytes))))};
#endif
    }
    // Four vectors of four.
    static void transpose(simd *x)
    {
        const int32x4x2_t a = vtrnq_s32(x[0].v, x[1].v), b = vtrnq_s32(x[2].v, x[3].v);
        x[0].v = vcombine_s32(vget_low_s32(a.val[0]), vget_low_s32(b.val[0]));
        x[1].v = vcombine_s32(vget_low_s32(a.val[1]), vget_low_s32(b.val[1]));
        x[2].v = vcombine_s32(vget_high_s32(a.val[0]), vget_high_s32(b.val[0]));
        x[3].v = vcombine_s32(vget_high_s32(a.val[1]), vget_high_s32(b.val[1]));
    }
};

// Sums of products, 64 bits a lane: of the first two lanes, and of the last two.
struct wide {
    int64x2_t first, last;

    // A product that is still to be added.
    struct factors {
        simd a, b;
    };

    static wide zero()
    {
        return {vdupq_n_s64(0), vdupq_n_s64(0)};
    }
    /*
     * A product of residues of so many bits, 27 at most, or a sum of two: modulo 2^32, and the sum of what
     * floor(product / 2^(bits - 3)) is of each. vqdmulh shifts by 31, and so the operands are shifted by
     * 34 - bits before, each by 31 - bits at most: they stay below 2^31.
     */
    struct product_parts {
        simd words, upper;

        simd low() const
        {
            return words;
        }
        friend product_parts operator+(product_parts a, product_parts b)
        {
            return {a.words + b.words, a.upper + b.upper};
        }
    };
    static product_parts product(simd a, simd b, unsigned shift) // bits - 2
    {
        const int left = 32 - static_cast<int>(shift);
        const int32x4_t shifted_a = vshlq_s32(a.v, vdupq_n_s32((left + 1) / 2));
        const int32x4_t shifted_b = vshlq_s32(b.v, vdupq_n_s32(left / 2));
        return {simd::low(a, b), {vqdmulhq_s32(shifted_a, shifted_b)}};
    }
    /*
     * floor(upper floor(factor / 2) / 2^33), with factor = floor(2^(bits + 31) / q). A sum of two products is
     * below 2 q^2, and so its `upper` below 2^(bits + 4) <= 2^31. The quotient loses less than
     * 2 2^(bits - 3) / q <= 1/2 to `upper`, less than 2^31 / 2^33 to the factor, and less than 1 to the last
     * rounding: the remainder is below 2q.
     */
    static simd estimate(product_parts z, unsigned, simd factor)
    {
        const int32x4_t half = vreinterpretq_s32_u32(vshrq_n_u32(factor.bits(), 1));
        return {vshrq_n_s32(vqdmulhq_s32(z.upper.v, half), 2)};
    }
    friend wide operator+(wide a, wide b)
    {
        return {vaddq_s64(a.first, b.first), vaddq_s64(a.last, b.last)};
    }
    static factors signed_product(simd a, simd b)
    {
        return {a, b};
    }
    friend wide operator+(wide sum, factors x)
    {
        return {vmlal_s32(sum.first, vget_low_s32(x.a.v), vget_low_s32(x.b.v)),
                vmlal_s32(sum.last, vget_high_s32(x.a.v), vget_high_s32(x.b.v))};
    }
    // (sum - q (sum / q mod 2^32, centred)) / 2^32, signed.
    static simd montgomery(wide sum, simd q, simd q_inv)
    {
        const simd m = simd::low(sum.low(), q_inv);
        return {vcombine_s32(vshrn_n_s64(vmlsl_s32(sum.first, vget_low_s32(m.v), vget_low_s32(q.v)), 32),
                             vshrn_n_s64(vmlsl_s32(sum.last, vget_high_s32(m.v), vget_high_s32(q.v)), 32))};
    }
    simd low() const
    {
        return {vcombine_s32(vmovn_s64(first), vmovn_s64(last))};
    }
};

} // namespace

#endif
