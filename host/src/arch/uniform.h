// SPDX-License-Identifier: Apache-2.0
// Uniform residues from a public seed by ChaCha20 (RFC 8439), `lanes` blocks side by side: a template over
// `simd`, which is included before. The seed is public: nothing here is wiped, and rejections may take time.
#ifndef CM_HOST_ARCH_UNIFORM_H
#define CM_HOST_ARCH_UNIFORM_H

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "fields.h"
#include "kernels.h"

namespace
{

constexpr unsigned block_words = 16;

inline void quarter_round(simd &a, simd &b, simd &c, simd &d)
{
    a = a + b;
    d = simd::rotate<16>(d ^ a);
    c = c + d;
    b = simd::rotate<12>(b ^ c);
    a = a + b;
    d = simd::rotate<8>(d ^ a);
    c = c + d;
    b = simd::rotate<7>(b ^ c);
}

// A key stream, from its beginning.
class chacha_stream
{
  public:
    static constexpr std::size_t step = block_words * simd::lanes;

    chacha_stream(const std::uint32_t key[8], const std::uint32_t nonce[3])
    {
        // "expand 32-byte k"
        constexpr std::uint32_t constants[4] = {0x61707865u, 0x3320646Eu, 0x79622D32u, 0x6B206574u};
        std::copy_n(constants, 4, input_);
        std::copy_n(key, 8, input_ + 4);
        std::copy_n(nonce, 3, input_ + 13);
        for (unsigned lane = 0; lane < simd::lanes; lane++) {
            counters_[lane] = lane;
        }
    }

    // The next `step` words.
    void next(std::uint32_t *out)
    {
        simd x[block_words];
        start(x);
        for (int i = 0; i < 10; i++) {
            quarter_round(x[0], x[4], x[8], x[12]);
            quarter_round(x[1], x[5], x[9], x[13]);
            quarter_round(x[2], x[6], x[10], x[14]);
            quarter_round(x[3], x[7], x[11], x[15]);
            quarter_round(x[0], x[5], x[10], x[15]);
            quarter_round(x[1], x[6], x[11], x[12]);
            quarter_round(x[2], x[7], x[8], x[13]);
            quarter_round(x[3], x[4], x[9], x[14]);
        }
        simd initial[block_words];
        start(initial);
        for (unsigned i = 0; i < block_words; i++) {
            x[i] = x[i] + initial[i];
        }
        (simd::load(counters_) + simd::all(simd::lanes)).store(counters_);
        // Vector i has word i of all blocks; turned, parts of a block.
        for (unsigned i = 0; i < block_words; i += simd::lanes) {
            simd::transpose(x + i);
            for (unsigned block = 0; block < simd::lanes; block++) {
                x[i + block].store(out + block_words * block + i);
            }
        }
    }

  private:
    void start(simd x[block_words]) const
    {
        for (unsigned i = 0; i < block_words; i++) {
            x[i] = i == 12 ? simd::load(counters_) : simd::all(static_cast<std::int32_t>(input_[i]));
        }
    }

    std::uint32_t input_[block_words];
    alignas(64) std::uint32_t counters_[simd::lanes];
};

// A key stream in groups of fields.
class chacha_fields
{
  public:
    chacha_fields(const std::uint32_t key[8], const std::uint32_t nonce[3], unsigned bits)
        : stream_(key, nonce), bits_(bits)
    {
    }

    // The next group, of `left` that are wanted at least.
    const std::uint32_t *next(std::size_t left)
    {
        if (end_ - at_ < bits_) {
            refill(left * bits_);
        }
        at_ += bits_;
        return words_ + at_ - bits_;
    }

  private:
    // As much as is wanted and fits: what was just written is slow to read, so the more the better.
    void refill(std::size_t wanted)
    {
        std::copy(words_ + at_, words_ + end_, words_);
        end_ -= at_;
        at_ = 0;
        for (wanted = std::min(wanted, most); end_ < wanted; end_ += chacha_stream::step) {
            stream_.next(words_ + end_);
        }
    }

    static constexpr std::size_t most = 1024;
    chacha_stream stream_;
    std::size_t at_ = 0, end_ = 0, bits_;
    alignas(64) std::uint32_t words_[most + chacha_stream::step + packed_slack];
};

// Those of a vector's fields that are below q, one after the other; returns how many. Room for all is needed.
inline std::size_t keep_below(std::uint32_t *out, simd field, simd q)
{
    constexpr unsigned all = (1u << simd::lanes) - 1;
    const unsigned below = simd::signs(field - q); // fields and q are below 2^31
    field.store(out);
    if (below == all) {
        return simd::lanes;
    }
    std::size_t kept = 0;
    for (unsigned lane = 0; lane < simd::lanes; lane++) {
        out[kept] = out[lane];
        kept += below >> lane & 1;
    }
    return kept;
}

inline std::size_t keep_group(std::uint32_t *out, const std::uint32_t *packed, const fields &cutter, simd q)
{
    std::size_t kept = 0;
    for (unsigned v = 0; v < fields::vectors; v++) {
        kept += keep_below(out + kept, cutter.cut(packed, v), q);
    }
    return kept;
}

void uniform(std::uint32_t *out, const std::uint32_t seed[8], std::uint32_t index, const prime &p)
{
    const unsigned bits = static_cast<unsigned>(std::bit_width(p.q));
    const std::uint32_t nonce[3] = {1, index, 0}; // core/src/random/sample.h: CM_LABEL_UNIFORM
    chacha_fields stream(seed, nonce, bits);
    const fields cutter(bits);
    const simd q = simd::all(static_cast<std::int32_t>(p.q));
    std::size_t left = std::size_t{1} << p.log2_n;
    while (left >= group) {
        const std::size_t kept = keep_group(out, stream.next(left / group), cutter, q);
        out += kept;
        left -= kept;
    }
    while (left > 0) {
        std::uint32_t last[group];
        const std::size_t kept = std::min(left, keep_group(last, stream.next(1), cutter, q));
        out = std::copy_n(last, kept, out);
        left -= kept;
    }
}

} // namespace

#endif
