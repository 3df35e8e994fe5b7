// SPDX-License-Identifier: Apache-2.0
/*
 * Calls that make no sense: each ends in one sentence, and neither in a crash nor in a result. Worth most
 * when compiled with sanitizers (CIPHERMOTE_SANITIZE). The last line says "N passed, N failed".
 */
#include <climits>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "check.h"
#include "ciphermote/evaluate.h"
#include "ciphermote/owner.h"
#include "inputs.h"

cm_checks cm_check_state;

namespace
{

using namespace ciphermote;
using namespace ciphermote::testing;

constexpr double infinity = std::numeric_limits<double>::infinity(), not_a_number = NAN;
constexpr double scale = 0x1p26;
constexpr std::uint32_t t = 12289;

// The sentence must contain these words.
void refused(const char *what, const char *words, const std::function<void()> &act)
{
    BEHAVIOUR(what);
    std::string sentence = "(no error)";
    try {
        act();
    } catch (const Error &error) {
        sentence = error.what();
    }
    if (!CHECK(sentence.find(words) != std::string::npos && sentence.back() == '.')) {
        std::printf("    %s: %s\n", what, sentence.c_str());
    }
}

Chain chain_of(std::uint32_t plain_modulus)
{
    const auto small = primes_below(1u << 26, 10, 3), large = primes_below(1u << 27, 10, 1);
    return {10, small, large, 1, plain_modulus};
}

// What an owner has and makes.
struct Room {
    explicit Room(std::uint32_t plain_modulus, Entropy &entropy)
        : context(std::make_shared<const Context>(Insecure{chain_of(plain_modulus)})),
          secret(context, entropy), keys(context)
    {
        keys.add_relinearization(make_relinearization_key(secret, entropy).expanded());
        keys.add_galois(galois_element(*context, 1),
                        make_galois_key(secret, galois_element(*context, 1), entropy).expanded());
    }
    std::shared_ptr<const Context> context;
    SecretKey secret;
    EvaluationKeys keys;
};

class Misuse
{
  public:
    void run()
    {
        contexts();
        null_contexts();
        ciphertexts();
        plaintexts();
        keys();
        levels_and_scales();
        slots();
        matrices_and_polynomials();
        sums();
        owner();
        moved_from();
    }

  private:
    void context(const char *what, const char *words, const std::function<void(Chain &)> &change)
    {
        Chain chain = chain_of(0);
        change(chain);
        refused(what, words, [&] { const Context made(Insecure{chain}); });
    }

    void contexts()
    {
        for (const std::uint32_t q : {0u, 1u, 2u, 2049u, UINT_MAX}) {
            context("a prime that is none", "no prime", [q](Chain &c) { c.data[0] = q; });
            context("a special prime that is none", "no prime", [q](Chain &c) { c.special[0] = q; });
        }
        context("no primes", "give 1 to 32", [](Chain &c) { c.data.clear(); });
        context("a prime twice", "twice", [](Chain &c) { c.data[1] = c.data[0]; });
        context("a small special prime", "inexact", [](Chain &c) { c.special[0] = 12289; });
        context("large digits", "inexact", [](Chain &c) { c.digit_primes = 3; });
        context("digits of no prime", "digits of 1 to 4", [](Chain &c) { c.digit_primes = 0; });
        context("huge digits", "digits of 1 to 4", [](Chain &c) { c.digit_primes = UINT_MAX; });
        context("degree 1", "2^0", [](Chain &c) { c.log2_n = 0; });
        context("a huge degree", "log2_n", [](Chain &c) { c.log2_n = UINT_MAX; });
        context("t = 1", "at least 2", [](Chain &c) { c.plain_modulus = 1; });
        context("t of the chain", "multiple", [](Chain &c) { c.plain_modulus = c.data[0]; });
        context("t above Q", "not below the modulus", [](Chain &c) {
            c.data = {12289};
            c.plain_modulus = UINT_MAX;
        });
        refused("an unknown isa", "has no sse", [] { const Context made(chain_of(0), "sse"); });
    }

    void null_contexts()
    {
        const std::shared_ptr<const Context> null;
        const auto refuse = [](const std::function<void()> &act) { refused("no context", "null", act); };
        refuse([&] { Ciphertext(null, 2, 3, 1, zeros_); });
        refuse([&] { Plaintext(null, reals(numbers_), 1, 3); });
        refuse([&] { Plaintext(null, integers(ones_), Places::slots, 3); });
        refuse([&] { Plaintext::constant(null, 1.0, 1, 3); });
        refuse([&] { Plaintext::constant(null, std::int64_t{1}, 3); });
        refuse([&] { EvaluationKeys made(null); });
        refuse([&] { RekeyKey(null, zeros_); });
        refuse([&] { Sum made(null); });
        refuse([&] { Matrix(null, reals(numbers_), 1, 1, 1, 1); });
        refuse([&] { SecretKey(null, entropy_); });
        refuse([&] { PublicKey(null, zeros_); });
        refuse([&] { SeededKey(null, seed_, zeros_); });
    }

    void ciphertexts()
    {
        for (const double bad : {not_a_number, infinity, -infinity, 0.0, -1.0, 0.5, 0x1p78, 1e300}) {
            refused("a scale", "scale", [&] { Ciphertext(ckks_.context, 2, 3, bad, zeros_); });
        }
        refused("BFV's scale", "give 1", [&] { Ciphertext(bfv_.context, 2, 3, 2, zeros_); });
        // 2^31 times 2 is 0 in 32 bits.
        for (const unsigned components : {0u, 1u, 4u, 1u << 31, UINT_MAX}) {
            refused("components", "2 or 3", [&] { Ciphertext(ckks_.context, components, 2, 1, {}); });
            refused("a summand's", "2 or 3", [&] { Sum(ckks_.context).add(components, zeros_, 1, {}); });
        }
        for (const unsigned primes : {0u, 4u, 1u << 31, UINT_MAX}) {
            refused("primes", "at 1 to 3", [&] { Ciphertext(ckks_.context, 2, primes, 1, zeros_); });
        }
        refused("no residues", "0 residues", [&] { Ciphertext(ckks_.context, 2, 3, 1, {}); });
        std::vector<std::uint32_t> large = zeros_;
        large.back() = ckks_.context->chain().data[2];
        refused("a residue", "not below its prime", [&] { Ciphertext(ckks_.context, 2, 3, 1, large); });
    }

    void plaintexts()
    {
        for (const double bad : {not_a_number, infinity, 0.0, -1.0, 0.5, 1e300}) {
            refused("a scale", "scale", [&] { Plaintext(ckks_.context, reals(numbers_), bad, 3); });
            refused("a constant's", "scale", [&] { Plaintext::constant(ckks_.context, 1.0, bad, 3); });
        }
        for (const double bad : {not_a_number, infinity, -infinity, 1e300, 1e20}) {
            const std::vector<double> one{bad};
            refused("a value", "half the modulus", [&] { Plaintext(ckks_.context, reals(one), scale, 3); });
            refused("a constant", "half the modulus",
                    [&] { Plaintext::constant(ckks_.context, bad, scale, 3); });
        }
        for (const unsigned primes : {0u, 4u, UINT_MAX}) {
            refused("primes", "give 1 to 3", [&] { Plaintext(ckks_.context, reals(numbers_), 1, primes); });
            refused("a constant's", "give 1 to 3",
                    [&] { Plaintext::constant(bfv_.context, std::int64_t{1}, primes); });
        }
        // Refused before it is copied: the span is longer than there is memory.
        const std::span<const double> endless(numbers_.data(), SIZE_MAX / 16);
        refused("values without end", "room for 512", [&] { Plaintext(ckks_.context, endless, 1, 3); });
        for (const std::int64_t bad : {std::int64_t{t}, -std::int64_t{t}, INT64_MIN, INT64_MAX}) {
            const std::vector<std::int64_t> one{bad};
            refused("an integer", "in magnitude",
                    [&] { Plaintext(bfv_.context, integers(one), Places::coefficients, 3); });
            refused("a constant", "in magnitude", [&] { Plaintext::constant(bfv_.context, bad, 3); });
        }
        refused("numbers", "BFV's", [&] { Plaintext(bfv_.context, reals(numbers_), 1, 3); });
        refused("integers", "CKKS's", [&] { Plaintext(ckks_.context, integers(ones_), Places::slots, 3); });
    }

    void keys()
    {
        EvaluationKeys keys(ckks_.context);
        for (const std::uint32_t element : {0u, 1u, 2u, 2048u, 2049u, UINT_MAX}) {
            refused("an element", "odd", [&] { keys.add_galois(element, zeros_); });
            refused("an element", "odd", [&] { make_galois_key(ckks_.secret, element, entropy_); });
        }
        refused("no key", "0 residues", [&] { keys.add_relinearization({}); });
        refused("a public key", "residues are given",
                [&] { keys.add_relinearization(make_public_key(ckks_.secret, entropy_).expanded()); });
        refused("a key of switching", "a public key",
                [&] { PublicKey(make_relinearization_key(ckks_.secret, entropy_)); });
        const std::vector<std::uint32_t> large(4 * 1024, UINT_MAX);
        refused("a seeded residue", "damaged", [&] { SeededKey(ckks_.context, seed_, large); });
        refused("no seeded residues", "0 residues", [&] { SeededKey(ckks_.context, seed_, {}); });
        refused("a seed", "it has 32",
                [&] { SeededKey(ckks_.context, {}, std::vector<std::uint32_t>(4096)); });
        Chain single = chain_of(0);
        single.special.clear();
        const auto context = std::make_shared<const Context>(Insecure{single});
        refused("no seeded residues", "0 residues", [&] { SeededKey(context, seed_, {}); });
        refused("no special prime", "no special prime",
                [&] { make_relinearization_key(SecretKey(context, entropy_), entropy_); });
        refused("other keys", "two contexts", [&] { (void)rotate(x_, 1, bfv_.keys); });
        refused("other ciphertexts", "two contexts", [&] { (void)add(x_, k_); });
        const auto missing = [](const char *words, const std::function<void()> &act) {
            refused("a missing key", words, act);
        };
        missing("rotation by 2 slots, or by -510", [&] { (void)rotate(x_, 2, ckks_.keys); });
        missing("rotation by 511 slots, or by -1", [&] { (void)rotate(x_, -1, ckks_.keys); });
        missing("for the conjugation", [&] { (void)conjugate(x_, ckks_.keys); });
        missing("exchange of the rows", [&] { (void)conjugate(k_, bfv_.keys); });
        missing("make_relinearization_key", [&] { (void)relinearize(square(x_), keys); });
        const EvaluationKeys none(context);
        const Ciphertext x(context, 2, 3, scale, zeros_);
        missing("no special prime", [&] { (void)rotate(x, 1, none); });
        missing("no special prime", [&] { (void)relinearize(square(x), none); });
    }

    void levels_and_scales()
    {
        refused("levels", "mod_switch", [&] { (void)add(x_, mod_switch(x_)); });
        refused("scales", "one scale", [&] { (void)add(x_, square(x_)); });
        refused("a plaintext's level", "encode at as many",
                [&] { (void)add_plain(x_, Plaintext::constant(ckks_.context, 1.0, scale, 2)); });
        refused("a plaintext's scale", "one scale",
                [&] { (void)add_plain(x_, Plaintext::constant(ckks_.context, 1.0, 2 * scale, 3)); });
        const Ciphertext product = relinearize(square(x_), ckks_.keys);
        refused("a product's scale", "not below the modulus", [&] { (void)square(product); });
        refused("a scale at fewer primes", "not below the modulus", [&] { (void)mod_switch(product, 2); });
        refused("three polynomials", "relinearize", [&] { (void)multiply(square(x_), x_); });
        refused("three polynomials", "relinearize", [&] { (void)rotate(square(x_), 1, ckks_.keys); });
        for (const unsigned count : {0u, 3u, 5u, UINT_MAX}) {
            refused("rescaling", "one must be left", [&] { (void)rescale(product, count); });
        }
        for (const unsigned count : {3u, UINT_MAX}) {
            refused("switching", "one must be left", [&] { (void)mod_switch(x_, count); });
            refused("switching", "one must be left", [&] { (void)mod_switch(k_, count); });
        }
        refused("rescaling BFV", "mod_switch", [&] { (void)rescale(k_); });
        refused("a scale below 1", "scale would be",
                [&] { (void)rescale(Ciphertext(ckks_.context, 2, 3, 1, zeros_)); });
    }

    void slots()
    {
        for (const int step : {INT_MIN, INT_MAX, 512, -512}) {
            refused("a step", "smaller step", [&] { (void)rotate(x_, step, ckks_.keys); });
            const int steps[] = {1, step};
            refused("steps", "smaller step", [&] { (void)rotate_hoisted(x_, steps, ckks_.keys); });
        }
        for (const std::size_t count : {std::size_t{0}, std::size_t{513}, SIZE_MAX}) {
            refused("a sum of slots", "give 1 to 512", [&] { (void)inner_sum(x_, count, ckks_.keys); });
            refused("its steps", "give 1 to 512", [&] { (void)inner_sum_steps(*ckks_.context, count); });
        }
        const Room room(1024, entropy_);
        const Ciphertext x(room.context, 2, 3, 1, zeros_);
        const auto without = [](const char *words, const std::function<void()> &act) {
            refused("a plain modulus without slots", words, act);
        };
        const int steps[] = {1};
        without("slots, which rotations", [&] { (void)rotate(x, 1, room.keys); });
        without("slots, which rotations", [&] { (void)rotate_hoisted(x, steps, room.keys); });
        without("slots, which rotations", [&] { (void)conjugate(x, room.keys); });
        without("slots, which inner sums", [&] { (void)inner_sum(x, 1, room.keys); });
        without("slots, which matrices",
                [&] { Matrix(room.context, integers(ones_).first(512), 1, 512, 3); });
        without("slots, which polynomials",
                [&] { (void)evaluate_polynomial(x, integers(ones_), room.keys); });
    }

    void matrices_and_polynomials()
    {
        const auto matrix = [this](double entry, std::size_t rows, std::size_t columns) {
            return Matrix(ckks_.context, reals(std::vector<double>{entry}), rows, columns, scale, 3);
        };
        refused("no rows", "give one for each", [&] { (void)matrix(1, 0, 0); });
        refused("2^64 entries", "give one for each", [&] { (void)matrix(1, std::size_t{1} << 63, 2); });
        for (const double entry : {not_a_number, infinity, 1e300}) {
            refused("an entry", "half the modulus", [&] { (void)matrix(entry, 1, 1); });
        }
        for (const double entry : {0.0, 1e-30}) {
            refused("zeros", "nothing to compute", [&] { (void)matrix(entry, 1, 1); });
        }
        const auto polynomial = [this](const std::vector<double> &p, unsigned primes = 1) {
            (void)evaluate_polynomial(x_, std::span<const double>(p), ckks_.keys, primes);
        };
        for (const double bad : {not_a_number, infinity, 1e300}) {
            refused("a coefficient", "half the modulus", [&] { polynomial({1, bad}); });
            refused("the constant", "half the modulus", [&] { polynomial({bad, 1}); });
        }
        refused("no coefficients", "constant", [&] { polynomial({}); });
        refused("too many levels", "of which one must be left", [&] {
            polynomial({1, 1, 1, 1, 1, 1, 1, 1});
        });
        for (const unsigned primes : {0u, 5u, UINT_MAX}) {
            refused("primes a level", "give 1 to 4", [&] { polynomial({1, 1}, primes); });
        }
        const std::vector<double> square{0, 0, 1};
        const auto at = [&](double other) {
            (void)evaluate_polynomial(Ciphertext(ckks_.context, 2, 3, other, zeros_),
                                      std::span<const double>(square), ckks_.keys);
        };
        refused("a polynomial at a large scale", "leaves a modulus of 2^", [&] { at(0x1p29); });
        refused("a polynomial at no scale", "a scale of at least 2", [&] { at(1); });
        const std::vector<std::int64_t> large{1, INT64_MIN};
        refused("a large coefficient", "in magnitude",
                [&] { (void)evaluate_polynomial(k_, integers(large), bfv_.keys); });
    }

    void sums()
    {
        const auto sum = [this] { return Sum(ckks_.context); };
        refused("of nothing", "no ciphertexts", [&] { (void)sum().total(); });
        refused("a mean of nothing", "no ciphertexts", [&] { (void)sum().mean(); });
        const std::span<const std::uint32_t> first = std::span(zeros_).first(1024);
        const auto seeded = [&](Xof xof, std::span<const std::uint8_t> seed) {
            sum().add(Seeded{xof, seed}, first);
        };
        refused("a seed", "bytes", [&] { seeded(Xof::chacha20, {}); });
        refused("an XOF", "unknown kind", [&] { seeded(static_cast<Xof>(255), seed_); });
        const std::vector<std::span<const std::uint8_t>> none, hundred(100);
        refused("no payload", "0 primes", [&] { sum().add(Seeded{Xof::chacha20, seed_}, none); });
        refused("payloads", "100 primes", [&] { sum().add(Seeded{Xof::chacha20, seed_}, hundred); });
        Sum values = sum();
        values.add(x_);
        refused("two forms", "one form", [&] { values.add(2, zeros_, scale, Form::coefficients); });
        CHECK(values.count() == 1);
        Sum wide = sum();
        const Ciphertext at_one(ckks_.context, 2, 1, 0x1p25, std::span(zeros_).first(2048));
        wide.add(at_one);
        wide.add(at_one);
        refused("a mean's scale", "not below the modulus", [&] { (void)wide.mean(); });
    }

    void owner()
    {
        refused("BFV as CKKS", "decrypt_bfv", [&] { (void)decrypt(k_, bfv_.secret); });
        refused("BFV as CKKS", "decrypt_bfv", [&] { (void)decrypt_coefficients(k_, bfv_.secret); });
        refused("BFV as CKKS", "decrypt_bfv", [&] { (void)decrypt_digits(k_, bfv_.secret); });
        refused("CKKS as BFV", "use decrypt", [&] { (void)decrypt_bfv(x_, ckks_.secret, t); });
        for (const std::uint32_t other : {0u, 1u, 2u, 40961u, UINT_MAX}) {
            refused("another t", "plain modulus", [&] { (void)decrypt_bfv(k_, bfv_.secret, other); });
        }
        refused("another key", "two contexts", [&] { (void)decrypt(x_, bfv_.secret); });
        const std::vector<std::uint32_t> beyond = {1024};
        refused("a position past the ring", "positions within it",
                [&] { (void)decrypt_bfv_at(k_, bfv_.secret, t, beyond); });
        refused("no seed", "give 32", [] { const Entropy entropy({}); });
        for (const int bad : {-128, 2, 127}) {
            std::vector<std::int8_t> coefficients(1024, 1);
            coefficients[1023] = static_cast<std::int8_t>(bad);
            refused("no ternary key", "ternary", [&] { SecretKey(ckks_.context, coefficients); });
        }
        BEHAVIOUR("BFV encrypts and decrypts, under either key");
        const PublicKey key(make_public_key(bfv_.secret, entropy_));
        const Plaintext plain(bfv_.context, integers(ones_), Places::coefficients, 2);
        for (const Ciphertext &c : {encrypt(plain, key, entropy_), encrypt(plain, bfv_.secret, entropy_)}) {
            const std::vector<std::uint32_t> found = decrypt_bfv(c, bfv_.secret, t);
            CHECK(std::equal(ones_.begin(), ones_.end(), found.begin(), found.end()));
        }
    }

    void moved_from()
    {
        const auto refuse = [](const std::function<void()> &act) {
            refused("an object that was moved from", "moved from", act);
        };
        Ciphertext a = x_;
        const Ciphertext b = std::move(a);
        refuse([&] { (void)negate(a); });
        refuse([&] { (void)add(a, b); });
        refuse([&] { (void)add(b, a); });
        refuse([&] { (void)a.residues(); });
        refuse([&] { (void)a.coefficients(); });
        refuse([&] { const Ciphertext copy(a); });
        refuse([&] { (void)decrypt(a, ckks_.secret); });
        EvaluationKeys keys(ckks_.context);
        const EvaluationKeys taken = std::move(keys);
        refuse([&] { (void)relinearize(b, keys); });
        refuse([&] { keys.add_galois(3, zeros_); });
        Sum sum(ckks_.context);
        const Sum other = std::move(sum);
        refuse([&] { (void)sum.count(); });
        refuse([&] { sum.add(b); });
        CompactSum windows(std::make_shared<const Context>(Chain{10, {1038337}, {}}));
        const CompactSum added = std::move(windows);
        refuse([&] { (void)windows.primes(); });
        refuse([&] { (void)windows.residues(); });
        refuse([&] { windows.add(seed_, {}, {}, 4, 1); });
        refused("a sum of three primes", "1 or 2", [&] { const CompactSum wide(ckks_.context); });
        const std::vector<std::uint32_t> first = {0};
        const std::vector<std::int64_t> weight = {1};
        const std::vector<std::uint64_t> payload = {0};
        CompactForms forms(std::make_shared<const Context>(Chain{10, {1038337}, {}}), first, weight);
        const CompactForms taken_forms = std::move(forms);
        refuse([&] { (void)forms.count(); });
        refuse([&] { (void)forms.primes(); });
        refuse([&] { (void)forms.constants(payload, 4); });
        refuse([&] { (void)forms.polynomials(seed_); });
        refused("forms of three primes", "1 or 2",
                [&] { const CompactForms wide(ckks_.context, first, weight); });
        Matrix matrix(ckks_.context, reals(numbers_), 1, numbers_.size(), scale, 3);
        const Matrix whole = std::move(matrix);
        refuse([&] { (void)matrix.steps(); });
        refuse([&] { (void)multiply(matrix, b, ckks_.keys); });
        SecretKey secret(ckks_.context, entropy_);
        const SecretKey kept = std::move(secret);
        refuse([&] { (void)decrypt(b, secret); });
        refuse([&] { (void)secret.residues(); });
        SeededKey seeded = make_public_key(kept, entropy_);
        const SeededKey sent = std::move(seeded);
        refuse([&] { (void)seeded.expanded(); });
        BEHAVIOUR("a ciphertext may be assigned to itself");
        a = b;
        Ciphertext &same = a;
        a = same;
        CHECK(a.residues().size() == b.residues().size());
    }

    static std::span<const double> reals(const std::vector<double> &numbers)
    {
        return numbers;
    }
    static std::span<const std::int64_t> integers(const std::vector<std::int64_t> &numbers)
    {
        return numbers;
    }

    std::vector<std::uint8_t> seed_ = [] {
        std::vector<std::uint8_t> seed(Entropy::seed_bytes);
        for (std::size_t i = 0; i < seed.size(); i++) {
            seed[i] = static_cast<std::uint8_t>(i);
        }
        return seed;
    }();
    Entropy entropy_{seed_};
    std::vector<std::uint32_t> zeros_ = std::vector<std::uint32_t>(2 * 3 * 1024);
    std::vector<double> numbers_{0.5, -0.25};
    std::vector<std::int64_t> ones_ = std::vector<std::int64_t>(1024, 1);
    Room ckks_{0, entropy_}, bfv_{t, entropy_};
    Ciphertext x_ = encrypt(Plaintext(ckks_.context, reals(numbers_), scale, 3), ckks_.secret, entropy_);
    Ciphertext k_ =
        encrypt(Plaintext(bfv_.context, integers(ones_), Places::slots, 3), bfv_.secret, entropy_);
};

} // namespace

int main()
{
    cm_check_state.topic = "misuse";
    Misuse().run();
    return cm_check_summary();
}
