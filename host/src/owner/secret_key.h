// SPDX-License-Identifier: Apache-2.0
// What a secret key holds.
#ifndef CM_HOST_OWNER_SECRET_KEY_H
#define CM_HOST_OWNER_SECRET_KEY_H

#include "owner/radix.h"
#include "owner/secrets.h"
#include "rns/inside.h"

namespace ciphermote
{

const std::uint32_t *values_of(const SecretKey &secret, unsigned prime); // at each prime after it, too
const Radix &radix_of(const SecretKey &secret);

// Small coefficients' values at a prime.
void to_values(const Tables &t, const std::int8_t *coefficients, unsigned prime, std::uint32_t *values);
// Error unless both are of one context.
void check_contexts(const std::shared_ptr<const Context> &key, const std::shared_ptr<const Context> &other);

} // namespace ciphermote

#endif
