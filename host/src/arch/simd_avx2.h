// SPDX-License-Identifier: Apache-2.0
// Eight lanes: AVX2.
#ifndef CM_HOST_ARCH_SIMD_AVX2_H
#define CM_HOST_ARCH_SIMD_AVX2_H

#include <cstdint>
#include <immintrin.h>

namespace
{ // each back-end has a simd of its own

struct simd {
    static constexpr unsigned lanes = 8;
    static constexpr unsigned quotient_bits = 32;
    __m256i v;

    static simd load(const void *at)
    {
        return {_mm256_loadu_si256(static_cast<const __m256i *>(at))};
    }
    void store(void *at) const
    {
        _mm256_storeu_si256(static_cast<__m256i *>(at), v);
    }
    static simd all(std::int32_t x)
    {
        return {_mm256_set1_epi32(x)};
    }
    // gcc is not to see through x: it would turn a - (b - c) and a + (b - c) into four sums instead of three.
    static void keep(simd &x)
    {
        asm("" : "+x"(x.v));
    }
    friend simd operator+(simd a, simd b)
    {
        return {_mm256_add_epi32(a.v, b.v)};
    }
    friend simd operator-(simd a, simd b)
    {
        return {_mm256_sub_epi32(a.v, b.v)};
    }
    friend simd operator^(simd a, simd b)
    {
        return {_mm256_xor_si256(a.v, b.v)};
    }
    friend simd operator&(simd a, simd b)
    {
        return {_mm256_and_si256(a.v, b.v)};
    }
    // Each lane rotated to the left.
    template <int bits> static simd rotate(simd x)
    {
        if constexpr (bits == 16) {
            return {_mm256_shuffle_epi8(x.v, _mm256_set_epi8(13, 12, 15, 14, 9, 8, 11, 10, 5, 4, 7, 6, 1, 0,
                                                             3, 2, 13, 12, 15, 14, 9, 8, 11, 10, 5, 4, 7, 6,
                                                             1, 0, 3, 2))};
        } else if constexpr (bits == 8) {
            return {_mm256_shuffle_epi8(x.v, _mm256_set_epi8(14, 13, 12, 15, 10, 9, 8, 11, 6, 5, 4, 7, 2, 1,
                                                             0, 3, 14, 13, 12, 15, 10, 9, 8, 11, 6, 5, 4, 7,
                                                             2, 1, 0, 3))};
        } else {
            return {_mm256_or_si256(_mm256_slli_epi32(x.v, bits), _mm256_srli_epi32(x.v, 32 - bits))};
        }
    }
    // The 32 bits of low + 2^32 high from bit `from` of each lane on, for lanes of from below 32.
    static simd window(simd low, simd high, simd from)
    {
        const __m256i left = _mm256_sub_epi32(_mm256_set1_epi32(32), from.v);
        return {_mm256_or_si256(_mm256_srlv_epi32(low.v, from.v), _mm256_sllv_epi32(high.v, left))};
    }
    // Lane i's top bit is bit i.
    static unsigned signs(simd x)
    {
        return static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(x.v)));
    }
    static simd least(simd a, simd b)
    {
        return {_mm256_min_epu32(a.v, b.v)};
    } // as unsigned numbers
    static simd low(simd a, simd b)
    {
        return {_mm256_mullo_epi32(a.v, b.v)};
    }
    static __m256i odd(__m256i a)
    {
        return _mm256_castps_si256(_mm256_movehdup_ps(_mm256_castsi256_ps(a)));
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
    static simd high(simd a, simd b, __m256i b_odd)
    {
        const __m256i even = _mm256_mul_epi32(a.v, b.v);
        const __m256i other = _mm256_mul_epi32(odd(a.v), b_odd);
        return {_mm256_blend_epi32(odd(even), other, 0xAA)};
    }
    // Lane i of the result is lane places[i].
    static simd permute(simd x, const std::uint32_t *places)
    {
        return {_mm256_permutevar8x32_epi32(x.v, load(places).v)};
    }
    // Eight vectors of eight.
    static void transpose(simd *x)
    {
        __m256i t[8], u[8];
        for (int i = 0; i < 4; i++) {
            t[2 * i] = _mm256_unpacklo_epi32(x[2 * i].v, x[2 * i + 1].v);
            t[2 * i + 1] = _mm256_unpackhi_epi32(x[2 * i].v, x[2 * i + 1].v);
        }
        for (int i = 0; i < 2; i++) {
            u[4 * i] = _mm256_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
            u[4 * i + 1] = _mm256_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
            u[4 * i + 2] = _mm256_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
            u[4 * i + 3] = _mm256_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
        }
        for (int i = 0; i < 4; i++) {
            // Half as many shuffles across halves as by exchanging them, and cheap blends.
            const __m256i middle = _mm256_permute2x128_si256(u[i], u[4 + i], 0x21);
            x[i].v = _mm256_blend_epi32(u[i], middle, 0xF0);
            x[4 + i].v = _mm256_blend_epi32(middle, u[4 + i], 0xF0);
        }
    }
};

// Sums of products, 64 bits a lane: of the even lanes, and of the odd ones.
struct wide {
    __m256i even, odd;

    static wide zero()
    {
        return {_mm256_setzero_si256(), _mm256_setzero_si256()};
    }
    static __m256i second(__m256i x)
    {
        return _mm256_srli_epi64(x, 32);
    }
    static wide product(simd a, simd b, unsigned = 0)
    {
        return {_mm256_mul_epu32(a.v, b.v), _mm256_mul_epu32(second(a.v), second(b.v))};
    }
    friend wide operator+(wide a, wide b)
    {
        return {_mm256_add_epi64(a.even, b.even), _mm256_add_epi64(a.odd, b.odd)};
    }
    // Compares signed numbers.
    static wide signed_product(simd a, simd b)
    {
        return {_mm256_mul_epi32(a.v, b.v), _mm256_mul_epi32(second(a.v), second(b.v))};
    }
    // (sum - q (sum / q mod 2^32, centred)) / 2^32, signed; q and q_inv are the same in all lanes.
    static simd montgomery(wide sum, simd q, simd q_inv)
    {
        const __m256i m0 = _mm256_mul_epi32(sum.even, q_inv.v), m1 = _mm256_mul_epi32(sum.odd, q_inv.v);
        const __m256i even = _mm256_sub_epi64(sum.even, _mm256_mul_epi32(m0, q.v));
        const __m256i odd = _mm256_sub_epi64(sum.odd, _mm256_mul_epi32(m1, q.v));
        return {_mm256_blend_epi32(second(even), odd, 0xAA)};
    }
    // floor((sum >> shift) factor / 2^33), for factors that are the same in all lanes
    static simd estimate(wide sum, unsigned shift, simd factor)
    {
        const __m128i count = _mm_cvtsi32_si128(static_cast<int>(shift));
        const __m256i even = _mm256_mul_epu32(_mm256_srl_epi64(sum.even, count), factor.v);
        const __m256i odd = _mm256_mul_epu32(_mm256_srl_epi64(sum.odd, count), factor.v);
        return {_mm256_blend_epi32(_mm256_srli_epi64(even, 33), _mm256_srli_epi64(odd, 1), 0xAA)};
    }
    simd low() const
    {
        return {_mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xAA)};
    }
};

} // namespace

#endif
