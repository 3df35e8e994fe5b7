// SPDX-License-Identifier: Apache-2.0
#include "ciphermote/delivery.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "ciphermote/compact.h"

extern "C" {
#include "common/bytes.h"
#include "random/xof.h"
#include "ring/prime.h"
}

namespace ciphermote
{

namespace
{

// What cm_frame_unpack checks, without its array. A residue begins within the first byte of its word and has
// at most 32 bits. The word may reach into the tag and the checksum, 12 bytes behind the residues.
bool residues_are_below_prime(const cm_frame &frame)
{
    const std::uint64_t largest = frame.info.params->primes[frame.prime].q - 1u;
    const unsigned bits = cmi_bits_of(frame.info.params->primes[frame.prime].q);
    const std::uint64_t mask = (std::uint64_t{1} << bits) - 1u;
    std::uint64_t borrow = 0;
    for (std::size_t i = 0, at = 0; i < frame.residue_count; i++, at += bits) {
        borrow |= largest - (cmi_load64(frame.payload_data + at / 8) >> at % 8 & mask);
    }
    return borrow >> 63 == 0;
}

bool all_zero(const cm_frame &seed)
{
    std::uint8_t any = 0;
    for (std::size_t i = 0; i < cm_public_seed_bytes(seed.info.xof); i++) {
        any |= seed.info.seed[i];
    }
    return any == 0;
}

bool is_tagged(const cm_frame &frame)
{
    return frame.version == CM_FRAME_TAGGED_VERSION;
}

cm_status check_seed(const cm_frame &frame)
{
    if (frame.payload != CM_PAYLOAD_SEED) {
        return CM_OK;
    }
    const bool is_of_header =
        !is_tagged(frame) || std::memcmp(frame.info.seed, frame.random, sizeof frame.random) == 0;
    return is_of_header && !all_zero(frame) ? CM_OK : CM_ERR_FRAME_SEED;
}

std::uint64_t tag_before(std::span<const std::uint8_t> bytes, std::size_t end)
{
    std::uint64_t tag = 0;
    for (unsigned i = 0; i < CM_TAG_BYTES; i++) {
        tag |= std::uint64_t{bytes[end - CM_TAG_BYTES + i]} << 8 * i;
    }
    return tag;
}

unsigned place_of(const cm_frame &frame)
{
    if (frame.payload == CM_PAYLOAD_SEED) {
        return 0;
    }
    const unsigned row = unsigned{frame.component} * frame.info.primes + frame.prime;
    return (row << frame.log2_tiles) + frame.tile + (frame.info.xof == CM_XOF_NONE ? 0u : 1u);
}

// A packet says where it ends: its positions times its set's bits. Of other bytes, all: the library says what
// is wrong.
std::size_t packet_bytes(std::span<const std::uint8_t> bytes)
{
    const cm_compact_set *set =
        bytes.size() >= CM_COMPACT_HEADER_BYTES ? cm_compact_set_by_id(bytes[1]) : nullptr;
    if (!set) {
        return bytes.size();
    }
    const auto count = static_cast<std::size_t>((bytes[25] >> 4) | bytes[26] << 4);
    return std::min(CM_COMPACT_HEADER_BYTES + (count * set->wire_bits + 7) / 8 + CM_TAG_BYTES, bytes.size());
}

// The counter nearest to the newest one that has these low 32 bits. False if there is none below 2^64.
bool nearest_counter(std::uint64_t newest, std::uint32_t low, std::uint64_t *counter)
{
    const std::uint64_t half = std::uint64_t{1} << 31;
    const std::uint64_t base = newest < half ? 0 : newest - half;
    *counter = base + static_cast<std::uint32_t>(low - static_cast<std::uint32_t>(base));
    return *counter >= base;
}

} // namespace

void Delivery::read(const cm_params *params, const std::uint8_t *tag_key, std::uint64_t newest,
                    std::span<const std::uint8_t> bytes)
{
    status_ = bytes.empty() ? CM_ERR_FRAME_SHORT : CM_OK;
    for (std::size_t at = 0; at < bytes.size() && status_ == CM_OK;) {
        failed_at_ = at;
        status_ = params ? read_frame(params, tag_key, bytes, at) : read_packet(tag_key, newest, bytes, at);
        at = status_ == CM_OK ? at + parts_.back().length : at;
    }
    if (status_ == CM_OK && overlaps()) {
        status_ = CM_ERR_FRAME_ORDER;
    }
}

cm_status Delivery::read_frame(const cm_params *params, const std::uint8_t *tag_key,
                               std::span<const std::uint8_t> bytes, std::size_t at)
{
    cm_frame frame;
    cm_status status = cm_frame_parse(bytes.data() + at, bytes.size() - at, params, &frame);
    if (status == CM_OK && tag_key) {
        status = cm_frame_verify(&frame, tag_key);
    }
    if (status == CM_OK && frame.info.scheme == CM_PUBLIC_KEY) {
        status = CM_ERR_FRAME_FOREIGN;
    }
    if (status == CM_OK && tag_key && frame.payload == CM_PAYLOAD_RESIDUES &&
        !residues_are_below_prime(frame)) {
        status = CM_ERR_RESIDUE;
    }
    if (status == CM_OK) {
        status = check_seed(frame);
    }
    if (status != CM_OK) {
        return status;
    }
    if (parts_.empty()) {
        first_ = frame;
        has_tiles_ = frame.payload == CM_PAYLOAD_RESIDUES;
    } else if (!same_attempt(frame)) {
        return CM_ERR_FRAME_FOREIGN;
    }
    const std::size_t tag_end = at + frame.frame_bytes - CM_FRAME_CRC_BYTES;
    parts_.push_back({place_of(frame), 1, is_tagged(frame) ? tag_before(bytes, tag_end) : 0, at,
                      frame.frame_bytes, static_cast<std::size_t>(frame.payload_data - bytes.data()),
                      frame.payload_bytes});
    return CM_OK;
}

// A seed's frame has no tiles to agree on.
bool Delivery::same_attempt(const cm_frame &frame)
{
    const cm_ciphertext_info &a = first_.info;
    const cm_ciphertext_info &b = frame.info;
    if (frame.payload == CM_PAYLOAD_RESIDUES) {
        if (!has_tiles_) {
            first_.log2_tiles = frame.log2_tiles;
            has_tiles_ = true;
        } else if (frame.log2_tiles != first_.log2_tiles) {
            return false;
        }
    }
    return a.scheme == b.scheme && a.ntt_form == b.ntt_form && a.components == b.components &&
           a.primes == b.primes && a.key_id == b.key_id && a.scale_bits == b.scale_bits && a.xof == b.xof &&
           a.counter == b.counter && frame.version == first_.version && same_sender(frame);
}

bool Delivery::same_sender(const cm_frame &frame) const
{
    return frame.device == first_.device && frame.epoch == first_.epoch &&
           frame.since_window == first_.since_window &&
           std::memcmp(frame.random, first_.random, sizeof frame.random) == 0;
}

cm_status Delivery::read_packet(const std::uint8_t *tag_key, std::uint64_t newest,
                                std::span<const std::uint8_t> bytes, std::size_t at)
{
    cm_compact_frame packet;
    const std::size_t length = packet_bytes(bytes.subspan(at));
    cm_status status = cm_compact_frame_parse(bytes.data() + at, length, &packet);
    if (status != CM_OK) {
        return status;
    }
    std::uint64_t counter;
    if (!nearest_counter(newest, packet.counter_low, &counter) || packet.since_window > counter) {
        return CM_ERR_FRAME_TAG;
    }
    if (tag_key) {
        status = cm_compact_frame_verify(&packet, tag_key, static_cast<std::uint32_t>(counter >> 32));
    }
    if (status != CM_OK) {
        return status;
    }
    cm_frame frame{};
    frame.device = packet.device;
    frame.epoch = packet.epoch;
    frame.since_window = packet.since_window;
    frame.info.counter = counter;
    std::memcpy(frame.random, packet.random, sizeof frame.random);
    if (parts_.empty()) {
        first_ = frame;
        set_ = packet.set->id;
    } else if (packet.set->id != set_ || counter != first_.info.counter || !same_sender(frame)) {
        return CM_ERR_FRAME_FOREIGN;
    }
    parts_.push_back({packet.first, packet.count, tag_before(bytes, at + length), at, length, 0, 0});
    return CM_OK;
}

bool Delivery::overlaps() const
{
    std::vector<std::pair<unsigned, unsigned>> covered;
    for (const Part &part : parts_) {
        covered.emplace_back(part.place, part.count);
    }
    std::sort(covered.begin(), covered.end());
    for (std::size_t i = 1; i < covered.size(); i++) {
        if (covered[i].first < covered[i - 1].first + covered[i - 1].second) {
            return true;
        }
    }
    return false;
}

double Delivery::scale() const
{
    double value = 1;
    if (first_.info.scheme == CM_CKKS) {
        std::memcpy(&value, &first_.info.scale_bits, sizeof value);
    }
    return value;
}

std::uint64_t Delivery::tags() const
{
    std::uint64_t sum = 0;
    for (const Part &part : parts_) {
        sum += part.tag;
    }
    return sum;
}

unsigned Delivery::covered() const
{
    unsigned sum = 0;
    for (const Part &part : parts_) {
        sum += part.count;
    }
    return sum;
}

unsigned Delivery::places() const
{
    if (set_ != 0) {
        return 0;
    }
    const unsigned polynomials = seeded() ? 1u : first_.info.components;
    return (polynomials * first_.info.primes << first_.log2_tiles) + (seeded() ? 1u : 0u);
}

std::array<std::uint8_t, 24> Delivery::agreed() const
{
    const cm_ciphertext_info &info = first_.info;
    std::array<std::uint8_t, 24> out = {
        static_cast<std::uint8_t>(info.scheme), info.ntt_form,    info.components, info.primes,
        static_cast<std::uint8_t>(info.xof),    first_.log2_tiles};
    std::memcpy(out.data() + 8, &info.key_id, 8);
    std::memcpy(out.data() + 16, &info.scale_bits, 8);
    return out;
}

} // namespace ciphermote
