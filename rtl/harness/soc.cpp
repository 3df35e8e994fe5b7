/* SPDX-License-Identifier: Apache-2.0 */
// Runs a program on cm_soc under Verilator:
//
//     Vcm_soc PROGRAM SAMPLES ENTROPY FRAMES CYCLES [RECORD]
//
// PROGRAM is the memory's first bytes; the sensor gives SAMPLES, of 16 bits each, and the random source
// ENTROPY, word by word. What leaves goes to FRAMES, and what the UART says to the standard output. Ends with
// the program, and with its code; or with 70 if it is not over after so many cycles or the core traps.
//
// RECORD takes the core's ports, a line a cycle, in hexadecimal: resetn, mem_ready, mem_rdata and the
// engine's interrupt, which enter it, and mem_valid, mem_addr, mem_wdata and mem_wstrb.
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "Vcm_soc.h"
#include "Vcm_soc___024root.h"
#include "verilated.h"

#ifndef UART_DIVISOR
#error "The harness must know UART_DIVISOR."
#endif

namespace
{

constexpr int NOT_OVER = 70;

std::vector<uint8_t> bytes_of(const char *path)
{
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        std::fprintf(stderr, "%s cannot be read\n", path);
        std::exit(NOT_OVER);
    }
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Numbers of some bytes each, little-endian.
template <typename number> std::vector<number> numbers_of(const char *path)
{
    const std::vector<uint8_t> bytes = bytes_of(path);
    std::vector<number> numbers(bytes.size() / sizeof(number));
    std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(number));
    return numbers;
}

// Listens to a serial line: a cycle at a time.
class listener
{
  public:
    void hear(bool line)
    {
        if (at == 0) {
            at = line ? 0 : 1; // the start bit begins
            return;
        }
        const unsigned bit = at / UART_DIVISOR;
        if (at % UART_DIVISOR == UART_DIVISOR / 2 && bit >= 1 && bit <= 8) {
            byte |= static_cast<unsigned>(line) << (bit - 1);
        }
        at++;
        if (at == 9 * UART_DIVISOR + UART_DIVISOR / 2) {
            std::putchar(static_cast<int>(byte));
            byte = 0;
            at = 0;
        }
    }

  private:
    unsigned at = 0;
    unsigned byte = 0;
};

// Such words are no part of what the program is given, so it draws the same with the engine and without.
bool tests_entropy([[maybe_unused]] const Vcm_soc &top)
{
#if ENGINE
    return top.rootp->cm_soc__DOT__g_engine__DOT__u_client__DOT__u_engine__DOT__u_health__DOT__starting_o;
#else
    return false;
#endif
}

// The code of the command that the engine takes in this cycle, or 0.
int taken_command([[maybe_unused]] const Vcm_soc &top)
{
#if ENGINE
    const auto &of = *top.rootp;
    return of.cm_soc__DOT__g_engine__DOT__u_client__DOT__takes_command
               ? of.cm_soc__DOT__g_engine__DOT__u_client__DOT__command_code
               : 0;
#else
    return 0;
#endif
}

void record_core(std::FILE *to, const Vcm_soc &top)
{
    const auto &of = *top.rootp;
    std::fprintf(to, "%x %x %x %x %x %x %x %x\n", !top.rst_i, of.cm_soc__DOT__ready,
                 of.cm_soc__DOT__read_data, top.irq_o, of.cm_soc__DOT__valid, of.cm_soc__DOT__address,
                 of.cm_soc__DOT__write_data, of.cm_soc__DOT__strobe);
}

} // namespace

int main(int count, char **arguments)
{
    if (count != 6 && count != 7) {
        std::fprintf(stderr, "usage: Vcm_soc PROGRAM SAMPLES ENTROPY FRAMES CYCLES [RECORD]\n");
        return NOT_OVER;
    }
    const std::vector<uint32_t> program = numbers_of<uint32_t>(arguments[1]);
    const std::vector<int16_t> samples = numbers_of<int16_t>(arguments[2]);
    const std::vector<uint32_t> entropy = numbers_of<uint32_t>(arguments[3]);
    std::ofstream frames(arguments[4], std::ios::binary);
    const uint64_t most = std::strtoull(arguments[5], nullptr, 10);
    std::FILE *record = count == 7 ? std::fopen(arguments[6], "w") : nullptr;
    if (count == 7 && !record) {
        std::fprintf(stderr, "%s cannot be written\n", arguments[6]);
        return NOT_OVER;
    }

    const auto context = std::make_unique<VerilatedContext>();
    const auto top = std::make_unique<Vcm_soc>(context.get());
    auto &even = top->rootp->cm_soc__DOT__u_ram__DOT__g_bank__BRA__0__KET____DOT__words;
    auto &odd = top->rootp->cm_soc__DOT__u_ram__DOT__g_bank__BRA__1__KET____DOT__words;
    for (size_t i = 0; i < program.size(); i++) {
        (i % 2 == 0 ? even : odd)[i / 2] = program[i];
    }
    listener uart;
    size_t sample = 0;
    size_t word = 0;
    std::mt19937 random_bits; // of the words that are only tested
    uint32_t random_word = 0x12345678;
    uint64_t interrupts = 0;
    uint64_t last_word = 0;                         // the cycle in which a word left last
    std::vector<std::pair<int, uint64_t>> commands; // and the cycles in which the engine took them
    bool interrupted = false;
    top->rst_i = 1;
    for (uint64_t cycle = 0; cycle < most; cycle++) {
        top->rst_i = cycle < 4;
        top->sensor_valid_i = sample < samples.size();
        top->sensor_i = sample < samples.size() ? static_cast<uint32_t>(int32_t{samples[sample]}) : 0;
        const bool tested = tests_entropy(*top);
        top->entropy_valid_i = tested || word < entropy.size();
        top->entropy_i = tested ? random_word : word < entropy.size() ? entropy[word] : 0;
        top->clk_i = 0;
        top->eval();
        const bool took_sample = top->sensor_valid_i && top->sensor_ready_o;
        const bool took_word = top->entropy_valid_i && top->entropy_ready_o;
        if (top->frame_valid_o) {
            const uint32_t left = top->frame_o;
            frames.write(reinterpret_cast<const char *>(&left), sizeof left);
            last_word = cycle;
        }
        if (const int code = taken_command(*top)) {
            commands.emplace_back(code, cycle);
        }
        uart.hear(top->uart_tx_o);
        if (record) {
            record_core(record, *top);
        }
        interrupts += top->irq_o && !interrupted;
        interrupted = top->irq_o;
        if (top->exit_o || top->trap_o) {
            const bool trapped = top->trap_o;
            std::printf("cycles %" PRIu64 "\nlast_word %" PRIu64 "\ninterrupts %" PRIu64 "\n", cycle,
                        last_word, interrupts);
            for (const auto &[code, when] : commands) {
                std::printf("command_%d %" PRIu64 "\n", code, when);
            }
            if (trapped) {
                std::fprintf(stderr, "the core trapped in cycle %" PRIu64 "\n", cycle);
            }
            return trapped ? NOT_OVER : static_cast<int>(top->exit_code_o);
        }
        top->clk_i = 1;
        top->eval();
        sample += took_sample;
        if (tested) {
            random_word = static_cast<uint32_t>(random_bits());
        } else {
            word += took_word;
        }
    }
    std::fprintf(stderr, "the program is not over after %s cycles\n", arguments[5]);
    return NOT_OVER;
}
