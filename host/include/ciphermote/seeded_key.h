// SPDX-License-Identifier: Apache-2.0
// Public and key-switch keys as they are kept and sent: their uniform halves are a seed. All of it is public.
#ifndef CIPHERMOTE_SEEDED_KEY_H
#define CIPHERMOTE_SEEDED_KEY_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ciphermote/context.h"

namespace ciphermote
{

// Pairs of polynomials at all primes, data and special: one for a public key, one a digit for a key-switch
// key. Of each pair the first polynomial is here; the second is uniform: at prime m (0 .. data + special - 1)
// of pair j it is the residues that the seed's ChaCha20 stream of nonce {1, j (data + special) + m, 0} holds
// in its fields of as many bits as the prime, low bits first, where fields that are not below the prime are
// skipped (docs/encoding.md).
class SeededKey
{
  public:
    static constexpr std::size_t seed_bytes = 32;

    // first: uint32 [pairs][data + special primes][n], values in SEAL's order. Error unless there are 32
    // bytes of seed, and one pair or as many as the chain has digits, every residue below its prime.
    SeededKey(std::shared_ptr<const Context> context, std::span<const std::uint8_t> seed,
              std::span<const std::uint32_t> first);
    ~SeededKey();
    SeededKey(SeededKey &&) noexcept;
    SeededKey &operator=(SeededKey &&) noexcept;

    const std::shared_ptr<const Context> &context() const;
    unsigned pairs() const;
    std::span<const std::uint8_t> seed() const;
    std::span<const std::uint32_t> first() const;
    // uint32 [pairs][2][data + special primes][n]: what EvaluationKeys and, of one pair, PublicKey take.
    std::vector<std::uint32_t> expanded() const;

  private:
    friend struct Inside;
    struct Body;
    explicit SeededKey(std::unique_ptr<Body> body);
    std::unique_ptr<Body> body_;
};

} // namespace ciphermote

#endif
