// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <string>

#include "evaluate/addable.h"
#include "evaluate/integer_product.h"
#include "evaluate/key_switching.h"
#include "evaluate/scratch.h"
#include "rns/level.h"
#include "rns/words.h"

namespace ciphermote
{

void check_primes(unsigned a, unsigned b)
{
    if (a != b) {
        throw Error("The ciphertexts have " + std::to_string(a) + " and " + std::to_string(b) +
                    " primes: drop the last ones of the longer (mod_switch).");
    }
}

void check_scales(double a, double b)
{
    if (std::abs(a / b - 1) > 0x1p-40) {
        throw Error("The scales are 2^" + std::to_string(std::log2(a)) + " and 2^" +
                    std::to_string(std::log2(b)) + ": sums need one scale.");
    }
}

namespace
{

void check_alike(const Ciphertext &a, const Ciphertext &b)
{
    if (!go_together(a.context(), b.context())) {
        throw Error("The ciphertexts are of two contexts: make both with one.");
    }
    check_primes(a.primes(), b.primes());
}

void check_plain(const Ciphertext &a, const Plaintext &b)
{
    if (!go_together(a.context(), b.context())) {
        throw Error("Ciphertext and plaintext are of two contexts: make both with one.");
    }
    if (b.primes() < a.primes()) {
        throw Error("The plaintext has " + primes_of(b.primes()) + " and the ciphertext " +
                    std::to_string(a.primes()) + ": encode at as many.");
    }
}

// The scale of a product with a factor of another scale. Error if it is not below the modulus.
double product_scale(const Ciphertext &a, double other)
{
    const Context::Tables &t = a.context()->tables();
    if (t.integers) {
        return 1;
    }
    check_scale_fits(t, a.primes(), a.scale() * other);
    return a.scale() * other;
}

void check_pair(const Ciphertext &a, const char *what)
{
    if (a.components() != 2) {
        throw Error(std::string("A product of three polynomials is to be ") + what +
                    ": relinearize it first.");
    }
}

template <class Keys> void check_context(const Ciphertext &a, const Keys &keys)
{
    if (!go_together(a.context(), keys.context())) {
        throw Error("Ciphertext and keys are of two contexts: make both with one.");
    }
}

template <class Operation>
Ciphertext sum(const Ciphertext &a, const Ciphertext &b, Operation operation, bool negated)
{
    check_alike(a, b);
    check_scales(a.scale(), b.scale());
    const Context::Tables &t = a.context()->tables();
    const Ciphertext &longer = a.components() >= b.components() ? a : b;
    Ciphertext out(a.context(), longer.components(), a.primes(), a.scale());
    for (unsigned component = 0; component < out.components(); component++) {
        for (unsigned m = 0; m < out.primes(); m++) {
            std::uint32_t *to = out.polynomial(component, m);
            const bool in_a = component < a.components(), in_b = component < b.components();
            if (in_a && in_b) {
                operation(to, a.polynomial(component, m), b.polynomial(component, m), t.prime(m));
            } else if (in_a || !negated) {
                std::copy_n(longer.polynomial(component, m), t.n(), to);
            } else {
                t.kernels->negate(to, b.polynomial(component, m), t.prime(m));
            }
        }
    }
    return out;
}

} // namespace

Ciphertext add(const Ciphertext &a, const Ciphertext &b)
{
    return sum(a, b, a.context()->tables().kernels->add, false);
}

Ciphertext subtract(const Ciphertext &a, const Ciphertext &b)
{
    return sum(a, b, a.context()->tables().kernels->subtract, true);
}

Ciphertext negate(const Ciphertext &a)
{
    const Context::Tables &t = a.context()->tables();
    Ciphertext out(a.context(), a.components(), a.primes(), a.scale());
    for (unsigned component = 0; component < out.components(); component++) {
        for (unsigned m = 0; m < out.primes(); m++) {
            t.kernels->negate(out.polynomial(component, m), a.polynomial(component, m), t.prime(m));
        }
    }
    return out;
}

Ciphertext add_plain(const Ciphertext &a, const Plaintext &b)
{
    check_plain(a, b);
    check_scales(a.scale(), b.scale());
    const Context::Tables &t = a.context()->tables();
    Ciphertext out = a;
    words scratch(b.addend_words(a.primes()));
    const std::uint32_t *const addend = b.addend(a.primes(), scratch.data());
    for (unsigned m = 0; m < a.primes(); m++) {
        t.kernels->add(out.polynomial(0, m), a.polynomial(0, m), addend + m * t.n(), t.prime(m));
    }
    return out;
}

Ciphertext multiply_plain(const Ciphertext &a, const Plaintext &b)
{
    check_plain(a, b);
    const Context::Tables &t = a.context()->tables();
    Ciphertext out(a.context(), a.components(), a.primes(), product_scale(a, b.scale()));
    for (unsigned component = 0; component < a.components(); component++) {
        for (unsigned m = 0; m < a.primes(); m++) {
            t.kernels->multiply(out.polynomial(component, m), a.polynomial(component, m), b.polynomial(m),
                                t.prime(m));
        }
    }
    return out;
}

Ciphertext multiply(const Ciphertext &a, const Ciphertext &b)
{
    check_alike(a, b);
    check_pair(a, "multiplied");
    check_pair(b, "multiplied");
    const Context::Tables &t = a.context()->tables();
    const double scale = product_scale(a, b.scale());
    Ciphertext out(a.context(), 3, a.primes(), scale);
    if (t.integers) {
        multiply_integers(out, a, b);
        return out;
    }
    for (unsigned m = 0; m < out.primes(); m++) {
        std::uint32_t *const to[3] = {out.polynomial(0, m), out.polynomial(1, m), out.polynomial(2, m)};
        const std::uint32_t *const left[2] = {a.polynomial(0, m), a.polynomial(1, m)};
        const std::uint32_t *const right[2] = {b.polynomial(0, m), b.polynomial(1, m)};
        t.kernels->tensor(to, left, right, t.prime(m));
    }
    return out;
}

Ciphertext relinearize(const Ciphertext &a, const EvaluationKeys &keys)
{
    check_context(a, keys);
    if (a.components() == 2) {
        return a;
    }
    Ciphertext out(a.context(), 2, a.primes(), a.scale());
    const Switching switching{&keys.relinearization(),
                              {a.polynomial(0, 0), a.polynomial(1, 0)},
                              {out.polynomial(0, 0), out.polynomial(1, 0)}};
    switch_keys(a.context()->tables(), a.polynomial(2, 0), a.primes(), {&switching, 1});
    return out;
}

Ciphertext rekey(const Ciphertext &a, const RekeyKey &key)
{
    check_context(a, key);
    check_pair(a, "rekeyed");
    Ciphertext out(a.context(), 2, a.primes(), a.scale());
    const Switching switching{
        &key.key(), {a.polynomial(0, 0), nullptr}, {out.polynomial(0, 0), out.polynomial(1, 0)}};
    switch_keys(a.context()->tables(), a.polynomial(1, 0), a.primes(), {&switching, 1});
    return out;
}

Ciphertext square(const Ciphertext &a)
{
    return multiply(a, a);
}

namespace
{

// Divide by the last `count` primes and round.
Ciphertext divide(const Ciphertext &a, unsigned count, double scale)
{
    const Context::Tables &t = a.context()->tables();
    const unsigned left = a.primes() - count;
    const Divisor &last = t.divisors[count - 1][left - 1];
    Ciphertext out(a.context(), a.components(), left, scale);
    Scratch scratch(count + 1, t.n());
    const Polynomials digits = scratch.take(count);
    std::uint32_t *const lifted = scratch.take(1)[0];
    for (unsigned component = 0; component < a.components(); component++) {
        std::uint32_t *parts[most_group_primes];
        const std::uint32_t *values[most_group_primes];
        for (unsigned i = 0; i < count; i++) {
            parts[i] = digits[i];
            values[i] = a.polynomial(component, left + i);
        }
        last.primes.values_to_digits(*t.kernels, parts, values, count);
        for (unsigned m = 0; m < left; m++) {
            last.primes.lift_to_values(*t.kernels, lifted, parts, count, m);
            t.kernels->subtract_scale(out.polynomial(component, m), a.polynomial(component, m), lifted,
                                      last.inverse[m], t.prime(m));
        }
    }
    return out;
}

} // namespace

Ciphertext rescale(const Ciphertext &a, unsigned count)
{
    const Context::Tables &t = a.context()->tables();
    if (t.integers) {
        throw Error("A BFV ciphertext has no scale to rescale: to bring it to fewer primes, use mod_switch.");
    }
    if (count < 1 || count > most_group_primes || count >= a.primes()) {
        throw Error("The ciphertext has " + primes_of(a.primes()) + ", and it is to be rescaled by " +
                    std::to_string(count) + ": one must be left, and 4 go at once at most.");
    }
    double divisor = 1;
    for (unsigned m = a.primes() - count; m < a.primes(); m++) {
        divisor *= t.moduli[m].q();
    }
    if (a.scale() / divisor < 1) {
        throw Error("The scale would be " + std::to_string(a.scale() / divisor) +
                    ": multiply before rescaling, or leave the primes out (mod_switch).");
    }
    return divide(a, count, a.scale() / divisor);
}

Ciphertext mod_switch(const Ciphertext &a, unsigned count)
{
    if (count >= a.primes()) {
        throw Error("The ciphertext has " + primes_of(a.primes()) + " and is to lose " +
                    std::to_string(count) + ": one must be left.");
    }
    if (a.context()->tables().integers) {
        Ciphertext divided = a;
        while (count > 0) {
            const unsigned at_once = std::min(count, most_group_primes);
            divided = divide(divided, at_once, 1);
            count -= at_once;
        }
        return divided;
    }
    check_scale_fits(a.context()->tables(), a.primes() - count, a.scale());
    Ciphertext out(a.context(), a.components(), a.primes() - count, a.scale());
    for (unsigned component = 0; component < a.components(); component++) {
        std::copy_n(a.polynomial(component, 0), out.primes() * a.context()->n(),
                    out.polynomial(component, 0));
    }
    return out;
}

std::uint32_t galois_element(const Context &context, int step)
{
    const std::int64_t slots = static_cast<std::int64_t>(context.n() / 2), order = 4 * slots;
    if (step <= -slots || step >= slots) {
        throw Error("The rotation is by " + std::to_string(step) + " slots, and there are " +
                    std::to_string(slots) + ": give a smaller step.");
    }
    std::int64_t element = 1;
    for (std::int64_t i = (step + slots) % slots; i > 0; i--) {
        element = element * 3 % order;
    }
    return static_cast<std::uint32_t>(element);
}

namespace
{

std::vector<Ciphertext> apply(const Ciphertext &a, std::span<const std::uint32_t> elements,
                              const EvaluationKeys &keys)
{
    check_context(a, keys);
    check_pair(a, "rotated");
    check_batches(a.context()->tables(), "rotations");
    std::vector<Ciphertext> out;
    std::vector<Switching> switchings;
    out.reserve(elements.size());
    for (const std::uint32_t element : elements) {
        if (element == 1) {
            out.push_back(a);
            continue;
        }
        const EvaluationKeys::Key &key = keys.galois(element);
        Ciphertext &result = out.emplace_back(a.context(), 2u, a.primes(), a.scale());
        switchings.push_back(
            {&key, {a.polynomial(0, 0), nullptr}, {result.polynomial(0, 0), result.polynomial(1, 0)}});
    }
    if (!switchings.empty()) {
        switch_keys(a.context()->tables(), a.polynomial(1, 0), a.primes(), switchings);
    }
    return out;
}

} // namespace

std::vector<Ciphertext> rotate_hoisted(const Ciphertext &a, std::span<const int> steps,
                                       const EvaluationKeys &keys)
{
    std::vector<std::uint32_t> elements;
    for (const int step : steps) {
        elements.push_back(galois_element(*a.context(), step));
    }
    return apply(a, elements, keys);
}

Ciphertext rotate(const Ciphertext &a, int step, const EvaluationKeys &keys)
{
    const std::uint32_t element = galois_element(*a.context(), step);
    return std::move(apply(a, {&element, 1}, keys).front());
}

Ciphertext conjugate(const Ciphertext &a, const EvaluationKeys &keys)
{
    const std::uint32_t element = static_cast<std::uint32_t>(2 * a.context()->n() - 1);
    return std::move(apply(a, {&element, 1}, keys).front());
}

} // namespace ciphermote
