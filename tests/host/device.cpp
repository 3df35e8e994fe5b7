// SPDX-License-Identifier: Apache-2.0
/*
 * The evaluator on a device: the residues are those of portable C++, whatever the operation, level and degree;
 * and the interpreter, which is the machine's golden model, refuses programs that break its rules. The last
 * line says "N passed, N failed".
 */
#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "check.h"
#include "ciphermote/evaluate.h"
#include "device/interpreter.h"
#include "device/offload.h"
#include "device/timing.h"
#include "evaluate/key_switching.h"
#include "inputs.h"
#include "rns/inside.h"
#include "rns/polynomials.h"

cm_checks cm_check_state;

namespace
{

using namespace ciphermote;
using namespace ciphermote::device;
using namespace ciphermote::testing;
using ciphermote::device::Sum;

// Steps of log2_n + 1 bits that give 40 products of residues room at primes of 20 bits or more.
Machine machine_of(unsigned log2_n, unsigned slots_a, unsigned slots_b)
{
    Machine machine;
    machine.log2_n = log2_n;
    machine.slots_a = slots_a;
    machine.slots_b = slots_b;
    machine.montgomery_bits = (40 + log2_n) / (log2_n + 1) * (log2_n + 1);
    machine.twiddle_bits = log2_n == 13 ? 28 : 27;
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

// Every operation that devices compute, at every level; `operations` counts them.
Results results_on(const std::shared_ptr<const Context> &context, Fill fill, std::uint64_t &operations)
{
    const Chain &chain = context->chain();
    const bool bfv = chain.plain_modulus != 0, switches = !chain.special.empty();
    const std::size_t n = context->n();
    Inputs inputs(1);
    EvaluationKeys keys(context);
    std::unique_ptr<RekeyKey> rekeying;
    if (switches) {
        const auto key = [&] {
            return inputs.polynomials(2 * digits_of(chain), all_primes(chain), n, fill);
        };
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
    auto device = std::make_unique<Interpreter>(machine);
    if (interpreter) {
        *interpreter = device.get();
    }
    return std::make_shared<const Context>(Insecure{chain}, isa, std::move(device));
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
            BEHAVIOUR("every operation ran on the device");
            CHECK(context->device_use().on_device == operations);
            CHECK(context->device_use().on_host == 0);
        }
    }
}

} // namespace

int main()
{
    cm_check_state.topic = "device";
    RUN(operations_are_those_of_portable);
    return cm_check_summary();
}
