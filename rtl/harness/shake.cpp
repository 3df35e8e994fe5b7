/* SPDX-License-Identifier: Apache-2.0 */
// Runs cm_client_shake under Verilator (rtl/tests/test_client_shake.py): for each line "SEED STALL PRIME ..."
// prints the cycles from the start to the last pair, then the residues in order. SEED is in hexadecimal, 64
// bytes; STALL says in how many of 256 cycles there is no room.
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "Vcm_client_shake.h"
#include "verilated.h"

namespace
{

// Bits of a port, however Verilator holds it.
uint64_t field(uint64_t port, unsigned low)
{
    return port >> low & ((uint64_t{1} << WIDTH) - 1);
}

template <std::size_t N> uint64_t field(const VlWide<N> &port, unsigned low)
{
    uint64_t value = 0;
    for (unsigned bit = 0; bit < WIDTH; bit++) {
        value |= uint64_t{port[(low + bit) / 32] >> (low + bit) % 32 & 1u} << bit;
    }
    return value;
}

} // namespace

int main()
{
    VerilatedContext context;
    Vcm_client_shake top{&context};
    std::mt19937 random_bits;
    uint64_t now = 0;
    const auto tick = [&] {
        top.clk_i = 0;
        top.eval();
        top.clk_i = 1;
        top.eval();
        now++;
    };
    top.rst_i = 1;
    top.run_i = 0;
    tick();
    top.rst_i = 0;
    for (std::string line; std::getline(std::cin, line);) {
        std::istringstream fields(line);
        std::string seed;
        unsigned stall = 0;
        fields >> seed >> stall;
        std::vector<uint64_t> primes;
        for (uint64_t q = 0; fields >> q;) {
            primes.push_back(q);
        }
        for (unsigned i = 0; i < 16; i++) {
            uint32_t word = 0;
            for (unsigned b = 4; b-- > 0;) {
                word =
                    word << 8 | static_cast<uint32_t>(std::stoul(seed.substr(8 * i + 2 * b, 2), nullptr, 16));
            }
            top.seed_i[i] = word;
        }
        top.last_prime_i = static_cast<uint8_t>(primes.size() - 1);
        top.run_i = 1;
        std::vector<uint64_t> residues;
        const uint64_t start = now;
        while (residues.size() < primes.size() << LOG2_N) {
            top.room_i = stall == 0 || random_bits() % 256 >= stall;
            top.q_i = primes.at(top.prime_o);
            tick();
            if (top.pair_o) {
                residues.push_back(field(top.pair_data_o, 0));
                residues.push_back(field(top.pair_data_o, WIDTH));
            }
            if (now - start > 1000000) {
                std::fprintf(stderr, "residues do not come\n");
                return 1;
            }
        }
        std::printf("%" PRIu64, now - start);
        for (const uint64_t residue : residues) {
            std::printf(" %" PRIu64, residue);
        }
        std::printf("\n");
        // Nothing follows.
        for (unsigned i = 0; i < 100; i++) {
            tick();
            if (top.pair_o) {
                std::fprintf(stderr, "more residues than were asked for\n");
                return 1;
            }
        }
        top.run_i = 0;
        tick();
    }
}
