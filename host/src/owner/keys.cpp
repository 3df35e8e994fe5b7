// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "owner/secret_key.h"
#include "rns/polynomials.h"

namespace ciphermote
{

namespace
{

class KeyMaker
{
  public:
    KeyMaker(const SecretKey &secret, Entropy &entropy)
        : context_(secret.context()), t_(tables_of(context_)), secret_(secret), seeds_(draw(entropy)),
          noise_(t_.n()), values_(t_.n()), product_(t_.n())
    {
    }

    SeededKey public_key()
    {
        SeededKey key = seeded_key(context_, 1, seeds_.public_seed);
        encrypt_zero(key, 0);
        return key;
    }

    // target: [data primes][n], values
    SeededKey key_switch_key(const std::uint32_t *target)
    {
        const auto pairs = static_cast<unsigned>(t_.digits.size());
        SeededKey key = seeded_key(context_, pairs, seeds_.public_seed);
        for (unsigned digit = 0; digit < t_.digits.size(); digit++) {
            encrypt_zero(key, digit);
            const Group &group = t_.digits[digit];
            for (unsigned m = group.first(); m < group.first() + group.count(); m++) {
                const arch::factor p = t_.moduli[m].factor(t_.special->product(m));
                t_.kernels->scale(product_.data(), target + m * t_.n(), p, t_.prime(m));
                std::uint32_t *out = polynomial(key, digit, m);
                t_.kernels->add(out, out, product_.data(), t_.prime(m));
            }
        }
        return key;
    }

  private:
    // e - a s
    void encrypt_zero(SeededKey &key, unsigned pair)
    {
        sample_noise(seeds_, pair, t_.n(), noise_.data());
        for (unsigned m = 0; m < t_.all(); m++) {
            to_values(t_, noise_.data(), m, values_.data());
            expand(key, pair, m, product_.data());
            t_.kernels->multiply(product_.data(), product_.data(), values_of(secret_, m), t_.prime(m));
            t_.kernels->subtract(polynomial(key, pair, m), values_.data(), product_.data(), t_.prime(m));
        }
    }

    std::shared_ptr<const Context> context_;
    const Tables &t_;
    const SecretKey &secret_;
    Seeds seeds_;
    secret_array<std::int8_t> noise_;
    secret_array<std::uint32_t> values_, product_;
};

void check_switching(const Tables &t)
{
    if (!t.special) {
        throw Error("This chain has no special prime, and so no key switching: take a chain that has one.");
    }
}

} // namespace

SeededKey make_public_key(const SecretKey &secret, Entropy &entropy)
{
    const StackWiper wiper;
    return KeyMaker(secret, entropy).public_key();
}

SeededKey make_relinearization_key(const SecretKey &secret, Entropy &entropy)
{
    const StackWiper wiper;
    const Tables &t = tables_of(secret);
    check_switching(t);
    secret_array<std::uint32_t> square(t.data() * t.n());
    for (unsigned m = 0; m < t.data(); m++) {
        const std::uint32_t *s = values_of(secret, m);
        t.kernels->multiply(square.data() + m * t.n(), s, s, t.prime(m));
    }
    return KeyMaker(secret, entropy).key_switch_key(square.data());
}

SeededKey make_galois_key(const SecretKey &secret, std::uint32_t element, Entropy &entropy)
{
    const StackWiper wiper;
    const Tables &t = tables_of(secret);
    const std::size_t n = t.n();
    check_switching(t);
    if (element % 2 == 0 || element < 3 || element >= 2 * n) {
        throw Error("The Galois element " + std::to_string(element) + " is given: they are odd, from 3 to " +
                    std::to_string(2 * n - 1) + ".");
    }
    secret_array<std::int8_t> moved(n);
    secret_array<std::uint32_t> values(t.data() * n);
    for (std::size_t i = 0; i < n; i++) {
        const std::size_t exponent = i * element % (2 * n);
        const std::int8_t s = secret.coefficients()[i];
        moved[exponent % n] = exponent < n ? s : static_cast<std::int8_t>(-s);
    }
    for (unsigned m = 0; m < t.data(); m++) {
        to_values(t, moved.data(), m, values.data() + m * n);
    }
    return KeyMaker(secret, entropy).key_switch_key(values.data());
}

SeededKey make_rekey_key(const SecretKey &owner, const SecretKey &device, Entropy &entropy)
{
    const StackWiper wiper;
    check_contexts(owner.context(), device.context());
    check_switching(tables_of(owner));
    return KeyMaker(owner, entropy).key_switch_key(values_of(device, 0));
}

} // namespace ciphermote
