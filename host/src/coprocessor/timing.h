// SPDX-License-Identifier: Apache-2.0
// How long programs take: a model of the machine in cycles.
#ifndef CM_HOST_COPROCESSOR_TIMING_H
#define CM_HOST_COPROCESSOR_TIMING_H

#include <array>
#include <limits>
#include <span>

#include "ciphermote/coprocessor.h"
#include "coprocessor/program.h"

namespace ciphermote::coprocessor
{

// In cycles of the machine's clock.
struct Timing {
    double rows;        // of a polynomial: cycles of a term
    double instruction; // the vector unit's pipeline, which empties between instructions
    double transform;
    double packet; // a polynomial's way in or out

    explicit Timing(const Machine &machine);

    double sum(std::size_t terms) const
    {
        return rows * static_cast<double>(terms) + instruction;
    }
};

// The machine's state in time, while instructions are issued in order.
class Clock
{
  public:
    explicit Clock(const Timing &timing) : timing_(timing)
    {
    }

    // The operands of the job after this one begin to arrive.
    void receive(double from, unsigned operands);
    // Instructions are those of the next job, from a time on.
    void next_job(double from);

    double start_of(const Instruction &instruction) const;
    void issue(const Instruction &instruction);

    double now() const // when the vector unit is free
    {
        return now_;
    }
    double transformer_free() const
    {
        return transformer_free_;
    }
    double set_ready(unsigned set) const
    {
        return set_ready_[set];
    }
    double departed() const // when the last result has left
    {
        return departed_;
    }
    double vector_busy() const
    {
        return vector_busy_;
    }
    double transformer_busy() const
    {
        return transformer_busy_;
    }

  private:
    Timing timing_;
    double now_ = 0, transformer_free_ = 0, departed_ = 0, vector_busy_ = 0, transformer_busy_ = 0;
    double arriving_from_ = 0, next_from_ = 0;
    double arriving_until_ = -std::numeric_limits<double>::infinity();
    std::array<double, 2> set_ready_{};
};

struct Prediction {
    double latency;     // of one job, from its start until its last result has left
    double pace;        // between the ends of consecutive jobs
    double vector_unit; // cycles for which it works on a job
    double transformer; // and for which the transformer does
    std::size_t transforms, terms;
};

// programs: of a job, and of two that alternate.
Prediction predict(const Machine &machine, const Program &alone, const Program &even, const Program &odd);

} // namespace ciphermote::coprocessor

#endif
