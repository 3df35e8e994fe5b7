// SPDX-License-Identifier: Apache-2.0
// What takes turns is timed, and rows are printed.
#ifndef CM_BENCH_EVALUATOR_TIMING_H
#define CM_BENCH_EVALUATOR_TIMING_H

#include <functional>
#include <string>
#include <vector>

// Times are the process's on the processor, and it has one thread: what else the machine does does not count.
struct Times {
    std::vector<double> medians;      // seconds, of each operation
    std::vector<double> wall, in_cpu; // seconds, of each operation's turns together
};

// Operations take turns for so long, and at least five times.
Times in_turns(const std::vector<std::function<void()>> &operations, double seconds);

// One JSON object a line; params: JSON's members.
void print_row(const std::string &name, double value, const char *unit, const std::string &params = "");
// <name>.ratio_to_seal, or .ratio_to_hexl if HEXL is in this SEAL; times in seconds.
void print_ratio(const std::string &name, double seal, double own, const std::string &note);

#endif
