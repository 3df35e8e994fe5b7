// SPDX-License-Identifier: Apache-2.0
#include "coprocessor/program.h"

#include <string>

#include "ciphermote/context.h"

namespace ciphermote::coprocessor
{

namespace
{

enum class Kind : unsigned { header, term, receive };

struct Field {
    unsigned low, bits;

    std::uint64_t place(std::uint64_t value) const
    {
        if (value >> bits != 0) {
            throw Error("A program of the coprocessor does not fit its words: a field of " +
                        std::to_string(bits) + " bits is to hold " + std::to_string(value) + ".");
        }
        return value << low;
    }
    unsigned of(std::uint64_t word) const
    {
        return static_cast<unsigned>(word >> low & ((std::uint64_t{1} << bits) - 1));
    }
};

constexpr Field kind{62, 2};
constexpr Field receive_memory{0, 1}, receive_slot{2, 10};
constexpr Field header_terms{0, 8}, header_modulus{8, 4}, header_shifts{12, 1}, header_shift{13, 6},
    header_destination{19, 2}, header_slot{21, 10}, header_set{21, 1}, header_inverse{22, 1},
    header_arrivals{31, 8}, header_send{39, 1}, header_end{40, 1};
constexpr Field term_source{0, 2}, term_slot{2, 10}, term_product{12, 1}, term_factor{13, 12};

std::uint64_t of_kind(Kind given)
{
    return kind.place(static_cast<unsigned>(given));
}

std::uint64_t header(const Instruction &instruction)
{
    const bool fills = instruction.destination == Destination::transformer;
    return of_kind(Kind::header) | header_terms.place(instruction.terms.size()) |
           header_modulus.place(instruction.modulus) | header_shifts.place(instruction.shift != 0) |
           header_shift.place(instruction.shift) |
           header_destination.place(static_cast<unsigned>(instruction.destination)) |
           (fills ? header_set : header_slot).place(instruction.slot) |
           header_inverse.place(fills && instruction.inverse) | header_arrivals.place(instruction.arrivals) |
           header_send.place(instruction.send) | header_end.place(instruction.end);
}

[[noreturn]] void refuse(const char *what)
{
    throw Error("A program of the coprocessor has " + std::string(what) + ".");
}

Term term_of(std::uint64_t word)
{
    if (kind.of(word) != static_cast<unsigned>(Kind::term)) {
        refuse("fewer terms than a header announces");
    }
    return {static_cast<Source>(term_source.of(word)), term_slot.of(word), term_product.of(word) != 0,
            term_factor.of(word)};
}

Instruction instruction_of(std::uint64_t word)
{
    if (kind.of(word) != static_cast<unsigned>(Kind::header)) {
        refuse("a word where an instruction should begin that is no header");
    }
    if (header_terms.of(word) == 0 || header_destination.of(word) > 2) {
        refuse("an instruction without terms or without a destination");
    }
    Instruction found;
    found.modulus = header_modulus.of(word);
    found.shift = header_shifts.of(word) ? header_shift.of(word) : 0;
    if (header_shifts.of(word) && found.shift == 0) {
        refuse("a shift by no bits");
    }
    found.destination = static_cast<Destination>(header_destination.of(word));
    const bool fills = found.destination == Destination::transformer;
    found.slot = (fills ? header_set : header_slot).of(word);
    found.inverse = fills && header_inverse.of(word) != 0;
    found.arrivals = header_arrivals.of(word);
    found.send = header_send.of(word) != 0;
    found.end = header_end.of(word) != 0;
    return found;
}

} // namespace

std::vector<std::uint64_t> encode(const Program &program, unsigned first_weight)
{
    std::vector<std::uint64_t> words;
    for (const Place &place : program.receives) {
        words.push_back(of_kind(Kind::receive) | receive_memory.place(static_cast<unsigned>(place.memory)) |
                        receive_slot.place(place.slot));
    }
    for (const Instruction &instruction : program.instructions) {
        words.push_back(header(instruction));
        for (const Term &term : instruction.terms) {
            words.push_back(of_kind(Kind::term) | term_source.place(static_cast<unsigned>(term.source)) |
                            term_slot.place(term.slot) | term_product.place(term.product) |
                            term_factor.place(term.product ? term.factor : first_weight + term.factor));
        }
    }
    return words;
}

Program decode(std::span<const std::uint64_t> words)
{
    Program program;
    std::size_t at = 0;
    const auto next = [&] {
        if (at == words.size()) {
            refuse("no end");
        }
        return words[at++];
    };
    std::uint64_t word = next();
    for (; kind.of(word) == static_cast<unsigned>(Kind::receive); word = next()) {
        program.receives.push_back({static_cast<Memory>(receive_memory.of(word)), receive_slot.of(word)});
    }
    for (;; word = next()) {
        Instruction instruction = instruction_of(word);
        for (unsigned i = header_terms.of(word); i > 0; i--) {
            instruction.terms.push_back(term_of(next()));
        }
        program.instructions.push_back(std::move(instruction));
        if (program.instructions.back().end) {
            return program;
        }
    }
}

} // namespace ciphermote::coprocessor
