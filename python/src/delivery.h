/* SPDX-License-Identifier: Apache-2.0 */
/* What a device delivers over a network: tagged frames or packets of one attempt, every byte checked. */
#ifndef CIPHERMOTE_PYTHON_DELIVERY_H
#define CIPHERMOTE_PYTHON_DELIVERY_H

#include "library.h"

extern "C" {
#include "common/bytes.h"
#include "random/xof.h"
#include "ring/prime.h"
#include "wire/tag.h"
}

namespace ciphermote
{

/*
 * The frames of one attempt, one behind the other, or packets of the compact lane. Everything in it agrees:
 * device, epoch, counter, window, random bytes and, of frames, all that a set agrees on.
 */
class Delivery
{
  public:
    struct Part {
        unsigned place; /* frames: 0 the seed, then [component][prime][tile]; packets: the first position */
        unsigned count; /* packets: of positions; 1 for frames */
        uint64_t tag;
        size_t at;
        size_t length;
    };

    /*
     * key: CM_TAG_KEY_BYTES; null: tags and residues were checked before, and the checksum is enough.
     * newest: the highest counter that this device is known to have used; a packet's counter is the one
     * nearest to it. Fails with a status of the C library: CM_ERR_FRAME_FOREIGN if parts do not agree,
     * CM_ERR_FRAME_ORDER if a place comes twice, CM_ERR_FRAME_SEED if a seed is zero or has other random
     * bytes.
     */
    void read(const Params *params, const uint8_t *key, uint64_t newest, const uint8_t *bytes, size_t length)
    {
        status_ = length == 0 ? CM_ERR_FRAME_SHORT : CM_OK;
        for (size_t at = 0; at < length && status_ == CM_OK; at += parts_.back().length) {
            status_ = params ? read_frame(*params, key, bytes + at, length - at, at)
                             : read_packet(key, newest, bytes + at, length - at, at);
            failed_at_ = at;
            if (status_ != CM_OK) {
                return;
            }
        }
        if (status_ == CM_OK) {
            finish();
        }
    }

    cm_status status() const
    {
        return status_;
    }
    size_t failed_at() const
    {
        return failed_at_;
    }
    const cm_frame &first() const
    {
        return first_;
    }
    unsigned set() const
    {
        return set_;
    }
    uint64_t counter() const
    {
        return first_.info.counter;
    }
    uint64_t window() const
    {
        return first_.info.counter - first_.since_window;
    }
    nb::bytes random() const
    {
        return nb::bytes(first_.random, sizeof first_.random);
    }
    uint64_t tags() const
    {
        uint64_t sum = 0;
        for (const Part &part : parts_) {
            sum += part.tag;
        }
        return sum;
    }
    /* How many places its parts take, which do not overlap. */
    unsigned covered() const
    {
        unsigned sum = 0;
        for (const Part &part : parts_) {
            sum += part.count;
        }
        return sum;
    }
    const std::vector<Part> &parts() const
    {
        return parts_;
    }
    /* How many places a whole set of such frames has; 0 for packets, which do not say. */
    unsigned places() const
    {
        if (set_ != 0) {
            return 0;
        }
        const unsigned rows = first_.info.xof == CM_XOF_NONE ? first_.info.components : 1u;
        return (rows * first_.info.primes << first_.log2_tiles) + (first_.info.xof == CM_XOF_NONE ? 0u : 1u);
    }
    double scale() const
    {
        double value = 1;
        if (first_.info.scheme == CM_CKKS) {
            std::memcpy(&value, &first_.info.scale_or_t, sizeof value);
        }
        return value;
    }
    /* What the frames of a set agree on besides the attempt, for comparison. */
    nb::bytes agreed() const
    {
        const cm_ciphertext_info &info = first_.info;
        uint8_t out[24] = {static_cast<uint8_t>(info.scheme), info.ntt_form,    info.components, info.primes,
                           static_cast<uint8_t>(info.xof),    first_.log2_tiles};
        std::memcpy(out + 8, &info.key_id, 8);
        std::memcpy(out + 16, &info.scale_or_t, 8);
        return nb::bytes(out, sizeof out);
    }

  private:
    cm_status read_frame(const Params &params, const uint8_t *key, const uint8_t *bytes, size_t length,
                         size_t at)
    {
        cm_frame frame;
        cm_status status = cm_frame_parse(bytes, length, params.get(), &frame);
        if (status == CM_OK && key) {
            status = cm_frame_verify(&frame, key);
        }
        if (status == CM_OK && frame.info.scheme == CM_PUBLIC_KEY) {
            status = CM_ERR_FRAME_FOREIGN;
        }
        if (status == CM_OK && key && frame.payload == CM_PAYLOAD_RESIDUES &&
            !residues_are_below_prime(frame)) {
            status = CM_ERR_RESIDUE;
        }
        if (status != CM_OK) {
            return status;
        }
        if (frame.payload == CM_PAYLOAD_SEED &&
            std::memcmp(frame.info.seed, frame.random, sizeof frame.random) != 0) {
            return CM_ERR_FRAME_SEED;
        }
        if (frame.payload == CM_PAYLOAD_SEED && all_zero(frame)) {
            return CM_ERR_FRAME_SEED;
        }
        unsigned place = 0;
        if (frame.payload == CM_PAYLOAD_RESIDUES) {
            const unsigned rows = unsigned{frame.component} * frame.info.primes + frame.prime;
            place = (rows << frame.log2_tiles) + frame.tile + (frame.info.xof == CM_XOF_NONE ? 0u : 1u);
        }
        if (parts_.empty()) {
            first_ = frame;
            has_tiles_ = frame.payload == CM_PAYLOAD_RESIDUES;
        } else if (!same_attempt(frame)) {
            return CM_ERR_FRAME_FOREIGN;
        }
        parts_.push_back(
            {place, 1, tag_before(bytes + frame.frame_bytes - CM_FRAME_CRC_BYTES), at, frame.frame_bytes});
        return CM_OK;
    }

    /*
     * What cm_frame_unpack checks, without its array. A residue begins within the first byte of its word and
     * has at most 32 bits. The word may reach into the tag and the checksum, 12 bytes behind the residues.
     */
    static bool residues_are_below_prime(const cm_frame &frame)
    {
        const uint64_t largest = frame.info.params->primes[frame.prime].q - 1u;
        const unsigned bits = cmi_bits_of(frame.info.params->primes[frame.prime].q);
        const uint64_t mask = (uint64_t{1} << bits) - 1u;
        uint64_t borrow = 0;
        for (size_t i = 0, at = 0; i < frame.residue_count; i++, at += bits) {
            borrow |= largest - (cmi_load64(frame.payload_data + at / 8) >> at % 8 & mask);
        }
        return borrow >> 63 == 0;
    }

    static bool all_zero(const cm_frame &seed)
    {
        uint8_t any = 0;
        for (size_t i = 0; i < cm_public_seed_bytes(seed.info.xof); i++) {
            any |= seed.info.seed[i];
        }
        return any == 0;
    }

    /* Whether the frame is of the first one's set. A seed's frame has no tiles to agree on. */
    bool same_attempt(const cm_frame &frame)
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
               a.primes == b.primes && a.key_id == b.key_id && a.scale_or_t == b.scale_or_t &&
               a.xof == b.xof && a.counter == b.counter && same_sender(frame);
    }
    bool same_sender(const cm_frame &frame) const
    {
        return frame.device == first_.device && frame.epoch == first_.epoch &&
               frame.since_window == first_.since_window &&
               std::memcmp(frame.random, first_.random, sizeof frame.random) == 0;
    }

    /* A packet says where it ends: its positions times its set's bits. */
    static size_t packet_bytes(const uint8_t *bytes, size_t length)
    {
        const cm_compact_set *set = length >= CM_COMPACT_HEADER_BYTES ? cm_compact_set_by_id(bytes[1]) : NULL;
        if (!set) {
            return length; /* the library says what is wrong */
        }
        const size_t count = static_cast<size_t>((bytes[25] >> 4) | bytes[26] << 4);
        const size_t whole = CM_COMPACT_HEADER_BYTES + (count * set->wire_bits + 7) / 8 + CM_TAG_BYTES;
        return std::min(whole, length);
    }

    cm_status read_packet(const uint8_t *key, uint64_t newest, const uint8_t *bytes, size_t length, size_t at)
    {
        cm_compact_frame packet;
        const size_t whole = packet_bytes(bytes, length);
        cm_status status = cm_compact_frame_parse(bytes, whole, &packet);
        if (status != CM_OK) {
            return status;
        }
        const uint64_t half = uint64_t{1} << 31;
        const uint64_t base = newest < half ? 0 : newest - half;
        const uint64_t counter =
            base + static_cast<uint32_t>(packet.counter_low - static_cast<uint32_t>(base));
        if (counter < base || packet.since_window > counter) {
            return CM_ERR_FRAME_TAG;
        }
        if (key) {
            status = cm_compact_frame_verify(&packet, key, static_cast<uint32_t>(counter >> 32));
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
        parts_.push_back({packet.first, packet.count, tag_before(bytes + whole), at, whole});
        return CM_OK;
    }

    static uint64_t tag_before(const uint8_t *end)
    {
        uint64_t tag = 0;
        for (unsigned i = 0; i < CM_TAG_BYTES; i++) {
            tag |= uint64_t{(end - CM_TAG_BYTES)[i]} << 8 * i;
        }
        return tag;
    }

    /* No place comes twice. */
    void finish()
    {
        std::vector<std::pair<unsigned, unsigned>> covered;
        for (const Part &part : parts_) {
            covered.emplace_back(part.place, part.count);
        }
        std::sort(covered.begin(), covered.end());
        for (size_t i = 1; i < covered.size(); i++) {
            if (covered[i].first < covered[i - 1].first + covered[i - 1].second) {
                status_ = CM_ERR_FRAME_ORDER;
            }
        }
    }

    cm_status status_ = CM_ERR_FRAME_SHORT;
    size_t failed_at_ = 0;
    unsigned set_ = 0; /* the compact set's id; 0 for frames */
    bool has_tiles_ = false;
    cm_frame first_{};
    std::vector<Part> parts_;
};

/*
 * Check many deliveries at once, without Python's lock: (params, or None for packets; tag key; newest;
 * bytes).
 */
using Given = std::tuple<nb::object, nb::bytes, uint64_t, nb::bytes>;
inline std::vector<std::unique_ptr<Delivery>> check_deliveries(const std::vector<Given> &given)
{
    struct Task {
        const Params *params;
        const uint8_t *key;
        uint64_t newest;
        const uint8_t *bytes;
        size_t length;
    };
    std::vector<Task> tasks;
    std::vector<std::unique_ptr<Delivery>> out;
    for (const auto &[params, key, newest, data] : given) {
        tasks.push_back({params.is_none() ? nullptr : nb::cast<const Params *>(params),
                         bytes_of(key, CM_TAG_KEY_BYTES, "the tag key"), newest,
                         static_cast<const uint8_t *>(data.data()), data.size()});
        out.push_back(std::make_unique<Delivery>());
    }
    const nb::gil_scoped_release released;
    for (size_t i = 0; i < tasks.size(); i++) {
        const Task &task = tasks[i];
        out[i]->read(task.params, task.key, task.newest, task.bytes, task.length);
    }
    return out;
}

/* What check_deliveries has accepted and a disk has kept: all but tags and residues is checked again. */
inline std::unique_ptr<Delivery> read_stored(const Params *params, uint64_t counter, const nb::bytes &data)
{
    auto out = std::make_unique<Delivery>();
    {
        const auto *bytes = static_cast<const uint8_t *>(data.data());
        const nb::gil_scoped_release released;
        out->read(params, nullptr, counter, bytes, data.size());
    }
    check(out->status());
    return out;
}

/* The tag of a message. */
inline nb::bytes tag_of(const nb::bytes &key, const nb::bytes &message)
{
    const uint8_t *bytes = bytes_of(key, CM_TAG_KEY_BYTES, "the tag key");
    cmi_tagger tagger;
    cmi_stream stream;
    uint32_t position[4];
    cmi_tagger_init(&tagger, bytes + 32);
    cmi_tagger_update(&tagger, static_cast<const uint8_t *>(message.data()), message.size());
    cmi_tagger_finish(&tagger, position);
    cmi_stream_set_key(&stream, bytes);
    cmi_stream_at(&stream, position);
    nb::bytes tag(stream.block, CM_TAG_BYTES);
    cmi_wipe(&tagger, sizeof tagger);
    cmi_wipe(&stream, sizeof stream);
    return tag;
}

} // namespace ciphermote

#endif
