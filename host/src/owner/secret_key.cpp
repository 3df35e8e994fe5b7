// SPDX-License-Identifier: Apache-2.0
#include "owner/secret_key.h"

#include <string>

namespace ciphermote
{

struct SecretKey::Body {
    std::shared_ptr<const Context> context;
    secret_array<std::int8_t> coefficients;
    secret_array<std::uint32_t> values; // [data + special primes][n]
    Radix radix;

    explicit Body(const std::shared_ptr<const Context> &of)
        : context(of), coefficients(of->n()), values(tables_of(of).all() * of->n()), radix(tables_of(of))
    {
    }
    void set_values()
    {
        const Tables &t = tables_of(context);
        for (unsigned m = 0; m < t.all(); m++) {
            to_values(t, coefficients.data(), m, values.data() + m * t.n());
        }
    }
};

const std::uint32_t *values_of(const SecretKey &secret, unsigned prime)
{
    const auto &body = Inside::body(secret);
    return body.values.data() + prime * body.context->n();
}

const Radix &radix_of(const SecretKey &secret)
{
    return Inside::body(secret).radix;
}

void to_values(const Tables &t, const std::int8_t *coefficients, unsigned prime, std::uint32_t *values)
{
    for (std::size_t i = 0; i < t.n(); i++) {
        values[i] = static_cast<std::uint32_t>(std::int32_t{coefficients[i]});
    }
    t.kernels->ntt_forward(values, t.prime(prime));
}

void check_contexts(const std::shared_ptr<const Context> &key, const std::shared_ptr<const Context> &other)
{
    if (!go_together(key, other)) {
        throw Error("The key and what it is used with are of two contexts: make both with one.");
    }
}

SecretKey::SecretKey(std::shared_ptr<const Context> context, Entropy &entropy)
    : body_(std::make_unique<Body>(held(context)))
{
    const StackWiper wiper;
    sample_ternary(draw(entropy), context->n(), body_->coefficients.data());
    body_->set_values();
}

SecretKey::SecretKey(std::shared_ptr<const Context> context, std::span<const std::int8_t> coefficients)
{
    const StackWiper wiper;
    const Tables &t = tables_of(context);
    if (coefficients.size() != t.n()) {
        throw Error(std::to_string(coefficients.size()) + " coefficients of a secret key are given: this " +
                    "chain's have " + std::to_string(t.n()) + ".");
    }
    body_ = std::make_unique<Body>(context);
    unsigned any = 0, outside = 0;
    for (std::size_t i = 0; i < t.n(); i++) {
        const unsigned digit = static_cast<std::uint8_t>(coefficients[i] + 1); // 0, 1 or 2
        any |= digit ^ 1;
        outside |= (digit & 0xFC) | (digit & digit >> 1 & 1);
        body_->coefficients[i] = coefficients[i];
    }
    if (cmi_declassified(any == 0 || outside != 0)) { // whether they are a key at all
        throw Error("The coefficients are not all -1, 0 and 1, or all of them are 0: give those of a ternary "
                    "secret key.");
    }
    body_->set_values();
}

SecretKey::~SecretKey() = default;
SecretKey::SecretKey(SecretKey &&) noexcept = default;
SecretKey &SecretKey::operator=(SecretKey &&) noexcept = default;

const std::shared_ptr<const Context> &SecretKey::context() const
{
    return held(body_)->context;
}

std::span<const std::int8_t> SecretKey::coefficients() const
{
    return held(body_)->coefficients;
}

std::span<const std::uint32_t> SecretKey::residues() const
{
    return held(body_)->values;
}

} // namespace ciphermote
