// SPDX-License-Identifier: Apache-2.0
#include "rns/unpacking.h"

#include <bit>
#include <cstring>
#include <string>

namespace ciphermote
{

static_assert(
    std::endian::native == std::endian::little,
    "The hosted library reads packed residues as words of the machine, which must be little-endian: "
    "build it for a little-endian target. The C library in core/ runs on either.");

void Unpacking::add(std::span<const std::uint8_t> payload)
{
    packed_.resize((bytes_ + payload.size()) / sizeof packed_[0] + 1 + arch::packed_slack);
    std::memcpy(reinterpret_cast<std::uint8_t *>(packed_.data()) + bytes_, payload.data(), payload.size());
    bytes_ += payload.size();
}

bool Unpacking::end(const Tables &t, unsigned prime, std::uint32_t *residues)
{
    const arch::prime &p = t.prime(prime);
    const std::size_t wanted = t.n() / 8 * static_cast<unsigned>(std::bit_width(p.q));
    if (bytes_ != wanted) {
        throw Error("The residues at the prime " + std::to_string(p.q) + " are packed in " +
                    std::to_string(bytes_) + " bytes and take " + std::to_string(wanted) +
                    ": give the payloads of all tiles, whole.");
    }
    return t.kernels->unpack(residues, packed_.data(), p);
}

} // namespace ciphermote
