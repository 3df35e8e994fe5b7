// SPDX-License-Identifier: Apache-2.0
/*
 * When an evaluator in hardware is as fast as this machine's processor: operations scheduled for machines of
 * many sizes by the library's own scheduler, and timed by its model (host/src/coprocessor/timing.h), beside
 * the least time of ROUNDS in which one core does the same.
 *
 *     break_even LOG2_N DATA SPECIAL DIGIT_PRIMES
 *
 * DATA and SPECIAL: primes, joined by commas; SPECIAL may be empty. Prints one JSON object: by operation, the
 * processor's time by instruction set in us, and for each machine (its lanes, bits of a stream at STREAM_HZ)
 * its slots, its time in us at CLOCK_HZ, and the least clock in MHz at which it takes no longer than AVX2, or
 * null if MOST_HZ do not suffice. Transfers of operands and result are in every time; keys are resident.
 */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "ciphermote/evaluate.h"
#include "coprocessor/circuits.h"
#include "coprocessor/schedule.h"
#include "rns/inside.h"

#include "shortest.h"

namespace
{

using namespace ciphermote;
using coprocessor::Operation;

constexpr unsigned STEPS = 7;
constexpr double CLOCK_HZ = 200e6, MOST_HZ = 400e6, STREAM_HZ = 250e6;
constexpr unsigned LANES[] = {8, 16, 32, 64, 128}, STREAM_BITS[] = {32, 64, 128, 256, 512};
constexpr std::uint32_t PLAIN_MODULUS = 65537;

std::vector<std::uint32_t> primes_in(const char *text)
{
    std::vector<std::uint32_t> found;
    std::istringstream words(text);
    for (std::string word; std::getline(words, word, ',');) {
        found.push_back(static_cast<std::uint32_t>(std::stoul(word)));
    }
    return found;
}

struct Named {
    std::string name;
    Operation operation;
    std::function<void(const Ciphertext &a, const Ciphertext &b, const EvaluationKeys &keys, Ciphertext &out)>
        compute;
};

// What a chain of so many primes has: without special primes no key is switched.
std::vector<Named> operations(const Chain &chain)
{
    const auto primes = static_cast<unsigned>(chain.data.size());
    using Kind = Operation::Kind;
    if (!chain.plain_modulus) {
        return {
            {"ckks.relinearize",
             {Kind::switch_last, primes, 3},
             [](const auto &a, const auto &, const auto &keys, auto &out) { relinearize(a, keys, out); }}};
    }
    if (chain.special.empty()) {
        return {{"bfv.multiply",
                 {Kind::multiply, primes},
                 [](const auto &a, const auto &b, const auto &, auto &out) { multiply(a, b, out); }}};
    }
    return {{"bfv.multiply_relinearize",
             {Kind::multiply_relinearize, primes},
             [](const auto &a, const auto &b, const auto &keys, auto &out) { multiply(a, b, keys, out); }}};
}

std::vector<std::uint32_t> polynomials(std::size_t count, const std::vector<std::uint32_t> &primes,
                                       std::size_t n)
{
    std::vector<std::uint32_t> found;
    std::uint64_t state = 1;
    for (std::size_t i = 0; i < count; i++) {
        for (const std::uint32_t q : primes) {
            for (std::size_t k = 0; k < n; k++) {
                state = state * 6364136223846793005u + 1442695040888963407u;
                found.push_back(static_cast<std::uint32_t>((state >> 32) % q));
            }
        }
    }
    return found;
}

double processor_us(const Chain &chain, const Named &named, const char *isa)
{
    const auto context = std::make_shared<const Context>(Insecure{chain}, isa);
    const std::size_t n = context->n(),
                      digits = (chain.data.size() + chain.digit_primes - 1) / chain.digit_primes;
    EvaluationKeys keys(context);
    if (!chain.special.empty()) {
        std::vector<std::uint32_t> all = chain.data;
        all.insert(all.end(), chain.special.begin(), chain.special.end());
        keys.add_relinearization(polynomials(2 * digits, all, n));
    }
    const unsigned components = named.operation.kind == Operation::Kind::switch_last ? 3 : 2;
    const auto residues = polynomials(components, chain.data, n);
    const Ciphertext operand(context, components, static_cast<unsigned>(chain.data.size()),
                             chain.plain_modulus ? 1 : 0x1p20, residues);
    Ciphertext out;
    return shortest_us([&] { named.compute(operand, operand, keys, out); });
}

// The model's time; none if the machine has too few slots.
std::optional<double> machine_us(const Tables &t, const Operation &operation, const Machine &machine)
{
    const unsigned key = operation.uses_key() ? static_cast<unsigned>(t.digits.size()) * 2 * t.all() : 0;
    if (key >= machine.slots_b) {
        return std::nullopt;
    }
    const coprocessor::Circuit circuit = coprocessor::circuit(t, operation, machine.montgomery_bits);
    const unsigned first = machine.slots_b - key;
    const auto found =
        coprocessor::schedule(circuit.graph, machine, {first, first}, coprocessor::Turn::alone);
    return found ? std::optional(found->cycles / machine.clock_hz * 1e6) : std::nullopt;
}

// A machine that holds the operation, with as few slots as powers of two let it.
Machine machine_for(const Tables &t, const Operation &operation, unsigned lanes, unsigned stream_bits)
{
    Machine machine;
    machine.log2_n = t.chain.log2_n;
    machine.lanes = lanes;
    machine.clock_hz = CLOCK_HZ;
    machine.stream_bytes = stream_bits / 8.0 * STREAM_HZ;
    while (!machine_us(t, operation, machine)) {
        machine.slots_a *= 2;
        machine.slots_b *= 2;
        if (machine.slots_a > 1024) {
            std::fprintf(stderr, "no machine holds the operation\n");
            std::exit(1);
        }
    }
    return machine;
}

// The least clock at which the machine takes at most so long, to a hundredth of MOST_HZ.
std::optional<double> clock_for(const Tables &t, const Operation &operation, Machine machine, double us)
{
    double slow = 0, fast = MOST_HZ;
    machine.clock_hz = fast;
    if (*machine_us(t, operation, machine) > us) {
        return std::nullopt;
    }
    for (unsigned i = 0; i < STEPS; i++) {
        machine.clock_hz = (slow + fast) / 2;
        (*machine_us(t, operation, machine) > us ? slow : fast) = machine.clock_hz;
    }
    return fast;
}

void measure(const Chain &chain, const Named &named, const char *end)
{
    std::printf("\"%s\": {", named.name.c_str());
    double avx2 = 0;
    for (const arch::kernels *const kernels : arch::usable_kernels()) {
        const double us = processor_us(chain, named, kernels->name);
        avx2 = std::string(kernels->name) == "avx2" ? us : avx2;
        std::printf("\"%s_us\": %.2f, ", kernels->name, us);
    }
    const Context context(Insecure{chain}, "portable");
    const Tables &t = tables_of(context);
    std::printf("\"machines\": [");
    const char *separator = "";
    for (const unsigned lanes : LANES) {
        for (const unsigned bits : STREAM_BITS) {
            const Machine machine = machine_for(t, named.operation, lanes, bits);
            const std::optional<double> clock = clock_for(t, named.operation, machine, avx2);
            std::printf("%s{\"units\": %u, \"stream_bits\": %u, \"slots\": %u, \"us\": %.2f, "
                        "\"break_even_mhz\": %s}",
                        separator, lanes, bits, machine.slots_a, *machine_us(t, named.operation, machine),
                        clock ? std::to_string(static_cast<int>(*clock / 1e6 + 0.5)).c_str() : "null");
            separator = ", ";
        }
    }
    std::printf("]}%s", end);
}

} // namespace

int main(int count, char **arguments)
{
    if (count != 5) {
        std::fprintf(stderr, "usage: break_even LOG2_N DATA SPECIAL DIGIT_PRIMES\n");
        return 2;
    }
    Chain chain{static_cast<unsigned>(std::atoi(arguments[1])), primes_in(arguments[2]),
                primes_in(arguments[3]), static_cast<unsigned>(std::atoi(arguments[4])), PLAIN_MODULUS};
    std::printf("{");
    const bool switches = !chain.special.empty();
    for (const Named &named : operations(chain)) {
        measure(chain, named, switches ? ", " : "}\n");
    }
    if (switches) {
        chain.plain_modulus = 0;
        for (const Named &named : operations(chain)) {
            measure(chain, named, "}\n");
        }
    }
}
