// SPDX-License-Identifier: Apache-2.0
/*
 * A coprocessor in software: it runs programs word by word, exactly as the machine of rtl/evaluator does, and
 * is what that is tested against. It refuses what the machine does not check: a slot that is read before it
 * is written, sums that are too large, a set that is filled before it is read.
 *
 * Where the machine may do two things in either order, it takes the one that shows a program's faults:
 * operands are stored as early as they may be, and results read as late.
 */
#ifndef CM_HOST_COPROCESSOR_INTERPRETER_H
#define CM_HOST_COPROCESSOR_INTERPRETER_H

#include <array>

#include "ciphermote/coprocessor.h"
#include "coprocessor/program.h"

namespace ciphermote::coprocessor
{

class Interpreter final : public Coprocessor
{
  public:
    explicit Interpreter(const Machine &machine);

    const Machine &machine() const override
    {
        return machine_;
    }
    void load_modulus(unsigned modulus, std::uint32_t q, std::span<const std::uint32_t> twiddles) override;
    void load_weights(unsigned first, std::span<const std::uint32_t> weights) override;
    void load_program(unsigned first, std::span<const std::uint64_t> words) override;
    void load_polynomial(Memory memory, unsigned slot, std::span<const std::uint32_t> residues) override;
    void run(std::span<const Job> jobs) override;

    // How often each kind of load was asked for, in words.
    std::uint64_t words_loaded() const
    {
        return words_loaded_;
    }

  private:
    using Polynomial = std::vector<std::uint32_t>;
    enum class Holds : std::uint8_t { nothing, resident, operand, result };

    struct Slot {
        Polynomial words;
        Holds holds = Holds::nothing;
        std::size_t job = 0;    // whose operand or result it is
        unsigned operand = 0;   // which one
        bool departing = false; // a result that may not have left yet
    };
    struct Modulus {
        std::uint32_t q = 0;
        Polynomial roots, inverse_roots; // without 2^twiddle_bits
        std::uint32_t r_inverse = 0, n_inverse = 0;
    };
    struct Set {
        Polynomial words;
        bool full = false;
    };
    struct Running {
        const Job *job;
        Program program;
        std::vector<Place> sent;
        unsigned awaited = 0;
    };

    std::size_t n() const
    {
        return std::size_t{1} << machine_.log2_n;
    }
    Slot &slot(Memory memory, unsigned index);
    const Slot &read(Memory memory, unsigned index, std::size_t number);
    void begin();
    void deliver(std::size_t number);
    void execute(std::size_t number);
    void collect(std::size_t number);
    void step(const Instruction &instruction, std::size_t number);
    Polynomial sums(const Instruction &instruction, std::size_t number);
    const Polynomial *words_of(const Term &term, const Instruction &instruction, std::size_t number);
    void reduce(Polynomial &out, const std::vector<std::uint64_t> &sum, const Instruction &instruction) const;
    const Modulus &modulus(unsigned index) const;
    void transform(Polynomial &words, const Modulus &m, bool inverse) const;

    Machine machine_;
    std::array<std::vector<Slot>, 2> memories_;
    std::vector<Modulus> moduli_;
    std::vector<std::uint32_t> weights_;
    std::vector<bool> weight_is_set_;
    std::vector<std::uint64_t> program_;
    std::array<Set, 2> sets_;
    std::vector<Running> jobs_;
    std::uint64_t words_loaded_ = 0;
};

} // namespace ciphermote::coprocessor

#endif
