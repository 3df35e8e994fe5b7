// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <string>

#include "tables.h"

extern "C" {
#include "ring/prime.h"
}

namespace ciphermote
{

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
 * How large a forward transform of coefficients of at most `start` in magnitude can get: a lazy product lies
 * within (-|x| q / 2^33, q + |x| q / 2^33), and each level adds one. A word holds less than 2^31.
 */
double largest_value(double start, std::uint32_t q, unsigned log2_n)
{
    double largest = start;
    for (unsigned level = 0; level < log2_n; level++) {
        largest += q + largest * q / 0x1p33;
    }
    return largest;
}

// The largest magnitude that Group::lift gives.
double largest_lift(std::uint32_t first, unsigned count, std::uint32_t q)
{
    return first / 2 + (count - 1) * (q + 0x1p26 * q / 0x1p33);
}

} // namespace

// ---- Modulus ----

Modulus::Modulus(std::uint32_t q, unsigned log2_n, unsigned lanes)
{
    cm_prime constants;
    if (!cmi_prime_init(&constants, q, log2_n, nullptr)) {
        throw Error("The chain's " + std::to_string(q) + " is no prime below 2^27 that is 1 modulo " +
                    std::to_string(std::size_t{2} << log2_n) + ": take primes made for this ring degree.");
    }
    prime_ = {};
    prime_.q = q;
    prime_.log2_n = log2_n;
    prime_.q_inv = 0u - constants.neg_q_inv;
    const unsigned bits = static_cast<unsigned>(std::bit_width(q));
    prime_.shift = bits - 2;
    prime_.barrett = static_cast<std::uint32_t>((std::uint64_t{1} << (bits + 31)) / q);
    prime_.one = factor(1);
    prime_.n_inverse = factor(constants.n_inv);
    set_roots(constants.psi, lanes);
}

std::uint32_t Modulus::inverse(std::uint32_t a) const
{
    std::uint32_t power = 1;
    for (std::uint32_t exponent = prime_.q - 2; exponent > 0; exponent >>= 1) {
        power = exponent & 1 ? multiply(power, a) : power;
        a = multiply(a, a);
    }
    return power;
}

arch::factor Modulus::factor(std::uint32_t residue) const
{
    const std::int64_t q = prime_.q;
    const std::int64_t centred = residue > q / 2 ? residue - q : residue;
    // round(centred 2^32 / q): floor((centred 2^33 + q) / 2q)
    const std::int64_t numerator = centred * (std::int64_t{1} << 33) + q;
    const std::int64_t quotient = numerator / (2 * q) - (numerator % (2 * q) < 0 ? 1 : 0);
    return {static_cast<std::int32_t>(centred), static_cast<std::int32_t>(quotient)};
}

// The roots of the levels within `lanes` neighbours, in the order in which they are used: by group of lanes^2
// numbers, level and block; then lane by lane, first roots and then quotients.
static signed_words late_roots(const signed_words &roots, std::size_t n, std::size_t lanes, bool inverse)
{
    signed_words late;
    for (std::size_t group = 0; group < n / (lanes * lanes); group++) {
        for (std::size_t step = 1; step < lanes; step *= 2) {
            const std::size_t half = inverse ? step : lanes / (2 * step);
            const std::size_t blocks = lanes / (2 * half), level = n / (2 * half);
            for (std::size_t block = 0; block < blocks; block++) {
                for (const std::size_t part : {std::size_t{0}, n}) {
                    for (std::size_t lane = 0; lane < lanes; lane++) {
                        late.push_back(roots[part + level + (group * lanes + lane) * blocks + block]);
                    }
                }
            }
        }
    }
    return late;
}

void Modulus::set_roots(std::uint32_t psi, unsigned lanes)
{
    const std::size_t n = std::size_t{1} << prime_.log2_n;
    const std::uint32_t psi_inverse = inverse(psi);
    roots_.resize(2 * n);
    inverse_.resize(2 * n);
    std::uint32_t power = 1, inverse_power = 1;
    for (std::size_t exponent = 0; exponent < n; exponent++) {
        const std::size_t at = bit_reversed(exponent, prime_.log2_n);
        const arch::factor root = factor(power), other = factor(inverse_power);
        roots_[at] = root.value;
        roots_[n + at] = root.quotient;
        inverse_[at] = other.value;
        inverse_[n + at] = other.quotient;
        power = multiply(power, psi);
        inverse_power = multiply(inverse_power, psi_inverse);
    }
    late_ = late_roots(roots_, n, lanes, false);
    late_inverse_ = late_roots(inverse_, n, lanes, true);
    const std::int64_t q = prime_.q;
    const auto residue_of = [q](std::int64_t centred) {
        return static_cast<std::uint32_t>(centred < 0 ? centred + q : centred);
    };
    prime_.last = factor(multiply(residue_of(prime_.n_inverse.value), residue_of(inverse_[1])));
    prime_.roots = roots_.data();
    prime_.late = late_.data();
    prime_.inverse = inverse_.data();
    prime_.late_inverse = late_inverse_.data();
}

// ---- Group ----

Group::Group(const std::vector<Modulus> &moduli, unsigned first, unsigned count)
    : moduli_(&moduli), first_(first), count_(count)
{
    for (unsigned i = 0; i < count; i++) {
        const Modulus &own = moduli[first + i];
        primes_[i] = &own.prime();
        for (unsigned j = 0; j < i; j++) {
            radix_[i][j] = own.factor(own.inverse(own.residue(moduli[first + j].q())));
        }
    }
    for (const Modulus &target : moduli) {
        std::array<arch::factor, most_group_primes> &weights = weights_.emplace_back();
        std::uint32_t product = 1;
        for (unsigned i = 0; i < count; i++) {
            product = target.multiply(product, target.residue(moduli[first + i].q()));
            weights[i] = target.factor(product);
        }
    }
}

void Group::to_digits(const arch::kernels &kernels, std::uint32_t *const *residues, unsigned count) const
{
    kernels.garner(residues, count, primes_.data(), radix_);
}

void Group::lift(const arch::kernels &kernels, std::uint32_t *out, const std::uint32_t *const *digits,
                 unsigned count, unsigned target) const
{
    kernels.lift(out, digits, count, weights_[target].data(), (*moduli_)[target].prime());
}

std::uint32_t Group::product(unsigned target) const
{
    const std::int32_t centred = weights_[target][count_ - 1].value;
    return centred < 0 ? static_cast<std::uint32_t>(centred) + (*moduli_)[target].q()
                       : static_cast<std::uint32_t>(centred);
}

// ---- Context ----

namespace
{

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

/*
 * Forward transforms are of what groups lift: digits, and at data primes the special primes and up to four
 * primes that rescaling divides by, from whose result a residue is then subtracted. Where they would grow
 * out of a word, they are reduced halfway: after at most 9 levels, and at most 8 follow. Then they fit for
 * every prime: the largest lift is below 2^26 + 3.03 * 2^27, each of 9 levels adds less than 1.14 * 2^27,
 * and 13.8 * 2^27 < 2^31.
 */
void set_reductions(Context::Tables &t)
{
    const std::uint32_t largest = *std::max_element(t.chain.data.begin(), t.chain.data.end());
    for (unsigned m = 0; m < t.all(); m++) {
        const std::uint32_t q = t.moduli[m].q();
        const bool rescales = m < t.data();
        double lift = largest_lift(largest, rescales ? most_group_primes : t.chain.digit_primes, q);
        if (t.special && rescales) {
            lift = std::max(lift, largest_lift(t.moduli[t.data()].q(), t.special->count(), q));
        }
        if (largest_value(lift, q, t.chain.log2_n) + q >= 0x1p31) {
            t.moduli[m].reduce_halfway();
        }
    }
}

std::unique_ptr<const Context::Tables> make_tables(Chain chain, const std::string &isa)
{
    check_chain(chain);
    auto t = std::make_unique<Context::Tables>();
    t->kernels = isa.empty() ? &arch::best_kernels() : arch::kernels_by_name(isa.c_str());
    if (!t->kernels) {
        throw Error("This machine or build has no " + isa + ": name portable, avx2 or avx512, or none.");
    }
    t->chain = std::move(chain);
    t->moduli.reserve(t->chain.data.size() + t->chain.special.size());
    for (const auto &primes : {t->chain.data, t->chain.special}) {
        for (const std::uint32_t q : primes) {
            t->moduli.emplace_back(q, t->chain.log2_n, t->kernels->lanes);
        }
    }
    if (!t->chain.special.empty()) {
        for (unsigned first = 0; first < t->data(); first += t->chain.digit_primes) {
            t->digits.emplace_back(t->moduli, first, std::min(t->chain.digit_primes, t->data() - first));
        }
        t->special = std::make_unique<Group>(t->moduli, t->data(), t->all() - t->data());
        for (unsigned m = 0; m < t->data(); m++) {
            t->p_inverse.push_back(t->moduli[m].inverse(t->special->product(m)));
        }
    }
    t->slots = std::make_unique<SlotTransform>(t->chain.log2_n);
    set_reductions(*t);
    return t;
}

} // namespace

Context::Context(Chain chain, const std::string &isa) : tables_(make_tables(std::move(chain), isa))
{
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

} // namespace ciphermote
