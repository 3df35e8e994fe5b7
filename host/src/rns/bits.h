// SPDX-License-Identifier: Apache-2.0
// Bit-reversed order.
#ifndef CM_HOST_RNS_BITS_H
#define CM_HOST_RNS_BITS_H

#include <cstddef>

namespace ciphermote
{

// The lowest `bits` bits of x in reverse.
inline std::size_t bit_reversed(std::size_t x, unsigned bits)
{
    std::size_t reversed = 0;
    for (unsigned i = 0; i < bits; i++) {
        reversed |= (x >> i & 1) << (bits - 1 - i);
    }
    return reversed;
}

} // namespace ciphermote

#endif
