// SPDX-License-Identifier: Apache-2.0
// Sixteen lanes: AVX-512 F.
#ifndef CM_HOST_ARCH_SIMD_AVX512_H
#define CM_HOST_ARCH_SIMD_AVX512_H

#include <cstdint>
#include <immintrin.h>

namespace
{ // each back-end has a simd of its own

struct simd {
    static constexpr unsigned lanes = 16;
    static constexpr unsigned quotient_bits = 32;
    __m512i v;

    static simd load(const void *at)
    {
        return {_mm512_loadu_si512(at)};
    }
    void store(void *at) const
    {
        _mm512_storeu_si512(at, v);
    }
    static simd all(std::int32_t x)
    {
        return {_mm512_set1_epi32(x)};
    }
    // gcc is not to see through x: it would turn a - (b - c) and a + (b - c) into four sums instead of three.
    static void keep(simd &x)
    {
        asm("" : "+v"(x.v));
    }
    friend simd operator+(simd a, simd b)
    {
        return {_mm512_add_epi32(a.v, b.v)};
    }
    friend simd operator-(simd a, simd b)
    {
        return {_mm512_sub_epi32(a.v, b.v)};
    }
    friend simd operator^(simd a, simd b)
    {
        return {_mm512_xor_si512(a.v, b.v)};
    }
    friend simd operator&(simd a, simd b)
    {
        return {_mm512_and_si512(a.v, b.v)};
    }
    // Each lane rotated to the left.
    template <int bits> static simd rotate(simd x)
    {
        return {_mm512_rol_epi32(x.v, bits)};
    }
    // The 32 bits of low + 2^32 high from bit `from` of each lane on, for lanes of from below 32.
    static simd window(simd low, simd high, simd from)
    {
        const __m512i left = _mm512_sub_epi32(_mm512_set1_epi32(32), from.v);
        return {_mm512_or_si512(_mm512_srlv_epi32(low.v, from.v), _mm512_sllv_epi32(high.v, left))};
    }
    // Lane i's top bit is bit i.
    static unsigned signs(simd x)
    {
        return _mm512_cmplt_epi32_mask(x.v, _mm512_setzero_si512());
    }
    static simd least(simd a, simd b)
    {
        return {_mm512_min_epu32(a.v, b.v)};
    } // as unsigned numbers
    static simd low(simd a, simd b)
    {
        return {_mm512_mullo_epi32(a.v, b.v)};
    }
    static __m512i odd(__m512i a)
    {
        return _mm512_castps_si512(_mm512_movehdup_ps(_mm512_castsi512_ps(a)));
    }
    // floor(a b / 2^32), as signed numbers; and for a b that is the same in all lanes.
    static simd high(simd a, simd b)
    {
        return high(a, b, odd(b.v));
    }
    static simd high_by_all(simd a, simd b)
    {
        return high(a, b, b.v);
    }
    static simd high(simd a, simd b, __m512i b_odd)
    {
        const __m512i even = _mm512_mul_epi32(a.v, b.v);
        const __m512i other = _mm512_mul_epi32(odd(a.v), b_odd);
        return {_mm512_castps_si512(
            _mm512_mask_movehdup_ps(_mm512_castsi512_ps(other), 0x5555, _mm512_castsi512_ps(even)))};
    }
    // Lane i of the result is lane places[i].
    static simd permute(simd x, const std::uint32_t *places)
    {
        return {_mm512_permutexvar_epi32(load(places).v, x.v)};
    }
    // Sixteen vectors of sixteen.
    static void transpose(simd *x)
    {
        __m512i t[16];
        for (int i = 0; i < 8; i++) {
            t[2 * i] = _mm512_unpacklo_epi32(x[2 * i].v, x[2 * i + 1].v);
            t[2 * i + 1] = _mm512_unpackhi_epi32(x[2 * i].v, x[2 * i + 1].v);
        }
        for (int i = 0; i < 4; i++) {
            x[4 * i].v = _mm512_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
            x[4 * i + 1].v = _mm512_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
            x[4 * i + 2].v = _mm512_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
            x[4 * i + 3].v = _mm512_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
        }
        for (int i = 0; i < 4; i++) {
            t[i] = _mm512_shuffle_i32x4(x[i].v, x[4 + i].v, 0x88);
            t[4 + i] = _mm512_shuffle_i32x4(x[i].v, x[4 + i].v, 0xDD);
            t[8 + i] = _mm512_shuffle_i32x4(x[8 + i].v, x[12 + i].v, 0x88);
            t[12 + i] = _mm512_shuffle_i32x4(x[8 + i].v, x[12 + i].v, 0xDD);
        }
        for (int i = 0; i < 4; i++) {
            x[i].v = _mm512_shuffle_i32x4(t[i], t[8 + i], 0x88);
            x[4 + i].v = _mm512_shuffle_i32x4(t[4 + i], t[12 + i], 0x88);
            x[8 + i].v = _mm512_shuffle_i32x4(t[i], t[8 + i], 0xDD);
            x[12 + i].v = _mm512_shuffle_i32x4(t[4 + i], t[12 + i], 0xDD);
        }
    }
};

// Sums of products, 64 bits a lane: of the even lanes, and of the odd ones.
struct wide {
    __m512i even, odd;

    static wide zero()
    {
        return {_mm512_setzero_si512(), _mm512_setzero_si512()};
    }
    static __m512i second(__m512i x)
    {
        return _mm512_srli_epi64(x, 32);
    }
    static wide product(simd a, simd b, unsigned = 0)
    {
        return {_mm512_mul_epu32(a.v, b.v), _mm512_mul_epu32(second(a.v), second(b.v))};
    }
    friend wide operator+(wide a, wide b)
    {
        return {_mm512_add_epi64(a.even, b.even), _mm512_add_epi64(a.odd, b.odd)};
    }
    // Compares signed numbers.
    static wide signed_product(simd a, simd b)
    {
        return {_mm512_mul_epi32(a.v, b.v), _mm512_mul_epi32(second(a.v), second(b.v))};
    }
    // (sum - q (sum / q mod 2^32, centred)) / 2^32, signed; q and q_inv are the same in all lanes.
    static simd montgomery(wide sum, simd q, simd q_inv)
    {
        const __m512i m0 = _mm512_mul_epi32(sum.even, q_inv.v), m1 = _mm512_mul_epi32(sum.odd, q_inv.v);
        const __m512i even = _mm512_sub_epi64(sum.even, _mm512_mul_epi32(m0, q.v));
        const __m512i odd = _mm512_sub_epi64(sum.odd, _mm512_mul_epi32(m1, q.v));
        return {_mm512_mask_blend_epi32(0xAAAA, second(even), odd)};
    }
    // floor((sum >> shift) factor / 2^33), for factors that are the same in all lanes
    static simd estimate(wide sum, unsigned shift, simd factor)
    {
        const __m128i count = _mm_cvtsi32_si128(static_cast<int>(shift));
        const __m512i even = _mm512_mul_epu32(_mm512_srl_epi64(sum.even, count), factor.v);
        const __m512i odd = _mm512_mul_epu32(_mm512_srl_epi64(sum.odd, count), factor.v);
        return {_mm512_mask_blend_epi32(0xAAAA, _mm512_srli_epi64(even, 33), _mm512_srli_epi64(odd, 1))};
    }
    simd low() const
    {
        return {_mm512_mask_blend_epi32(0xAAAA, even, _mm512_slli_epi64(odd, 32))};
    }
};

} // namespace

#endif
