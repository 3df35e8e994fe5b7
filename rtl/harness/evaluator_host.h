/* SPDX-License-Identifier: Apache-2.0 */
// What a host does with a simulated cm_evaluator_two_clocks: load it, run programs, and count what that
// takes, every beat and every access to a register included. Parameters of the hardware come as macros.
//
// Its functions are those of the host library's coprocessor, which has no need to know of Verilator.
#ifndef CM_RTL_HARNESS_EVALUATOR_HOST_H
#define CM_RTL_HARNESS_EVALUATOR_HOST_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "accelerator_model.h"
#include "evaluator_registers.h"

class evaluator_host
{
  public:
    // Constants that the hardware tells.
    struct shape {
        unsigned log2_n, lanes, slots_a, slots_b, moduli, weights, program, montgomery_bits, twiddle_bits;
    };

    // A run of the program at that address: n words for each packet that it receives, and for each that it
    // sends.
    struct job {
        unsigned program;
        std::vector<const uint32_t *> operands;
        std::vector<uint32_t *> results;
    };

    // From the write of the first command to the end of the last beat of the last result.
    struct cost {
        uint64_t ps = 0;
        uint64_t cycles = 0; // of the evaluator's clock
        uint64_t beats_in = 0;
        uint64_t beats_out = 0;
        uint64_t register_accesses = 0;
    };

    accelerator_model hardware;
    cost last_run;                     // of the last call of run()
    std::vector<uint64_t> job_ends_ps; // since its beginning, when each job's last beat out ended

    evaluator_host()
    {
        const uint32_t is = hardware.read(CM_EVALUATOR_SHAPE_OFFSET);
        const uint32_t sizes = hardware.read(CM_EVALUATOR_SIZES_OFFSET);
        const auto field = [](uint32_t word, unsigned low, unsigned bits) {
            return word >> low & ((1u << bits) - 1);
        };
#define CM_FIELD(word, name) field(word, CM_EVALUATOR_##name##_LOW, CM_EVALUATOR_##name##_BITS)
        built = {CM_FIELD(is, SHAPE_LOG2_N),
                 1u << CM_FIELD(is, SHAPE_LOG2_UNITS),
                 1u << CM_FIELD(sizes, SIZES_LOG2_SLOTS_A),
                 1u << CM_FIELD(sizes, SIZES_LOG2_SLOTS_B),
                 1u << CM_FIELD(sizes, SIZES_LOG2_MODULI),
                 1u << CM_FIELD(sizes, SIZES_LOG2_WEIGHTS),
                 1u << CM_FIELD(sizes, SIZES_LOG2_PROGRAM),
                 CM_FIELD(is, SHAPE_MONTGOMERY_BITS),
                 CM_FIELD(is, SHAPE_TWIDDLE_BITS)};
#undef CM_FIELD
        weights.resize(std::max<size_t>(built.weights, n()));
        program.resize(std::max<size_t>(2 * built.program, n()));
    }

    const shape &machine() const
    {
        return built;
    }

    size_t n() const
    {
        return size_t{1} << built.log2_n;
    }

    // twiddles: n words, word j is psi^bitrev(j) 2^twiddle_bits modulo q.
    void load_modulus(unsigned modulus, uint32_t q, const uint32_t *twiddles)
    {
        settle();
        hardware.write(CM_EVALUATOR_PRIME_HIGH_OFFSET, 0);
        hardware.write(CM_EVALUATOR_PRIME_OFFSET, q);
        load(CM_EVALUATOR_CODE_LOAD_MODULUS, modulus, twiddles);
    }

    void load_weights(unsigned first, const uint32_t *words, size_t count)
    {
        load_blocks(weights, CM_EVALUATOR_CODE_LOAD_WEIGHTS, first, words, count);
    }

    void load_program(unsigned first, const uint64_t *words, size_t count)
    {
        std::vector<uint32_t> halves;
        for (size_t i = 0; i < count; i++) {
            halves.push_back(static_cast<uint32_t>(words[i]));
            halves.push_back(static_cast<uint32_t>(words[i] >> 32));
        }
        load_blocks(program, CM_EVALUATOR_CODE_LOAD_PROGRAM, 2 * first, halves.data(), halves.size());
    }

    void load_polynomial(bool memory_b, unsigned slot, const uint32_t *words)
    {
        load(CM_EVALUATOR_CODE_LOAD_POLYNOMIAL | static_cast<uint32_t>(memory_b)
                                                     << CM_EVALUATOR_COMMAND_MEMORY_LOW,
             slot, words);
    }

    void run(const std::vector<job> &jobs)
    {
        settle();
        const uint64_t jobs_before = hardware.read(CM_EVALUATOR_JOBS_OFFSET);
        const cost start = now();
        job_ends_ps.clear();
        hardware.received_by_ps.clear();
        size_t begun = 0;
        size_t packet = 0;
        for (size_t ended = 0; ended < jobs.size(); ended++) {
            for (; begun < jobs.size() && begun < ended + QUEUE; begun++) {
                hardware.write(CM_EVALUATOR_COMMAND_OFFSET,
                               CM_EVALUATOR_CODE_RUN | jobs[begun].program
                                                           << CM_EVALUATOR_COMMAND_ARGUMENT_LOW);
                for (const uint32_t *operand : jobs[begun].operands) {
                    hardware.send(operand, n());
                }
            }
            for (uint32_t *result : jobs[ended].results) {
                const accelerator_model::packet words = hardware.receive(PATIENCE);
                if (words.size() != n()) {
                    fail("a result did not come");
                }
                std::copy(words.begin(), words.end(), result);
                packet++;
            }
            job_ends_ps.push_back(packet == 0 ? 0 : hardware.received_by_ps[packet - 1] - start.ps);
        }
        last_run = now();
        last_run.ps = packet == 0 ? last_run.ps - start.ps : job_ends_ps.back();
        last_run.cycles = (last_run.ps + accelerator_model::ENGINE_PS - 1) / accelerator_model::ENGINE_PS;
        last_run.beats_in -= start.beats_in;
        last_run.beats_out -= start.beats_out;
        last_run.register_accesses -= start.register_accesses;
        settle();
        if (hardware.read(CM_EVALUATOR_JOBS_OFFSET) - jobs_before != jobs.size()) {
            fail("a job is missing");
        }
    }

  private:
    static constexpr size_t QUEUE = 4;             // runs that are queued ahead; two take part at a time
    static constexpr uint64_t PATIENCE = 1u << 21; // cycles

    shape built{};
    std::vector<uint32_t> weights; // what was loaded, for blocks are loaded whole
    std::vector<uint32_t> program;

    [[noreturn]] static void fail(const std::string &what)
    {
        throw std::runtime_error("the simulated evaluator: " + what);
    }

    cost now() const
    {
        return {hardware.now_ps(), hardware.cycle, hardware.beats_in, hardware.beats_out,
                hardware.register_accesses};
    }

    void settle()
    {
        for (uint64_t waited = 0; !(hardware.read(CM_EVALUATOR_STATUS_OFFSET) & 1u); waited++) {
            if (waited == PATIENCE) {
                fail("it does not come to rest");
            }
        }
        if (const uint32_t errors = hardware.read(CM_EVALUATOR_ERRORS_OFFSET)) {
            hardware.write(CM_EVALUATOR_ERRORS_OFFSET, errors);
            fail("errors " + std::to_string(errors));
        }
    }

    void load(uint32_t command, unsigned argument, const uint32_t *words)
    {
        settle();
        hardware.write(CM_EVALUATOR_COMMAND_OFFSET, command | argument << CM_EVALUATOR_COMMAND_ARGUMENT_LOW);
        hardware.send(words, n());
        settle();
    }

    void load_blocks(std::vector<uint32_t> &mirror, uint32_t command, size_t first, const uint32_t *words,
                     size_t count)
    {
        if (first > mirror.size() || count > mirror.size() - first) {
            fail("more words than there is room for");
        }
        std::copy(words, words + count, mirror.begin() + static_cast<std::ptrdiff_t>(first));
        for (size_t block = first / n(); block * n() < first + count; block++) {
            load(command, static_cast<unsigned>(block), mirror.data() + block * n());
        }
    }
};

#endif
