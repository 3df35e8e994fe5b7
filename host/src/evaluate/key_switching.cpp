// SPDX-License-Identifier: Apache-2.0
#include "key_switching.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <string>

#include "evaluate/scratch.h"
#include "rns/bits.h"
#include "rns/polynomials.h"

namespace ciphermote
{

// ---- keys ----

namespace
{

/*
 * The automorphism X -> X^element on values: value i is the polynomial at psi^e(i), e(i) = 2 bitrev(i) + 1,
 * so it becomes the value at psi^(e(i) element). The lanes of a vector have exponents that differ in their
 * highest bits alone; so have their sources, which are one vector's, permuted.
 */
void set_permutation(const Tables &t, std::uint32_t element, words &vectors, words &in_vector)
{
    const unsigned lanes = t.kernels->lanes, log2_n = t.chain.log2_n;
    unsigned log2_lanes = 0;
    while (1u << log2_lanes < lanes) {
        log2_lanes++;
    }
    const std::size_t order = 2 * t.n(), step = order / lanes;
    in_vector.resize(lanes * lanes);
    for (unsigned c = 0; c < lanes; c++) {
        for (unsigned lane = 0; lane < lanes; lane++) {
            const std::size_t high = bit_reversed(lane, log2_lanes) * element + c;
            in_vector[c * lanes + lane] = static_cast<std::uint32_t>(bit_reversed(high % lanes, log2_lanes));
        }
    }
    vectors.resize(t.n() / lanes);
    for (std::size_t v = 0; v < vectors.size(); v++) {
        const std::size_t exponent = 2 * bit_reversed(v, log2_n - log2_lanes) + 1;
        const std::size_t moved = exponent * element % order;
        const std::size_t source = bit_reversed((moved % step - 1) / 2, log2_n - log2_lanes);
        vectors[v] = static_cast<std::uint32_t>(source * lanes + moved / step);
    }
}

std::uint32_t inverse_element(std::uint32_t element, std::size_t order)
{
    std::uint32_t inverse = element; // to 3 bits, and twice as many with each step
    for (int i = 0; i < 5; i++) {
        inverse *= 2 - element * inverse;
    }
    return static_cast<std::uint32_t>(inverse % order);
}

void check_switching(const Tables &t)
{
    if (!t.special) {
        throw Error("This chain has no special prime, and so no key switching: take a chain that has one.");
    }
}

void check_element(std::uint32_t element, std::size_t n)
{
    if (element % 2 == 0 || element < 3 || element >= 2 * n) {
        throw Error("The Galois element " + std::to_string(element) + " is given: they are odd, from 3 to " +
                    std::to_string(2 * n - 1) + ".");
    }
}

// Polynomial `part` at a modulus, n residues that stay until the next call; part: 2 digit + component.
using Source = std::function<const std::uint32_t *(std::size_t part, unsigned modulus)>;

// The key as key switching reads it. element: 1 for relinearization.
std::unique_ptr<SwitchingKey> prepared(const Tables &t, std::uint32_t element, const Source &polynomial)
{
    const std::size_t n = t.n(), lanes = t.kernels->lanes, digits = t.digits.size();
    static std::atomic<std::uint64_t> keys;
    auto key = std::make_unique<SwitchingKey>();
    key->number = keys++;
    words backward, backward_lanes;
    if (element != 1) {
        set_permutation(t, element, key->vectors, key->in_vector);
        set_permutation(t, inverse_element(element, 2 * n), backward, backward_lanes);
    }
    key->residues.resize(digits * 2 * t.all() * n);
    words moved(n), scaled(n);
    for (unsigned m = 0; m < t.all(); m++) {
        const Modulus &modulus = t.moduli[m];
        const std::uint32_t montgomery = modulus.residue(std::uint64_t{1} << 32);
        const arch::factor by =
            modulus.factor(m < t.data() ? modulus.multiply(montgomery, t.p_inverse[m]) : montgomery);
        for (std::size_t part = 0; part < 2 * digits; part++) {
            const std::uint32_t *from = polynomial(part, m);
            if (*std::max_element(from, from + n) >= modulus.q()) {
                throw Error("A key's residue is not below its prime " + std::to_string(modulus.q()) +
                            ": the key is damaged, or of another chain.");
            }
            t.kernels->scale(scaled.data(), from, by, modulus.prime());
            const std::uint32_t *source = scaled.data();
            if (element != 1) {
                t.kernels->permute(moved.data(), source, backward.data(), backward_lanes.data(), n);
                source = moved.data();
            }
            for (std::size_t v = 0; v < n / lanes; v++) {
                std::uint32_t *to =
                    key->residues.data() + ((m * (n / lanes) + v) * 2 * digits + part) * lanes;
                std::transform(source + v * lanes, source + (v + 1) * lanes, to,
                               [&](std::uint32_t x) { return x > modulus.q() / 2 ? x - modulus.q() : x; });
            }
        }
    }
    return key;
}

std::unique_ptr<SwitchingKey> prepared(const Tables &t, std::uint32_t element,
                                       std::span<const std::uint32_t> given)
{
    check_switching(t);
    const std::size_t expected = t.digits.size() * 2 * t.all() * t.n();
    if (given.size() != expected) {
        throw Error(std::to_string(given.size()) + " residues are given, and a key of this chain has " +
                    std::to_string(expected) + ": give [digits][2][data + special primes][n] of them.");
    }
    return prepared(t, element, [&](std::size_t part, unsigned m) {
        return given.data() + (part * t.all() + m) * t.n();
    });
}

// Never expanded as a whole: that would take as much memory again as the key that stays.
std::unique_ptr<SwitchingKey> prepared(const std::shared_ptr<const Context> &context, std::uint32_t element,
                                       const SeededKey &given)
{
    const Tables &t = tables_of(context);
    check_switching(t);
    if (!go_together(given.context(), context)) {
        throw Error("The seeded key is of another context: make both with one, or with equal ones.");
    }
    if (given.pairs() != t.digits.size()) {
        throw Error("The seeded key is a public key, which encrypts: give one that switches keys, with " +
                    std::to_string(t.digits.size()) + " pairs.");
    }
    words second(t.n());
    return prepared(t, element, [&](std::size_t part, unsigned m) -> const std::uint32_t * {
        const unsigned pair = static_cast<unsigned>(part / 2);
        if (part % 2 == 0) {
            return given.first().data() + (std::size_t{pair} * t.all() + m) * t.n();
        }
        expand(given, pair, m, second.data());
        return second.data();
    });
}

} // namespace

struct EvaluationKeys::Body {
    std::shared_ptr<const Context> context;
    std::unique_ptr<SwitchingKey> relinearization{};
    std::map<std::uint32_t, std::unique_ptr<SwitchingKey>> galois{}; // by element
};

EvaluationKeys::EvaluationKeys(std::shared_ptr<const Context> context)
{
    Inside::fill(*this, held(context));
}

EvaluationKeys::~EvaluationKeys() = default;
EvaluationKeys::EvaluationKeys(EvaluationKeys &&) noexcept = default;
EvaluationKeys &EvaluationKeys::operator=(EvaluationKeys &&) noexcept = default;

void EvaluationKeys::add_relinearization(std::span<const std::uint32_t> residues)
{
    held(body_)->relinearization = prepared(tables_of(*this), 1, residues);
}

void EvaluationKeys::add_relinearization(const SeededKey &key)
{
    held(body_)->relinearization = prepared(context(), 1, key);
}

void EvaluationKeys::add_galois(std::uint32_t element, std::span<const std::uint32_t> residues)
{
    check_element(element, context()->n());
    body_->galois[element] = prepared(tables_of(*this), element, residues);
}

void EvaluationKeys::add_galois(std::uint32_t element, const SeededKey &key)
{
    check_element(element, context()->n());
    body_->galois[element] = prepared(context(), element, key);
}

const std::shared_ptr<const Context> &EvaluationKeys::context() const
{
    return held(body_)->context;
}

std::size_t EvaluationKeys::bytes() const
{
    const auto bytes_of = [](const SwitchingKey &key) {
        return sizeof(std::uint32_t) * (key.residues.size() + key.vectors.size() + key.in_vector.size());
    };
    std::size_t total = held(body_)->relinearization ? bytes_of(*body_->relinearization) : 0;
    for (const auto &[element, key] : body_->galois) {
        total += bytes_of(*key);
    }
    return total;
}

struct RekeyKey::Body {
    std::shared_ptr<const Context> context;
    std::unique_ptr<SwitchingKey> key;
};

RekeyKey::RekeyKey(std::shared_ptr<const Context> context, std::span<const std::uint32_t> residues)
{
    const Tables &t = tables_of(context);
    Inside::fill(*this, std::move(context), prepared(t, 1, residues));
}

RekeyKey::~RekeyKey() = default;
RekeyKey::RekeyKey(RekeyKey &&) noexcept = default;
RekeyKey &RekeyKey::operator=(RekeyKey &&) noexcept = default;

const std::shared_ptr<const Context> &RekeyKey::context() const
{
    return held(body_)->context;
}

const SwitchingKey &rekeying_key(const RekeyKey &key)
{
    return *Inside::body(key).key;
}

const SwitchingKey &relinearization_key(const EvaluationKeys &keys)
{
    const auto &body = Inside::body(keys);
    if (!body.relinearization) {
        check_switching(tables_of(keys));
        throw Error("There is no relinearization key: have the owner make one (make_relinearization_key; in "
                    "Python, Owner.extend(relin=True)).");
    }
    return *body.relinearization;
}

namespace
{

// What the automorphism does to slots, and how to get its key.
std::string automorphism(const Context &context, std::uint32_t element)
{
    const std::string number = " (element " + std::to_string(element) +
                               "): have the owner make it (make_galois_key; in Python, Owner.extend";
    if (element == 2 * context.n() - 1) {
        const char *const what = tables_of(context).integers ? "the exchange of the rows" : "the conjugation";
        return what + number + "(conjugation=True)";
    }
    const int slots = static_cast<int>(context.n() / 2);
    std::size_t power = 3;
    for (int step = 1; step < slots; step++, power = power * 3 % (2 * context.n())) {
        if (power == element) {
            return "the rotation by " + std::to_string(step) + " slots, or by " +
                   std::to_string(step - slots) + number + "(rotations=[" + std::to_string(step) + "])";
        }
    }
    return "the automorphism" + number;
}

} // namespace

const SwitchingKey &galois_key(const EvaluationKeys &keys, std::uint32_t element)
{
    const auto &galois = Inside::body(keys).galois;
    const auto found = galois.find(element);
    if (found == galois.end()) {
        check_switching(tables_of(keys));
        throw Error("There is no Galois key for " + automorphism(*keys.context(), element) + ").");
    }
    return *found->second;
}

coprocessor::Key coprocessor_key(const Tables &t, const SwitchingKey &key)
{
    return {key.number, [&](unsigned digit, unsigned component, unsigned m, std::uint32_t *residues) {
                const Modulus &modulus = t.moduli[m];
                const std::size_t lanes = t.kernels->lanes, vectors = t.n() / lanes, digits = t.digits.size();
                for (std::size_t v = 0; v < vectors; v++) {
                    const std::uint32_t *const from =
                        key.residues.data() + (((m * vectors + v) * digits + digit) * 2 + component) * lanes;
                    std::transform(from, from + lanes, residues + v * lanes, [&](std::uint32_t centred) {
                        return modulus.residue_of({static_cast<std::int32_t>(centred), 0});
                    });
                }
                const std::uint32_t montgomery = modulus.residue(std::uint64_t{1} << 32);
                t.kernels->scale(residues, residues, modulus.factor(modulus.inverse(montgomery)),
                                 modulus.prime());
            }};
}

// ---- switching ----

namespace
{

class Switcher
{
  public:
    Switcher(const Tables &t, const std::uint32_t *c, unsigned primes, std::span<const Switching> switchings)
        : t_(t), c_(c), primes_(primes), switchings_(switchings), n_(t.n()),
          digits_((primes + t.chain.digit_primes - 1) / t.chain.digit_primes),
          scratch_(primes + digits_ + (2 * switchings.size()) * t.special->count() + 2, n_),
          coefficients_(scratch_.take(primes)), transformed_(scratch_.take(digits_)),
          sums_(scratch_.take(2 * switchings.size() * t.special->count())), remainder_(scratch_.take(2))
    {
    }

    void run()
    {
        take_digits();
        for (unsigned s = 0; s < t_.special->count(); s++) {
            sum_at_special(s);
        }
        take_remainders();
        for (unsigned m = 0; m < primes_; m++) {
            transform_digits(m);
            for (unsigned r = 0; r < switchings_.size(); r++) {
                finish(r, m);
            }
        }
    }

  private:
    // The primes of a digit at this level.
    unsigned count_of(unsigned digit) const
    {
        const Group &group = t_.digits[digit];
        return std::min(group.count(), primes_ - group.first());
    }

    void take_digits()
    {
        for (unsigned digit = 0; digit < digits_; digit++) {
            const Group &group = t_.digits[digit];
            std::uint32_t *parts[most_group_primes];
            const std::uint32_t *values[most_group_primes];
            for (unsigned i = 0; i < count_of(digit); i++) {
                parts[i] = coefficients_[group.first() + i];
                values[i] = c_ + (group.first() + i) * n_;
            }
            group.values_to_digits(*t_.kernels, parts, values, count_of(digit));
        }
    }

    // All digits' values at a modulus. At its own primes, a digit's values are the ciphertext's.
    void transform_digits(unsigned modulus)
    {
        for (unsigned digit = 0; digit < digits_; digit++) {
            const Group &group = t_.digits[digit];
            if (modulus >= group.first() && modulus < group.first() + count_of(digit)) {
                values_[digit] = c_ + modulus * n_;
                continue;
            }
            std::uint32_t *out = transformed_[digit];
            const std::uint32_t *parts[most_group_primes];
            for (unsigned i = 0; i < count_of(digit); i++) {
                parts[i] = coefficients_[group.first() + i];
            }
            group.lift_to_values(*t_.kernels, out, parts, count_of(digit), modulus);
            values_[digit] = out;
        }
    }

    arch::key_sums sums_of(const Switching &switching, unsigned modulus) const
    {
        const std::size_t stride = t_.digits.size();
        return {values_, digits_, switching.key->residues.data() + modulus * n_ * stride * 2,
                static_cast<unsigned>(stride)};
    }

    std::uint32_t *special_sum(std::size_t switching, unsigned component, unsigned special) const
    {
        return sums_[(switching * 2 + component) * t_.special->count() + special];
    }

    void sum_at_special(unsigned special)
    {
        const unsigned modulus = t_.data() + special;
        transform_digits(modulus);
        for (unsigned r = 0; r < switchings_.size(); r++) {
            std::uint32_t *const out[2] = {special_sum(r, 0, special), special_sum(r, 1, special)};
            t_.kernels->key_sums(out, sums_of(switchings_[r], modulus), t_.prime(modulus));
        }
    }

    // The sums modulo P, centred: what the division by P leaves.
    void take_remainders()
    {
        for (unsigned r = 0; r < switchings_.size(); r++) {
            for (unsigned component = 0; component < 2; component++) {
                std::uint32_t *sums[most_group_primes];
                for (unsigned s = 0; s < t_.special->count(); s++) {
                    sums[s] = special_sum(r, component, s);
                }
                t_.special->values_to_digits(*t_.kernels, sums, sums, t_.special->count());
            }
        }
    }

    void finish(unsigned r, unsigned modulus)
    {
        const Switching &switching = switchings_[r];
        const Modulus &at = t_.moduli[modulus];
        arch::key_correction correction{};
        for (unsigned component = 0; component < 2; component++) {
            const std::uint32_t *parts[most_group_primes];
            for (unsigned s = 0; s < t_.special->count(); s++) {
                parts[s] = special_sum(r, component, s);
            }
            std::uint32_t *remainder = remainder_[component];
            t_.special->lift_to_values(*t_.kernels, remainder, parts, t_.special->count(), modulus);
            correction.remainder[component] = remainder;
            correction.addend[component] =
                switching.addend[component] ? switching.addend[component] + modulus * n_ : nullptr;
        }
        correction.factor =
            at.factor(at.multiply(at.residue(std::uint64_t{1} << 32), at.q() - t_.p_inverse[modulus])).value;
        std::uint32_t *const out[2] = {switching.out[0] + modulus * n_, switching.out[1] + modulus * n_};
        if (switching.key->vectors.empty()) {
            t_.kernels->key_finish(out, sums_of(switching, modulus), correction, at.prime());
            return;
        }
        std::uint32_t *const before[2] = {remainder_[0], remainder_[1]};
        t_.kernels->key_finish(before, sums_of(switching, modulus), correction, at.prime());
        for (unsigned component = 0; component < 2; component++) {
            t_.kernels->permute(out[component], before[component], switching.key->vectors.data(),
                                switching.key->in_vector.data(), n_);
        }
    }

    const Tables &t_;
    const std::uint32_t *c_;
    unsigned primes_;
    std::span<const Switching> switchings_;
    std::size_t n_;
    unsigned digits_;
    Scratch scratch_;
    Polynomials coefficients_, transformed_, sums_, remainder_;
    const std::uint32_t *values_[32];
};

} // namespace

void switch_keys(const Tables &t, const std::uint32_t *c, unsigned primes,
                 std::span<const Switching> switchings)
{
    Switcher(t, c, primes, switchings).run();
}

} // namespace ciphermote
