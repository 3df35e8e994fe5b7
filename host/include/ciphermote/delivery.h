// SPDX-License-Identifier: Apache-2.0
// What devices send, as a gateway receives it: every byte is checked before anything uses it.
#ifndef CIPHERMOTE_DELIVERY_H
#define CIPHERMOTE_DELIVERY_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ciphermote/ciphertext.h"
#include "ciphermote/frame.h"

namespace ciphermote
{

/*
 * The frames of one ciphertext, one behind the other in any order, or packets of the compact lane. All parts
 * agree: on the device, the epoch, the counter, the window and the random bytes, and frames on the header
 * fields that describe a ciphertext.
 */
class Delivery
{
  public:
    struct Part {
        unsigned place;     // frames: 0 the seed, then [component][prime][tile]; packets: the first position
        unsigned count;     // packets: of positions; frames: 1
        std::uint64_t tag;  // 0 in frames of version 1, which have none
        std::size_t at;     // where the part begins, in bytes
        std::size_t length; // in bytes
        std::size_t payload_at, payload_length; // frames: of the seed, or of packed residues
    };

    /*
     * Parses all parts. params: of frames; null for packets. tag_key: CM_TAG_KEY_BYTES, with which tags are
     * verified, and residues are checked to be below their primes; null where both were checked before, or
     * are checked by read_ciphertext. newest: the highest counter that this device is known to have used; a
     * packet's counter is the one nearest to it.
     * status() tells the outcome: the C library's, or CM_ERR_FRAME_FOREIGN if parts do not agree,
     * CM_ERR_FRAME_ORDER if a place comes twice, CM_ERR_FRAME_SEED if a seed is zero or does not begin with
     * the random bytes of its header.
     */
    void read(const cm_params *params, const std::uint8_t *tag_key, std::uint64_t newest,
              std::span<const std::uint8_t> bytes);

    cm_status status() const
    {
        return status_;
    }
    std::size_t failed_at() const // where the part begins that was refused
    {
        return failed_at_;
    }
    const cm_frame &first() const // its header stands for all; valid if status() is CM_OK
    {
        return first_;
    }
    unsigned set() const // the compact set's id; 0 for frames
    {
        return set_;
    }
    std::uint64_t counter() const
    {
        return first_.info.counter;
    }
    std::uint64_t window() const
    {
        return first_.info.counter - first_.since_window;
    }
    double scale() const; // CKKS's; 1 for BFV
    bool seeded() const   // whether a seed stands for the second polynomial
    {
        return first_.info.xof != CM_XOF_NONE;
    }
    std::uint64_t tags() const; // the sum of all tags, modulo 2^64
    unsigned covered() const;   // how many places the parts take, which do not overlap
    unsigned places() const;    // how many a whole set of such frames has; 0 for packets, which do not say
    std::array<std::uint8_t, 24> agreed() const; // what all frames of a set share, for comparison
    const std::vector<Part> &parts() const
    {
        return parts_;
    }

  private:
    cm_status read_frame(const cm_params *params, const std::uint8_t *tag_key,
                         std::span<const std::uint8_t> bytes, std::size_t at);
    cm_status read_packet(const std::uint8_t *tag_key, std::uint64_t newest,
                          std::span<const std::uint8_t> bytes, std::size_t at);
    bool same_attempt(const cm_frame &frame);
    bool same_sender(const cm_frame &frame) const;
    bool overlaps() const;

    cm_status status_ = CM_ERR_FRAME_SHORT;
    std::size_t failed_at_ = 0;
    unsigned set_ = 0;
    bool has_tiles_ = false;
    cm_frame first_{};
    std::vector<Part> parts_;
};

/*
 * The ciphertext in a whole delivery of frames, whose bytes these are. The residues are checked and a seed is
 * expanded. CM_ERR_FRAME_SHORT if a frame is missing, CM_ERR_RESIDUE if a residue is not below its prime,
 * CM_ERR_PARAMS if the context is of another chain or plain modulus, CM_ERR_SCALE for a scale that the
 * modulus has no room for.
 * out: replaced; it holds nothing unless CM_OK is returned. Memory of the same shape is used again.
 */
cm_status read_ciphertext(const std::shared_ptr<const Context> &context, const Delivery &delivery,
                          std::span<const std::uint8_t> bytes, Ciphertext &out);

} // namespace ciphermote

#endif
