// SPDX-License-Identifier: Apache-2.0
/*
 * Results that are written into a ciphertext that is there: the same as those that are returned, whatever it
 * held and even if it is an operand; and a loop of such calls allocates nothing. The last line says
 * "N passed, N failed".
 */
#include <algorithm>
#include <atomic>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "check.h"
#include "ciphermote/evaluate.h"
#include "ciphermote/owner.h"
#include "inputs.h"

cm_checks cm_check_state;

namespace
{

std::atomic<std::size_t> allocations;

void *counted(std::size_t size, std::size_t alignment)
{
    allocations++;
    void *const memory = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    if (memory == nullptr) {
        std::abort();
    }
    return memory;
}

} // namespace

void *operator new(std::size_t size)
{
    return counted(size, alignof(std::max_align_t));
}

void *operator new(std::size_t size, std::align_val_t alignment)
{
    return counted(size, static_cast<std::size_t>(alignment));
}

void operator delete(void *memory) noexcept
{
    std::free(memory);
}

void operator delete(void *memory, std::size_t) noexcept
{
    std::free(memory);
}

void operator delete(void *memory, std::align_val_t) noexcept
{
    std::free(memory);
}

void operator delete(void *memory, std::size_t, std::align_val_t) noexcept
{
    std::free(memory);
}

namespace
{

using namespace ciphermote;
using namespace ciphermote::testing;

constexpr double scale = 0x1p20;

Chain chain_of(std::uint32_t plain_modulus)
{
    return {10, primes_below(1u << 26, 10, 4), primes_below(1u << 27, 10, 1), 1, plain_modulus};
}

bool same(const Ciphertext &a, const Ciphertext &b)
{
    return a.context() == b.context() && a.components() == b.components() && a.primes() == b.primes() &&
           a.scale() == b.scale() && std::ranges::equal(a.residues(), b.residues());
}

struct Operation {
    const char *name;
    std::function<Ciphertext(const Ciphertext &a, const Ciphertext &b)> returned;
    std::function<void(const Ciphertext &a, const Ciphertext &b, Ciphertext &out)> written;
};

class InPlace
{
  public:
    explicit InPlace(std::uint32_t plain_modulus)
        : bfv_(plain_modulus != 0),
          context_(std::make_shared<const Context>(Insecure{chain_of(plain_modulus)})),
          entropy_(std::vector<std::uint8_t>{1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8,
                                             1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8}),
          secret_(context_, entropy_), public_key_(make_public_key(secret_, entropy_)), keys_(context_),
          rekey_key_(context_, make_rekey_key(secret_, secret_, entropy_).expanded()), plain_(plaintext(7)),
          a_(encrypt(plaintext(3), secret_, entropy_)), b_(encrypt(plaintext(5), secret_, entropy_)),
          product_(multiply(a_, b_))
    {
        keys_.add_relinearization(make_relinearization_key(secret_, entropy_));
        for (const std::uint32_t element : {galois_element(*context_, 1), conjugation()}) {
            keys_.add_galois(element, make_galois_key(secret_, element, entropy_));
        }
    }

    void run()
    {
        for (const Operation &operation : operations()) {
            BEHAVIOUR(operation.name);
            same_as_returned(operation);
            allocates_nothing(operation);
        }
        BEHAVIOUR("what takes the place of its operand");
        operands_replaced();
        BEHAVIOUR("sums of two and three polynomials");
        mixed_sums();
        BEHAVIOUR("a call that is refused leaves out as it was");
        refusals();
        BEHAVIOUR("an encryption into a ciphertext that is there");
        encryptions();
    }

  private:
    std::uint32_t conjugation() const
    {
        return static_cast<std::uint32_t>(2 * context_->n() - 1);
    }

    Plaintext plaintext(std::int64_t first) const
    {
        std::vector<std::int64_t> integers(context_->n() / 2);
        std::vector<double> reals;
        for (std::size_t i = 0; i < integers.size(); i++) {
            integers[i] = (first + static_cast<std::int64_t>(i)) % 100;
            reals.push_back(static_cast<double>(integers[i]) / 8);
        }
        return bfv_ ? Plaintext(context_, std::span<const std::int64_t>(integers), Places::slots, 4)
                    : Plaintext(context_, std::span<const double>(reals), scale, 4);
    }

    std::vector<Operation> operations() const
    {
        using C = const Ciphertext &;
        const auto between = std::make_shared<Ciphertext>();
        std::vector<Operation> found{
            {"add", [](C a, C b) { return add(a, b); }, [](C a, C b, Ciphertext &out) { add(a, b, out); }},
            {"subtract", [](C a, C b) { return subtract(a, b); },
             [](C a, C b, Ciphertext &out) { subtract(a, b, out); }},
            {"negate", [](C a, C) { return negate(a); }, [](C a, C, Ciphertext &out) { negate(a, out); }},
            {"add_plain", [&](C a, C) { return add_plain(a, plain_); },
             [&](C a, C, Ciphertext &out) { add_plain(a, plain_, out); }},
            {"multiply_plain", [&](C a, C) { return multiply_plain(a, plain_); },
             [&](C a, C, Ciphertext &out) { multiply_plain(a, plain_, out); }},
            {"multiply", [](C a, C b) { return multiply(a, b); },
             [](C a, C b, Ciphertext &out) { multiply(a, b, out); }},
            {"square", [](C a, C) { return square(a); }, [](C a, C, Ciphertext &out) { square(a, out); }},
            {"relinearize", [&](C a, C b) { return relinearize(multiply(a, b), keys_); },
             [this, between](C a, C b, Ciphertext &out) {
                 multiply(a, b, *between);
                 relinearize(*between, keys_, out);
             }},
            {"rekey", [&](C a, C) { return rekey(a, rekey_key_); },
             [&](C a, C, Ciphertext &out) { rekey(a, rekey_key_, out); }},
            {"mod_switch", [](C a, C) { return mod_switch(a, 2); },
             [](C a, C, Ciphertext &out) { mod_switch(a, 2, out); }},
            {"rotate", [&](C a, C) { return rotate(a, 1, keys_); },
             [&](C a, C, Ciphertext &out) { rotate(a, 1, keys_, out); }},
            {"rotate by nothing", [&](C a, C) { return rotate(a, 0, keys_); },
             [&](C a, C, Ciphertext &out) { rotate(a, 0, keys_, out); }},
            {"conjugate", [&](C a, C) { return conjugate(a, keys_); },
             [&](C a, C, Ciphertext &out) { conjugate(a, keys_, out); }},
        };
        if (!bfv_) {
            found.push_back({"rescale", [](C a, C b) { return rescale(multiply(a, b), 1); },
                             [between](C a, C b, Ciphertext &out) {
                                 multiply(a, b, *between);
                                 rescale(*between, 1, out);
                             }});
        }
        return found;
    }

    void same_as_returned(const Operation &operation) const
    {
        const Ciphertext expected = operation.returned(a_, b_);
        for (const Ciphertext &before : {Ciphertext(a_), product_, mod_switch(a_, 2)}) {
            Ciphertext out = before;
            operation.written(a_, b_, out);
            CHECK(same(out, expected));
        }
        Ciphertext empty;
        operation.written(a_, b_, empty);
        CHECK(same(empty, expected));
        Ciphertext first = a_, second = b_;
        operation.written(first, b_, first);
        CHECK(same(first, expected));
        operation.written(a_, second, second);
        CHECK(same(second, expected));
        Ciphertext both = a_;
        operation.written(both, both, both);
        CHECK(same(both, operation.returned(a_, a_)));
    }

    void allocates_nothing(const Operation &operation) const
    {
        Ciphertext out, operand = a_;
        operation.written(operand, b_, out);
        operation.written(operand, b_, out);
        const std::size_t before = allocations;
        for (int i = 0; i < 10; i++) {
            operation.written(operand, b_, out);
        }
        CHECK(allocations == before);
    }

    void operands_replaced() const
    {
        Ciphertext x = product_;
        relinearize(x, keys_, x);
        CHECK(same(x, relinearize(product_, keys_)));
        if (!bfv_) {
            const Ciphertext expected = rescale(x, 1);
            rescale(x, 1, x);
            CHECK(same(x, expected));
        }
    }

    void mixed_sums() const
    {
        for (const auto &[a, b] : {std::pair(&a_, &product_), std::pair(&product_, &a_)}) {
            if (!bfv_) {
                continue; // of two scales
            }
            const Ciphertext sum = add(*a, *b), difference = subtract(*a, *b);
            Ciphertext first = *a, second = *b;
            add(first, *b, first);
            add(*a, second, second);
            CHECK(same(first, sum) && same(second, sum));
            first = *a, second = *b;
            subtract(first, *b, first);
            subtract(*a, second, second);
            CHECK(same(first, difference) && same(second, difference));
        }
    }

    void refusals() const
    {
        Ciphertext out = a_;
        const auto refused = [&](const std::function<void()> &act) {
            try {
                act();
                CHECK(!"refused");
            } catch (const Error &) {
                CHECK(same(out, a_));
            }
        };
        refused([&] { rotate(b_, 5, keys_, out); });
        refused([&] { multiply(product_, b_, out); });
        refused([&] { mod_switch(b_, 4, out); });
        refused([&] { add(b_, mod_switch(b_, 1), out); });
        refused([&] { relinearize(product_, EvaluationKeys(context_), out); });
        refused([&] { add(Ciphertext(), b_, out); });
    }

    void encryptions()
    {
        Ciphertext out = product_;
        encrypt(plain_, secret_, entropy_, out);
        CHECK(opens(out));
        encrypt(plain_, public_key_, entropy_, out);
        CHECK(opens(out));
    }

    bool opens(const Ciphertext &c) const
    {
        const std::vector<std::int64_t> numbers = opened(c), expected = opened(trivial());
        return numbers == expected;
    }

    // The plaintext, plus an encryption less itself.
    Ciphertext trivial() const
    {
        return add_plain(subtract(a_, a_), plain_);
    }

    std::vector<std::int64_t> opened(const Ciphertext &c) const
    {
        std::vector<std::int64_t> numbers;
        if (bfv_) {
            for (const std::uint32_t x : decrypt_bfv(c, secret_, context_->chain().plain_modulus)) {
                numbers.push_back(x);
            }
            return numbers;
        }
        for (const std::complex<double> &x : decrypt(c, secret_)) {
            numbers.push_back(std::lround(8 * x.real()));
        }
        return numbers;
    }

    bool bfv_;
    std::shared_ptr<const Context> context_;
    Entropy entropy_;
    SecretKey secret_;
    PublicKey public_key_;
    EvaluationKeys keys_;
    RekeyKey rekey_key_;
    Plaintext plain_;
    Ciphertext a_, b_, product_;
};

} // namespace

int main()
{
    cm_check_state.topic = "in place";
    InPlace(0).run();
    InPlace(12289).run();
    return cm_check_summary();
}
