// SPDX-License-Identifier: Apache-2.0
// Four lanes: WebAssembly's SIMD of 128 bits.
#ifndef CM_HOST_ARCH_SIMD_WASM_H
#define CM_HOST_ARCH_SIMD_WASM_H

#include <cstdint>
#include <wasm_simd128.h>

namespace
{ // each back-end has a simd of its own

struct simd {
    static constexpr unsigned lanes = 4;
    static constexpr unsigned quotient_bits = 32;
    v128_t v;

    static simd load(const void *at)
    {
        return {wasm_v128_load(at)};
    }
    void store(void *at) const
    {
        wasm_v128_store(at, v);
    }
    static simd all(std::int32_t x)
    {
        return {wasm_i32x4_splat(x)};
    }
    static void keep(simd &)
    {
    }
    friend simd operator+(simd a, simd b)
    {
        return {wasm_i32x4_add(a.v, b.v)};
    }
    friend simd operator-(simd a, simd b)
    {
        return {wasm_i32x4_sub(a.v, b.v)};
    }
    friend simd operator^(simd a, simd b)
    {
        return {wasm_v128_xor(a.v, b.v)};
    }
    friend simd operator&(simd a, simd b)
    {
        return {wasm_v128_and(a.v, b.v)};
    }
    // Each lane rotated to the left.
    template <int bits> static simd rotate(simd x)
    {
        return {wasm_v128_or(wasm_i32x4_shl(x.v, bits), wasm_u32x4_shr(x.v, 32 - bits))};
    }
    // The 32 bits of low + 2^32 high from bit `from` of each lane on, for lanes of from below 32.
    static simd window(simd low, simd high, simd from)
    {
        std::uint32_t a[4], b[4], first[4];
        low.store(a);
        high.store(b);
        from.store(first);
        for (int i = 0; i < 4; i++) { // there are no shifts by lanes
            a[i] = static_cast<std::uint32_t>((std::uint64_t{b[i]} << 32 | a[i]) >> first[i]);
        }
        return load(a);
    }
    // Lane i's top bit is bit i.
    static unsigned signs(simd x)
    {
        return static_cast<unsigned>(wasm_i32x4_bitmask(x.v));
    }
    static simd least(simd a, simd b)
    {
        return {wasm_u32x4_min(a.v, b.v)};
    } // as unsigned numbers
    static simd low(simd a, simd b)
    {
        return {wasm_i32x4_mul(a.v, b.v)};
    }
    // The lower and the upper words of four numbers of 64 bits.
    static simd lower(v128_t first, v128_t last)
    {
        return {wasm_i32x4_shuffle(first, last, 0, 2, 4, 6)};
    }
    static simd upper(v128_t first, v128_t last)
    {
        return {wasm_i32x4_shuffle(first, last, 1, 3, 5, 7)};
    }
    // floor(a b / 2^32), as signed numbers.
    static simd high(simd a, simd b)
    {
        return upper(wasm_i64x2_extmul_low_i32x4(a.v, b.v), wasm_i64x2_extmul_high_i32x4(a.v, b.v));
    }
    static simd high_by_all(simd a, simd b)
    {
        return high(a, b);
    }
    // Lane i of the result is lane places[i].
    static simd permute(simd x, const std::uint32_t *places)
    {
        // The four bytes of a lane: 4 place + 0, 1, 2, 3.
        const v128_t bytes = wasm_i32x4_add(wasm_i32x4_mul(load(places).v, wasm_i32x4_splat(0x04040404)),
                                            wasm_i32x4_splat(0x03020100));
        return {wasm_i8x16_swizzle(x.v, bytes)};
    }
    // Four vectors of four.
    static void transpose(simd *x)
    {
        const v128_t a = wasm_i32x4_shuffle(x[0].v, x[1].v, 0, 4, 1, 5);
        const v128_t b = wasm_i32x4_shuffle(x[0].v, x[1].v, 2, 6, 3, 7);
        const v128_t c = wasm_i32x4_shuffle(x[2].v, x[3].v, 0, 4, 1, 5);
        const v128_t d = wasm_i32x4_shuffle(x[2].v, x[3].v, 2, 6, 3, 7);
        x[0].v = wasm_i64x2_shuffle(a, c, 0, 2);
        x[1].v = wasm_i64x2_shuffle(a, c, 1, 3);
        x[2].v = wasm_i64x2_shuffle(b, d, 0, 2);
        x[3].v = wasm_i64x2_shuffle(b, d, 1, 3);
    }
};

// Sums of products, 64 bits a lane: of the first two lanes, and of the last two.
struct wide {
    v128_t first, last;

    static wide zero()
    {
        return {wasm_i64x2_splat(0), wasm_i64x2_splat(0)};
    }
    static wide product(simd a, simd b, unsigned = 0)
    {
        return {wasm_u64x2_extmul_low_u32x4(a.v, b.v), wasm_u64x2_extmul_high_u32x4(a.v, b.v)};
    }
    friend wide operator+(wide a, wide b)
    {
        return {wasm_i64x2_add(a.first, b.first), wasm_i64x2_add(a.last, b.last)};
    }
    static wide signed_product(simd a, simd b)
    {
        return {wasm_i64x2_extmul_low_i32x4(a.v, b.v), wasm_i64x2_extmul_high_i32x4(a.v, b.v)};
    }
    // (sum - q (sum / q mod 2^32, centred)) / 2^32, signed.
    static simd montgomery(wide sum, simd q, simd q_inv)
    {
        const wide multiple = signed_product(simd::low(sum.low(), q_inv), q);
        return simd::upper(wasm_i64x2_sub(sum.first, multiple.first),
                           wasm_i64x2_sub(sum.last, multiple.last));
    }
    // floor((sum >> shift) factor / 2^33), for a sum below 2^32 after the shift
    static simd estimate(wide sum, unsigned shift, simd factor)
    {
        const wide product = wide::product(
            simd::lower(wasm_u64x2_shr(sum.first, shift), wasm_u64x2_shr(sum.last, shift)), factor);
        return {wasm_u32x4_shr(simd::upper(product.first, product.last).v, 1)};
    }
    simd low() const
    {
        return simd::lower(first, last);
    }
};

} // namespace

#endif
