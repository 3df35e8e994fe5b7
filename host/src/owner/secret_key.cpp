// SPDX-License-Identifier: Apache-2.0
#include "owner/secret_key.h"

#include <string>

namespace ciphermote
{

void to_values(const Context::Tables &t, const std::int8_t *coefficients, unsigned prime,
               std::uint32_t *values)
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

namespace
{

void set_values(const Context::Tables &t, SecretKey::Body &body)
{
    for (unsigned m = 0; m < t.all(); m++) {
        to_values(t, body.coefficients.data(), m, body.values.data() + m * t.n());
    }
}

} // namespace

SecretKey::SecretKey(std::shared_ptr<const Context> context, Entropy &entropy)
    : context_(held(context)), body_(std::make_unique<Body>(context_->tables()))
{
    const StackWiper wiper;
    const Context::Tables &t = context_->tables();
    sample_ternary(entropy.draw(), t.n(), body_->coefficients.data());
    set_values(t, *body_);
}

SecretKey::SecretKey(std::shared_ptr<const Context> context, std::span<const std::int8_t> coefficients)
    : context_(held(context))
{
    const StackWiper wiper;
    const Context::Tables &t = context_->tables();
    if (coefficients.size() != t.n()) {
        throw Error(std::to_string(coefficients.size()) + " coefficients of a secret key are given: this " +
                    "chain's have " + std::to_string(t.n()) + ".");
    }
    body_ = std::make_unique<Body>(t);
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
    set_values(t, *body_);
}

SecretKey::~SecretKey() = default;
SecretKey::SecretKey(SecretKey &&) noexcept = default;
SecretKey &SecretKey::operator=(SecretKey &&) noexcept = default;

std::span<const std::int8_t> SecretKey::coefficients() const
{
    return held(body_)->coefficients;
}

std::span<const std::uint32_t> SecretKey::residues() const
{
    return held(body_)->values;
}

} // namespace ciphermote
