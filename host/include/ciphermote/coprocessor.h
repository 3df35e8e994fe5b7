// SPDX-License-Identifier: Apache-2.0
/*
 * Coprocessors that compute the evaluator's operations: the evaluator in hardware (rtl/evaluator), or a model
 * of it.
 *
 * Such a coprocessor is a vector machine over residues with a number-theoretic transformer. It holds
 * polynomials in slots of two memories, constants (weights), and programs, which the library writes. A
 * context that has a coprocessor (context.h) runs on it every operation that its machine can hold, and
 * computes the others itself; the results are the same, bit for bit.
 */
#ifndef CIPHERMOTE_COPROCESSOR_H
#define CIPHERMOTE_COPROCESSOR_H

#include <cstdint>
#include <span>
#include <vector>

namespace ciphermote
{

// How large a machine is, and the constants that its arithmetic implies.
struct Machine {
    unsigned log2_n = 12;
    unsigned lanes = 64;           // words of a row: what a memory reads and writes in a cycle
    unsigned slots_a = 64;         // polynomials in memory A
    unsigned slots_b = 64;         // and in memory B
    unsigned moduli = 16;          // primes below 2^27, 1 modulo 2n, each with its twiddles
    unsigned weights = 4096;       // constants below 2^31
    unsigned program = 8192;       // words of 64 bits
    unsigned montgomery_bits = 52; // a product in the vector unit is divided by 2^montgomery_bits
    unsigned twiddle_bits = 27;    // twiddles are stored times 2^twiddle_bits
    // What orders of instructions are chosen for; results are right at any.
    double clock_hz = 200e6;
    double stream_bytes = 4e9; // a second, in each direction
};

enum class Memory : std::uint8_t { a, b };

class Coprocessor
{
  public:
    // One run of a program that was loaded: its operands, n residues each, in the order in which the program
    // receives them; and where its results go, in the order in which it sends them.
    struct Job {
        unsigned program; // the address of its first word
        std::vector<const std::uint32_t *> operands;
        std::vector<std::uint32_t *> results;
    };

    virtual ~Coprocessor() = default;
    virtual const Machine &machine() const = 0;
    // twiddles: n words, word j is psi^bitrev(j) 2^twiddle_bits modulo q.
    virtual void load_modulus(unsigned modulus, std::uint32_t q, std::span<const std::uint32_t> twiddles) = 0;
    virtual void load_weights(unsigned first, std::span<const std::uint32_t> weights) = 0;
    virtual void load_program(unsigned first, std::span<const std::uint64_t> words) = 0;
    // A polynomial that stays in its slot until another is loaded there: of a key.
    virtual void load_polynomial(Memory memory, unsigned slot, std::span<const std::uint32_t> residues) = 0;
    // Runs jobs one after the other. While one computes, the operands of the next may arrive and the results
    // of the one before may leave. All results are there on return; the library refuses words that are not
    // below their prime.
    virtual void run(std::span<const Job> jobs) = 0;
};

// How many operations a context's coprocessor has computed, and how many of those that coprocessors compute
// were left to the processor, because the machine cannot hold them.
struct CoprocessorUse {
    std::uint64_t on_coprocessor = 0;
    std::uint64_t on_host = 0;
};

} // namespace ciphermote

#endif
