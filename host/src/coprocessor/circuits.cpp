// SPDX-License-Identifier: Apache-2.0
#include "coprocessor/circuits.h"

#include <algorithm>
#include <array>
#include <map>

namespace ciphermote::coprocessor
{

namespace
{

// The centred mixed-radix digits of a group's number (rns/group.h), each with half its prime added, so that
// it is a residue.
struct Digits {
    const Group *group;
    std::vector<Value> parts;
};

class Builder
{
  public:
    Builder(const Tables &t, const Operation &operation, unsigned montgomery_bits)
        : t_(t), operation_(operation),
          primes_(operation.primes), circuit_{Graph(moduli_of(t), montgomery_bits), {}, {}},
          graph_(circuit_.graph)
    {
    }

    Circuit build()
    {
        switch (operation_.kind) {
        case Operation::Kind::multiply:
            t_.integers ? multiply_integers() : multiply();
            break;
        case Operation::Kind::multiply_relinearize:
            t_.integers ? multiply_integers() : multiply();
            break;
        case Operation::Kind::switch_last:
            switch_last();
            break;
        case Operation::Kind::divide:
            divide();
            break;
        }
        return std::move(circuit_);
    }

  private:
    // What a result is besides what key switching adds: a sum of values, and one of coefficients that is yet
    // to be transformed.
    struct Unfinished {
        Sum values, coefficients;
    };

    const Modulus &modulus(unsigned m) const
    {
        return graph_.modulus(m);
    }
    std::uint32_t negative(unsigned m, std::uint32_t x) const
    {
        return modulus(m).residue(modulus(m).q() - x);
    }
    unsigned auxiliary_index(unsigned j) const
    {
        return t_.all() + j;
    }
    bool relinearizes() const
    {
        return operation_.kind == Operation::Kind::multiply_relinearize;
    }

    // Operands arrive in the order in which they are first asked for.
    Value operand(unsigned ciphertext, unsigned component, unsigned prime)
    {
        const auto [at, is_new] = operands_.try_emplace({ciphertext, component, prime});
        if (is_new) {
            const bool second = ciphertext == 1 || addend(component);
            at->second = graph_.operand(prime, second ? Memory::b : Memory::a);
            circuit_.operands.push_back({ciphertext, component, prime});
        }
        return at->second;
    }
    bool addend(unsigned component) const
    {
        return operation_.kind == Operation::Kind::switch_last && component + 1 < operation_.components;
    }
    void send(Value value, unsigned component, unsigned prime)
    {
        graph_.send(value);
        circuit_.results.push_back({0, component, prime});
    }

    Sum scaled(Value value, std::uint32_t weight = 1) const
    {
        return Sum().add(value, weight);
    }

    // ---- base conversion ----

    Value quotient(const Extension &extension, const std::vector<Value> &places)
    {
        return graph_.quotient(places, extension.reciprocals(), extension.shift());
    }
    // At modulus m, target number `target` of the extension.
    Sum extended(const Extension &extension, unsigned target, unsigned m, const std::vector<Value> &places,
                 Value quotient, bool negated = false) const
    {
        const Modulus &at = modulus(m);
        const std::uint32_t plain = at.inverse(at.residue(std::uint64_t{1} << 32));
        Sum sum;
        for (unsigned i = 0; i <= places.size(); i++) {
            const std::uint32_t weight = at.multiply(extension.montgomery_weight(target, i), plain);
            sum.add(i < places.size() ? places[i] : quotient, negated ? negative(m, weight) : weight);
        }
        return sum;
    }

    // ---- digits ----

    // The digits of the number whose values at the first primes of a group are given.
    Digits digits(const Group &group, const std::vector<Sum> &values)
    {
        Digits found{&group, {}};
        for (unsigned i = 0; i < values.size(); i++) {
            const unsigned m = group.first() + i;
            const Modulus &own = modulus(m);
            const Value coefficients = graph_.transform(m, true, values[i]);
            // (.. ((x - v_0) r_0 - v_1) r_1 ..), with r_j the inverse of prime j, and v_j a part less half.
            std::uint32_t weight = 1, offset = own.q() / 2;
            Sum sum;
            for (unsigned j = i; j-- > 0;) {
                const Modulus &lower = modulus(group.first() + j);
                weight = own.multiply(weight, own.inverse(own.residue(lower.q())));
                sum.add(found.parts[j], negative(m, weight));
                offset =
                    own.residue(offset + std::uint64_t{own.multiply(weight, own.residue(lower.q() / 2))});
            }
            found.parts.push_back(graph_.sum(m, sum.add(coefficients, weight).add_constant(offset)));
        }
        return found;
    }
    // The number times a factor, modulo m.
    Sum lifted(const Digits &digits, unsigned m, std::uint32_t factor = 1) const
    {
        const Modulus &at = modulus(m);
        std::uint32_t offset = 0;
        Sum sum;
        for (unsigned i = 0; i < digits.parts.size(); i++) {
            const std::uint32_t weight = at.multiply(factor, digits.group->product(m, i));
            const std::uint32_t half = at.residue(modulus(digits.group->first() + i).q() / 2);
            sum.add(digits.parts[i], weight);
            offset = at.residue(std::uint64_t{offset} + negative(m, at.multiply(weight, half)));
        }
        return sum.add_constant(offset);
    }

    // ---- key switching (evaluate/key_switching.cpp) ----

    unsigned count_of(const Group &digit) const
    {
        return std::min(digit.count(), primes_ - digit.first());
    }

    // Products of the digits' values at a modulus with the key.
    Sum key_sum(const std::vector<Value> &values, unsigned component, unsigned m)
    {
        Sum sum;
        for (unsigned digit = 0; digit < values.size(); digit++) {
            sum.add_product(values[digit], graph_.key(m, key_index(t_, digit, component, m)));
        }
        return sum;
    }

    // Switches c, values at each prime, and completes both components of the result.
    void switch_keys(const std::vector<Value> &c, const std::vector<std::array<Unfinished, 2>> &unfinished)
    {
        std::vector<Digits> all;
        for (const Group &group : t_.digits) {
            if (group.first() < primes_) {
                std::vector<Sum> values;
                for (unsigned i = 0; i < count_of(group); i++) {
                    values.push_back(scaled(c[group.first() + i]));
                }
                all.push_back(digits(group, values));
            }
        }
        const auto values_at = [&](unsigned m) {
            std::vector<Value> values;
            for (const Digits &digit : all) {
                const bool own = m >= digit.group->first() && m < digit.group->first() + digit.parts.size();
                values.push_back(
                    own ? c[m]
                        : graph_.sum(m, scaled(graph_.transform(m, false, lifted(digit, m))), Memory::a));
            }
            return values;
        };
        std::array<std::vector<Sum>, 2> special;
        for (unsigned s = 0; s < t_.special->count(); s++) {
            const unsigned m = t_.data() + s;
            const std::vector<Value> values = values_at(m);
            for (unsigned component = 0; component < 2; component++) {
                special[component].push_back(key_sum(values, component, m));
            }
        }
        std::vector<std::vector<Value>> values;
        for (unsigned m = 0; m < primes_; m++) {
            values.push_back(values_at(m));
        }
        for (unsigned component = 0; component < 2; component++) {
            const Digits remainder = digits(*t_.special, special[component]);
            for (unsigned m = 0; m < primes_; m++) {
                const Unfinished &rest = unfinished[m][component];
                const Sum correction =
                    lifted(remainder, m, negative(m, t_.p_inverse[m])).add(rest.coefficients);
                const Value corrected = graph_.transform(m, false, correction);
                send(graph_.sum(m, key_sum(values[m], component, m).add(rest.values).add(corrected)),
                     component, m);
            }
        }
    }

    void switch_last()
    {
        const unsigned last = operation_.components - 1;
        std::vector<Value> c;
        for (unsigned m = 0; m < primes_; m++) {
            c.push_back(operand(0, last, m));
        }
        std::vector<std::array<Unfinished, 2>> unfinished(primes_);
        for (unsigned component = 0; component < last; component++) {
            for (unsigned m = 0; m < primes_; m++) {
                unfinished[m][component].values.add(operand(0, component, m));
            }
        }
        switch_keys(c, unfinished);
    }

    // ---- products ----

    // The sum of products with which component of a product begins; b: times R, in memory B.
    static Sum tensor(unsigned component, const std::array<Value, 2> &a, const std::array<Value, 2> &b)
    {
        Sum sum;
        for (unsigned i = 0; i < 2; i++) {
            if (component >= i && component - i < 2) {
                sum.add_product(a[i], b[component - i]);
            }
        }
        return sum;
    }

    // Sends the three components of a product, or relinearizes them.
    void finish_product(const std::vector<std::array<Unfinished, 3>> &product)
    {
        const auto finished = [&](unsigned component, unsigned m, std::optional<Memory> memory) {
            const Unfinished &from = product[m][component];
            Sum sum = from.values;
            if (!from.coefficients.operands().empty()) {
                sum.add(graph_.transform(m, false, from.coefficients));
            }
            return graph_.sum(m, sum, memory);
        };
        if (!relinearizes()) {
            for (unsigned component = 0; component < 3; component++) {
                for (unsigned m = 0; m < primes_; m++) {
                    send(finished(component, m, {}), component, m);
                }
            }
            return;
        }
        std::vector<Value> last;
        std::vector<std::array<Unfinished, 2>> others;
        for (unsigned m = 0; m < primes_; m++) {
            last.push_back(finished(2, m, Memory::a));
            others.push_back({product[m][0], product[m][1]});
        }
        switch_keys(last, others);
    }

    void multiply()
    {
        std::vector<std::array<Unfinished, 3>> product(primes_);
        for (unsigned m = 0; m < primes_; m++) {
            std::array<Value, 2> a{}, b{};
            for (unsigned component = 0; component < 2; component++) {
                b[component] = graph_.sum(m, scaled(operand(1, component, m), graph_.r(m)), Memory::b);
                a[component] = operand(0, component, m);
            }
            for (unsigned component = 0; component < 3; component++) {
                product[m][component].values = tensor(component, a, b);
            }
        }
        finish_product(product);
    }

    // ---- BFV's product (rns/integers.h, evaluate/integer_product.cpp) ----

    // Places of an operand's component at the data primes, times factors.
    std::vector<Value> places(unsigned ciphertext, unsigned component,
                              const std::vector<arch::factor> &factors)
    {
        std::vector<Value> found;
        for (unsigned m = 0; m < primes_; m++) {
            const Value coefficients = graph_.transform(m, true, scaled(operand(ciphertext, component, m)));
            found.push_back(graph_.sum(m, scaled(coefficients, modulus(m).residue_of(factors[m]))));
        }
        return found;
    }

    struct Second {
        std::vector<Value> at_auxiliary, at_data; // times R; at data primes times t / P as well
    };

    Value transformed(unsigned m, const Sum &coefficients, std::uint32_t factor, Memory memory)
    {
        return graph_.sum(m, scaled(graph_.transform(m, false, coefficients), factor), memory);
    }

    Second second(const ProductLevel &level, unsigned component)
    {
        const std::vector<Value> from = places(1, component, level.second);
        const Value v = quotient(level.scaled, from);
        std::vector<Value> scaled_places;
        Second found;
        for (unsigned j = 0; j < level.auxiliary; j++) {
            const unsigned m = auxiliary_index(j);
            scaled_places.push_back(graph_.sum(m, extended(level.scaled, j, m, from, v)));
            found.at_auxiliary.push_back(
                transformed(m, scaled(scaled_places.back()), graph_.r(m), Memory::b));
        }
        const Value u = quotient(level.to_data, scaled_places);
        for (unsigned m = 0; m < primes_; m++) {
            const std::uint32_t t_over_p = modulus(m).residue_of(level.t_over_p[m]);
            found.at_data.push_back(transformed(m, extended(level.to_data, m, m, scaled_places, u),
                                                modulus(m).multiply(graph_.r(m), t_over_p), Memory::b));
        }
        return found;
    }

    std::vector<Value> first(const ProductLevel &level, unsigned component)
    {
        const std::vector<Value> from = places(0, component, level.first);
        const Value v = quotient(level.to_auxiliary, from);
        std::vector<Value> found;
        for (unsigned j = 0; j < level.auxiliary; j++) {
            const unsigned m = auxiliary_index(j);
            found.push_back(transformed(m, extended(level.to_auxiliary, j, m, from, v), 1, Memory::a));
        }
        return found;
    }

    void multiply_integers()
    {
        const ProductLevel &level = t_.integers->levels[primes_ - 1];
        const std::array<Second, 2> b{second(level, 0), second(level, 1)};
        const std::array<std::vector<Value>, 2> a{first(level, 0), first(level, 1)};
        std::vector<std::array<Unfinished, 3>> product(primes_);
        for (unsigned component = 3; component-- > 0;) { // relinearization begins with the last one
            std::vector<Value> remainder;
            for (unsigned j = 0; j < level.auxiliary; j++) {
                const unsigned m = auxiliary_index(j);
                const Sum sum =
                    tensor(component, {a[0][j], a[1][j]}, {b[0].at_auxiliary[j], b[1].at_auxiliary[j]});
                remainder.push_back(graph_.sum(m, scaled(graph_.transform(m, true, sum))));
            }
            const Value v = quotient(level.remainder, remainder);
            for (unsigned m = 0; m < primes_; m++) {
                Unfinished &to = product[m][component];
                to.coefficients = extended(level.remainder, m, m, remainder, v, true);
                to.values = tensor(component, {operand(0, 0, m), operand(0, 1, m)},
                                   {b[0].at_data[m], b[1].at_data[m]});
            }
        }
        finish_product(product);
    }

    // ---- division by the last primes, rounded (evaluate/operations.cpp) ----

    void divide()
    {
        const unsigned left = primes_ - operation_.count;
        const Divisor &last = t_.divisors[operation_.count - 1][left - 1];
        for (unsigned component = 0; component < operation_.components; component++) {
            std::vector<Sum> values;
            for (unsigned m = left; m < primes_; m++) {
                values.push_back(scaled(operand(0, component, m)));
            }
            const Digits remainder = digits(last.primes, values);
            for (unsigned m = 0; m < left; m++) {
                const std::uint32_t inverse = modulus(m).residue_of(last.inverse[m]);
                const Value lift = graph_.transform(m, false, lifted(remainder, m, negative(m, inverse)));
                send(graph_.sum(m, scaled(operand(0, component, m), inverse).add(lift)), component, m);
            }
        }
    }

    const Tables &t_;
    const Operation &operation_;
    unsigned primes_;
    Circuit circuit_;
    Graph &graph_;
    std::map<std::array<unsigned, 3>, Value> operands_;
};

} // namespace

std::vector<const Modulus *> moduli_of(const Tables &t)
{
    std::vector<const Modulus *> moduli;
    for (const Modulus &modulus : t.moduli) {
        moduli.push_back(&modulus);
    }
    if (t.integers) {
        for (const Modulus &modulus : t.integers->auxiliary) {
            moduli.push_back(&modulus);
        }
    }
    return moduli;
}

unsigned key_index(const Tables &t, unsigned digit, unsigned component, unsigned modulus)
{
    return (digit * 2 + component) * t.all() + modulus;
}

Circuit circuit(const Tables &t, const Operation &operation, unsigned montgomery_bits)
{
    return Builder(t, operation, montgomery_bits).build();
}

} // namespace ciphermote::coprocessor
