// SPDX-License-Identifier: Apache-2.0
// Uniform residues from a public seed as SEAL expands it, by SHAKE256 (FIPS 202) or BLAKE2Xb, several
// permutations or hashes side by side: a template over `simd`, which is included before.
#ifndef CM_HOST_ARCH_SEAL_UNIFORM_H
#define CM_HOST_ARCH_SEAL_UNIFORM_H

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels.h"

namespace
{

using namespace ciphermote::arch;

constexpr unsigned long_lanes = simd::lanes < 2 ? 1 : simd::lanes / 2;
typedef std::uint64_t longs __attribute__((vector_size(8 * long_lanes)));

constexpr std::size_t seal_words = 512; // of 64 bits, in a block of SEAL's streams

inline longs all_longs(std::uint64_t x)
{
    return longs{} + x;
}

// first, first + 1 ..
inline longs numbered(std::uint64_t first)
{
    longs x = all_longs(first);
    for (unsigned lane = 0; lane < long_lanes; lane++) {
        x[lane] += lane;
    }
    return x;
}

template <unsigned bits> inline longs rotate_left(longs x)
{
    if constexpr (bits == 0) {
        return x;
    } else {
        return x << bits | x >> (64 - bits);
    }
}

// Words modulo q, where they belong: word i of a lane's `count` goes to out[lane stride + i].
class seal_residues
{
  public:
    explicit seal_residues(const prime &p)
        : q_(p.q), q_inv_(p.q_inv), r1_(static_cast<std::uint32_t>((std::uint64_t{1} << 32) % q_)),
          r2_(static_cast<std::uint32_t>(std::uint64_t{r1_} * r1_ % q_)), limit_(~std::uint64_t{r2_})
    {
    }

    void put(std::uint32_t *out, const longs *words, unsigned count, unsigned lanes, std::size_t stride)
    {
        alignas(64) std::uint64_t x[17 * long_lanes];
        std::memcpy(x, words, count * sizeof words[0]);
        for (unsigned lane = 0; lane < lanes; lane++) {
            for (unsigned i = 0; i < count; i++) {
                out[lane * stride + i] = residue(x[i * long_lanes + lane]);
            }
        }
    }
    // Whether SEAL would draw one of the words again.
    bool rejected() const
    {
        return rejected_;
    }

  private:
    // Montgomery's reduction of 2^32 x, modulo q below 2^33 q: the result is in (-q, 2q).
    std::uint32_t residue(std::uint64_t x)
    {
        rejected_ |= x >= limit_;
        const std::uint64_t sum = (x >> 32) * r2_ + (x & 0xFFFFFFFF) * r1_;
        const std::uint32_t m = static_cast<std::uint32_t>(sum) * q_inv_;
        const std::uint32_t high = static_cast<std::uint32_t>(sum >> 32);
        const std::uint32_t over = static_cast<std::uint32_t>(std::uint64_t{m} * q_ >> 32);
        const std::uint32_t r = std::min(high - over, high - over + q_);
        return std::min(r, r - q_);
    }

    std::uint32_t q_, q_inv_, r1_, r2_; // 2^32 and 2^64 modulo q
    std::uint64_t limit_;
    bool rejected_ = false;
};

// ---- SHAKE256 ----

constexpr unsigned shake_words = 17; // that a permutation gives

template <unsigned b0, unsigned b1, unsigned b2, unsigned b3, unsigned b4>
inline void keccak_row(longs out[5], longs a0, longs a1, longs a2, longs a3, longs a4)
{
    const longs b[5] = {rotate_left<b0>(a0), rotate_left<b1>(a1), rotate_left<b2>(a2), rotate_left<b3>(a3),
                        rotate_left<b4>(a4)};
    for (unsigned x = 0; x < 5; x++) {
        out[x] = b[x] ^ (~b[(x + 1) % 5] & b[(x + 2) % 5]);
    }
}

// Lane (x, y) of the state is number x + 5 y; (x, y) of the result comes from (x + 3 y, x).
inline void keccak_round(longs out[25], const longs a[25], std::uint64_t constant)
{
    longs parity[5], d[5];
    for (unsigned x = 0; x < 5; x++) {
        parity[x] = a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20];
    }
    for (unsigned x = 0; x < 5; x++) {
        d[x] = parity[(x + 4) % 5] ^ rotate_left<1>(parity[(x + 1) % 5]);
    }
    keccak_row<0, 44, 43, 21, 14>(out, a[0] ^ d[0], a[6] ^ d[1], a[12] ^ d[2], a[18] ^ d[3], a[24] ^ d[4]);
    keccak_row<28, 20, 3, 45, 61>(out + 5, a[3] ^ d[3], a[9] ^ d[4], a[10] ^ d[0], a[16] ^ d[1],
                                  a[22] ^ d[2]);
    keccak_row<1, 6, 25, 8, 18>(out + 10, a[1] ^ d[1], a[7] ^ d[2], a[13] ^ d[3], a[19] ^ d[4], a[20] ^ d[0]);
    keccak_row<27, 36, 10, 15, 56>(out + 15, a[4] ^ d[4], a[5] ^ d[0], a[11] ^ d[1], a[17] ^ d[2],
                                   a[23] ^ d[3]);
    keccak_row<62, 55, 39, 41, 2>(out + 20, a[2] ^ d[2], a[8] ^ d[3], a[14] ^ d[4], a[15] ^ d[0],
                                  a[21] ^ d[1]);
    out[0] ^= constant;
}

inline void keccak_permute(longs state[25])
{
    static constexpr std::uint64_t constants[24] = {
        0x0000000000000001u, 0x0000000000008082u, 0x800000000000808Au, 0x8000000080008000u,
        0x000000000000808Bu, 0x0000000080000001u, 0x8000000080008081u, 0x8000000000008009u,
        0x000000000000008Au, 0x0000000000000088u, 0x0000000080008009u, 0x000000008000000Au,
        0x000000008000808Bu, 0x800000000000008Bu, 0x8000000000008089u, 0x8000000000008003u,
        0x8000000000008002u, 0x8000000000000080u, 0x000000000000800Au, 0x800000008000000Au,
        0x8000000080008081u, 0x8000000000008080u, 0x0000000080000001u, 0x8000000080008008u,
    };
    longs other[25];
    for (unsigned i = 0; i < 24; i += 2) {
        keccak_round(other, state, constants[i]);
        keccak_round(state, other, constants[i + 1]);
    }
}

// Blocks first, first + 1 .. of SHAKE256(seed || block), one a lane.
inline void shake_blocks(std::uint32_t *out, unsigned blocks, const std::uint64_t seed[8],
                         std::uint64_t first, seal_residues &residues)
{
    longs state[25] = {};
    for (unsigned i = 0; i < 8; i++) {
        state[i] = all_longs(seed[i]);
    }
    state[8] = numbered(first);
    state[9] = all_longs(0x1F);
    state[shake_words - 1] = all_longs(std::uint64_t{1} << 63);
    for (unsigned done = 0; done < seal_words; done += shake_words) {
        keccak_permute(state);
        const unsigned count = std::min<unsigned>(shake_words, seal_words - done);
        residues.put(out + done, state, count, blocks, seal_words);
    }
}

// ---- BLAKE2Xb ----

constexpr std::uint64_t blake_iv[8] = {
    0x6A09E667F3BCC908u, 0xBB67AE8584CAA73Bu, 0x3C6EF372FE94F82Bu, 0xA54FF53A5F1D36F1u,
    0x510E527FADE682D1u, 0x9B05688C2B3E6C1Fu, 0x1F83D9ABFB41BD6Bu, 0x5BE0CD19137E2179u,
};

inline void blake_mix(longs &a, longs &b, longs &c, longs &d, longs x, longs y)
{
    a += b + x;
    d = rotate_left<32>(d ^ a);
    c += d;
    b = rotate_left<40>(b ^ c);
    a += b + y;
    d = rotate_left<48>(d ^ a);
    c += d;
    b = rotate_left<1>(b ^ c);
}

// RFC 7693's compression; total counts the bytes up to the block's end.
inline void blake_compress(longs h[8], const longs m[16], std::uint64_t total, bool last)
{
    static constexpr std::uint8_t sigma[10][16] = {
        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
        {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
        {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
        {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
        {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
        {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
        {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
        {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
        {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
        {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
    };
    longs v[16];
    for (unsigned i = 0; i < 8; i++) {
        v[i] = h[i];
        v[8 + i] = all_longs(blake_iv[i]);
    }
    v[12] ^= total;
    v[14] ^= last ? ~std::uint64_t{0} : 0;
    for (unsigned round = 0; round < 12; round++) {
        const std::uint8_t *s = sigma[round % 10];
        blake_mix(v[0], v[4], v[8], v[12], m[s[0]], m[s[1]]);
        blake_mix(v[1], v[5], v[9], v[13], m[s[2]], m[s[3]]);
        blake_mix(v[2], v[6], v[10], v[14], m[s[4]], m[s[5]]);
        blake_mix(v[3], v[7], v[11], v[15], m[s[6]], m[s[7]]);
        blake_mix(v[0], v[5], v[10], v[15], m[s[8]], m[s[9]]);
        blake_mix(v[1], v[6], v[11], v[12], m[s[10]], m[s[11]]);
        blake_mix(v[2], v[7], v[8], v[13], m[s[12]], m[s[13]]);
        blake_mix(v[3], v[4], v[9], v[14], m[s[14]], m[s[15]]);
    }
    for (unsigned i = 0; i < 8; i++) {
        h[i] ^= v[i] ^ v[8 + i];
    }
}

// The first words of a parameter block, over the rest zeros.
inline void blake_start(longs h[8], longs word0, longs word1, longs word2)
{
    for (unsigned i = 0; i < 8; i++) {
        h[i] = all_longs(blake_iv[i]);
    }
    h[0] ^= word0;
    h[1] ^= word1;
    h[2] ^= word2;
}

constexpr unsigned blake_words = 8; // of a node
// The whole output's, where a node's number is.
constexpr std::uint64_t blake_length = std::uint64_t{8 * seal_words} << 32;

// The roots of blocks first, first + 1 ..: keyed hashes of the block's number.
inline void blake_roots(longs roots[8], const std::uint64_t seed[8], std::uint64_t first)
{
    // 64 bytes of digest and of key, sequential
    blake_start(roots, all_longs(0x01014040), all_longs(blake_length), longs{});
    longs key[16] = {}, number[16] = {};
    for (unsigned i = 0; i < 8; i++) {
        key[i] = all_longs(seed[i]);
    }
    number[0] = numbered(first);
    blake_compress(roots, key, 128, false);
    blake_compress(roots, number, 128 + 8, true);
}

inline void blake_blocks(std::uint32_t *out, unsigned blocks, const std::uint64_t seed[8],
                         std::uint64_t first, seal_residues &residues)
{
    longs roots[8];
    blake_roots(roots, seed, first);
    for (unsigned block = 0; block < blocks; block++) {
        longs root[16] = {};
        for (unsigned i = 0; i < 8; i++) {
            root[i] = all_longs(roots[i][block]);
        }
        for (unsigned node = 0; node < seal_words / blake_words; node += long_lanes) {
            longs h[8];
            // 64 bytes of digest, of which nodes are made; 64 within
            blake_start(h, all_longs(0x4000000040), numbered(node) + blake_length, all_longs(0x4000));
            blake_compress(h, root, 64, true);
            residues.put(out + block * seal_words + node * blake_words, h, blake_words, long_lanes,
                         blake_words);
        }
    }
}

bool uniform_of_seal(std::uint32_t *out, bool shake256, const std::uint64_t seed[8], std::uint64_t first,
                     const prime &p)
{
    seal_residues residues(p);
    const std::size_t blocks = (std::size_t{1} << p.log2_n) / seal_words;
    for (std::size_t block = 0; block < blocks; block += long_lanes, out += long_lanes * seal_words) {
        const unsigned count = static_cast<unsigned>(std::min<std::size_t>(long_lanes, blocks - block));
        (shake256 ? shake_blocks : blake_blocks)(out, count, seed, first + block, residues);
    }
    return !residues.rejected();
}

} // namespace

#endif
