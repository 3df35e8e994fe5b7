// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <span>
#include <string>

#include "rns/inside.h"

namespace ciphermote
{

namespace
{

// The largest magnitude that Group::lift gives.
double largest_lift(std::uint32_t first, unsigned count, std::uint32_t q)
{
    return first / 2 + (count - 1) * (q + 0x1p26 * q / 0x1p33);
}

// Key switching's noise is that of a digit over the special primes' product, which primes of one size may
// fall short of by little: a bit for each is let pass.
void check_switching(const Chain &chain)
{
    if (chain.special.empty()) {
        return;
    }
    const auto log2_of = [](std::span<const std::uint32_t> primes) {
        double sum = 0;
        for (const std::uint32_t q : primes) {
            sum += std::log2(q);
        }
        return sum;
    };
    const std::span<const std::uint32_t> data = chain.data;
    for (std::size_t first = 0; first < data.size(); first += chain.digit_primes) {
        const std::size_t count = std::min<std::size_t>(chain.digit_primes, data.size() - first);
        if (log2_of(chain.special) + chain.digit_primes < log2_of(data.subspan(first, count))) {
            throw Error("The special primes' product is far below that of a digit's " +
                        std::to_string(count) +
                        " data primes, which makes key switching inexact: take larger special primes, or "
                        "more, or smaller digits.");
        }
    }
}

void check_chain(const Chain &chain)
{
    if (chain.log2_n < 10 || chain.log2_n > 15) {
        throw Error("The ring degree is 2^" + std::to_string(chain.log2_n) + ": give log2_n from 10 to 15.");
    }
    if (chain.data.empty() || chain.data.size() > 32) {
        throw Error(std::to_string(chain.data.size()) + " data primes are given: give 1 to 32.");
    }
    if (chain.special.size() > most_group_primes || chain.digit_primes < 1 ||
        chain.digit_primes > most_group_primes) {
        throw Error("Key switching works with up to 4 special primes and digits of 1 to 4 primes: " +
                    std::to_string(chain.special.size()) + " and " + std::to_string(chain.digit_primes) +
                    " are given.");
    }
    std::vector<std::uint32_t> primes = chain.data;
    primes.insert(primes.end(), chain.special.begin(), chain.special.end());
    std::sort(primes.begin(), primes.end());
    if (std::adjacent_find(primes.begin(), primes.end()) != primes.end()) {
        throw Error("A prime is given twice: give each prime of the chain once.");
    }
    // A sum of products of digits and keys, and of the correction, is below 2^32 q.
    if (chain.data.size() / chain.digit_primes > 30) {
        throw Error("Key switching takes 30 digits at most: give larger digits (digit_primes).");
    }
}

// log2 of the most that the product of all primes may be, by log2_n from 10 on: ePrint 2024/463, for
// classical attackers and a ternary secret.
constexpr std::array<unsigned, 6> log2_bounds{26, 53, 106, 214, 430, 868};

// Bits of the product, exactly. It is odd, so it is at most 2^bound if it has no more bits than the bound.
std::size_t bits_of_product(std::span<const Modulus> moduli)
{
    std::vector<std::uint32_t> product{1};
    for (const Modulus &modulus : moduli) {
        std::uint64_t carry = 0;
        for (std::uint32_t &word : product) {
            carry += std::uint64_t{word} * modulus.q();
            word = static_cast<std::uint32_t>(carry);
            carry >>= 32;
        }
        if (carry != 0) {
            product.push_back(static_cast<std::uint32_t>(carry));
        }
    }
    return 32 * (product.size() - 1) + static_cast<std::size_t>(std::bit_width(product.back()));
}

/*
 * Forward transforms are of what groups lift: digits, and at data primes the special primes and up to four
 * primes that rescaling divides by. The largest lift is below 2^26 + 3.03 * 2^27.
 *
 * Key switching adds to each digit's product with a centred key another of the remainder with 1/P.
 */
void set_bounds(Tables &t)
{
    const std::uint32_t largest = *std::max_element(t.chain.data.begin(), t.chain.data.end());
    for (unsigned m = 0; m < t.all(); m++) {
        const std::uint32_t q = t.moduli[m].q();
        const bool rescales = m < t.data();
        double lift = largest_lift(largest, t.chain.digit_primes, q);
        if (t.special && rescales) {
            lift = std::max(lift, largest_lift(t.moduli[t.data()].q(), t.special->count(), q));
        }
        const double products = static_cast<double>(t.digits.size()) + 1;
        const double value = std::min(t.moduli[m].largest_value(lift), 0x1p31);
        if (products * value / 0x1p33 < 1.5) {
            t.moduli[m].expect_small_sums();
        }
        if (rescales) {
            lift = std::max(lift, largest_lift(largest, most_group_primes, q));
        }
        t.moduli[m].transforms_up_to(lift);
    }
}

Divisor divisor_of(const std::vector<Modulus> &moduli, unsigned first, unsigned count)
{
    Divisor divisor{Group(moduli, first, count), {}};
    for (unsigned m = 0; m < first; m++) {
        divisor.inverse.push_back(moduli[m].factor(moduli[m].inverse(divisor.primes.product(m))));
    }
    return divisor;
}

} // namespace

void check_secure(const Tables &t)
{
    const unsigned bound = log2_bounds[t.chain.log2_n - 10];
    const std::size_t bits = bits_of_product(t.moduli);
    if (bits > bound) {
        throw Error("The product of the chain's primes has " + std::to_string(bits) +
                    " bits, and 128-bit security by the guidelines of 2024 allows " + std::to_string(bound) +
                    " at n = " + std::to_string(t.n()) +
                    ": take fewer or smaller primes, or a larger n (Insecure takes any chain, for tests).");
    }
}

std::unique_ptr<Tables> make_tables(Chain chain, const std::string &isa)
{
    check_chain(chain);
    auto t = std::make_unique<Tables>();
    t->kernels = isa.empty() ? arch::usable_kernels().front() : arch::kernels_by_name(isa);
    if (!t->kernels) {
        std::string names;
        for (const arch::kernels *kernels : arch::usable_kernels()) {
            names += std::string(kernels->name) + ", ";
        }
        throw Error("This machine or build has no " + isa + ": name " + names + "or none.");
    }
    t->chain = std::move(chain);
    t->moduli.reserve(t->chain.data.size() + t->chain.special.size());
    for (const auto &primes : {t->chain.data, t->chain.special}) {
        for (const std::uint32_t q : primes) {
            t->moduli.emplace_back(q, t->chain.log2_n, *t->kernels);
        }
    }
    check_switching(t->chain);
    if (!t->chain.special.empty()) {
        for (unsigned first = 0; first < t->data(); first += t->chain.digit_primes) {
            t->digits.emplace_back(t->moduli, first, std::min(t->chain.digit_primes, t->data() - first));
        }
        t->special = std::make_unique<Group>(t->moduli, t->data(), t->all() - t->data());
        for (unsigned m = 0; m < t->data(); m++) {
            t->p_inverse.push_back(t->moduli[m].inverse(t->special->product(m)));
        }
    }
    if (t->chain.plain_modulus == 0) {
        t->slots = std::make_unique<SlotTransform>(t->chain.log2_n);
    } else {
        std::vector<std::uint32_t> taken = t->chain.data;
        taken.insert(taken.end(), t->chain.special.begin(), t->chain.special.end());
        t->integers =
            std::make_unique<Integers>(t->chain.plain_modulus, std::span(t->moduli).first(t->data()), taken,
                                       t->chain.log2_n, *t->kernels);
    }
    for (unsigned count = 1; count <= most_group_primes; count++) {
        for (unsigned left = 1; left + count <= t->data(); left++) {
            t->divisors[count - 1].push_back(divisor_of(t->moduli, left, count));
        }
    }
    set_bounds(*t);
    return t;
}

double Tables::log2_modulus(unsigned primes) const
{
    double sum = 0;
    for (unsigned m = 0; m < primes; m++) {
        sum += std::log2(moduli[m].q());
    }
    return sum;
}

Context::~Context() = default;

const Chain &Context::chain() const
{
    return tables_->chain;
}

std::size_t Context::n() const
{
    return tables_->n();
}

const char *Context::isa() const
{
    return tables_->kernels->name;
}

bool Context::operator==(const Context &other) const
{
    return tables_->kernels == other.tables_->kernels && chain() == other.chain();
}

} // namespace ciphermote
