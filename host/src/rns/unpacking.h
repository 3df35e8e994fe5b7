// SPDX-License-Identifier: Apache-2.0
// Residues as frames pack them: each in as many bits as its prime has.
#ifndef CM_HOST_RNS_UNPACKING_H
#define CM_HOST_RNS_UNPACKING_H

#include <cstdint>
#include <span>

#include "rns/memory.h"
#include "rns/tables.h"

namespace ciphermote
{

// Unpacks one polynomial after the other, each from the payloads of its tiles in order.
class Unpacking
{
  public:
    void begin()
    {
        bytes_ = 0;
    }
    void add(std::span<const std::uint8_t> payload);
    // Writes n residues at a prime. False if one is not below it. Error unless the payloads hold n residues.
    bool end(const Tables &t, unsigned prime, std::uint32_t *residues);

  private:
    words packed_; // with the slack that unpacking reads beyond
    std::size_t bytes_ = 0;
};

} // namespace ciphermote

#endif
