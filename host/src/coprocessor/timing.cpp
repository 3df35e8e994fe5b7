// SPDX-License-Identifier: Apache-2.0
#include "coprocessor/timing.h"

#include <algorithm>

namespace ciphermote::coprocessor
{

namespace
{

// As rtl/evaluator is built with long pipelines. A level of the transformer takes a row a cycle, and at small
// degrees the next one waits for its first row.
constexpr double butterfly_latency = 18, transform_latency = 26, instruction_latency = 4;

} // namespace

Timing::Timing(const Machine &machine)
    : rows(static_cast<double>((std::size_t{1} << machine.log2_n) / machine.lanes)),
      instruction(instruction_latency),
      transform(machine.log2_n * std::max(rows / 2, butterfly_latency) + transform_latency),
      packet(static_cast<double>(std::size_t{4} << machine.log2_n) / machine.stream_bytes * machine.clock_hz)
{
}

void Clock::receive(double from, unsigned operands)
{
    next_from_ = std::max(from, arriving_until_);
    arriving_until_ = next_from_ + operands * timing_.packet;
}

void Clock::next_job(double from)
{
    arriving_from_ = next_from_;
    now_ = std::max(now_, from);
}

double Clock::start_of(const Instruction &instruction) const
{
    double start = now_;
    if (instruction.arrivals > 0) {
        start = std::max(start, arriving_from_ + instruction.arrivals * timing_.packet);
    }
    for (const Term &term : instruction.terms) {
        start = term.source == Source::set ? std::max(start, set_ready_[term.slot]) : start;
    }
    return start;
}

void Clock::issue(const Instruction &instruction)
{
    const double start = start_of(instruction), takes = timing_.sum(instruction.terms.size());
    now_ = start + takes;
    vector_busy_ += takes;
    if (instruction.destination == Destination::transformer) {
        transformer_free_ = std::max(now_, transformer_free_) + timing_.transform;
        transformer_busy_ += timing_.transform;
        set_ready_[instruction.slot] = transformer_free_;
    }
    if (instruction.send) {
        departed_ = std::max(now_, departed_) + timing_.packet;
    }
}

Prediction predict(const Machine &machine, const Program &alone, const Program &even, const Program &odd)
{
    const Timing timing(machine);
    const auto operands = [](const Program &program) {
        return static_cast<unsigned>(program.receives.size());
    };
    Clock once(timing);
    once.receive(0, operands(alone));
    once.next_job(0);
    Prediction found{};
    for (const Instruction &instruction : alone.instructions) {
        once.issue(instruction);
        found.terms += instruction.terms.size();
        found.transforms += instruction.destination == Destination::transformer;
    }
    found.latency = once.departed();
    found.vector_unit = once.vector_busy();
    found.transformer = once.transformer_busy();

    // Operands of a job arrive once the instructions of the job before the last one have ended, and its own
    // begin once the results of that job have left.
    Clock clock(timing);
    constexpr int jobs = 24, first = 8;
    double instructions_before = 0, left = 0, left_before = 0, left_at_first = 0;
    clock.receive(0, operands(even));
    for (int job = 0; job < jobs; job++) {
        clock.next_job(left_before);
        clock.receive(instructions_before, operands(job % 2 ? even : odd));
        for (const Instruction &instruction : (job % 2 ? odd : even).instructions) {
            clock.issue(instruction);
        }
        instructions_before = clock.now();
        left_before = left;
        left = clock.departed();
        left_at_first = job == first ? left : left_at_first;
    }
    found.pace = (left - left_at_first) / (jobs - 1 - first);
    return found;
}

} // namespace ciphermote::coprocessor
