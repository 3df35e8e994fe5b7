/* SPDX-License-Identifier: Apache-2.0 */
// Runs cm_zero_encrypt under Verilator. Reads words from the standard input, numbers without a base in
// hexadecimal, and answers on the standard output (rtl/tools/zero.py):
//
//     ring LAYER Q ROOT                  the layer's prime
//     write KIND LAYER ADDRESS DATA      a word; kind, layer and address are decimal
//     job DECRYPT                        runs a job; prints its cycles, the first and the last included
//     read LAYER PAGE                    prints the page's rows
//     quit
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <type_traits>

#include "Vcm_zero_encrypt.h"
#include "verilated.h"

namespace
{

constexpr unsigned ROWS = 1u << (LOG2_N - 2);

VerilatedContext context;
Vcm_zero_encrypt top{&context};

void tick()
{
    top.clk_i = 0;
    top.eval();
    top.clk_i = 1;
    top.eval();
}

// A port is one integer, or an array of words if it is wide.
template <typename T> void set_bit(T &port, unsigned bit, unsigned value)
{
    if constexpr (std::is_integral_v<T>) {
        port = static_cast<T>((port & ~(uint64_t{1} << bit)) | uint64_t{value} << bit);
    } else {
        port[bit / 32] = (port[bit / 32] & ~(1u << bit % 32)) | value << bit % 32;
    }
}

template <typename T> unsigned bit_of(const T &port, unsigned bit)
{
    if constexpr (std::is_integral_v<T>) {
        return static_cast<unsigned>(port >> bit & 1u);
    } else {
        return port[bit / 32] >> bit % 32 & 1u;
    }
}

unsigned digit_of(char c)
{
    return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10);
}

// So many bits from there on; what the digits do not reach is 0.
template <typename T> void set_bits(T &port, unsigned start, unsigned count, const std::string &hex)
{
    for (unsigned b = 0; b < count; b++) {
        const unsigned place = b / 4;
        const unsigned digit = place < hex.size() ? digit_of(hex[hex.size() - 1 - place]) : 0;
        set_bit(port, start + b, digit >> b % 4 & 1u);
    }
}

unsigned long run(unsigned decrypt)
{
    top.decrypt_i = decrypt & 1u;
    top.start_i = 1;
    unsigned long cycles = 0;
    bool done = false;
    while (!done) {
        tick();
        top.start_i = 0;
        done = top.done_o;
        if (++cycles > 60ul * ROWS * 4) {
            std::fprintf(stderr, "a job does not end\n");
            std::exit(1);
        }
    }
    tick();
    return cycles + 1; // with the one in which done_o is set
}

void read(unsigned layer, unsigned page)
{
    std::printf("page");
    top.read_layer_i = layer & 7u;
    for (unsigned row = 0; row < ROWS; row++) {
        top.read_address_i = static_cast<uint16_t>(page * ROWS + row);
        tick();
        tick();
        top.eval();
        std::putchar(' ');
        for (unsigned digit = WIDTH; digit-- > 0;) { // four residues
            unsigned value = 0;
            for (unsigned b = 0; b < 4; b++) {
                value |= bit_of(top.read_data_o, 4 * digit + b) << b;
            }
            std::putchar("0123456789abcdef"[value]);
        }
    }
    std::putchar('\n');
}

} // namespace

int main()
{
    std::ios::sync_with_stdio(false);
    top.rst_i = 1;
    tick();
    tick();
    top.rst_i = 0;
    std::string what, first, second;
    unsigned kind = 0, layer = 0, address = 0;
    while (std::cin >> what && what != "quit") {
        if (what == "ring") {
            std::cin >> layer >> first >> second;
            set_bits(top.q_i, layer * WIDTH, WIDTH, first);
            set_bits(top.root_i, layer * WIDTH, WIDTH, second);
        } else if (what == "write") {
            std::cin >> kind >> layer >> address >> first;
            top.write_i = 1;
            top.write_kind_i = kind & 7u;
            top.write_layer_i = layer & 7u;
            top.write_address_i = static_cast<uint16_t>(address);
            set_bits(top.write_data_i, 0, 4 * WIDTH, first);
            tick();
            top.write_i = 0;
        } else if (what == "job") {
            std::cin >> kind;
            std::printf("cycles %lu\n", run(kind));
        } else if (what == "read") {
            std::cin >> layer >> address;
            read(layer, address);
        }
    }
}
