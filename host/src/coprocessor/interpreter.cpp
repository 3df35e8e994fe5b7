// SPDX-License-Identifier: Apache-2.0
#include "coprocessor/interpreter.h"

#include <algorithm>
#include <string>

#include "ciphermote/context.h"

namespace ciphermote::coprocessor
{

namespace
{

[[noreturn]] void fault(const std::string &what)
{
    throw Error("The coprocessor was asked for what it cannot do: " + what + ".");
}

std::uint32_t multiply(std::uint32_t a, std::uint32_t b, std::uint32_t q)
{
    return static_cast<std::uint32_t>(std::uint64_t{a} * b % q);
}

std::uint32_t power(std::uint32_t base, std::uint64_t exponent, std::uint32_t q)
{
    std::uint32_t result = 1 % q;
    for (; exponent > 0; exponent >>= 1) {
        result = exponent & 1 ? multiply(result, base, q) : result;
        base = multiply(base, base, q);
    }
    return result;
}

std::uint32_t inverse(std::uint32_t a, std::uint32_t q) // q: a prime
{
    return power(a, q - 2, q);
}

} // namespace

Interpreter::Interpreter(const Machine &machine)
    : machine_(machine), moduli_(machine.moduli), weights_(machine.weights), weight_is_set_(machine.weights),
      program_(machine.program)
{
    memories_[0].resize(machine.slots_a);
    memories_[1].resize(machine.slots_b);
}

void Interpreter::load_modulus(unsigned index, std::uint32_t q, std::span<const std::uint32_t> twiddles)
{
    if (index >= moduli_.size() || q >= word_bound || q % (2 * n()) != 1 || twiddles.size() != n()) {
        fault("modulus " + std::to_string(index) + " of " + std::to_string(q));
    }
    Modulus &m = moduli_[index];
    m.q = q;
    m.r_inverse = inverse(power(2 % q, machine_.montgomery_bits, q), q);
    m.n_inverse = inverse(static_cast<std::uint32_t>(n() % q), q);
    const std::uint32_t plain = inverse(power(2 % q, machine_.twiddle_bits, q), q);
    m.roots.clear();
    m.inverse_roots.clear();
    for (const std::uint32_t twiddle : twiddles) {
        m.roots.push_back(multiply(twiddle, plain, q));
        m.inverse_roots.push_back(inverse(m.roots.back(), q));
    }
    words_loaded_ += twiddles.size();
}

void Interpreter::load_weights(unsigned first, std::span<const std::uint32_t> weights)
{
    if (first > weights_.size() || weights.size() > weights_.size() - first) {
        fault("more weights than there is room for");
    }
    for (std::size_t i = 0; i < weights.size(); i++) {
        if (weights[i] >> 31 != 0) {
            fault("a weight of 32 bits");
        }
        weights_[first + i] = weights[i];
        weight_is_set_[first + i] = true;
    }
    words_loaded_ += weights.size();
}

void Interpreter::load_program(unsigned first, std::span<const std::uint64_t> words)
{
    if (first > program_.size() || words.size() > program_.size() - first) {
        fault("more of a program than there is room for");
    }
    std::copy(words.begin(), words.end(), std::span(program_).subspan(first).begin());
    words_loaded_ += words.size();
}

void Interpreter::load_polynomial(Memory memory, unsigned index, std::span<const std::uint32_t> residues)
{
    Slot &to = slot(memory, index);
    if (residues.size() != n() || *std::max_element(residues.begin(), residues.end()) >= word_bound) {
        fault("a polynomial that is too long or has too large words");
    }
    to.words.assign(residues.begin(), residues.end());
    to.holds = Holds::resident;
    words_loaded_ += residues.size();
}

Interpreter::Slot &Interpreter::slot(Memory memory, unsigned index)
{
    std::vector<Slot> &slots = memories_[static_cast<std::size_t>(memory)];
    if (index >= slots.size()) {
        fault("slot " + std::to_string(index) + " of " + std::to_string(slots.size()));
    }
    return slots[index];
}

const Interpreter::Modulus &Interpreter::modulus(unsigned index) const
{
    if (index >= moduli_.size() || moduli_[index].q == 0) {
        fault("modulus " + std::to_string(index) + ", which was not loaded");
    }
    return moduli_[index];
}

void Interpreter::run(std::span<const Job> jobs)
{
    begin();
    for (const Job &job : jobs) {
        if (job.program >= program_.size()) {
            fault("a program beyond its memory");
        }
        jobs_.push_back({&job, decode(std::span(program_).subspan(job.program)), {}});
        if (job.operands.size() != jobs_.back().program.receives.size()) {
            fault("a job of " + std::to_string(job.operands.size()) + " operands, whose program receives " +
                  std::to_string(jobs_.back().program.receives.size()));
        }
    }
    for (std::size_t number = 0; number < jobs_.size(); number++) {
        if (number == 0) {
            deliver(0);
        }
        if (number + 1 < jobs_.size()) {
            deliver(number + 1);
        }
        execute(number);
        if (number > 0) {
            collect(number - 1);
        }
    }
    if (!jobs_.empty()) {
        collect(jobs_.size() - 1);
    }
}

// Whatever an earlier run left, even one that was refused.
void Interpreter::begin()
{
    jobs_.clear();
    sets_ = {};
    for (std::vector<Slot> &slots : memories_) {
        for (Slot &s : slots) {
            s.holds = s.holds == Holds::resident ? s.holds : Holds::nothing;
            s.departing = false;
        }
    }
}

void Interpreter::deliver(std::size_t number)
{
    const Running &running = jobs_[number];
    for (unsigned k = 0; k < running.program.receives.size(); k++) {
        Slot &to = slot(running.program.receives[k].memory, running.program.receives[k].slot);
        if (to.holds == Holds::resident || to.departing || (to.holds == Holds::operand && to.job == number)) {
            fault("operand " + std::to_string(k) + " in a slot that is taken");
        }
        const std::uint32_t *const from = running.job->operands[k];
        to.words.assign(from, from + n());
        if (*std::max_element(to.words.begin(), to.words.end()) >= word_bound) {
            fault("an operand with too large words");
        }
        to.holds = Holds::operand;
        to.job = number;
        to.operand = k;
    }
}

void Interpreter::execute(std::size_t number)
{
    for (const Instruction &instruction : jobs_[number].program.instructions) {
        step(instruction, number);
    }
    if (sets_[0].full || sets_[1].full) {
        fault("a program that ends before it has read a transform");
    }
    if (jobs_[number].sent.size() != jobs_[number].job->results.size()) {
        fault("a job of " + std::to_string(jobs_[number].job->results.size()) +
              " results, whose program sends " + std::to_string(jobs_[number].sent.size()));
    }
}

void Interpreter::collect(std::size_t number)
{
    const Running &running = jobs_[number];
    for (std::size_t k = 0; k < running.sent.size(); k++) {
        Slot &from = slot(running.sent[k].memory, running.sent[k].slot);
        std::copy(from.words.begin(), from.words.end(), running.job->results[k]);
        from.departing = false;
    }
}

const Interpreter::Slot &Interpreter::read(Memory memory, unsigned index, std::size_t number)
{
    const Slot &from = slot(memory, index);
    const bool here =
        from.holds == Holds::resident ||
        (from.job == number && (from.holds == Holds::result ||
                                (from.holds == Holds::operand && from.operand < jobs_[number].awaited)));
    if (!here) {
        fault("a read of slot " + std::to_string(index) + ", which this job has not written or not awaited");
    }
    return from;
}

// Null: the constant 1.
const Interpreter::Polynomial *Interpreter::words_of(const Term &term, const Instruction &instruction,
                                                     std::size_t number)
{
    switch (term.source) {
    case Source::a:
        return &read(Memory::a, term.slot, number).words;
    case Source::b:
        if (term.product) {
            fault("a product of two polynomials of memory B");
        }
        return &read(Memory::b, term.slot, number).words;
    case Source::set:
        if (term.slot > 1 || !sets_[term.slot].full) {
            fault("a read of a set without a transform");
        }
        if (instruction.destination == Destination::transformer && instruction.slot == term.slot) {
            fault("a set that is read and filled by one instruction");
        }
        return &sets_[term.slot].words;
    default:
        if (term.product) {
            fault("a product with the constant 1");
        }
        return nullptr;
    }
}

Interpreter::Polynomial Interpreter::sums(const Instruction &instruction, std::size_t number)
{
    std::vector<std::uint64_t> sum(n());
    for (const Term &term : instruction.terms) {
        const Polynomial *const source = words_of(term, instruction, number);
        const Polynomial *factors = nullptr;
        std::uint32_t weight = 0;
        if (term.product) {
            factors = &read(Memory::b, term.factor, number).words;
        } else if (term.factor < weights_.size() && weight_is_set_[term.factor]) {
            weight = weights_[term.factor];
        } else {
            fault("weight " + std::to_string(term.factor) + ", which was not loaded");
        }
        for (std::size_t i = 0; i < n(); i++) {
            sum[i] += std::uint64_t{source ? (*source)[i] : 1} * (factors ? (*factors)[i] : weight);
            if (sum[i] >= sum_bound) {
                fault("a sum of 2^62 or more");
            }
        }
    }
    Polynomial out(n());
    reduce(out, sum, instruction);
    return out;
}

void Interpreter::reduce(Polynomial &out, const std::vector<std::uint64_t> &sum,
                         const Instruction &instruction) const
{
    if (instruction.shift != 0) {
        for (std::size_t i = 0; i < n(); i++) {
            const std::uint64_t shifted =
                (sum[i] + (std::uint64_t{1} << (instruction.shift - 1))) >> instruction.shift;
            if (shifted >= word_bound) {
                fault("a shifted sum of 2^27 or more");
            }
            out[i] = static_cast<std::uint32_t>(shifted);
        }
        return;
    }
    const Modulus &m = modulus(instruction.modulus);
    for (std::size_t i = 0; i < n(); i++) {
        if (sum[i] >> machine_.montgomery_bits >= m.q) {
            fault("a sum of q R or more");
        }
        out[i] = multiply(static_cast<std::uint32_t>(sum[i] % m.q), m.r_inverse, m.q);
    }
}

void Interpreter::step(const Instruction &instruction, std::size_t number)
{
    Running &running = jobs_[number];
    if (instruction.arrivals > running.program.receives.size()) {
        fault("a wait for more operands than the program receives");
    }
    running.awaited = std::max(running.awaited, instruction.arrivals);
    Polynomial out = sums(instruction, number);
    for (const Term &term : instruction.terms) {
        if (term.source == Source::set) {
            sets_[term.slot].full = false;
        }
    }
    if (instruction.destination == Destination::transformer) {
        if (instruction.shift != 0 || instruction.send) {
            fault("a transform of a shifted sum, or one that is sent");
        }
        Set &set = sets_[instruction.slot];
        if (set.full) {
            fault("a set that is filled before it was read");
        }
        transform(out, modulus(instruction.modulus), instruction.inverse);
        set = {std::move(out), true};
        return;
    }
    const Memory memory = instruction.destination == Destination::a ? Memory::a : Memory::b;
    Slot &to = slot(memory, instruction.slot);
    const bool waits = to.holds == Holds::operand &&
                       (to.job > number || (to.job == number && to.operand >= running.awaited));
    if (to.holds == Holds::resident || to.departing || waits) {
        fault("a write to slot " + std::to_string(instruction.slot) + ", which is taken");
    }
    to = {std::move(out), Holds::result, number, 0, instruction.send};
    if (instruction.send) {
        running.sent.push_back({memory, instruction.slot});
    }
}

// Block i of the level with m blocks has root m + i.
void Interpreter::transform(Polynomial &a, const Modulus &m, bool inverse) const
{
    const std::uint32_t q = m.q;
    for (unsigned level = 0; level < machine_.log2_n; level++) {
        const std::size_t blocks = std::size_t{1} << (inverse ? machine_.log2_n - 1 - level : level);
        const std::size_t half = n() / (2 * blocks);
        for (std::size_t i = 0; i < blocks; i++) {
            const std::uint32_t root = (inverse ? m.inverse_roots : m.roots)[blocks + i];
            for (std::size_t j = 2 * half * i; j < 2 * half * i + half; j++) {
                const std::uint32_t x = a[j], y = a[j + half];
                const std::uint32_t product = inverse ? y : multiply(y, root, q);
                const std::uint32_t sum = x + product >= q ? x + product - q : x + product;
                const std::uint32_t difference = x >= product ? x - product : x + q - product;
                a[j] = sum;
                a[j + half] = inverse ? multiply(difference, root, q) : difference;
            }
        }
    }
    if (inverse) {
        std::transform(a.begin(), a.end(), a.begin(),
                       [&](std::uint32_t x) { return multiply(x, m.n_inverse, q); });
    }
}

} // namespace ciphermote::coprocessor
