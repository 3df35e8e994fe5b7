// SPDX-License-Identifier: Apache-2.0
// How long the processor takes at its best.
#ifndef CM_BENCH_SHORTEST_H
#define CM_BENCH_SHORTEST_H

#include <algorithm>
#include <chrono>
#include <functional>

constexpr unsigned ROUNDS = 1000;

// The least time of ROUNDS, in microseconds.
inline double shortest_us(const std::function<void()> &work)
{
    double shortest = 1e300;
    for (unsigned i = 0; i < ROUNDS; i++) {
        const auto start = std::chrono::steady_clock::now();
        work();
        shortest = std::min(
            shortest,
            std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
    }
    return shortest;
}

#endif
