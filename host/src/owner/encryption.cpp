// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "owner/secret_key.h"
#include "rns/expansion.h"
#include "rns/polynomials.h"

namespace ciphermote
{

struct PublicKey::Body {
    std::shared_ptr<const Context> context;
    words residues{}; // [2][data + special primes][n]
};

PublicKey::PublicKey(std::shared_ptr<const Context> context, std::span<const std::uint32_t> residues)
{
    const Tables &t = tables_of(context);
    if (residues.size() != 2 * t.all() * t.n()) {
        throw Error(std::to_string(residues.size()) + " residues are given, and a public key of this chain " +
                    "has " + std::to_string(2 * t.all() * t.n()) +
                    ": give [2][data + special primes][n] of them.");
    }
    Inside::fill(*this, std::move(context));
    body_->residues.assign(residues.begin(), residues.end());
    for (unsigned i = 0; i < 2 * t.all(); i++) {
        const std::uint32_t q = t.prime(i % t.all()).q;
        const std::uint32_t *polynomial = body_->residues.data() + i * t.n();
        const std::uint32_t largest = *std::max_element(polynomial, polynomial + t.n());
        if (largest == 0) {
            throw Error("A polynomial of the public key is zero at the prime " + std::to_string(q) +
                        ", which would send messages in the clear: the key is damaged.");
        }
        if (largest >= q) {
            throw Error("A residue of the public key is not below its prime " + std::to_string(q) +
                        ": the key is damaged, or of another chain.");
        }
    }
}

PublicKey::PublicKey(const SeededKey &key) : PublicKey(key.context(), key.expanded())
{
}

PublicKey::~PublicKey() = default;
PublicKey::PublicKey(PublicKey &&) noexcept = default;
PublicKey &PublicKey::operator=(PublicKey &&) noexcept = default;

const std::shared_ptr<const Context> &PublicKey::context() const
{
    return held(body_)->context;
}

// pk u + e, and the message in the first component.
void encrypt(const Plaintext &plaintext, const PublicKey &key, Entropy &entropy, Ciphertext &out)
{
    const StackWiper wiper;
    check_contexts(key.context(), plaintext.context());
    const Tables &t = tables_of(key);
    const Seeds seeds = draw(entropy);
    secret_array<std::int8_t> u(t.n()), noise(2 * t.n());
    secret_array<std::uint32_t> mask(t.n()), values(t.n());
    sample_ternary(seeds, t.n(), u.data());
    secret_array<std::uint32_t> scratch(addend_words(plaintext, plaintext.primes()));
    const std::uint32_t *const message = addend(plaintext, plaintext.primes(), scratch.data());
    const auto &residues = Inside::body(key).residues;
    reshape(out, key.context(), 2, plaintext.primes(), plaintext.scale());
    for (unsigned component = 0; component < 2; component++) {
        sample_noise(seeds, component, t.n(), noise.data() + component * t.n());
    }
    for (unsigned m = 0; m < plaintext.primes(); m++) {
        to_values(t, u.data(), m, mask.data());
        for (unsigned component = 0; component < 2; component++) {
            std::uint32_t *c = polynomial(out, component, m);
            const std::uint32_t *of_key = residues.data() + (component * t.all() + m) * t.n();
            t.kernels->multiply(c, of_key, mask.data(), t.prime(m));
            to_values(t, noise.data() + component * t.n(), m, values.data());
            t.kernels->add(c, c, values.data(), t.prime(m));
        }
        std::uint32_t *first = polynomial(out, 0, m);
        t.kernels->add(first, first, message + m * t.n(), t.prime(m));
    }
}

// (m + e - a s, a)
void encrypt(const Plaintext &plaintext, const SecretKey &secret, Entropy &entropy, Ciphertext &out)
{
    const StackWiper wiper;
    check_contexts(secret.context(), plaintext.context());
    const Tables &t = tables_of(secret);
    const Seeds seeds = draw(entropy);
    secret_array<std::int8_t> noise(t.n());
    secret_array<std::uint32_t> values(t.n()), product(t.n());
    sample_noise(seeds, 0, t.n(), noise.data());
    secret_array<std::uint32_t> scratch(addend_words(plaintext, plaintext.primes()));
    const std::uint32_t *const message = addend(plaintext, plaintext.primes(), scratch.data());
    reshape(out, secret.context(), 2, plaintext.primes(), plaintext.scale());
    for (unsigned m = 0; m < plaintext.primes(); m++) {
        std::uint32_t *first = polynomial(out, 0, m), *second = polynomial(out, 1, m);
        expand_uniform(*t.kernels, seeds.public_seed, m, t.moduli[m], second);
        t.kernels->multiply(product.data(), second, values_of(secret, m), t.prime(m));
        to_values(t, noise.data(), m, values.data());
        t.kernels->add(values.data(), values.data(), message + m * t.n(), t.prime(m));
        t.kernels->subtract(first, values.data(), product.data(), t.prime(m));
    }
}

} // namespace ciphermote
