// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "ciphermote/evaluate.h"
#include "evaluate/addable.h"
#include "rns/expansion.h"
#include "rns/level.h"
#include "rns/lock.h"
#include "rns/memory.h"
#include "rns/polynomials.h"
#include "rns/unpacking.h"

namespace ciphermote
{

struct Sum::Body {
    std::shared_ptr<const Context> context;
    Lock busy; // whoever adds or asks waits
    std::uint64_t count = 0;
    unsigned components = 0, primes = 0;
    double scale = 1;
    Form form = Form::values;
    words sums;    // [components][primes][n]
    words summand; // [primes][n]
    Unpacking unpacking;

    const Tables &tables() const
    {
        return tables_of(context);
    }
    std::size_t component_words() const
    {
        return primes * tables().n();
    }
    void check_alike(unsigned components_given, unsigned primes_given, double scale_given,
                     Form form_given) const;
    unsigned checked_primes(unsigned polynomials, std::span<const std::uint32_t> residues) const;
    void begin(unsigned primes_given, double scale_given, Form form_given);
    void widen(unsigned wanted);
    void add_component(unsigned component, const std::uint32_t *residues);
    void add_seeded(const Seeded &seeded);
    void unpack(unsigned prime, std::span<const std::uint8_t> bytes);
    Ciphertext as_ciphertext(double scale_of_it) const;
};

Sum::Sum(std::shared_ptr<const Context> context) : body_(std::make_unique<Body>())
{
    body_->context = held(context);
}

Sum::~Sum() = default;
Sum::Sum(Sum &&) noexcept = default;
Sum &Sum::operator=(Sum &&) noexcept = default;

namespace
{

void check_seed(const Seeded &seeded)
{
    const std::size_t wanted = seeded.xof == Xof::chacha20 ? 32 : 64;
    if (seeded.xof < Xof::blake2xb || seeded.xof > Xof::chacha20) {
        throw Error("The seed is of the unknown kind " + std::to_string(static_cast<unsigned>(seeded.xof)) +
                    ": there are 1 (BLAKE2Xb), 2 (SHAKE256) and 3 (ChaCha20).");
    }
    if (seeded.seed.size() != wanted) {
        throw Error("The seed has " + std::to_string(seeded.seed.size()) +
                    " bytes: ChaCha20's have 32, the others' 64.");
    }
}

[[noreturn]] void refuse_residue(std::uint32_t q)
{
    throw Error("A residue is not below its prime " + std::to_string(q) +
                ": the ciphertext is damaged, or of another chain.");
}

bool all_below(const std::uint32_t *residues, std::size_t n, std::uint32_t q)
{
    bool above = false;
    for (std::size_t i = 0; i < n; i++) {
        above |= residues[i] >= q;
    }
    return !above;
}

} // namespace

void Sum::Body::check_alike(unsigned components_given, unsigned primes_given, double scale_given,
                            Form form_given) const
{
    check_level(tables(), components_given, primes_given, scale_given);
    if (count == 0) {
        return;
    }
    check_primes(primes, primes_given);
    check_scales(scale, scale_given);
    if (form != form_given) {
        throw Error("Values and coefficients are to be added: bring the ciphertexts to one form.");
    }
}

// How many primes so many polynomials of these residues have. Error unless each residue is below its prime.
unsigned Sum::Body::checked_primes(unsigned polynomials, std::span<const std::uint32_t> residues) const
{
    const Tables &t = tables();
    const std::size_t given = residues.size() / (polynomials * t.n());
    if (given < 1 || given > t.data() || residues.size() != polynomials * given * t.n()) {
        throw Error(std::to_string(residues.size()) +
                    " residues are given: give [components][primes][n] of " + "them, of 1 to " +
                    std::to_string(t.data()) + " primes.");
    }
    for (std::size_t i = 0; i < polynomials * given; i++) {
        const std::uint32_t q = t.prime(static_cast<unsigned>(i % given)).q;
        if (!all_below(residues.data() + i * t.n(), t.n(), q)) {
            refuse_residue(q);
        }
    }
    return static_cast<unsigned>(given);
}

// What is given is known to fit.
void Sum::Body::begin(unsigned primes_given, double scale_given, Form form_given)
{
    if (count++ == 0) {
        primes = primes_given;
        scale = scale_given;
        form = form_given;
    }
}

void Sum::Body::widen(unsigned wanted)
{
    if (components < wanted) {
        components = wanted;
        sums.resize(components * component_words(), 0);
    }
}

void Sum::Body::add_component(unsigned component, const std::uint32_t *residues)
{
    const Tables &t = tables();
    for (unsigned m = 0; m < primes; m++) {
        std::uint32_t *to = sums.data() + component * component_words() + m * t.n();
        t.kernels->add(to, to, residues + m * t.n(), t.prime(m));
    }
}

void Sum::add(const Ciphertext &ciphertext)
{
    [[maybe_unused]] const Turn turn(held(body_)->busy);
    if (!go_together(ciphertext.context(), body_->context)) {
        throw Error("The ciphertext is of another context than the sum: make both with one.");
    }
    body_->check_alike(ciphertext.components(), ciphertext.primes(), ciphertext.scale(), Form::values);
    body_->begin(ciphertext.primes(), ciphertext.scale(), Form::values);
    body_->widen(ciphertext.components());
    for (unsigned component = 0; component < ciphertext.components(); component++) {
        body_->add_component(component, polynomial(ciphertext, component, 0));
    }
}

void Sum::add(unsigned components, std::span<const std::uint32_t> residues, double scale, Form form)
{
    [[maybe_unused]] const Turn turn(held(body_)->busy);
    if (components < 2 || components > 3) {
        throw Error("A ciphertext of " + std::to_string(components) + " polynomials is given: give 2 or 3.");
    }
    const unsigned primes = body_->checked_primes(components, residues);
    body_->check_alike(components, primes, scale, form);
    body_->begin(primes, scale, form);
    body_->widen(components);
    const std::size_t each = body_->component_words();
    for (unsigned component = 0; component < components; component++) {
        const std::span<const std::uint32_t> one = residues.subspan(component * each, each);
        body_->summand.assign(one.begin(), one.end());
        body_->add_component(component, body_->summand.data());
    }
}

// The first polynomial is the summand, and becomes the second one.
void Sum::Body::add_seeded(const Seeded &seeded)
{
    const Tables &t = tables();
    widen(2);
    add_component(0, summand.data());
    if (seeded.xof == Xof::chacha20) {
        for (unsigned m = 0; m < primes; m++) {
            expand_uniform(*t.kernels, seeded.seed.data(), m, t.moduli[m], summand.data() + m * t.n());
        }
    } else {
        expand_as_seal(t, seeded.xof == Xof::shake256, seeded.seed.data(), primes, summand.data());
    }
    add_component(1, summand.data());
}

void Sum::add(const Seeded &seeded, std::span<const std::uint32_t> residues)
{
    [[maybe_unused]] const Turn turn(held(body_)->busy);
    check_seed(seeded);
    const unsigned primes = body_->checked_primes(1, residues);
    body_->check_alike(2, primes, seeded.scale, seeded.form);
    body_->summand.assign(residues.begin(), residues.end());
    body_->begin(primes, seeded.scale, seeded.form);
    body_->add_seeded(seeded);
}

// Error unless all residues are below their prime.
void Sum::Body::unpack(unsigned prime, std::span<const std::uint8_t> bytes)
{
    unpacking.begin();
    unpacking.add(bytes);
    if (!unpacking.end(tables(), prime, summand.data() + prime * tables().n())) {
        refuse_residue(tables().prime(prime).q);
    }
}

void Sum::add(const Seeded &seeded, std::span<const std::span<const std::uint8_t>> packed)
{
    [[maybe_unused]] const Turn turn(held(body_)->busy);
    const unsigned primes = static_cast<unsigned>(packed.size());
    check_seed(seeded);
    body_->check_alike(2, primes, seeded.scale, seeded.form);
    body_->summand.resize(primes * body_->tables().n());
    for (unsigned m = 0; m < primes; m++) {
        body_->unpack(m, packed[m]);
    }
    body_->begin(primes, seeded.scale, seeded.form);
    body_->add_seeded(seeded);
}

std::uint64_t Sum::count() const
{
    [[maybe_unused]] const Turn turn(held(body_)->busy);
    return body_->count;
}

Ciphertext Sum::Body::as_ciphertext(double scale_of_it) const
{
    if (count == 0) {
        throw Error("A sum of no ciphertexts was asked for: add at least one.");
    }
    const Tables &t = tables();
    check_scale_fits(t, primes, scale_of_it);
    Ciphertext out;
    reshape(out, context, components, primes, scale_of_it);
    std::copy(sums.begin(), sums.end(), polynomial(out, 0, 0));
    if (form == Form::coefficients) {
        for (unsigned i = 0; i < components * primes; i++) {
            t.kernels->ntt_forward(polynomial(out, i / primes, i % primes), t.prime(i % primes));
        }
    }
    return out;
}

Ciphertext Sum::total() const
{
    [[maybe_unused]] const Turn turn(held(body_)->busy);
    return body_->as_ciphertext(body_->scale);
}

Ciphertext Sum::mean() const
{
    [[maybe_unused]] const Turn turn(held(body_)->busy);
    if (body_->tables().integers) {
        throw Error("BFV has no means, for it computes with integers: decrypt the total, and divide.");
    }
    return body_->as_ciphertext(body_->scale * static_cast<double>(body_->count));
}

} // namespace ciphermote
