// SPDX-License-Identifier: Apache-2.0
// From what a program computes to its instructions: their order, and the slots of their polynomials.
#ifndef CM_HOST_COPROCESSOR_SCHEDULE_H
#define CM_HOST_COPROCESSOR_SCHEDULE_H

#include <optional>

#include "coprocessor/graph.h"
#include "coprocessor/program.h"

namespace ciphermote::coprocessor
{

/*
 * Where the operands and results of a job are. A job alone has all slots but the key's. Consecutive jobs
 * alternate between even and odd: the slots in which the operands of one arrive and from which the results of
 * the other leave are no others' then.
 */
enum class Turn : std::uint8_t { alone, even, odd };

struct Schedule {
    Program program;
    std::vector<unsigned> sent; // results by number, in the order in which they leave
    double cycles = 0; // as predicted (coprocessor/timing.h): of a job alone, or of instructions in a row
};

// Slots of memory B: those from work_slots on are for keys, of which this one begins at first_key.
struct Layout {
    unsigned work_slots, first_key;
};

// None if the machine has too few slots, or takes fewer terms in a sum.
std::optional<Schedule> schedule(const Graph &graph, const Machine &machine, const Layout &layout, Turn turn);

} // namespace ciphermote::coprocessor

#endif
