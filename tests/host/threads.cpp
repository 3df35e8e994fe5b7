// SPDX-License-Identifier: Apache-2.0
/*
 * Threads that share one context, its keys, ciphertexts, plaintexts, a matrix, a sum and a source of seeds,
 * and do everything at once: for ThreadSanitizer (CIPHERMOTE_SANITIZE_THREADS). Each must also find what one
 * thread alone found. With --plant-race, one of them writes to a ciphertext that the others read, which must
 * be reported.
 * The last line says "N passed, N failed".
 */
#include <atomic>
#include <cstring>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "check.h"
#include "ciphermote/evaluate.h"
#include "ciphermote/owner.h"
#include "inputs.h"

cm_checks cm_check_state;

namespace
{

using namespace ciphermote;
using namespace ciphermote::testing;

constexpr unsigned threads = 4, rounds = 3;

Chain chain_of(std::uint32_t plain_modulus)
{
    const auto small = primes_below(1u << 26, 10, 4), large = primes_below(1u << 27, 10, 2);
    return {10, small, large, 2, plain_modulus};
}

template <class Number> std::vector<Number> first_numbers(std::size_t count)
{
    std::vector<Number> numbers(count);
    for (std::size_t i = 0; i < count; i++) {
        numbers[i] = static_cast<Number>(i % 3);
    }
    return numbers;
}

Entropy &entropy()
{
    static Entropy shared([] {
        std::vector<std::uint8_t> seed(Entropy::seed_bytes);
        seed[0] = 1;
        return seed;
    }());
    return shared;
}

class Shared
{
  public:
    Shared(std::uint32_t plain_modulus, const std::string &isa)
        : context_(std::make_shared<const Context>(Insecure{chain_of(plain_modulus)}, isa)),
          secret_(context_, entropy()), public_key_(make_public_key(secret_, entropy())), keys_(context_),
          rekey_(context_, make_rekey_key(secret_, secret_, entropy()).expanded()),
          plain_(plaintext(plain_modulus)), matrix_(matrix(plain_modulus)),
          a_(encrypt(plain_, public_key_, entropy())), b_(encrypt(plain_, secret_, entropy())), sum_(context_)
    {
        keys_.add_relinearization(make_relinearization_key(secret_, entropy()).expanded());
        std::set<std::uint32_t> elements{static_cast<std::uint32_t>(2 * context_->n() - 1)};
        for (const int step : {1, 2, 3}) {
            elements.insert(galois_element(*context_, step));
        }
        for (const int step : matrix_.steps()) {
            elements.insert(galois_element(*context_, step));
        }
        for (const std::uint32_t element : elements) {
            keys_.add_galois(element, make_galois_key(secret_, element, entropy()).expanded());
        }
    }

    // The residues that all operations give.
    std::vector<std::uint32_t> everything()
    {
        const int steps[] = {1, 2, 3};
        std::vector<Ciphertext> found = rotate_hoisted(a_, steps, keys_);
        found.push_back(add(a_, b_));
        found.push_back(subtract(negate(a_), b_));
        found.push_back(relinearize(multiply(a_, b_), keys_));
        found.push_back(square(b_));
        found.push_back(add_plain(a_, plain_));
        found.push_back(multiply_plain(a_, plain_));
        found.push_back(mod_switch(a_));
        found.push_back(conjugate(a_, keys_));
        found.push_back(inner_sum(b_, 4, keys_));
        found.push_back(multiply(matrix_, a_, keys_));
        found.push_back(rekey(a_, rekey_));
        if (context_->chain().plain_modulus) {
            found.push_back(evaluate_polynomial(a_, first_numbers<std::int64_t>(3), keys_));
        } else {
            found.push_back(rescale(found[5]));
            found.push_back(evaluate_polynomial(a_, first_numbers<double>(3), keys_));
        }
        std::vector<std::uint32_t> residues;
        for (const Ciphertext &c : found) {
            residues.insert(residues.end(), c.residues().begin(), c.residues().end());
        }
        return residues;
    }

    // The owner's calls, whose seeds differ from call to call.
    bool round_trip()
    {
        const Plaintext again = plaintext(context_->chain().plain_modulus);
        const Ciphertext c = encrypt(again, public_key_, entropy()), d = encrypt(again, secret_, entropy());
        (void)make_galois_key(secret_, 3, entropy());
        sum_.add(c);
        sum_.add(2, d.residues(), d.scale(), Form::values);
        (void)sum_.total();
        return decrypts_to_equal(c, d) && sum_.count() >= 2;
    }
    std::uint64_t summed() const
    {
        return sum_.count();
    }
    void write() // as no one may while others read
    {
        negate(a_, a_);
        negate(a_, a_);
    }

  private:
    bool decrypts_to_equal(const Ciphertext &c, const Ciphertext &d) const
    {
        if (const std::uint32_t t = context_->chain().plain_modulus) {
            return decrypt_bfv(c, secret_, t) == decrypt_bfv(d, secret_, t);
        }
        return std::abs(decrypt(c, secret_)[2] - decrypt(d, secret_)[2]) < 1e-3;
    }
    Plaintext plaintext(std::uint32_t t) const
    {
        const std::size_t n = context_->n();
        return t ? Plaintext(context_, first_numbers<std::int64_t>(n), Places::slots, 4)
                 : Plaintext(context_, first_numbers<double>(n / 2), 0x1p25, 4);
    }
    Matrix matrix(std::uint32_t t) const
    {
        return t ? Matrix(context_, first_numbers<std::int64_t>(6), 2, 3, 4)
                 : Matrix(context_, first_numbers<double>(6), 2, 3, 0x1p26, 4);
    }

    std::shared_ptr<const Context> context_;
    SecretKey secret_;
    PublicKey public_key_;
    EvaluationKeys keys_;
    RekeyKey rekey_;
    Plaintext plain_;
    Matrix matrix_;
    Ciphertext a_, b_;
    Sum sum_;
};

void at_once(std::uint32_t plain_modulus, const std::string &isa, bool plant_race)
{
    Shared shared(plain_modulus, isa);
    const std::vector<std::uint32_t> alone = shared.everything();
    std::atomic<unsigned> right{0};
    std::vector<std::thread> workers;
    for (unsigned worker = 0; worker < threads; worker++) {
        workers.emplace_back([&] {
            for (unsigned round = 0; round < rounds; round++) {
                const bool same = shared.everything() == alone;
                right += same && shared.round_trip();
            }
        });
    }
    std::atomic<bool> done{false};
    std::thread writer([&] {
        while (plant_race && !done.load(std::memory_order_relaxed)) {
            shared.write(); // takes no lock that could order it after the readers
        }
    });
    for (std::thread &worker : workers) {
        worker.join();
    }
    done.store(true, std::memory_order_relaxed);
    writer.join();
    BEHAVIOUR("each thread finds what one alone finds");
    CHECK(right == threads * rounds);
    CHECK(shared.summed() == 2 * threads * rounds);
}

} // namespace

int main(int count, char **arguments)
{
    cm_check_state.topic = "threads";
    const bool plant_race = count == 2 && std::strcmp(arguments[1], "--plant-race") == 0;
    for (const char *isa : {"", "portable"}) {
        for (const std::uint32_t plain_modulus : {0u, 12289u}) {
            at_once(plain_modulus, isa, plant_race);
        }
    }
    return cm_check_summary();
}
