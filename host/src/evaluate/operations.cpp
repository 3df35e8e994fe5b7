// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "coprocessor/offload.h"
#include "evaluate/addable.h"
#include "evaluate/integer_product.h"
#include "evaluate/key_switching.h"
#include "evaluate/scratch.h"
#include "rns/level.h"
#include "rns/polynomials.h"
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
    const Tables &t = tables_of(a);
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

struct Shape {
    unsigned components, primes;
    double scale;
};

// Has a result of this shape computed in out; beside it, where it is an operand, or a coprocessor may fail.
template <class Compute>
void write(Ciphertext &out, bool is_operand, const std::shared_ptr<const Context> &context,
           const Shape &shape, Compute compute)
{
    Ciphertext beside;
    const bool apart = is_operand || tables_of(context).offload;
    Ciphertext &result = apart ? beside : out;
    reshape(result, context, shape.components, shape.primes, shape.scale);
    compute(result);
    if (apart) {
        out = std::move(beside);
    }
}

enum class Sign { plus, minus };

// Residue by residue: out may be an operand, for each is read before it is written. If it is the shorter one,
// what it lacks is added to it.
void sum(const Ciphertext &a, const Ciphertext &b, Sign sign, Ciphertext &out)
{
    check_alike(a, b);
    check_scales(a.scale(), b.scale());
    const Tables &t = tables_of(a);
    const auto operation = sign == Sign::plus ? t.kernels->add : t.kernels->subtract;
    const unsigned in_a = a.components(), in_b = b.components(), primes = a.primes();
    reshape(out, a.context(), std::max(in_a, in_b), primes, a.scale());
    for (unsigned component = 0; component < out.components(); component++) {
        for (unsigned m = 0; m < primes; m++) {
            std::uint32_t *to = polynomial(out, component, m);
            if (component < in_a && component < in_b) {
                operation(to, polynomial(a, component, m), polynomial(b, component, m), t.prime(m));
            } else if (component < in_b && sign == Sign::minus) {
                t.kernels->negate(to, polynomial(b, component, m), t.prime(m));
            } else if (const Ciphertext &longer = component < in_a ? a : b; &longer != &out) {
                std::copy_n(polynomial(longer, component, m), t.n(), to);
            }
        }
    }
}

} // namespace

void add(const Ciphertext &a, const Ciphertext &b, Ciphertext &out)
{
    sum(a, b, Sign::plus, out);
}

void subtract(const Ciphertext &a, const Ciphertext &b, Ciphertext &out)
{
    sum(a, b, Sign::minus, out);
}

void negate(const Ciphertext &a, Ciphertext &out)
{
    const Tables &t = tables_of(a);
    reshape(out, a.context(), a.components(), a.primes(), a.scale());
    for (unsigned component = 0; component < out.components(); component++) {
        for (unsigned m = 0; m < out.primes(); m++) {
            t.kernels->negate(polynomial(out, component, m), polynomial(a, component, m), t.prime(m));
        }
    }
}

void add_plain(const Ciphertext &a, const Plaintext &b, Ciphertext &out)
{
    check_plain(a, b);
    check_scales(a.scale(), b.scale());
    const Tables &t = tables_of(a);
    words scratch(addend_words(b, a.primes()));
    const std::uint32_t *const added = addend(b, a.primes(), scratch.data());
    if (&out != &a) {
        out = a;
    }
    for (unsigned m = 0; m < out.primes(); m++) {
        std::uint32_t *to = polynomial(out, 0, m);
        t.kernels->add(to, to, added + m * t.n(), t.prime(m));
    }
}

void multiply_plain(const Ciphertext &a, const Plaintext &b, Ciphertext &out)
{
    check_plain(a, b);
    const Tables &t = tables_of(a);
    reshape(out, a.context(), a.components(), a.primes(), product_scale(a, b.scale()));
    for (unsigned component = 0; component < out.components(); component++) {
        for (unsigned m = 0; m < out.primes(); m++) {
            t.kernels->multiply(polynomial(out, component, m), polynomial(a, component, m), polynomial(b, m),
                                t.prime(m));
        }
    }
}

namespace
{

using coprocessor::Operation;

// Whether the context has a coprocessor that can compute the operation; then it does. Results of a rotation
// are permuted here.
bool offloaded(const Tables &t, const Operation &operation, const SwitchingKey *key, const Ciphertext &a,
               const Ciphertext &b, Ciphertext &out)
{
    if (!t.offload) {
        return false;
    }
    const coprocessor::Offload::Call call{
        [&](const coprocessor::Polynomial &p) {
            return polynomial(p.ciphertext ? b : a, p.component, p.prime);
        },
        [&](const coprocessor::Polynomial &p) { return polynomial(out, p.component, p.prime); }};
    const std::optional<coprocessor::Key> given =
        key ? std::optional(coprocessor_key(t, *key)) : std::nullopt;
    if (!t.offload->run(t, operation, given ? &*given : nullptr, {&call, 1})) {
        return false;
    }
    if (key && !key->vectors.empty()) {
        Scratch scratch(1, t.n());
        std::uint32_t *const before = scratch.take(1)[0];
        for (unsigned component = 0; component < out.components(); component++) {
            for (unsigned m = 0; m < out.primes(); m++) {
                std::uint32_t *const to = polynomial(out, component, m);
                std::copy_n(to, t.n(), before);
                t.kernels->permute(to, before, key->vectors.data(), key->in_vector.data(), t.n());
            }
        }
    }
    return true;
}

void product_of(const Ciphertext &a, const Ciphertext &b, Ciphertext &product)
{
    const Tables &t = tables_of(a);
    if (offloaded(t, {Operation::Kind::multiply, a.primes()}, nullptr, a, b, product)) {
        return;
    }
    if (t.integers) {
        multiply_integers(product, a, b);
        return;
    }
    for (unsigned m = 0; m < product.primes(); m++) {
        std::uint32_t *const to[3] = {polynomial(product, 0, m), polynomial(product, 1, m),
                                      polynomial(product, 2, m)};
        const std::uint32_t *const left[2] = {polynomial(a, 0, m), polynomial(a, 1, m)};
        const std::uint32_t *const right[2] = {polynomial(b, 0, m), polynomial(b, 1, m)};
        t.kernels->tensor(to, left, right, t.prime(m));
    }
}

} // namespace

void multiply(const Ciphertext &a, const Ciphertext &b, Ciphertext &out)
{
    check_alike(a, b);
    check_pair(a, "multiplied");
    check_pair(b, "multiplied");
    const Shape shape{3, a.primes(), product_scale(a, b.scale())};
    write(out, &out == &a || &out == &b, a.context(), shape,
          [&](Ciphertext &product) { product_of(a, b, product); });
}

void square(const Ciphertext &a, Ciphertext &out)
{
    multiply(a, a, out);
}

namespace
{

// Switches the last polynomial of a; addend: null, or added to the result's second polynomial. The first one
// is added to its first.
void switch_last(const Ciphertext &a, const SwitchingKey &key, const std::uint32_t *addend, Ciphertext &out)
{
    write(out, &out == &a, a.context(), {2, a.primes(), a.scale()}, [&](Ciphertext &result) {
        const Operation operation{Operation::Kind::switch_last, a.primes(), a.components()};
        if (offloaded(tables_of(a), operation, &key, a, a, result)) {
            return;
        }
        const Switching switching{
            &key, {polynomial(a, 0, 0), addend}, {polynomial(result, 0, 0), polynomial(result, 1, 0)}};
        switch_keys(tables_of(a), polynomial(a, a.components() - 1, 0), a.primes(), {&switching, 1});
    });
}

} // namespace

void multiply(const Ciphertext &a, const Ciphertext &b, const EvaluationKeys &keys, Ciphertext &out)
{
    check_alike(a, b);
    check_pair(a, "multiplied");
    check_pair(b, "multiplied");
    check_context(a, keys);
    const Tables &t = tables_of(a);
    const SwitchingKey &key = relinearization_key(keys);
    const Shape shape{2, a.primes(), product_scale(a, b.scale())};
    const Operation operation{Operation::Kind::multiply_relinearize, a.primes()};
    if (t.offload && t.offload->holds(t, operation)) {
        write(out, &out == &a || &out == &b, a.context(), shape,
              [&](Ciphertext &product) { offloaded(t, operation, &key, a, b, product); });
        return;
    }
    multiply(a, b, out);
    relinearize(out, keys, out);
}

void relinearize(const Ciphertext &a, const EvaluationKeys &keys, Ciphertext &out)
{
    check_context(a, keys);
    if (a.components() == 2) {
        out = a;
        return;
    }
    switch_last(a, relinearization_key(keys), polynomial(a, 1, 0), out);
}

void rekey(const Ciphertext &a, const RekeyKey &key, Ciphertext &out)
{
    check_context(a, key);
    check_pair(a, "rekeyed");
    switch_last(a, rekeying_key(key), nullptr, out);
}

namespace
{

// Divide by the last `count` primes and round.
void divide(const Ciphertext &a, unsigned count, double scale, Ciphertext &out)
{
    const Tables &t = tables_of(a);
    const unsigned left = a.primes() - count;
    const Divisor &last = t.divisors[count - 1][left - 1];
    write(out, &out == &a, a.context(), {a.components(), left, scale}, [&](Ciphertext &result) {
        if (offloaded(t, {Operation::Kind::divide, a.primes(), a.components(), count}, nullptr, a, a,
                      result)) {
            return;
        }
        Scratch scratch(count + 1, t.n());
        const Polynomials digits = scratch.take(count);
        std::uint32_t *const lifted = scratch.take(1)[0];
        for (unsigned component = 0; component < a.components(); component++) {
            std::uint32_t *parts[most_group_primes];
            const std::uint32_t *values[most_group_primes];
            for (unsigned i = 0; i < count; i++) {
                parts[i] = digits[i];
                values[i] = polynomial(a, component, left + i);
            }
            last.primes.values_to_digits(*t.kernels, parts, values, count);
            for (unsigned m = 0; m < left; m++) {
                last.primes.lift_to_values(*t.kernels, lifted, parts, count, m);
                t.kernels->subtract_scale(polynomial(result, component, m), polynomial(a, component, m),
                                          lifted, last.inverse[m], t.prime(m));
            }
        }
    });
}

void leave_out(const Ciphertext &a, unsigned count, Ciphertext &out)
{
    const unsigned left = a.primes() - count;
    write(out, &out == &a, a.context(), {a.components(), left, a.scale()}, [&](Ciphertext &result) {
        for (unsigned component = 0; component < a.components(); component++) {
            std::copy_n(polynomial(a, component, 0), left * a.context()->n(),
                        polynomial(result, component, 0));
        }
    });
}

} // namespace

void rescale(const Ciphertext &a, unsigned count, Ciphertext &out)
{
    const Tables &t = tables_of(a);
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
    divide(a, count, a.scale() / divisor, out);
}

void mod_switch(const Ciphertext &a, unsigned count, Ciphertext &out)
{
    if (count >= a.primes()) {
        throw Error("The ciphertext has " + primes_of(a.primes()) + " and is to lose " +
                    std::to_string(count) + ": one must be left.");
    }
    const Tables &t = tables_of(a);
    if (count == 0) {
        out = a;
    } else if (!t.integers) {
        check_scale_fits(t, a.primes() - count, a.scale());
        leave_out(a, count, out);
    } else {
        const unsigned left = a.primes() - count;
        divide(a, std::min(count, most_group_primes), 1, out);
        while (out.primes() > left) {
            divide(out, std::min(out.primes() - left, most_group_primes), 1, out);
        }
    }
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

void check_rotation(const Ciphertext &a, const EvaluationKeys &keys)
{
    check_context(a, keys);
    check_pair(a, "rotated");
    check_batches(tables_of(a), "rotations");
}

void apply(const Ciphertext &a, std::uint32_t element, const EvaluationKeys &keys, Ciphertext &out)
{
    check_rotation(a, keys);
    if (element == 1) {
        out = a;
        return;
    }
    switch_last(a, galois_key(keys, element), nullptr, out);
}

} // namespace

void rotate(const Ciphertext &a, int step, const EvaluationKeys &keys, Ciphertext &out)
{
    apply(a, galois_element(*a.context(), step), keys, out);
}

void conjugate(const Ciphertext &a, const EvaluationKeys &keys, Ciphertext &out)
{
    apply(a, static_cast<std::uint32_t>(2 * a.context()->n() - 1), keys, out);
}

std::vector<Ciphertext> rotate_hoisted(const Ciphertext &a, std::span<const int> steps,
                                       const EvaluationKeys &keys)
{
    check_rotation(a, keys);
    std::vector<Ciphertext> out(steps.size());
    std::vector<Switching> switchings;
    for (std::size_t i = 0; i < steps.size(); i++) {
        const std::uint32_t element = galois_element(*a.context(), steps[i]);
        if (element == 1) {
            out[i] = a;
            continue;
        }
        const SwitchingKey &key = galois_key(keys, element);
        reshape(out[i], a.context(), 2, a.primes(), a.scale());
        switchings.push_back(
            {&key, {polynomial(a, 0, 0), nullptr}, {polynomial(out[i], 0, 0), polynomial(out[i], 1, 0)}});
    }
    if (!switchings.empty()) {
        switch_keys(tables_of(a), polynomial(a, 1, 0), a.primes(), switchings);
    }
    return out;
}

} // namespace ciphermote
