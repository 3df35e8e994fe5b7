// SPDX-License-Identifier: Apache-2.0
// Words that sentences for people share.
#ifndef CM_HOST_RNS_WORDS_H
#define CM_HOST_RNS_WORDS_H

#include <string>

namespace ciphermote
{

// As in 1 prime, 2 primes.
inline std::string primes_of(unsigned count)
{
    return std::to_string(count) + (count == 1 ? " prime" : " primes");
}

} // namespace ciphermote

#endif
