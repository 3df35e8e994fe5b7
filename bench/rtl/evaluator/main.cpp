// SPDX-License-Identifier: Apache-2.0
/*
 * The evaluator's operations on cm_evaluator_two_clocks under Verilator: the residues of portable C++, bit
 * for bit, and how long each takes, alone and in a row. Prints one JSON object: for each operation, from the
 * write of its command to the end of its last beat out, in microseconds and in cycles of the evaluator's
 * clock; the pace of jobs that follow each other; what the library's model
 * (host/src/coprocessor/timing.h) predicted; and the shortest time of ROUNDS in which this machine's
 * processor does the same, by instruction set.
 */
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ciphermote/evaluate.h"
#include "coprocessor/offload.h"
#include "coprocessor/timing.h"
#include "evaluate/key_switching.h"
#include "rns/inside.h"
#include "rns/polynomials.h"

#include "evaluator_host.h"
#include "shortest.h"

namespace
{

using namespace ciphermote;
using coprocessor::Offload;
using coprocessor::Operation;

constexpr std::size_t IN_A_ROW = 6, FIRST_COUNTED = 2;

[[noreturn]] void stop(const std::string &why)
{
    std::fprintf(stderr, "%s\n", why.c_str());
    std::exit(1);
}

// The simulated hardware as the host library sees a coprocessor.
class Simulated final : public Coprocessor
{
  public:
    Simulated()
    {
        const evaluator_host::shape &is = host.machine();
        machine_ = {is.log2_n,  is.lanes,   is.slots_a,         is.slots_b,     is.moduli,
                    is.weights, is.program, is.montgomery_bits, is.twiddle_bits};
    }
    const Machine &machine() const override
    {
        return machine_;
    }
    void load_modulus(unsigned modulus, std::uint32_t q, std::span<const std::uint32_t> twiddles) override
    {
        host.load_modulus(modulus, q, twiddles.data());
    }
    void load_weights(unsigned first, std::span<const std::uint32_t> weights) override
    {
        host.load_weights(first, weights.data(), weights.size());
    }
    void load_program(unsigned first, std::span<const std::uint64_t> words) override
    {
        host.load_program(first, words.data(), words.size());
    }
    void load_polynomial(Memory memory, unsigned slot, std::span<const std::uint32_t> residues) override
    {
        host.load_polynomial(memory == Memory::b, slot, residues.data());
    }
    void run(std::span<const Job> jobs) override
    {
        std::vector<evaluator_host::job> all;
        for (const Job &job : jobs) {
            all.push_back({job.program, job.operands, job.results});
        }
        host.run(all);
    }

    evaluator_host host;

  private:
    Machine machine_;
};

std::uint64_t random_state = 1;

std::uint64_t random_bits64() // splitmix64
{
    random_state += 0x9E3779B97F4A7C15u;
    std::uint64_t x = random_state;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

std::vector<std::uint32_t> random_polynomials(unsigned count, const std::vector<std::uint32_t> &primes,
                                              std::size_t n)
{
    std::vector<std::uint32_t> found;
    for (unsigned i = 0; i < count; i++) {
        for (const std::uint32_t q : primes) {
            for (std::size_t k = 0; k < n; k++) {
                found.push_back(static_cast<std::uint32_t>(random_bits64() % q));
            }
        }
    }
    return found;
}

bool same(const Ciphertext &a, const Ciphertext &b)
{
    return std::equal(a.residues().begin(), a.residues().end(), b.residues().begin(), b.residues().end());
}

// An operation, and how the evaluator is asked for it.
struct Named {
    const char *name;
    Operation operation;
    unsigned components; // of its result
    unsigned primes;
    std::function<void(const Ciphertext &a, const Ciphertext &b, const Ciphertext &product,
                       const EvaluationKeys &keys, Ciphertext &out)>
        compute;
};

std::vector<Named> operations(const Chain &chain)
{
    const auto primes = static_cast<unsigned>(chain.data.size());
    using Kind = Operation::Kind;
    std::vector<Named> found{
        {"multiply",
         {Kind::multiply, primes},
         3,
         primes,
         [](const auto &a, const auto &b, const auto &, const auto &, auto &out) { multiply(a, b, out); }},
        {"multiply_relinearize",
         {Kind::multiply_relinearize, primes},
         2,
         primes,
         [](const auto &a, const auto &b, const auto &, const auto &keys, auto &out) {
             multiply(a, b, keys, out);
         }},
        {"relinearize",
         {Kind::switch_last, primes, 3},
         2,
         primes,
         [](const auto &, const auto &, const auto &product, const auto &keys, auto &out) {
             relinearize(product, keys, out);
         }},
        {"rotate",
         {Kind::switch_last, primes, 2},
         2,
         primes,
         [](const auto &a, const auto &, const auto &, const auto &keys, auto &out) {
             rotate(a, 1, keys, out);
         }}};
    if (chain.plain_modulus) {
        found.push_back({"mod_switch",
                         {Kind::divide, primes, 2, 1},
                         2,
                         primes - 1,
                         [](const auto &a, const auto &, const auto &, const auto &, auto &out) {
                             mod_switch(a, 1, out);
                         }});
    } else {
        found.push_back(
            {"rescale",
             {Kind::divide, primes, 2, 1},
             2,
             primes - 1,
             [](const auto &a, const auto &, const auto &, const auto &, auto &out) { rescale(a, 1, out); }});
    }
    return found;
}

class Bench
{
  public:
    Bench(const char *scheme, const Chain &chain)
        : scheme_(scheme), chain_(chain), contexts_{with_coprocessor()}, n_(contexts_[0]->n())
    {
        for (const arch::kernels *const kernels : arch::usable_kernels()) {
            contexts_.push_back(std::make_shared<const Context>(chain, kernels->name));
        }
        std::vector<std::uint32_t> all = chain.data;
        all.insert(all.end(), chain.special.begin(), chain.special.end());
        const auto digits =
            static_cast<unsigned>((chain.data.size() + chain.digit_primes - 1) / chain.digit_primes);
        const auto relinearization = random_polynomials(2 * digits, all, n_);
        const auto galois = random_polynomials(2 * digits, all, n_);
        for (const auto &context : contexts_) {
            EvaluationKeys &keys = keys_.emplace_back(context);
            keys.add_relinearization(relinearization);
            keys.add_galois(galois_element(*context, 1), galois);
        }
    }

    void run(const char *end)
    {
        const std::vector<Named> all = operations(chain_);
        for (const Named &named : all) {
            measure(named);
            std::printf("%s", &named == &all.back() ? end : ", ");
            std::fflush(stdout);
        }
    }

  private:
    std::shared_ptr<const Context> with_coprocessor()
    {
        auto made = std::make_unique<Simulated>();
        simulated_ = made.get();
        return std::make_shared<const Context>(chain_, "", std::move(made));
    }

    Ciphertext random_ciphertext(const std::shared_ptr<const Context> &context, unsigned components,
                                 const std::vector<std::uint32_t> &residues) const
    {
        const double scale = chain_.plain_modulus ? 1 : 0x1p30;
        return Ciphertext(context, components, static_cast<unsigned>(chain_.data.size()), scale, residues);
    }

    void measure(const Named &named)
    {
        const auto a = random_polynomials(2, chain_.data, n_), b = random_polynomials(2, chain_.data, n_),
                   product = random_polynomials(3, chain_.data, n_);
        const auto compute = [&](std::size_t which, Ciphertext &out) {
            const auto &context = contexts_[which];
            const Ciphertext first = random_ciphertext(context, 2, a),
                             second = random_ciphertext(context, 2, b),
                             third = random_ciphertext(context, 3, product);
            named.compute(first, second, third, keys_[which], out);
        };
        Ciphertext found, expected;
        const std::uint64_t before = context().coprocessor_use().on_coprocessor;
        compute(0, found); // loads the key and the program
        compute(0, found);
        const evaluator_host::cost alone = simulated_->host.last_run;
        compute(portable(), expected);
        if (context().coprocessor_use().on_coprocessor != before + 2 || !same(found, expected)) {
            stop(std::string(scheme_) + " " + named.name + ": the residues are not portable C++'s");
        }
        const double pace_us = in_a_row(named);
        std::printf("\"%s.%s\": {\"us\": %.2f, \"cycles\": %llu, \"predicted_cycles\": %.0f, "
                    "\"pace_us\": %.2f, \"beats_in\": %llu, \"beats_out\": %llu",
                    scheme_, named.name, static_cast<double>(alone.ps) / 1e6,
                    static_cast<unsigned long long>(alone.cycles), predicted(named.operation), pace_us,
                    static_cast<unsigned long long>(alone.beats_in),
                    static_cast<unsigned long long>(alone.beats_out));
        for (std::size_t which = 1; which < contexts_.size(); which++) {
            const Ciphertext first = random_ciphertext(contexts_[which], 2, a),
                             second = random_ciphertext(contexts_[which], 2, b),
                             third = random_ciphertext(contexts_[which], 3, product);
            Ciphertext out;
            std::printf(", \"%s_us\": %.2f", contexts_[which]->isa(),
                        shortest_us([&] { named.compute(first, second, third, keys_[which], out); }));
            if (!same(out, expected)) {
                stop(std::string(scheme_) + " " + named.name + ": back-ends differ");
            }
        }
        std::printf("}");
    }

    const Context &context() const
    {
        return *contexts_[0];
    }
    std::size_t portable() const // the last of the back-ends
    {
        return contexts_.size() - 1;
    }

    double predicted(const Operation &operation) const
    {
        const Tables &t = tables_of(context());
        const Machine &machine = simulated_->machine();
        const unsigned first = machine.slots_b - static_cast<unsigned>(t.digits.size()) * 2 * t.all();
        const coprocessor::Circuit circuit = coprocessor::circuit(t, operation, machine.montgomery_bits);
        const auto found =
            coprocessor::schedule(circuit.graph, machine, {first, first}, coprocessor::Turn::alone);
        return found ? found->cycles : 0;
    }

    // From the end of one job to the end of the next, when they follow each other.
    double in_a_row(const Named &named)
    {
        const Tables &t = tables_of(context());
        const SwitchingKey *const switching =
            !named.operation.uses_key() ? nullptr
            : named.operation.components == 3 || named.operation.kind != Operation::Kind::switch_last
                ? &relinearization_key(keys_[0])
                : &galois_key(keys_[0], galois_element(context(), 1));
        std::vector<std::array<Ciphertext, 2>> operands(IN_A_ROW);
        std::vector<Ciphertext> results(IN_A_ROW);
        std::vector<Offload::Call> calls;
        for (std::size_t i = 0; i < IN_A_ROW; i++) {
            const unsigned components =
                named.operation.kind == Operation::Kind::switch_last ? named.operation.components : 2;
            for (Ciphertext &operand : operands[i]) {
                operand = random_ciphertext(contexts_[portable()], components,
                                            random_polynomials(components, chain_.data, n_));
            }
            reshape(results[i], contexts_[0], named.components, named.primes, 1);
            calls.push_back({[&operands, i](const coprocessor::Polynomial &p) {
                                 const Ciphertext &from = operands[i].at(p.ciphertext);
                                 return polynomial(from, p.component, p.prime);
                             },
                             [&results, i](const coprocessor::Polynomial &p) {
                                 return polynomial(results[i], p.component, p.prime);
                             }});
        }
        coprocessor::Key key{};
        if (switching) {
            key = coprocessor_key(t, *switching);
        }
        if (!t.offload->run(t, named.operation, switching ? &key : nullptr, calls)) {
            stop(std::string(named.name) + " does not fit the coprocessor");
        }
        const std::vector<std::uint64_t> ends = simulated_->host.job_ends_ps;
        for (std::size_t i = 0; i < IN_A_ROW; i++) {
            check_against_portable(named, operands[i], results[i]);
        }
        return static_cast<double>(ends[IN_A_ROW - 1] - ends[FIRST_COUNTED - 1]) / 1e6 /
               static_cast<double>(IN_A_ROW - FIRST_COUNTED);
    }

    // Rotations are permuted when their results are taken, so those of a row are not: they are compared
    // alone.
    void check_against_portable(const Named &named, const std::array<Ciphertext, 2> &operands,
                                const Ciphertext &found) const
    {
        if (std::string(named.name) == "rotate") {
            return;
        }
        Ciphertext expected;
        named.compute(operands[0], operands[1], operands[0], keys_[portable()], expected);
        if (!same(found, expected)) {
            stop(std::string(scheme_) + " " + named.name + ": a job in a row is not portable C++'s");
        }
    }

    const char *scheme_;
    Chain chain_;
    Simulated *simulated_ = nullptr;                       // the context's
    std::vector<std::shared_ptr<const Context>> contexts_; // with the coprocessor, and without: by back-end
    std::vector<EvaluationKeys> keys_;
    std::size_t n_;
};

} // namespace

int main()
{
    // n4096_q26x3_p27
    Chain chain{12, {67043329, 67084289, 66994177}, {134176769}, 1};
    std::printf("{");
    try {
        chain.plain_modulus = 65537;
        Bench("bfv", chain).run(", ");
        chain.plain_modulus = 0;
        Bench("ckks", chain).run("}\n");
    } catch (const std::exception &error) {
        stop(error.what());
    }
}
