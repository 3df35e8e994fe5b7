// SPDX-License-Identifier: Apache-2.0
#include "key_switching.h"

#include <algorithm>
#include <string>

namespace ciphermote
{

// ---- keys ----

namespace
{

std::size_t bit_reversed(std::size_t x, unsigned bits)
{
    std::size_t reversed = 0;
    for (unsigned i = 0; i < bits; i++) {
        reversed |= (x >> i & 1) << (bits - 1 - i);
    }
    return reversed;
}

/*
 * The automorphism X -> X^element on values: value i is the polynomial at psi^e(i), e(i) = 2 bitrev(i) + 1,
 * so it becomes the value at psi^(e(i) element). The lanes of a vector have exponents that differ in their
 * highest bits alone; so have their sources, which are one vector's, permuted.
 */
void set_permutation(const Context::Tables &t, std::uint32_t element, words &vectors, words &in_vector)
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

// The residues as key switching reads them. element: 1 for relinearization.
std::unique_ptr<EvaluationKeys::Key> prepared(const Context::Tables &t, std::uint32_t element,
                                              std::span<const std::uint32_t> given)
{
    const std::size_t n = t.n(), lanes = t.kernels->lanes, digits = t.digits.size();
    if (!t.special) {
        throw Error("This chain has no special prime, and so no key switching: take a chain that has one.");
    }
    if (given.size() != digits * 2 * t.all() * n) {
        throw Error(std::to_string(given.size()) + " residues are given, and a key of this chain has " +
                    std::to_string(digits * 2 * t.all() * n) +
                    ": give [digits][2][data + special primes][n] of them.");
    }
    auto key = std::make_unique<EvaluationKeys::Key>();
    words backward, backward_lanes;
    if (element != 1) {
        set_permutation(t, element, key->vectors, key->in_vector);
        set_permutation(t, inverse_element(element, 2 * n), backward, backward_lanes);
    }
    key->residues.resize(given.size());
    words moved(n), scaled(n);
    for (unsigned m = 0; m < t.all(); m++) {
        const Modulus &modulus = t.moduli[m];
        const std::uint32_t montgomery = modulus.residue(std::uint64_t{1} << 32);
        const arch::factor by =
            modulus.factor(m < t.data() ? modulus.multiply(montgomery, t.p_inverse[m]) : montgomery);
        for (std::size_t part = 0; part < 2 * digits; part++) {
            const std::uint32_t *from = given.data() + (part * t.all() + m) * n;
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
                std::copy_n(source + v * lanes, lanes,
                            key->residues.data() + ((m * (n / lanes) + v) * 2 * digits + part) * lanes);
            }
        }
    }
    return key;
}

} // namespace

EvaluationKeys::EvaluationKeys(std::shared_ptr<const Context> context) : context_(std::move(context))
{
}
EvaluationKeys::~EvaluationKeys() = default;
EvaluationKeys::EvaluationKeys(EvaluationKeys &&) noexcept = default;
EvaluationKeys &EvaluationKeys::operator=(EvaluationKeys &&) noexcept = default;

void EvaluationKeys::add_relinearization(std::span<const std::uint32_t> residues)
{
    relinearization_ = prepared(context_->tables(), 1, residues);
}

void EvaluationKeys::add_galois(std::uint32_t element, std::span<const std::uint32_t> residues)
{
    if (element % 2 == 0 || element < 3 || element >= 2 * context_->n()) {
        throw Error("The Galois element " + std::to_string(element) + " is given: they are odd, from 3 to " +
                    std::to_string(2 * context_->n() - 1) + ".");
    }
    galois_[element] = prepared(context_->tables(), element, residues);
}

std::size_t EvaluationKeys::bytes() const
{
    const auto bytes_of = [](const Key &key) {
        return sizeof(std::uint32_t) * (key.residues.size() + key.vectors.size() + key.in_vector.size());
    };
    std::size_t total = relinearization_ ? bytes_of(*relinearization_) : 0;
    for (const auto &[element, key] : galois_) {
        total += bytes_of(*key);
    }
    return total;
}

const EvaluationKeys::Key &EvaluationKeys::relinearization() const
{
    if (!relinearization_) {
        throw Error("There is no relinearization key: have the owner make one.");
    }
    return *relinearization_;
}

const EvaluationKeys::Key &EvaluationKeys::galois(std::uint32_t element) const
{
    const auto found = galois_.find(element);
    if (found == galois_.end()) {
        throw Error("There is no Galois key for the element " + std::to_string(element) +
                    ": have the owner make the keys for the rotations that you need.");
    }
    return *found->second;
}

// ---- switching ----

namespace
{

// Polynomials of a call in progress. A thread keeps its memory for the next one.
class Scratch
{
  public:
    Scratch(std::size_t polynomials, std::size_t n) : n_(n)
    {
        if (memory().size() < polynomials * n) {
            memory().resize(polynomials * n);
        }
    }
    std::uint32_t *take(std::size_t polynomials = 1)
    {
        std::uint32_t *taken = memory().data() + used_;
        used_ += polynomials * n_;
        return taken;
    }

  private:
    static words &memory()
    {
        thread_local words own;
        return own;
    }
    std::size_t n_, used_ = 0;
};

class Switcher
{
  public:
    Switcher(const Context::Tables &t, const std::uint32_t *c, unsigned primes,
             std::span<const Switching> switchings)
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
        for (const Switching &switching : switchings_) {
            permute(switching);
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
        std::copy_n(c_, primes_ * n_, coefficients_);
        for (unsigned m = 0; m < primes_; m++) {
            t_.kernels->ntt_inverse(coefficients_ + m * n_, t_.prime(m));
        }
        for (unsigned digit = 0; digit < digits_; digit++) {
            const Group &group = t_.digits[digit];
            std::uint32_t *residues[most_group_primes];
            for (unsigned i = 0; i < count_of(digit); i++) {
                residues[i] = coefficients_ + (group.first() + i) * n_;
            }
            group.to_digits(*t_.kernels, residues, count_of(digit));
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
            std::uint32_t *out = transformed_ + digit * n_;
            const std::uint32_t *parts[most_group_primes];
            for (unsigned i = 0; i < count_of(digit); i++) {
                parts[i] = coefficients_ + (group.first() + i) * n_;
            }
            group.lift(*t_.kernels, out, parts, count_of(digit), modulus);
            t_.kernels->ntt_forward_lazy(out, t_.prime(modulus));
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
        return sums_ + ((switching * 2 + component) * t_.special->count() + special) * n_;
    }

    void sum_at_special(unsigned special)
    {
        const unsigned modulus = t_.data() + special;
        transform_digits(modulus);
        for (unsigned r = 0; r < switchings_.size(); r++) {
            std::uint32_t *const out[2] = {special_sum(r, 0, special), special_sum(r, 1, special)};
            t_.kernels->key_sums(out, sums_of(switchings_[r], modulus), t_.prime(modulus));
            t_.kernels->ntt_inverse(out[0], t_.prime(modulus));
            t_.kernels->ntt_inverse(out[1], t_.prime(modulus));
        }
    }

    // The sums modulo P, centred: what the division by P leaves.
    void take_remainders()
    {
        for (unsigned r = 0; r < switchings_.size(); r++) {
            for (unsigned component = 0; component < 2; component++) {
                std::uint32_t *residues[most_group_primes];
                for (unsigned s = 0; s < t_.special->count(); s++) {
                    residues[s] = special_sum(r, component, s);
                }
                t_.special->to_digits(*t_.kernels, residues, t_.special->count());
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
            std::uint32_t *remainder = remainder_ + component * n_;
            t_.special->lift(*t_.kernels, remainder, parts, t_.special->count(), modulus);
            t_.kernels->ntt_forward_lazy(remainder, at.prime());
            correction.remainder[component] = remainder;
            correction.addend[component] =
                switching.addend[component] ? switching.addend[component] + modulus * n_ : nullptr;
        }
        correction.factor = at.multiply(at.residue(std::uint64_t{1} << 32), at.q() - t_.p_inverse[modulus]);
        std::uint32_t *const out[2] = {switching.out[0] + modulus * n_, switching.out[1] + modulus * n_};
        t_.kernels->key_finish(out, sums_of(switching, modulus), correction, at.prime());
    }

    void permute(const Switching &switching)
    {
        if (switching.key->vectors.empty()) {
            return;
        }
        for (std::uint32_t *const out : switching.out) {
            for (unsigned m = 0; m < primes_; m++) {
                t_.kernels->permute(remainder_, out + m * n_, switching.key->vectors.data(),
                                    switching.key->in_vector.data(), n_);
                std::copy_n(remainder_, n_, out + m * n_);
            }
        }
    }

    const Context::Tables &t_;
    const std::uint32_t *c_;
    unsigned primes_;
    std::span<const Switching> switchings_;
    std::size_t n_;
    unsigned digits_;
    Scratch scratch_;
    std::uint32_t *coefficients_, *transformed_, *sums_, *remainder_;
    const std::uint32_t *values_[32];
};

} // namespace

void switch_keys(const Context::Tables &t, const std::uint32_t *c, unsigned primes,
                 std::span<const Switching> switchings)
{
    Switcher(t, c, primes, switchings).run();
}

} // namespace ciphermote
