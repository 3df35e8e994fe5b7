// SPDX-License-Identifier: Apache-2.0
// What a secret key holds.
#ifndef CM_HOST_OWNER_SECRET_KEY_H
#define CM_HOST_OWNER_SECRET_KEY_H

#include "owner/radix.h"
#include "owner/secrets.h"
#include "rns/tables.h"

namespace ciphermote
{

struct SecretKey::Body {
    secret_array<std::int8_t> coefficients;
    secret_array<std::uint32_t> values; // [data + special primes][n]
    Radix radix;

    explicit Body(const Context::Tables &t) : coefficients(t.n()), values(t.all() * t.n()), radix(t)
    {
    }
    const std::uint32_t *at(const Context::Tables &t, unsigned prime) const
    {
        return values.data() + prime * t.n();
    }
};

// Small coefficients' values at a prime.
void to_values(const Context::Tables &t, const std::int8_t *coefficients, unsigned prime,
               std::uint32_t *values);
// Error unless both are of one context.
void check_contexts(const std::shared_ptr<const Context> &key, const std::shared_ptr<const Context> &other);

} // namespace ciphermote

#endif
