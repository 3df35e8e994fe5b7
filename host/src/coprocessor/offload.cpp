// SPDX-License-Identifier: Apache-2.0
#include "coprocessor/offload.h"

#include <algorithm>
#include <bit>
#include <string>

namespace ciphermote::coprocessor
{

namespace
{

std::uint32_t two_to(unsigned bits, const Modulus &modulus)
{
    return modulus.residue(std::uint64_t{1} << bits);
}

words twiddles_of(const Modulus &modulus, const Machine &machine)
{
    words twiddles(std::size_t{1} << machine.log2_n);
    const std::uint32_t by = two_to(machine.twiddle_bits, modulus);
    for (std::size_t i = 0; i < twiddles.size(); i++) {
        twiddles[i] = modulus.multiply(modulus.root(i), by);
    }
    return twiddles;
}

// A coprocessor's words are outside input.
void check_residues(const std::uint32_t *words, const Modulus &modulus, std::size_t n)
{
    if (*std::max_element(words, words + n) >= modulus.q()) {
        throw Error("The coprocessor gave a word that is no residue modulo " + std::to_string(modulus.q()) +
                    ": its result is not used. Check the machine that it tells of, and the way to it.");
    }
}

} // namespace

Offload::Offload(const Tables &t, std::unique_ptr<Coprocessor> coprocessor)
    : coprocessor_(std::move(coprocessor)), machine_(coprocessor_->machine()),
      slots_b_(std::min(machine_.slots_b, most_slots)),
      key_polynomials_(static_cast<unsigned>(t.digits.size()) * 2 * t.all())
{
    if (machine_.log2_n != t.chain.log2_n) {
        throw Error("The coprocessor computes at n = " + std::to_string(std::size_t{1} << machine_.log2_n) +
                    ", and the chain is for n = " + std::to_string(t.n()) +
                    ": take a coprocessor of that degree.");
    }
    const bool whole_rows = std::has_single_bit(machine_.lanes) && machine_.lanes <= t.n();
    const auto below_a_word = [](unsigned bits) { return bits > 0 && bits < 64; };
    if (!whole_rows || !below_a_word(machine_.montgomery_bits) || !below_a_word(machine_.twiddle_bits)) {
        throw Error("The coprocessor tells of " + std::to_string(machine_.lanes) +
                    " lanes, of products by 2^-" + std::to_string(machine_.montgomery_bits) +
                    " and of twiddles times 2^" + std::to_string(machine_.twiddle_bits) +
                    ": lanes are a power of two up to n, and both powers below 2^64.");
    }
    if (!(machine_.clock_hz > 0 && machine_.stream_bytes > 0)) {
        throw Error("The coprocessor tells of a clock or of streams that stand still: both are above 0.");
    }
    machine_.weights = std::min(machine_.weights, most_weights); // a term names one of so many
    // Keys stay in the last slots of memory B, in half of them if that holds one.
    if (key_polynomials_ > 0 && key_polynomials_ <= slots_b_) {
        keys_.resize(std::max(1u, slots_b_ / 2 / key_polynomials_));
    }
    const std::vector<const Modulus *> moduli = moduli_of(t);
    const std::size_t count = std::min<std::size_t>(moduli.size(), std::min(machine_.moduli, most_moduli));
    for (unsigned m = 0; m < count; m++) {
        coprocessor_->load_modulus(m, moduli[m]->q(), twiddles_of(*moduli[m], machine_));
    }
}

unsigned Offload::first_slot(unsigned key_place) const
{
    return keys_.empty() ? slots_b_ : slots_b_ - (key_place + 1) * key_polynomials_;
}

Offload::Prepared &Offload::prepared(const Tables &t, const Operation &operation)
{
    const auto known = prepared_.find(operation);
    if (known != prepared_.end()) {
        return known->second;
    }
    Prepared made{circuit(t, operation, machine_.montgomery_bits), false, {}};
    made.fits = (!operation.uses_key() || !keys_.empty()) && made.circuit.graph.fits(machine_) &&
                made.circuit.operands.size() <= most_arrivals && program(made, Turn::alone, 0);
    return prepared_.emplace(operation, std::move(made)).first->second;
}

Offload::Loaded *Offload::program(Prepared &prepared, Turn turn, unsigned key_place)
{
    const auto [at, is_new] = prepared.programs.try_emplace({turn, key_place});
    if (is_new) {
        const unsigned work = slots_b_ - static_cast<unsigned>(keys_.size()) * key_polynomials_;
        std::optional<Schedule> found =
            schedule(prepared.circuit.graph, machine_, {work, first_slot(key_place)}, turn);
        if (found && found->program.weights.size() <= machine_.weights) {
            const std::size_t words = encode(found->program, 0).size();
            if (words <= machine_.program) {
                at->second = std::make_unique<Loaded>(Loaded{std::move(*found), words, {}});
            }
        }
    }
    return at->second.get();
}

// Programs and weights lie behind one another; where one does not fit any more, the memory begins anew.
bool Offload::load(Loaded *first, Loaded *second)
{
    std::size_t words = 0, weights = 0, words_missing = 0, weights_missing = 0;
    for (Loaded *const loaded : {first, second == first ? nullptr : second}) {
        if (loaded) {
            words += loaded->words;
            weights += loaded->schedule.program.weights.size();
            words_missing += loaded->address ? 0 : loaded->words;
            weights_missing += loaded->address ? 0 : loaded->schedule.program.weights.size();
        }
    }
    if (!first || !second || words > machine_.program || weights > machine_.weights) {
        return false;
    }
    if (program_words_ + words_missing > machine_.program || weights_ + weights_missing > machine_.weights) {
        forget_programs();
    }
    load(*first);
    load(*second);
    return true;
}

void Offload::load(Loaded &loaded)
{
    if (loaded.address) {
        return;
    }
    const Program &program = loaded.schedule.program;
    coprocessor_->load_weights(weights_, program.weights);
    coprocessor_->load_program(program_words_, encode(program, weights_));
    loaded.address = program_words_;
    weights_ += static_cast<unsigned>(program.weights.size());
    program_words_ += static_cast<unsigned>(loaded.words);
}

void Offload::forget_programs()
{
    for (auto &[operation, prepared] : prepared_) {
        for (auto &[turn, loaded] : prepared.programs) {
            if (loaded) {
                loaded->address.reset();
            }
        }
    }
    weights_ = program_words_ = 0;
}

// Where the key is. If it is not on the coprocessor, it takes the place of the one that was used longest ago.
unsigned Offload::place_of(const Tables &t, const Key &key)
{
    auto place = std::find_if(keys_.begin(), keys_.end(),
                              [&](const KeyPlace &one) { return one.number == key.number; });
    if (place == keys_.end()) {
        place = std::min_element(keys_.begin(), keys_.end(),
                                 [](const KeyPlace &a, const KeyPlace &b) { return a.used < b.used; });
        place->number.reset();
        load_key(t, key, first_slot(static_cast<unsigned>(place - keys_.begin())));
        place->number = key.number;
    }
    place->used = ++key_uses_;
    return static_cast<unsigned>(place - keys_.begin());
}

void Offload::load_key(const Tables &t, const Key &key, unsigned first)
{
    words residues(t.n());
    for (unsigned m = 0; m < t.all(); m++) {
        const Modulus &modulus = t.moduli[m];
        const std::uint32_t r = two_to(machine_.montgomery_bits, modulus);
        for (unsigned digit = 0; digit < t.digits.size(); digit++) {
            for (unsigned component = 0; component < 2; component++) {
                key.polynomial(digit, component, m, residues.data());
                t.kernels->scale(residues.data(), residues.data(), modulus.factor(r), modulus.prime());
                coprocessor_->load_polynomial(Memory::b, first + key_index(t, digit, component, m), residues);
            }
        }
    }
}

bool Offload::holds(const Tables &t, const Operation &operation)
{
    const ciphermote::Turn mine(lock_);
    return prepared(t, operation).fits;
}

CoprocessorUse Offload::use() const
{
    const ciphermote::Turn mine(lock_);
    return use_;
}

bool Offload::run(const Tables &t, const Operation &operation, const Key *key, std::span<const Call> calls)
{
    const ciphermote::Turn mine(lock_);
    Prepared &made = prepared(t, operation);
    if (!made.fits) {
        use_.on_host += calls.size();
        return false;
    }
    const unsigned place = key ? place_of(t, *key) : 0;
    const bool overlap =
        calls.size() > 1 && load(program(made, Turn::even, place), program(made, Turn::odd, place));
    if (!overlap) {
        Loaded *const alone = program(made, Turn::alone, place);
        load(alone, alone);
    }
    std::vector<Coprocessor::Job> jobs;
    for (std::size_t i = 0; i < calls.size(); i++) {
        const Turn turn = !overlap ? Turn::alone : i % 2 ? Turn::odd : Turn::even;
        const Loaded &loaded = *program(made, turn, place);
        Coprocessor::Job &job = jobs.emplace_back();
        job.program = *loaded.address;
        for (const Polynomial &polynomial : made.circuit.operands) {
            job.operands.push_back(calls[i].operand(polynomial));
        }
        for (const unsigned result : loaded.schedule.sent) {
            job.results.push_back(calls[i].result(made.circuit.results[result]));
        }
        if (!overlap) {
            coprocessor_->run({&job, 1});
        }
    }
    if (overlap) {
        coprocessor_->run(jobs);
    }
    for (const Call &call : calls) {
        for (const Polynomial &polynomial : made.circuit.results) {
            check_residues(call.result(polynomial), t.moduli[polynomial.prime], t.n());
        }
    }
    use_.on_coprocessor += calls.size();
    return true;
}

} // namespace ciphermote::coprocessor
