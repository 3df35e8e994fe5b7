// SPDX-License-Identifier: Apache-2.0
/*
 * The evaluator and the owner beside Microsoft SEAL, one thread: both take turns, and each operation's row is
 * the ratio of their medians. Prints one JSON object a line: name, value, unit, params.
 *
 *     bench_evaluator [SECONDS]      for each row; default 0.5
 *     bench_evaluator repeat WHOSE SCHEME LOG2_N TIMES
 *         each operation once, then so many times between two calls of sched_yield, SEAL's (WHOSE: seal) or a
 *         back-end's (its name): for counting instructions. Prints their names.
 *     bench_evaluator peak WHOSE SCHEME LOG2_N ROTATION_KEYS
 *         load a relinearization key and so many rotation keys, do each operation once, and print the
 *         largest resident memory, in bytes (WHOSE: seal or ours)
 */
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sched.h> // POSIX
#include <stdexcept>

#include "operations.h"
#include "sums.h"
#include "timing.h"

namespace
{

using Strings = std::vector<std::string>;

void print_bits(const Pair &pair, const Seals &theirs)
{
    double seal_bits = 0;
    for (const auto &q : theirs.context.first_context_data()->parms().coeff_modulus()) {
        seal_bits += std::log2(q.value());
    }
    const double data = log2_of(pair.chain.data), special = log2_of(pair.chain.special);
    const double seal_total = theirs.context.key_context_data()->total_coeff_modulus_bit_count();
    char params[200];
    std::snprintf(params, sizeof params,
                  "\"total_bits\": %.6g, \"special_bits\": %.6g, \"digit_primes\": %u, \"plain_modulus\": %u",
                  data + special, special, pair.chain.digit_primes, pair.chain.plain_modulus);
    print_row(pair.name() + ".data_bits", data, "bits", params);
    std::snprintf(params, sizeof params, "\"total_bits\": %.6g", seal_total);
    print_row(pair.name() + ".seal_data_bits", seal_bits, "bits", params);
}

// The share of the wall-clock time of all operations in which the processor worked for this process.
void print_cpu_shares(const Pair &pair, const Strings &isas, const Times &sums)
{
    for (std::size_t i = 0; i < isas.size(); i++) {
        print_row(pair.name() + ".cpu_share." + isas[i], sums.in_cpu[i + 1] / sums.wall[i + 1], "",
                  "\"seal\": " + std::to_string(sums.in_cpu[0] / sums.wall[0]));
    }
}

void compare(const Pair &pair, double seconds, const Strings &isas)
{
    Seals theirs(pair, 1);
    std::vector<std::unique_ptr<Ours>> ours;
    for (const std::string &isa : isas) {
        ours.push_back(std::make_unique<Ours>(pair, isa, 1));
    }
    print_bits(pair, theirs);
    Times sums{{}, std::vector<double>(isas.size() + 1), std::vector<double>(isas.size() + 1)};
    for (const Operation &operation : operations_of(pair)) {
        std::vector<std::function<void()>> turns = {[&] { operation.seal(theirs); }};
        for (const auto &own : ours) {
            turns.push_back([&operation, &own = *own] { operation.own(own); });
        }
        const Times times = in_turns(turns, seconds);
        for (std::size_t i = 0; i < turns.size(); i++) {
            sums.wall[i] += times.wall[i];
            sums.in_cpu[i] += times.in_cpu[i];
        }
        for (std::size_t i = 0; i < isas.size(); i++) {
            print_ratio(pair.name() + "." + operation.name + "." + isas[i], times.medians[0],
                        times.medians[i + 1], operation.note);
        }
    }
    print_cpu_shares(pair, isas, sums);
}

void repeat(const std::string &whose, const Pair &pair, int times)
{
    const auto theirs = whose == "seal" ? std::make_unique<Seals>(pair, 1) : nullptr;
    const auto ours = whose == "seal" ? nullptr : std::make_unique<Ours>(pair, whose, 1);
    for (const Operation &operation : operations_of(pair)) {
        const auto repeated = [&](int count) {
            for (int i = 0; i < count; i++) {
                ours ? operation.own(*ours) : operation.seal(*theirs);
            }
        };
        repeated(1); // which may be slower the first time
        sched_yield();
        repeated(times);
        sched_yield();
        std::puts(operation.name.c_str());
    }
}

double peak_bytes()
{
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("VmHWM:")) {
            return std::stod(line.substr(6)) * 1024;
        }
    }
    throw std::runtime_error("/proc/self/status does not say the largest resident memory (VmHWM).");
}

void print_peak(const std::string &whose, const Pair &pair, unsigned rotation_keys)
{
    const auto operations = operations_of(pair);
    if (whose == "seal") {
        Seals theirs(pair, rotation_keys);
        for (const Operation &operation : operations) {
            operation.seal(theirs);
        }
    } else {
        Ours ours(pair, "", rotation_keys);
        for (const Operation &operation : operations) {
            operation.own(ours);
        }
    }
    std::printf("%.0f\n", peak_bytes());
}

Strings usable_isas()
{
    Strings isas;
    for (const char *isa : {"avx2", "avx512"}) {
        try {
            ciphermote::Context(ciphermote::Chain{10, {12289}, {}, 1}, isa);
            isas.push_back(isa);
        } catch (const ciphermote::Error &error) {
            std::fprintf(stderr, "%s Its rows are left out.\n", error.what());
        }
    }
    return isas;
}

unsigned number(const std::string &text)
{
    return static_cast<unsigned>(std::stoul(text));
}

} // namespace

int main(int count, char **words)
{
    const Strings arguments(words + 1, words + count);
    if (arguments.size() == 5 && arguments[0] == "repeat") {
        repeat(arguments[1], pair_of(scheme_named(arguments[2]), number(arguments[3])),
               std::stoi(arguments[4]));
        return 0;
    }
    if (arguments.size() == 5 && arguments[0] == "peak") {
        print_peak(arguments[1], pair_of(scheme_named(arguments[2]), number(arguments[3])),
                   number(arguments[4]));
        return 0;
    }
    const double seconds = arguments.empty() ? 0.5 : std::stod(arguments[0]);
    const Strings isas = usable_isas();
    for (const Scheme scheme : {Scheme::ckks, Scheme::bfv}) {
        for (unsigned log2_n = 10; log2_n <= 15; log2_n++) {
            compare(pair_of(scheme, log2_n), seconds, isas);
        }
    }
    compare_sums(seconds, isas);
    return 0;
}
