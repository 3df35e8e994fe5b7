// SPDX-License-Identifier: Apache-2.0
/*
 * The evaluator on a coprocessor: the residues are those of portable C++, whatever the operation, level and
 * degree; and the interpreter, which is the machine's golden model, refuses programs that break its rules.
 * The last line says "N passed, N failed".
 */
#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "check.h"
#include "ciphermote/evaluate.h"
#include "coprocessor/interpreter.h"
#include "coprocessor/offload.h"
#include "coprocessor/timing.h"
#include "evaluate/key_switching.h"
#include "inputs.h"
#include "rns/inside.h"
#include "rns/polynomials.h"

cm_checks cm_check_state;

namespace
{

using namespace ciphermote;
using namespace ciphermote::coprocessor;
using namespace ciphermote::testing;
using ciphermote::coprocessor::Sum;
using ciphermote::coprocessor::Turn;

// With the constants of rtl/evaluator at 27 bits.
Machine machine_of(unsigned log2_n, unsigned slots_a, unsigned slots_b)
{
    const auto steps = [log2_n](unsigned bits) { return (bits + log2_n) / (log2_n + 1); };
    Machine machine;
    machine.log2_n = log2_n;
    machine.slots_a = slots_a;
    machine.slots_b = slots_b;
    machine.montgomery_bits = steps(43) * (log2_n + 1);
    machine.twiddle_bits = (27 + steps(27) - 1) / steps(27) * steps(27);
    return machine;
}

std::vector<std::uint32_t> all_primes(const Chain &chain)
{
    std::vector<std::uint32_t> all = chain.data;
    all.insert(all.end(), chain.special.begin(), chain.special.end());
    return all;
}

unsigned digits_of(const Chain &chain)
{
    return (static_cast<unsigned>(chain.data.size()) + chain.digit_primes - 1) / chain.digit_primes;
}

using Results = std::vector<std::pair<std::string, std::vector<std::uint32_t>>>;

void keep(Results &results, const std::string &name, const Ciphertext &found)
{
    results.emplace_back(name + " with " + std::to_string(found.primes()) + " primes",
                         std::vector<std::uint32_t>(found.residues().begin(), found.residues().end()));
}

// Every operation that coprocessors compute, at every level; `operations` counts them.
Results results_on(const std::shared_ptr<const Context> &context, Fill fill, std::uint64_t &operations)
{
    const Chain &chain = context->chain();
    const bool bfv = chain.plain_modulus != 0, switches = !chain.special.empty();
    const std::size_t n = context->n();
    Inputs inputs(1);
    EvaluationKeys keys(context);
    std::unique_ptr<RekeyKey> rekeying;
    if (switches) {
        const auto key = [&] { return inputs.polynomials(2 * digits_of(chain), all_primes(chain), n, fill); };
        keys.add_relinearization(key());
        keys.add_galois(galois_element(*context, 1), key());
        keys.add_galois(static_cast<std::uint32_t>(2 * n - 1), key());
        rekeying = std::make_unique<RekeyKey>(context, key());
    }
    Results results;
    const auto did = [&](const std::string &name, const Ciphertext &found) {
        operations++;
        keep(results, name, found);
    };
    for (unsigned primes = 1; primes <= chain.data.size(); primes++) {
        const std::vector<std::uint32_t> data(chain.data.begin(), chain.data.begin() + primes);
        const Ciphertext a(context, 2, primes, 1, inputs.polynomials(2, data, n, fill));
        const Ciphertext b(context, 2, primes, 1, inputs.polynomials(2, data, n, fill));
        const Ciphertext product(context, 3, primes, 1, inputs.polynomials(3, data, n, fill));
        did("multiply", multiply(a, b));
        did("square", square(a));
        if (switches) {
            did("multiply and relinearize", multiply(a, b, keys));
            Ciphertext in_place = a;
            multiply(in_place, b, keys, in_place);
            did("multiply and relinearize in place", in_place);
            did("relinearize", relinearize(product, keys));
            did("rotate", rotate(a, 1, keys));
            did("conjugate", conjugate(b, keys));
            did("rekey", rekey(a, *rekeying));
        }
        double dropped = 1;
        for (unsigned count = 1; count < primes && count <= 4; count++) {
            dropped *= chain.data[primes - count];
            if (bfv) {
                did("mod_switch", mod_switch(product, count));
            } else {
                did("rescale",
                    rescale(Ciphertext(context, 3, primes, 1.5 * dropped, product.residues()), count));
            }
        }
    }
    return results;
}

struct Case {
    std::string name;
    Chain chain;
    Machine machine;
    std::vector<Fill> fills;
};

std::vector<Case> cases()
{
    const auto below = [](unsigned bits, unsigned log2_n, unsigned count) {
        return primes_below(std::uint32_t{1} << bits, log2_n, count);
    };
    const std::vector<Fill> all{Fill::random, Fill::largest, Fill::mixed, Fill::spikes}, some{Fill::mixed};
    std::vector<std::uint32_t> seven = below(24, 13, 7);
    const std::vector<std::uint32_t> two{seven[5], seven[6]};
    seven.resize(5);
    for (const std::uint32_t q : below(23, 13, 2)) {
        seven.push_back(q);
    }
    std::vector<Case> found{
        {"n1024_q26x1", {10, below(26, 10, 1), {}, 1}, machine_of(10, 16, 16), all},
        {"n2048_q26x1_p27", {11, below(26, 11, 1), below(27, 11, 1), 1}, machine_of(11, 32, 32), all},
        {"n4096_q26x3_p27",
         {12, {67043329, 67084289, 66994177}, {134176769}, 1},
         machine_of(12, 64, 64),
         all},
        {"n8192_q24x5_q23x2_p24x2", {13, seven, two, 2}, machine_of(13, 96, 160), some},
        {"n8192_q26x7_p27", {13, below(26, 13, 7), below(27, 13, 1), 1}, machine_of(13, 128, 192), some},
    };
    // Digits and special primes in groups, the last digit a shorter one; and a prime of 14 bits.
    const auto large = below(27, 11, 4), middle = below(26, 11, 2), small = below(24, 11, 2);
    found.push_back({"groups",
                     {11,
                      {large[2], small[0], middle[0], middle[1], smallest_prime(11)},
                      {large[0], large[1], large[3]},
                      3},
                     machine_of(11, 64, 96),
                     all});
    for (std::size_t i = found.size(); i-- > 0;) {
        Case bfv = found[i];
        bfv.chain.plain_modulus = bfv.chain.log2_n == 10 ? 12289 : 65537;
        bfv.name += ", BFV";
        found.push_back(std::move(bfv));
    }
    return found;
}

std::shared_ptr<const Context> context_with(const Chain &chain, const Machine &machine,
                                            const Interpreter **interpreter = nullptr,
                                            const std::string &isa = "")
{
    auto coprocessor = std::make_unique<Interpreter>(machine);
    if (interpreter) {
        *interpreter = coprocessor.get();
    }
    return std::make_shared<const Context>(Insecure{chain}, isa, std::move(coprocessor));
}

void check_results(const Results &found, const Results &expected, const std::string &where)
{
    CHECK(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); i++) {
        const std::string behaviour = where + ": " + found[i].first + " as portable";
        BEHAVIOUR(behaviour.c_str());
        CHECK(found[i] == expected[i]);
    }
}

void operations_are_those_of_portable()
{
    for (const Case &given : cases()) {
        const auto portable = std::make_shared<const Context>(Insecure{given.chain}, "portable");
        for (const Fill fill : given.fills) {
            std::uint64_t operations = 0, expected_operations = 0;
            const auto context = context_with(given.chain, given.machine);
            const Results expected = results_on(portable, fill, expected_operations);
            check_results(results_on(context, fill, operations), expected, given.name);
            BEHAVIOUR("every operation ran on the coprocessor");
            CHECK(context->coprocessor_use().on_coprocessor == operations);
            CHECK(context->coprocessor_use().on_host == 0);
        }
    }
}

Schedule scheduled(const Tables &t, const Machine &machine, const Operation &operation, Turn turn)
{
    const Circuit made = circuit(t, operation, machine.montgomery_bits);
    const unsigned key = digits_of(t.chain) * 2 * (t.special ? t.all() : 0);
    return schedule(made.graph, machine, {machine.slots_b - key, machine.slots_b - key}, turn)
        .value_or(Schedule{});
}

Prediction predicted(const Tables &t, const Machine &machine, const Operation &operation)
{
    return predict(machine, scheduled(t, machine, operation, Turn::alone).program,
                   scheduled(t, machine, operation, Turn::even).program,
                   scheduled(t, machine, operation, Turn::odd).program);
}

// What programs of whole ciphertexts take, by the model of coprocessor/timing.h.
void programs_are_as_short_as_predicted()
{
    std::printf("%-34s %9s %9s %9s %12s %10s\n", "cycles by the model", "latency", "pace", "sums",
                "transforms", "of them");
    for (const Case &given : cases()) {
        const Context context(Insecure{given.chain}, "portable");
        const Tables &t = tables_of(context);
        const unsigned primes = t.data();
        const std::vector<std::pair<const char *, Operation>> operations{
            {"multiply", {Operation::Kind::multiply, primes}},
            {"multiply and relinearize", {Operation::Kind::multiply_relinearize, primes}},
            {"relinearize", {Operation::Kind::switch_last, primes, 3}},
            {"rotate", {Operation::Kind::switch_last, primes, 2}},
            {"rescale", {Operation::Kind::divide, primes, 2, 1}}};
        std::printf("%s\n", given.name.c_str());
        for (const auto &[name, operation] : operations) {
            if ((operation.uses_key() && !t.special) || operation.count >= primes) {
                continue;
            }
            const Prediction found = predicted(t, given.machine, operation);
            std::printf("    %-30s %9.0f %9.0f %9.0f %12.0f %10zu\n", name, found.latency, found.pace,
                        found.vector_unit, found.transformer, found.transforms);
            CHECK(found.latency > 0 && found.pace > 0);
            if (operation.kind == Operation::Kind::multiply_relinearize &&
                given.name == "n4096_q26x3_p27, BFV") {
                BEHAVIOUR("BFV's product at n = 4096 takes 360 us at most, with operands and result");
                CHECK(found.latency <= 72000);
            }
        }
    }
}

// ---- the context's use of its coprocessor ----

const Case &case_named(const std::vector<Case> &all, const std::string &name)
{
    return *std::find_if(all.begin(), all.end(), [&](const Case &one) { return one.name == name; });
}

bool is_refused(const char *words, const std::function<void()> &act)
{
    try {
        act();
    } catch (const Error &error) {
        return std::string(error.what()).find(words) != std::string::npos;
    }
    return false;
}

// Several calls of one operation, whose operands arrive and results leave while others compute.
void check_jobs_in_a_row(const Case &given, const Machine &machine)
{
    const auto context = context_with(given.chain, machine);
    const auto portable = std::make_shared<const Context>(Insecure{given.chain}, "portable");
    const Tables &t = tables_of(context);
    const unsigned primes = t.data();
    Inputs inputs(5);
    EvaluationKeys keys(context), portable_keys(portable);
    const bool switches = t.special != nullptr;
    if (switches) {
        const auto key = inputs.polynomials(2 * digits_of(given.chain), all_primes(given.chain), t.n());
        keys.add_relinearization(key);
        portable_keys.add_relinearization(key);
    }
    std::vector<std::array<Ciphertext, 2>> operands;
    std::vector<Ciphertext> results(7);
    std::vector<Offload::Call> calls;
    for (Ciphertext &result : results) {
        std::array<Ciphertext, 2> &pair = operands.emplace_back();
        for (Ciphertext &one : pair) {
            one = Ciphertext(portable, 2, primes, 1, inputs.polynomials(2, given.chain.data, t.n()));
        }
        reshape(result, context, switches ? 2 : 3, primes, 1);
    }
    for (std::size_t i = 0; i < results.size(); i++) {
        calls.push_back({[&operands, i](const coprocessor::Polynomial &p) {
                             return polynomial(operands[i].at(p.ciphertext), p.component, p.prime);
                         },
                         [&results, i](const coprocessor::Polynomial &p) {
                             return polynomial(results[i], p.component, p.prime);
                         }});
    }
    const Operation operation{switches ? Operation::Kind::multiply_relinearize : Operation::Kind::multiply,
                              primes};
    Key key{};
    if (switches) {
        key = coprocessor_key(t, relinearization_key(keys));
    }
    CHECK(t.offload->run(t, operation, switches ? &key : nullptr, calls));
    for (std::size_t i = 0; i < results.size(); i++) {
        const Ciphertext expected = switches ? multiply(operands[i][0], operands[i][1], portable_keys)
                                             : multiply(operands[i][0], operands[i][1]);
        CHECK(std::equal(results[i].residues().begin(), results[i].residues().end(),
                         expected.residues().begin(), expected.residues().end()));
    }
}

// Also where only one of the two programs that alternate fits their memory, besides others or alone.
void jobs_in_a_row_are_those_of_portable()
{
    const std::vector<Case> all = cases();
    for (const char *const name : {"n4096_q26x3_p27, BFV", "n4096_q26x3_p27", "groups, BFV", "n1024_q26x1"}) {
        const Case &given = case_named(all, name);
        check_jobs_in_a_row(given, given.machine);
    }
    const Case &given = case_named(all, "groups, BFV");
    const Context context(Insecure{given.chain}, "portable");
    const Program program =
        scheduled(tables_of(context), given.machine, {Operation::Kind::multiply_relinearize, 5}, Turn::even)
            .program;
    Machine machine = given.machine;
    machine.program = static_cast<unsigned>(encode(program, 0).size()) * 3 / 2;
    check_jobs_in_a_row(given, machine);
    machine = given.machine;
    machine.weights = static_cast<unsigned>(program.weights.size()) * 3 / 2;
    check_jobs_in_a_row(given, machine);
}

void what_a_machine_cannot_hold_is_left_to_the_processor()
{
    const std::vector<Case> all = cases();
    const Case &given = case_named(all, "groups, BFV");
    const auto portable = std::make_shared<const Context>(Insecure{given.chain}, "portable");
    std::uint64_t operations = 0;
    const Results expected = results_on(portable, Fill::random, operations);
    std::vector<Machine> machines(7, given.machine);
    machines[0].slots_a = 20;
    machines[1].slots_b = 34; // a key has 32 slots
    machines[2].slots_b = 16;
    machines[3].moduli = 8;
    machines[4].weights = 100;
    machines[5].program = 150;
    machines[6].montgomery_bits = 28;
    for (const Machine &machine : machines) {
        const Interpreter *interpreter = nullptr;
        const auto context = context_with(given.chain, machine, &interpreter);
        check_results(results_on(context, Fill::random, operations), expected, "a small machine");
        BEHAVIOUR("some operations ran on the coprocessor, and some did not");
        CHECK(context->coprocessor_use().on_coprocessor > 0);
        CHECK(context->coprocessor_use().on_host > 0);
    }
    BEHAVIOUR("a coprocessor of another degree is refused");
    Machine other = given.machine;
    other.log2_n = 12;
    CHECK(is_refused("of that degree", [&] { context_with(given.chain, other); }));
    BEHAVIOUR("a coprocessor that tells of no machine is refused");
    const auto refused = [&](unsigned Machine::*part, unsigned value) {
        other = given.machine;
        other.*part = value;
        return is_refused("lanes are a power of two", [&] { context_with(given.chain, other); });
    };
    CHECK(refused(&Machine::lanes, 0) && refused(&Machine::lanes, 48));
    CHECK(refused(&Machine::lanes, 2u << given.machine.log2_n));
    CHECK(refused(&Machine::montgomery_bits, 64) && refused(&Machine::twiddle_bits, 0));
    other = given.machine;
    other.stream_bytes = 0;
    CHECK(is_refused("stand still", [&] { context_with(given.chain, other); }));
    CHECK(portable->coprocessor_use().on_coprocessor == 0 && portable->coprocessor_use().on_host == 0);
}

// Keys have the half of memory B: here two.
void keys_stay_on_the_coprocessor()
{
    const std::vector<Case> all = cases();
    const Case &given = case_named(all, "groups");
    Machine machine = given.machine;
    machine.slots_b = 4 * 2 * digits_of(given.chain) * static_cast<unsigned>(all_primes(given.chain).size());
    const Interpreter *interpreter = nullptr;
    const auto context = context_with(given.chain, machine, &interpreter);
    Inputs inputs(6);
    EvaluationKeys keys(context);
    const auto key = [&] {
        return inputs.polynomials(2 * digits_of(given.chain), all_primes(given.chain), context->n());
    };
    keys.add_relinearization(key());
    keys.add_galois(galois_element(*context, 1), key());
    keys.add_galois(galois_element(*context, 2), key());
    const unsigned primes = static_cast<unsigned>(given.chain.data.size());
    const Ciphertext a(context, 2, primes, 1, inputs.polynomials(2, given.chain.data, context->n()));
    rotate(a, 1, keys);
    multiply(a, a, keys);
    const std::uint64_t loaded = interpreter->words_loaded();
    rotate(a, 1, keys);
    multiply(a, a, keys);
    CHECK(interpreter->words_loaded() == loaded);
    rotate(a, 2, keys); // in the place of the first key
    const std::uint64_t one_more = interpreter->words_loaded();
    CHECK(one_more > loaded);
    multiply(a, a, keys);
    CHECK(interpreter->words_loaded() == one_more);
    rotate(a, 1, keys);
    CHECK(interpreter->words_loaded() > one_more);
}

// An interpreter whose results may have a word that is no residue.
class Faulty final : public Coprocessor
{
  public:
    Faulty(const Machine &machine, const bool *faulty) : sound_(machine), faulty_(faulty)
    {
    }
    const Machine &machine() const override
    {
        return sound_.machine();
    }
    void load_modulus(unsigned modulus, std::uint32_t q, std::span<const std::uint32_t> twiddles) override
    {
        sound_.load_modulus(modulus, q, twiddles);
    }
    void load_weights(unsigned first, std::span<const std::uint32_t> weights) override
    {
        sound_.load_weights(first, weights);
    }
    void load_program(unsigned first, std::span<const std::uint64_t> words) override
    {
        sound_.load_program(first, words);
    }
    void load_polynomial(Memory memory, unsigned slot, std::span<const std::uint32_t> residues) override
    {
        sound_.load_polynomial(memory, slot, residues);
    }
    void run(std::span<const Job> jobs) override
    {
        sound_.run(jobs);
        if (*faulty_) {
            jobs.back().results.back()[1] |= 1u << 27;
        }
    }

  private:
    Interpreter sound_;
    const bool *faulty_;
};

void results_that_are_no_residues_are_refused()
{
    const std::vector<Case> all = cases();
    const Case &given = case_named(all, "groups");
    bool faulty = true;
    const auto context = std::make_shared<const Context>(Insecure{given.chain}, "portable",
                                                         std::make_unique<Faulty>(given.machine, &faulty));
    Inputs inputs(7);
    const unsigned primes = static_cast<unsigned>(given.chain.data.size());
    const Ciphertext a(context, 2, primes, 1, inputs.polynomials(2, given.chain.data, context->n()));
    Ciphertext in_place = a;
    CHECK(is_refused("no residue", [&] { multiply(in_place, a, in_place); }));
    BEHAVIOUR("an operand is as it was, and the operation was not counted");
    CHECK(std::ranges::equal(in_place.residues(), a.residues()));
    CHECK(context->coprocessor_use().on_coprocessor == 0);
    BEHAVIOUR("so is what was to be written");
    Ciphertext kept = a;
    CHECK(is_refused("no residue", [&] { multiply(a, a, kept); }));
    CHECK(kept.components() == 2 && std::ranges::equal(kept.residues(), a.residues()));
    BEHAVIOUR("the next operation is computed");
    faulty = false;
    multiply(a, a, in_place);
    CHECK(context->coprocessor_use().on_coprocessor == 1);
}

// ---- programs and the machine's rules ----

void words_are_read_as_they_were_written()
{
    const std::vector<Case> all = cases();
    const Case &given = case_named(all, "groups, BFV");
    const Context context(Insecure{given.chain}, "portable");
    const Program program =
        scheduled(tables_of(context), given.machine, {Operation::Kind::multiply_relinearize, 5}, Turn::even)
            .program;
    CHECK(!program.instructions.empty());
    const std::vector<std::uint64_t> words = encode(program, 0);
    const Program found = decode(words);
    CHECK(found.receives == program.receives);
    CHECK(found.instructions == program.instructions);
    const std::span<const std::uint64_t> all_words(words);
    CHECK(is_refused("no end", [&] { decode(all_words.first(0)); }));
    CHECK(is_refused("no end", [&] { decode(all_words.first(words.size() - 1)); }));
    const std::uint64_t header = 1, term = std::uint64_t{1} << 62, receive = std::uint64_t{2} << 62;
    const auto refused = [](const char *why, const std::vector<std::uint64_t> &bad) {
        return is_refused(why, [&] { decode(bad); });
    };
    CHECK(refused("no header", {term}));
    CHECK(refused("no header", {std::uint64_t{3} << 62}));
    CHECK(refused("fewer terms", {header, header}));
    CHECK(refused("no header", {header, term, receive}));
    CHECK(refused("without terms", {0}));
    CHECK(refused("without a destination", {header | std::uint64_t{3} << 19, term}));
    CHECK(refused("shift by no bits", {header | std::uint64_t{1} << 12, term}));
    Program large = program;
    large.instructions[0].slot = most_slots;
    CHECK(is_refused("does not fit", [&] { encode(large, 0); }));
    CHECK(is_refused("does not fit", [&] { encode(program, 4095); }));
}

// One modulus of n = 1,024, weight 0 that copies, and a polynomial that stays in slot 7 of memory B.
class SmallMachine
{
  public:
    SmallMachine() : modulus_(67104769, 10, arch::portable)
    {
        machine_ = machine_of(10, 8, 8);
        interpreter_ = std::make_unique<Interpreter>(machine_);
        words twiddles(n);
        const std::uint32_t by = modulus_.residue(std::uint64_t{1} << machine_.twiddle_bits);
        for (std::size_t i = 0; i < n; i++) {
            twiddles[i] = modulus_.multiply(modulus_.root(i), by);
        }
        interpreter_->load_modulus(0, modulus_.q(), twiddles);
        const std::uint32_t copies = modulus_.residue(std::uint64_t{1} << machine_.montgomery_bits);
        const std::vector<std::uint32_t> weights{copies, largest_weight};
        interpreter_->load_weights(0, weights);
        operand_ = Inputs(7).residues(n, modulus_.q());
        interpreter_->load_polynomial(Memory::b, 7, operand_);
    }

    static constexpr std::size_t n = 1024;
    static constexpr std::uint32_t largest_weight = 0x7fffffff;

    // Runs the program so often in a row, each time on the operand; the result of the last one.
    words run(Program program, unsigned jobs = 1, std::optional<unsigned> results = {})
    {
        program.instructions.back().end = true;
        interpreter_->load_program(0, encode(program, 0));
        words result(n);
        Coprocessor::Job job{0, {}, {}};
        job.operands.resize(program.receives.size(), operand_.data());
        const auto sends = std::count_if(program.instructions.begin(), program.instructions.end(),
                                         [](const Instruction &one) { return one.send; });
        job.results.resize(results.value_or(static_cast<unsigned>(sends)), result.data());
        const std::vector<Coprocessor::Job> all(jobs, job);
        interpreter_->run(all);
        return result;
    }
    bool refuses(const char *why, const Program &program, unsigned jobs = 1)
    {
        return is_refused(why, [&] { run(program, jobs); });
    }
    const words &operand() const
    {
        return operand_;
    }
    std::uint32_t q() const
    {
        return modulus_.q();
    }

  private:
    Modulus modulus_;
    Machine machine_;
    std::unique_ptr<Interpreter> interpreter_;
    words operand_;
};

Instruction instruction(Destination destination, unsigned slot, std::vector<Term> terms)
{
    Instruction made;
    made.destination = destination;
    made.slot = slot;
    made.terms = std::move(terms);
    return made;
}

Instruction with(Instruction given, const std::function<void(Instruction &)> &change)
{
    change(given);
    return given;
}

const Term from_a0{Source::a, 0, false, 0}, from_b7{Source::b, 7, false, 0},
    from_set0{Source::set, 0, false, 0};

Instruction copied(Term term, unsigned slot, bool send = false, unsigned arrivals = 0)
{
    return with(instruction(Destination::a, slot, {term}), [&](Instruction &made) {
        made.send = send;
        made.arrivals = arrivals;
    });
}

Instruction transformed(Term term, unsigned set, bool inverse)
{
    return with(instruction(Destination::transformer, set, {term}),
                [&](Instruction &made) { made.inverse = inverse; });
}

void programs_compute_what_they_say()
{
    SmallMachine machine;
    const Place a0{Memory::a, 0};
    CHECK(machine.run({{a0}, {copied(from_a0, 1, true, 1)}, {}}) == machine.operand());
    CHECK(machine.run({{a0}, {copied(from_a0, 0, true, 1)}, {}}) == machine.operand());
    // Forwards, and from that set into the other one and back.
    CHECK(machine.run({{},
                       {transformed(from_b7, 0, false), transformed(from_set0, 1, true),
                        copied({Source::set, 1, false, 0}, 1, true)},
                       {}}) == machine.operand());
    CHECK(machine.run({{}, {transformed(from_b7, 0, false), copied(from_set0, 1, true)}, {}}) !=
          machine.operand());
    const words shifted = machine.run(
        {{},
         {with(copied({Source::b, 7, false, 1}, 1, true), [](Instruction &made) { made.shift = 32; })},
         {}});
    for (std::size_t i = 0; i < shifted.size(); i++) {
        const std::uint64_t product = std::uint64_t{machine.operand()[i]} * SmallMachine::largest_weight;
        CHECK(shifted[i] == (product + (std::uint64_t{1} << 31)) >> 32);
    }
    const words twice = machine.run(
        {{}, {with(copied(from_b7, 1, true), [](Instruction &made) { made.terms.push_back(from_b7); })}, {}});
    for (std::size_t i = 0; i < twice.size(); i++) {
        CHECK(twice[i] == machine.operand()[i] * 2 % machine.q());
    }
}

void programs_that_break_the_rules_are_refused()
{
    SmallMachine machine;
    const Place a0{Memory::a, 0};
    const Instruction sent = copied(from_b7, 1, true);
    CHECK(machine.refuses("not written or not awaited", {{}, {copied(from_a0, 1)}, {}}));
    CHECK(machine.refuses("not written or not awaited", {{a0}, {copied(from_a0, 1)}, {}}));
    CHECK(machine.refuses("more operands than", {{a0}, {copied(from_a0, 1, false, 2)}, {}}));
    CHECK(machine.refuses("slot 8 of 8", {{}, {copied(from_b7, 8)}, {}}));
    CHECK(machine.refuses("slot 9 of 8", {{{Memory::b, 9}}, {sent}, {}}));
    CHECK(machine.refuses("in a slot that is taken", {{a0, a0}, {sent}, {}}));
    CHECK(machine.refuses("in a slot that is taken", {{{Memory::b, 7}}, {sent}, {}}));
    CHECK(machine.refuses("which is taken", {{a0}, {copied(from_b7, 0)}, {}}));
    CHECK(machine.refuses("which is taken", {{}, {instruction(Destination::b, 7, {from_b7})}, {}}));
    CHECK(machine.refuses("which is taken", {{}, {sent, copied(from_b7, 1)}, {}}));
    CHECK(machine.refuses("without a transform", {{}, {copied(from_set0, 1)}, {}}));
    CHECK(machine.refuses(
        "without a transform",
        {{}, {transformed(from_b7, 0, false), copied(from_set0, 1), copied(from_set0, 2)}, {}}));
    CHECK(machine.refuses("before it was read",
                          {{}, {transformed(from_b7, 0, false), transformed(from_b7, 0, false)}, {}}));
    CHECK(machine.refuses("before it has read", {{}, {transformed(from_b7, 1, false)}, {}}));
    CHECK(machine.refuses("read and filled",
                          {{}, {transformed(from_b7, 0, false), transformed(from_set0, 0, true)}, {}}));
    CHECK(machine.refuses("two polynomials of memory B", {{}, {copied({Source::b, 7, true, 7}, 1)}, {}}));
    CHECK(machine.refuses("product with the constant", {{}, {copied({Source::one, 0, true, 7}, 1)}, {}}));
    CHECK(machine.refuses("weight 2, which", {{}, {copied({Source::b, 7, false, 2}, 1)}, {}}));
    CHECK(machine.refuses("weight 4095, which", {{}, {copied({Source::b, 7, false, 4095}, 1)}, {}}));
    CHECK(machine.refuses("modulus 3, which", {{}, {with(sent, [](auto &made) { made.modulus = 3; })}, {}}));
    const Term large{Source::b, 7, false, 1};
    const auto many = [&](unsigned terms, unsigned shift) {
        return with(sent, [&](Instruction &made) {
            made.terms.assign(terms, large);
            made.shift = shift;
        });
    };
    CHECK(machine.refuses("2^62", {{}, {many(40, 40)}, {}}));
    CHECK(machine.refuses("of 2^27", {{}, {many(1, 29)}, {}}));
    CHECK(!machine.refuses("", {{}, {many(1, 31)}, {}}));
    CHECK(machine.refuses(
        "transform of a shifted",
        {{}, {with(transformed(from_b7, 0, false), [](auto &made) { made.shift = 30; })}, {}}));
    // Consecutive jobs in the same slots.
    CHECK(machine.refuses("not written or not awaited", {{a0}, {copied(from_a0, 1, false, 1)}, {}}, 2));
    CHECK(machine.refuses("which is taken", {{}, {sent}, {}}, 2));
    CHECK(!machine.refuses("", {{}, {copied(from_b7, 1)}, {}}, 2));
    CHECK(is_refused("results, whose program sends 1", [&] { machine.run({{}, {sent}, {}}, 1, 2); }));
}

} // namespace

int main()
{
    cm_check_state.topic = "coprocessor";
    RUN(words_are_read_as_they_were_written);
    RUN(programs_compute_what_they_say);
    RUN(programs_that_break_the_rules_are_refused);
    RUN(programs_are_as_short_as_predicted);
    RUN(operations_are_those_of_portable);
    RUN(jobs_in_a_row_are_those_of_portable);
    RUN(what_a_machine_cannot_hold_is_left_to_the_processor);
    RUN(keys_stay_on_the_coprocessor);
    RUN(results_that_are_no_residues_are_refused);
    return cm_check_summary();
}
