// SPDX-License-Identifier: Apache-2.0
#include "timing.h"

#include <algorithm>
#include <cstdio>
#include <time.h> // POSIX

#include <seal/util/config.h>

#ifdef SEAL_USE_INTEL_HEXL
#define WHOSE "hexl"
#else
#define WHOSE "seal"
#endif

namespace
{

double now(clockid_t clock)
{
    timespec time;
    clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

constexpr double least_turn = 50e-6; // seconds; reading the clocks takes less than 1e-6

// So many calls that a turn is long beside reading the clocks.
unsigned calls_a_turn(const std::function<void()> &operation)
{
    operation(); // which may be slower the first time
    const double start = now(CLOCK_PROCESS_CPUTIME_ID);
    operation();
    return 1 + static_cast<unsigned>(least_turn / (now(CLOCK_PROCESS_CPUTIME_ID) - start));
}

double median(std::vector<double> times)
{
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    return *middle;
}

} // namespace

Times in_turns(const std::vector<std::function<void()>> &operations, double seconds)
{
    const std::size_t count = operations.size();
    std::vector<std::vector<double>> times(count);
    std::vector<unsigned> calls;
    for (const auto &operation : operations) {
        calls.push_back(calls_a_turn(operation));
    }
    Times found{{}, std::vector<double>(count), std::vector<double>(count)};
    const double start = now(CLOCK_MONOTONIC);
    while (times[0].size() < 5 || now(CLOCK_MONOTONIC) - start < seconds) {
        for (std::size_t i = 0; i < count; i++) {
            const double wall = now(CLOCK_MONOTONIC), in_cpu = now(CLOCK_PROCESS_CPUTIME_ID);
            for (unsigned call = 0; call < calls[i]; call++) {
                operations[i]();
            }
            const double turn = now(CLOCK_PROCESS_CPUTIME_ID) - in_cpu;
            found.in_cpu[i] += turn;
            found.wall[i] += now(CLOCK_MONOTONIC) - wall;
            times[i].push_back(turn / calls[i]);
        }
    }
    for (auto &t : times) {
        found.medians.push_back(median(std::move(t)));
    }
    return found;
}

void print_row(const std::string &name, double value, const char *unit, const std::string &params)
{
    std::printf("{\"name\": \"%s\", \"value\": %.10g, \"unit\": \"%s\", \"params\": {%s}}\n", name.c_str(),
                value, unit, params.c_str());
    std::fflush(stdout);
}

void print_ratio(const std::string &name, double seal, double own, const std::string &note)
{
    char params[120];
    std::snprintf(params, sizeof params, "\"us\": %.4g, \"seal_us\": %.4g", own * 1e6, seal * 1e6);
    print_row(name + ".ratio_to_" WHOSE, seal / own, "", params + (note.empty() ? "" : ", " + note));
}
