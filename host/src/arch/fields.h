// SPDX-License-Identifier: Apache-2.0
// Numbers of up to 27 bits that are packed without gaps, low bits first: a template over `simd`, which is
// included before.
#ifndef CM_HOST_ARCH_FIELDS_H
#define CM_HOST_ARCH_FIELDS_H

#include <bit>
#include <cstddef>
#include <cstdint>

#include "kernels.h"

namespace
{

using namespace ciphermote::arch;

// A group of fields is as many words as a field has bits.
constexpr unsigned group = 32;

/*
 * Cuts groups of fields, a vector at a time. Lane i of the vector that begins within word w takes a window of
 * two words, w + places[i] and the next. A vector's fields begin within its first `lanes` words:
 * (31 + 27 (lanes - 1)) / 32 < lanes.
 */
class fields
{
  public:
    static constexpr unsigned vectors = group / simd::lanes;

    explicit fields(unsigned bits) : mask_(simd::all((1 << bits) - 1))
    {
        for (unsigned i = 0; i < group; i++) {
            words_[i] = i * bits / 32;
            shifts_[i] = i * bits % 32;
            places_[i] = words_[i] - words_[i / simd::lanes * simd::lanes];
        }
    }

    // Vector number v of a group; packed_slack words after the group are readable.
    simd cut(const std::uint32_t *packed, unsigned v) const
    {
        const unsigned first = v * simd::lanes;
        const std::uint32_t *at = packed + words_[first];
        const simd low = simd::permute(simd::load(at), places_ + first);
        const simd high = simd::permute(simd::load(at + 1), places_ + first);
        return simd::window(low, high, simd::load(shifts_ + first)) & mask_;
    }

  private:
    simd mask_;
    alignas(64) std::uint32_t shifts_[group];
    alignas(64) std::uint32_t places_[group];
    std::uint32_t words_[group];
};

// A field less q is negative if it is below q; otherwise it is below 2^27, and so is the least of all
// differences, as unsigned numbers.
bool unpack(std::uint32_t *out, const std::uint32_t *packed, const prime &p)
{
    const unsigned bits = static_cast<unsigned>(std::bit_width(p.q));
    const fields cutter(bits);
    const simd q = simd::all(static_cast<std::int32_t>(p.q));
    simd least = simd::all(-1);
    const std::size_t n = std::size_t{1} << p.log2_n;
    for (std::size_t i = 0; i < n; i += group, packed += bits) {
        for (unsigned v = 0; v < fields::vectors; v++) {
            const simd field = cutter.cut(packed, v);
            least = simd::least(least, field - q);
            field.store(out + i + v * simd::lanes);
        }
    }
    return simd::signs(least) == (1u << simd::lanes) - 1;
}

} // namespace

#endif
