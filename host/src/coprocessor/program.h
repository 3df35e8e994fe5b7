// SPDX-License-Identifier: Apache-2.0
// Programs of the evaluator's machine (ciphermote/coprocessor.h), and their words.
#ifndef CM_HOST_COPROCESSOR_PROGRAM_H
#define CM_HOST_COPROCESSOR_PROGRAM_H

#include <cstdint>
#include <span>
#include <vector>

#include "ciphermote/coprocessor.h"

namespace ciphermote::coprocessor
{

enum class Source : std::uint8_t { a, b, set, one };
enum class Destination : std::uint8_t { a, b, transformer };

// source times factor. A set is one of the transformer's two; `one` is the constant 1.
struct Term {
    Source source;
    unsigned slot; // or the set
    bool product;  // factor: false, a weight; true, a polynomial of memory B
    unsigned factor;

    bool operator==(const Term &) const = default;
};

/*
 * For each index, the sum of the terms: divided by R = 2^montgomery_bits modulo the prime; or, where shift is
 * not 0, floor((sum + 2^(shift - 1)) / 2^shift). Where the destination is one of the transformer's sets, the
 * transform begins when all words are there.
 */
struct Instruction {
    unsigned modulus = 0;
    unsigned shift = 0;
    Destination destination = Destination::a;
    unsigned slot = 0; // or the set
    bool inverse = false;
    unsigned arrivals = 0; // operands that must have arrived before it begins
    bool send = false;     // its result leaves for the host
    bool end = false;      // of the program
    std::vector<Term> terms;

    bool operator==(const Instruction &) const = default;
};

struct Place {
    Memory memory;
    unsigned slot;

    bool operator==(const Place &) const = default;
};

struct Program {
    std::vector<Place> receives; // where the operands go
    std::vector<Instruction> instructions;
    std::vector<std::uint32_t> weights; // which terms name by index, from 0 on
};

constexpr unsigned most_terms = 255, most_slots = 1024, most_moduli = 16, most_arrivals = 255,
                   most_weights = 4096;
constexpr std::uint64_t sum_bound = std::uint64_t{1} << 62;
constexpr std::uint32_t word_bound = std::uint32_t{1} << 27;

// The words of a program whose weights are loaded from first_weight on.
std::vector<std::uint64_t> encode(const Program &program, unsigned first_weight);
// The program that begins with these words, without its weights. Error for a word that has no meaning.
Program decode(std::span<const std::uint64_t> words);

} // namespace ciphermote::coprocessor

#endif
