// SPDX-License-Identifier: Apache-2.0
/*
 * The hosted library's owner in constant time, as watch.h says of the C library: memcheck takes secrets for
 * uninitialised memory. Run it under valgrind: without arguments, all behaviours; with names, those only;
 * with "leaks", whether leaks are found.
 *
 * Each behaviour runs with portable C++ and with AVX2; memcheck knows no AVX-512. The caller marks what may
 * become public as it is published: keys and ciphertexts.
 */
#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include <valgrind/memcheck.h>

#include "ciphermote/owner.h"

extern "C" {
#include "check.h"
}

#ifndef CM_TEST_CONSTANT_TIME
#error \
    "Compile the libraries and this test with CM_TEST_CONSTANT_TIME=1, or nothing public is known to be so."
#endif

cm_checks cm_check_state;

namespace
{

using namespace ciphermote;
using SharedContext = std::shared_ptr<const Context>;

constexpr std::size_t n = 1024;
const Chain chain = {10, {67104769, 67090433, 67086337}, {67084289, 67065857}, 2};

// ---- marks ----

template <class T> void mark_secret(std::span<const T> memory)
{
    (void)VALGRIND_MAKE_MEM_UNDEFINED(memory.data(), memory.size_bytes());
}

template <class T> void publish(std::span<const T> memory)
{
    (void)VALGRIND_MAKE_MEM_DEFINED(memory.data(), memory.size_bytes());
}

// Whether each number depends on a secret, in any bit; and whether none does.
template <class T> std::size_t secrets(std::span<const T> memory)
{
    std::vector<unsigned char> unknown(memory.size_bytes());
    CHECK(VALGRIND_GET_VBITS(memory.data(), unknown.data(), unknown.size()) == 1);
    std::size_t count = 0;
    for (std::size_t i = 0; i < memory.size(); i++) {
        const auto first = unknown.begin() + static_cast<std::ptrdiff_t>(i * sizeof(T));
        count += std::any_of(first, first + sizeof(T), [](unsigned char bits) { return bits != 0; });
    }
    return count;
}

template <class T> bool all_secret(const T &numbers)
{
    return secrets(std::span(numbers)) == std::span(numbers).size();
}

std::size_t given_back, given_back_secret; // arrays

unsigned new_errors()
{
    static unsigned known;
    const unsigned all = VALGRIND_COUNT_ERRORS;
    const unsigned fresh = all - known;
    known = all;
    return fresh;
}

} // namespace

// ---- memory that the library gives back: the linker hands its calls to us (--wrap) ----

extern "C" void real_give_memory(void *memory,
                                 std::size_t bytes) asm("__real__ZN10ciphermote11give_memoryEPvm");
extern "C" void seen_give_memory(void *memory,
                                 std::size_t bytes) asm("__wrap__ZN10ciphermote11give_memoryEPvm");

extern "C" void seen_give_memory(void *memory, std::size_t bytes)
{
    given_back++;
    given_back_secret += secrets(std::span(static_cast<const unsigned char *>(memory), bytes)) != 0;
    real_give_memory(memory, bytes);
}

namespace
{

// ---- secrets ----

std::vector<std::uint8_t> drawn(std::size_t count)
{
    static std::uint32_t x = 1;
    std::vector<std::uint8_t> bytes(count);
    for (std::uint8_t &byte : bytes) {
        x = 1664525u * x + 1013904223u;
        byte = static_cast<std::uint8_t>(x >> 24);
    }
    return bytes;
}

std::unique_ptr<Entropy> entropy()
{
    const std::vector<std::uint8_t> seed = drawn(Entropy::seed_bytes);
    mark_secret(std::span(seed));
    return std::make_unique<Entropy>(seed);
}

struct Owner {
    SharedContext context;
    std::unique_ptr<Entropy> random = entropy();
    SecretKey secret{context, *random};
};

Plaintext secret_plaintext(const SharedContext &context, double scale)
{
    Plaintext plaintext(context, std::span<const double>(std::vector<double>(n / 2, 0.5)), scale, 3);
    mark_secret(plaintext.residues());
    return plaintext;
}

Ciphertext published(Ciphertext ciphertext)
{
    publish(ciphertext.residues());
    return ciphertext;
}

template <class Call> bool refused(const Call &call)
{
    try {
        call();
    } catch (const Error &) {
        return true;
    }
    return false;
}

// ---- behaviours ----

void a_secret_key_is_drawn_in_constant_time(const SharedContext &context)
{
    const Owner owner{context};
    CHECK(all_secret(owner.secret.coefficients()));
    CHECK(all_secret(owner.secret.residues()));
}

void a_given_secret_key_is_checked_in_constant_time(const SharedContext &context)
{
    std::vector<std::int8_t> coefficients(n);
    for (const int fill : {0, 1, 2, -2}) {
        std::fill(coefficients.begin(), coefficients.end(), static_cast<std::int8_t>(fill));
        mark_secret(std::span(std::as_const(coefficients)));
        CHECK(refused([&] { SecretKey(context, coefficients); }) == (fill != 1));
    }
    const std::vector<std::uint8_t> equal(Entropy::seed_bytes, 7);
    mark_secret(std::span(equal));
    CHECK(refused([&] { Entropy random(equal); }));
}

void check_key(const SeededKey &key)
{
    CHECK(all_secret(key.first())); // until it is published
    CHECK(secrets(key.seed()) == 0);
}

void keys_are_made_in_constant_time(const SharedContext &context)
{
    Owner owner{context};
    const SecretKey device(context, *owner.random);
    check_key(make_public_key(owner.secret, *owner.random));
    check_key(make_relinearization_key(owner.secret, *owner.random));
    check_key(make_galois_key(owner.secret, 3, *owner.random));
    check_key(make_rekey_key(owner.secret, device, *owner.random));
}

void encryption_is_in_constant_time(const SharedContext &context)
{
    Owner owner{context};
    const SeededKey seeded = make_public_key(owner.secret, *owner.random);
    publish(seeded.first());
    const PublicKey key(seeded);
    const Ciphertext under_public = encrypt(secret_plaintext(context, 0x1p20), key, *owner.random);
    CHECK(all_secret(under_public.residues()));
    const Ciphertext under_secret = encrypt(secret_plaintext(context, 0x1p20), owner.secret, *owner.random);
    CHECK(all_secret(under_secret.residues().first(3 * n)));
    CHECK(secrets(under_secret.residues().last(3 * n)) == 0);
}

// Two components, and three.
template <class Decrypt>
void check_decryption(const SharedContext &context, double scale, const Decrypt &decrypt)
{
    Owner owner{context};
    const Owner other{context};
    for (unsigned components = 2; components <= 3; components++) {
        for (unsigned primes = 1; primes <= 3; primes++) {
            const Ciphertext fresh =
                published(encrypt(secret_plaintext(context, scale), owner.secret, *owner.random));
            std::vector<std::uint32_t> residues(components * primes * n); // a third component: zeros
            for (unsigned i = 0; i < 2 * primes; i++) {
                const std::size_t from = (i / primes * fresh.primes() + i % primes) * n;
                std::copy_n(fresh.residues().data() + from, n, residues.data() + i * n);
            }
            const Ciphertext given(context, components, primes, scale, residues);
            CHECK(!refused([&] { CHECK(all_secret(decrypt(given, owner.secret))); }));
            CHECK(new_errors() == 0);
            CHECK(refused([&] { (void)decrypt(given, other.secret); }));
        }
    }
}

void decryption_is_in_constant_time(const SharedContext &context)
{
    check_decryption(context, 0x1p20,
                     [](const Ciphertext &c, const SecretKey &secret) { return decrypt(c, secret); });
}

void coefficients_are_decrypted_in_constant_time(const SharedContext &context)
{
    check_decryption(context, 0x1p20, [](const Ciphertext &c, const SecretKey &secret) {
        return decrypt_coefficients(c, secret);
    });
}

void digits_are_decrypted_in_constant_time(const SharedContext &context)
{
    check_decryption(context, 0x1p20,
                     [](const Ciphertext &c, const SecretKey &secret) { return decrypt_digits(c, secret); });
}

void bfv_is_decrypted_in_constant_time(const SharedContext &context)
{
    for (const std::uint32_t t : {2u, 4096u, 40961u}) {
        check_decryption(context, 1, [t](const Ciphertext &c, const SecretKey &secret) {
            return decrypt_bfv(c, secret, t);
        });
    }
}

void chosen_coefficients_are_decrypted_in_constant_time(const SharedContext &context)
{
    const Owner owner{context};
    const Ciphertext given = published(encrypt(secret_plaintext(context, 1), owner.secret, *owner.random));
    const std::vector<std::uint32_t> positions = {0, 5, n - 1}, beyond = {n};
    const Coefficients found = decrypt_bfv_at(given, owner.secret, 40961, positions);
    CHECK(found.messages.size() == 3 && all_secret(std::span(found.messages)));
    CHECK(found.noise.size() == 3 && all_secret(std::span(found.noise)));
    CHECK(refused([&] { (void)decrypt_bfv_at(given, owner.secret, 40961, beyond); }));
}

template <class Call> void check_given_back(const Call &call)
{
    given_back = given_back_secret = 0;
    call();
    CHECK(given_back > 0);
    CHECK(given_back_secret == 0);
}

void memory_that_is_given_back_holds_no_secret(const SharedContext &context)
{
    const Owner owner{context};
    Entropy &random = *owner.random;
    const SeededKey seeded = make_public_key(owner.secret, random);
    publish(seeded.first());
    const PublicKey key(seeded);
    const Plaintext plaintext = secret_plaintext(context, 0x1p20);
    const Ciphertext given = published(encrypt(plaintext, key, random));
    check_given_back([&] {
        const SeededKey galois = make_galois_key(owner.secret, 3, random);
        publish(galois.first());
    });
    check_given_back([&] { (void)published(encrypt(plaintext, owner.secret, random)); });
    check_given_back([&] { (void)published(encrypt(plaintext, key, random)); });
    check_given_back([&] { (void)decrypt(given, owner.secret); });
    const Ciphertext unscaled(context, given.components(), given.primes(), 1, given.residues());
    check_given_back([&] { (void)refused([&] { (void)decrypt_bfv(unscaled, owner.secret, 40961); }); });
    const std::vector<std::uint32_t> none;
    check_given_back([&] { (void)decrypt_bfv_at(unscaled, owner.secret, 40961, none); });
    check_given_back([&] { const SecretKey gone(context, random); });
}

// Leaks in the test's own code, which must be found.

volatile unsigned seen;

void a_branch_by_a_secret_residue_is_found(const SharedContext &context)
{
    const Owner owner{context};
    if (owner.secret.residues()[5] & 1u) {
        seen = 1;
    }
    CHECK(new_errors() > 0);
}

void a_secret_seed_that_is_expanded_as_public_is_found(const SharedContext &context)
{
    Owner owner{context};
    const SeededKey key = make_public_key(owner.secret, *owner.random);
    mark_secret(key.seed());
    (void)key.expanded();
    CHECK(new_errors() > 0);
}

struct Behaviour {
    const char *name;
    void (*run)(const SharedContext &);
};

#define BEHAVIOUR_OF(function) \
    { \
#function, function \
    }

const Behaviour behaviours[] = {
    BEHAVIOUR_OF(a_secret_key_is_drawn_in_constant_time),
    BEHAVIOUR_OF(a_given_secret_key_is_checked_in_constant_time),
    BEHAVIOUR_OF(keys_are_made_in_constant_time),
    BEHAVIOUR_OF(encryption_is_in_constant_time),
    BEHAVIOUR_OF(decryption_is_in_constant_time),
    BEHAVIOUR_OF(coefficients_are_decrypted_in_constant_time),
    BEHAVIOUR_OF(digits_are_decrypted_in_constant_time),
    BEHAVIOUR_OF(bfv_is_decrypted_in_constant_time),
    BEHAVIOUR_OF(chosen_coefficients_are_decrypted_in_constant_time),
    BEHAVIOUR_OF(memory_that_is_given_back_holds_no_secret),
};

#undef BEHAVIOUR_OF
#define PLANTED(function) \
    { \
#function, function \
    }

const Behaviour planted[] = {
    PLANTED(a_branch_by_a_secret_residue_is_found),
    PLANTED(a_secret_seed_that_is_expanded_as_public_is_found),
};

void run(const Behaviour &one, const std::vector<SharedContext> &contexts, bool leaks)
{
    BEHAVIOUR(one.name);
    for (const SharedContext &context : contexts) {
        one.run(context);
        if (!leaks) {
            CHECK(new_errors() == 0);
        }
    }
}

std::vector<SharedContext> make_contexts()
{
    std::vector<SharedContext> contexts;
    for (const char *isa : {"portable", "avx2"}) {
        try {
            contexts.push_back(std::make_shared<const Context>(Insecure{chain}, isa));
        } catch (const Error &) {
            cm_leave_out(1, isa, "this machine has no such instructions");
        }
    }
    return contexts;
}

} // namespace

int main(int count, char **arguments)
{
    cm_check_state.topic = "the owner's constant time";
    if (!RUNNING_ON_VALGRIND) {
        puts("This test shows nothing by itself: run it as `valgrind ./constant_time_tests`.");
        return EXIT_FAILURE;
    }
    const std::vector<SharedContext> contexts = make_contexts();
    int ran = 0;
    const bool leaks = count == 2 && std::strcmp(arguments[1], "leaks") == 0;
    for (const Behaviour &one : leaks ? std::span<const Behaviour>(planted) : behaviours) {
        const bool named = std::any_of(arguments + 1, arguments + count,
                                       [&](const char *name) { return std::strcmp(name, one.name) == 0; });
        if (leaks || count == 1 || named) {
            run(one, contexts, leaks);
            ran++;
        }
    }
    CHECK(leaks || count == 1 || ran == count - 1);
    return cm_check_summary();
}
