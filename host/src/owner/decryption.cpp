// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "owner/secret_key.h"
#include "rns/polynomials.h"

namespace ciphermote
{

namespace
{

using secret_doubles = secret_array<double>;

// c0 + c1 s (+ c2 s^2), coefficients: [primes][n]
secret_array<std::uint32_t> phase(const Ciphertext &c, const SecretKey &secret)
{
    check_contexts(secret.context(), c.context());
    const Tables &t = tables_of(secret);
    secret_array<std::uint32_t> sums(c.primes() * t.n());
    for (unsigned m = 0; m < c.primes(); m++) {
        std::uint32_t *sum = sums.data() + m * t.n();
        const std::uint32_t *addend = polynomial(c, c.components() - 1, m);
        for (unsigned i = c.components() - 1; i-- > 0;) {
            t.kernels->multiply(sum, addend, values_of(secret, m), t.prime(m));
            t.kernels->add(sum, sum, polynomial(c, i, m), t.prime(m));
            addend = sum;
        }
        t.kernels->ntt_inverse(sum, t.prime(m));
    }
    return sums;
}

void check_scheme(const Ciphertext &c, bool bfv)
{
    // A context without a plain modulus does BFV's decryption too, given the modulus.
    if (!bfv && tables_of(c).integers) {
        throw Error("The ciphertext is BFV's, and is to be decrypted as CKKS's: use decrypt_bfv.");
    }
    if (bfv && c.scale() != 1) {
        throw Error("The ciphertext has the scale 2^" + std::to_string(std::log2(c.scale())) +
                    ", so it is CKKS's, and is to be decrypted as BFV's: use decrypt.");
    }
}

double largest_of(const secret_doubles &numbers)
{
    double largest = 0;
    for (const double x : numbers) {
        largest = std::max(largest, std::abs(x));
    }
    return largest;
}

// A decryption of CKKS: all that its forms need.
class Decryption
{
  public:
    Decryption(const Ciphertext &c, const SecretKey &secret)
        : t_(tables_of(secret)), primes_(c.primes()), radix_(radix_of(secret)), digits_(phase(c, secret)),
          slots_(t_.n())
    {
        check_scheme(c, false);
        radix_.to_digits(digits_.data(), primes_);
        radix_.to_doubles(digits_.data(), primes_, 1, slots_.data());
        secret_doubles scratch(t_.n());
        t_.slots->to_slots(slots_, scratch);
        /*
         * Devices and LinearPlan.max_score keep each part of |slot| times the scale below Q/4, so no result
         * of theirs is refused; a value from Q/2 on has wrapped around. Under another key, or after a key
         * switch with another key's, the coefficients are uniform modulo Q and independent, as the
         * ciphertext's c1 is (else it would not hide). Embedding keeps lengths: slots below the bound have
         * coefficients whose squares sum to less than Q^2/8, which is 1/2 in units of Q/2. The chance of
         * that for n of them is the share of the ball in the cube, (pi/8)^(n/2) / (n/2)!: below 2^-4500 at
         * n = 1024. A program may confine noise to a few coefficients, though, as a sum over slots does: a
         * linear model of 2^b classes leaves 2^(b+1) of them, and the chance is 1/4 for one class, 1/65 for
         * 2, below 2^-9 for 4, 2^-26 for 8, 2^-65 for 16. Nor is it noticed if values wrap around and end
         * below the bound. Labels tell what this cannot.
         */
        if (cmi_declassified(!(largest_of(slots_) < radix_.product(primes_) / 4))) { // the call's end says it
            throw NoiseError(
                "The ciphertext decrypts to noise, or to values that outgrew its modulus (a slot times the "
                "scale reaches a quarter of it): it or the evaluation keys that computed it are of another "
                "key, or its values or its scale are too large; decrypt it with its own key, or compute it "
                "again with smaller values or a smaller scale.");
        }
    }
    const secret_array<std::uint32_t> &digits() const
    {
        return digits_;
    }
    std::vector<double> coefficients() const
    {
        std::vector<double> found(t_.n());
        radix_.to_doubles(digits_.data(), primes_, 1, found.data());
        return found;
    }
    const secret_doubles &slots() const // real and imaginary parts in turn
    {
        return slots_;
    }

  private:
    const Tables &t_;
    unsigned primes_;
    const Radix &radix_;
    secret_array<std::uint32_t> digits_;
    secret_doubles slots_;
};

} // namespace

std::vector<std::complex<double>> decrypt(const Ciphertext &ciphertext, const SecretKey &secret)
{
    const StackWiper wiper;
    const Decryption found(ciphertext, secret);
    std::vector<std::complex<double>> slots(found.slots().size() / 2);
    for (std::size_t j = 0; j < slots.size(); j++) {
        slots[j] = {found.slots()[2 * j] / ciphertext.scale(), found.slots()[2 * j + 1] / ciphertext.scale()};
    }
    return slots;
}

std::vector<double> decrypt_coefficients(const Ciphertext &ciphertext, const SecretKey &secret)
{
    const StackWiper wiper;
    return Decryption(ciphertext, secret).coefficients();
}

std::vector<std::int32_t> decrypt_digits(const Ciphertext &ciphertext, const SecretKey &secret)
{
    const StackWiper wiper;
    const Decryption found(ciphertext, secret);
    return {found.digits().begin(), found.digits().end()};
}

// ---- BFV ----

namespace
{

// Multiplication by w modulo t below 2^32, without division: x w - t floor(x w' / 2^32), w' = floor(w 2^32 /
// t), is in [0, 2t) for x below 2^32.
class PlainFactor
{
  public:
    PlainFactor(std::uint64_t w, std::uint64_t t) : w_(w), quotient_((w << 32) / t), t_(t)
    {
    }
    std::uint64_t times(std::uint64_t x) const
    {
        return subtract_once(x * w_ - (x * quotient_ >> 32) * t_, t_);
    }
    // x in [0, 2t) to [0, t).
    static std::uint64_t subtract_once(std::uint64_t x, std::uint64_t t)
    {
        const std::uint64_t less = x - t;
        return less + (t & (0 - (less >> 63)));
    }

  private:
    std::uint64_t w_, quotient_, t_;
};

// 1/a modulo t, for coprime a and t.
std::uint64_t inverse_modulo(std::uint64_t a, std::uint64_t t)
{
    std::int64_t old_rest = static_cast<std::int64_t>(t), rest = static_cast<std::int64_t>(a % t);
    std::int64_t old_factor = 0, factor = 1;
    while (rest != 0) {
        const std::int64_t quotient = old_rest / rest;
        std::swap(old_rest, rest);
        rest -= quotient * old_rest;
        std::swap(old_factor, factor);
        factor -= quotient * old_factor;
    }
    return static_cast<std::uint64_t>(old_factor < 0 ? old_factor + static_cast<std::int64_t>(t)
                                                     : old_factor);
}

/*
 * t x = Q m + r with r centred modulo Q, for m = round(t x / Q): there is no tie, because Q is odd. So r is
 * t x modulo each prime, joined; and as t x is 0 modulo t, m is -r / Q there.
 */
class BfvDecryption
{
  public:
    BfvDecryption(const Ciphertext &c, const SecretKey &secret, std::uint32_t plain_modulus)
        : t_(tables_of(secret)), primes_(c.primes()), radix_(radix_of(secret)), plain_modulus_(plain_modulus),
          digits_(phase(c, secret))
    {
        for (unsigned m = 0; m < primes_; m++) {
            std::uint32_t *residues = digits_.data() + m * t_.n();
            const Modulus &modulus = t_.moduli[m];
            t_.kernels->scale(residues, residues, modulus.factor(modulus.residue(plain_modulus)),
                              modulus.prime());
        }
        radix_.to_digits(digits_.data(), primes_);
    }

    /*
     * Whether t times the noise of n coefficients is, or may be, too large to be told from the message. A
     * coefficient decrypts right while it is below half the modulus. So they all do if the largest leaves a
     * bit of budget; or if it leaves an eighth of the half and six standard deviations fit the half, which a
     * fresh ciphertext of every modulus does that a device accepts. Under another key, noise fills the
     * modulus, and passes either with chance (7/8)^n at most.
     */
    bool is_noise() const
    {
        const secret_doubles noise = this->noise();
        const double largest = largest_of(noise);
        const double square = std::inner_product(noise.begin(), noise.end(), noise.begin(), 0.0);
        const bool wide = 144 * square > static_cast<double>(t_.n());
        return (4 * largest > 1) & ((16 * largest > 7) | wide);
    }

    secret_doubles noise() const // over the modulus
    {
        secret_doubles noise(t_.n());
        radix_.to_doubles(digits_.data(), primes_, 1 / radix_.product(primes_), noise.data());
        return noise;
    }

    secret_array<std::uint32_t> messages() const
    {
        const std::uint64_t t = plain_modulus_;
        secret_array<std::uint64_t> sums(t_.n());
        std::fill(sums.begin(), sums.end(), 0);
        std::uint64_t weight = 1 % t;
        for (unsigned m = 0; m < primes_; m++) {
            const std::uint32_t q = t_.prime(m).q;
            add_digits(PlainFactor(weight, t), q, digits_.data() + m * t_.n(), sums);
            weight = weight * q % t;
        }
        const PlainFactor by(t - inverse_modulo(weight, t), t);
        secret_array<std::uint32_t> found(t_.n());
        for (std::size_t k = 0; k < found.size(); k++) {
            found[k] = static_cast<std::uint32_t>(by.times(sums[k]));
        }
        return found;
    }

  private:
    // Digits are centred; with the prime added they are above 0, and its product taken off again.
    void add_digits(PlainFactor by, std::uint32_t q, const std::uint32_t *digits,
                    secret_array<std::uint64_t> &sums) const
    {
        const std::uint64_t t = plain_modulus_, excess = t - by.times(q);
        for (std::size_t k = 0; k < sums.size(); k++) {
            const std::uint64_t sum = PlainFactor::subtract_once(sums[k] + by.times(digits[k] + q), t);
            sums[k] = PlainFactor::subtract_once(sum + excess, t);
        }
    }

    const Tables &t_;
    unsigned primes_;
    const Radix &radix_;
    std::uint32_t plain_modulus_;
    secret_array<std::uint32_t> digits_;
};

void check_plain_modulus(const Tables &t, std::uint32_t plain_modulus)
{
    if (plain_modulus < 2) {
        throw Error("The plain modulus is " + std::to_string(plain_modulus) + ": give 2 to 2^32 - 1.");
    }
    if (t.integers && plain_modulus != t.integers->t) {
        throw Error("The plain modulus " + std::to_string(plain_modulus) +
                    " is given, and the context's is " + std::to_string(t.integers->t) + ": give that one.");
    }
    for (const std::uint32_t q : t.chain.data) {
        if (plain_modulus % q == 0) {
            throw Error("The plain modulus " + std::to_string(plain_modulus) +
                        " is a multiple of the prime " + std::to_string(q) + ": take one that is not.");
        }
    }
}

} // namespace

namespace
{

BfvDecryption opened(const Ciphertext &ciphertext, const SecretKey &secret, std::uint32_t plain_modulus)
{
    check_contexts(secret.context(), ciphertext.context());
    check_plain_modulus(tables_of(secret), plain_modulus);
    check_scheme(ciphertext, true);
    return {ciphertext, secret, plain_modulus};
}

} // namespace

std::vector<std::uint32_t> decrypt_bfv(const Ciphertext &ciphertext, const SecretKey &secret,
                                       std::uint32_t plain_modulus)
{
    const StackWiper wiper;
    const BfvDecryption found = opened(ciphertext, secret, plain_modulus);
    if (cmi_declassified(found.is_noise())) { // the call's end says it
        throw NoiseError(
            "The ciphertext decrypts to noise (its noise budget is 0): it or the evaluation keys "
            "that computed it are of another key, or the computation was too much for its "
            "parameters; decrypt it with its own key, or compute less.");
    }
    const secret_array<std::uint32_t> messages = found.messages();
    return {messages.begin(), messages.end()};
}

Coefficients decrypt_bfv_at(const Ciphertext &ciphertext, const SecretKey &secret,
                            std::uint32_t plain_modulus, std::span<const std::uint32_t> positions)
{
    const StackWiper wiper;
    const BfvDecryption found = opened(ciphertext, secret, plain_modulus);
    const secret_array<std::uint32_t> messages = found.messages();
    const secret_doubles noise = found.noise();
    Coefficients chosen;
    chosen.messages.reserve(positions.size());
    chosen.noise.reserve(positions.size());
    for (const std::uint32_t position : positions) {
        if (position >= messages.size()) {
            throw Error("Position " + std::to_string(position) + " is past the ring of " +
                        std::to_string(messages.size()) + " coefficients: give positions within it.");
        }
        chosen.messages.push_back(messages[position]);
        chosen.noise.push_back(noise[position]);
    }
    return chosen;
}

} // namespace ciphermote
