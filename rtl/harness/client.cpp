/* SPDX-License-Identifier: Apache-2.0 */
// Runs cm_client_engine under Verilator as its system would: settings, commands, and streams with or without
// stalls. Reads words from the standard input and answers on the standard output (rtl/tools/client.py):
//
//     set ADDRESS VALUE            writes a setting
//     entropy COUNT WORD ...       random words for later
//     values COUNT LAST WORD ...   words of a message for later; LAST: the last one ends it
//     read COUNT WORD ...          words of frames that are decrypted, for later
//     command CODE                 gives a command, as soon as it is taken
//     stall IN OUT SEED            how many of 256 cycles the streams in and out pause
//     run CYCLES                   until nothing is left to do, or so many cycles; prints the frames' words
//     cycles COUNT                 so many cycles
//     state                        prints every variable with a hash of what it holds (built with STATE)
//     waves FILE                   every signal from here on, as a VCD file (built with WAVES)
//     forget                       what was given for later
//     abort                        ends the job, as CONTROL.ABORT
//     reset
//     quit
//
// With an argument, prints the inputs of every cycle as well, in the order of the ports.
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <memory>
#include <random>
#include <string>

#include "Vcm_client_engine.h"
#include "verilated.h"
#ifdef STATE
#include "verilated_syms.h"
#endif
#ifdef WAVES
#include "verilated_vcd_c.h"
#endif

namespace
{

struct word {
    uint32_t data;
    bool last;
};

class client
{
  public:
    explicit client(bool records) : records(records)
    {
#ifdef WAVES
        context.traceEverOn(true);
        top.trace(&waves, 99);
#endif
        reset();
    }

#ifdef WAVES
    void record_waves(const std::string &path)
    {
        waves.open(path.c_str());
        if (!waves.isOpen()) {
            std::fprintf(stderr, "%s cannot be written\n", path.c_str());
            std::exit(1);
        }
    }
#endif

#ifdef STATE
    void state()
    {
        settle();
        for (const auto &scope : *Verilated::scopeNameMap()) {
            const VerilatedVarNameMap *variables = scope.second->varsp();
            if (variables == nullptr) {
                continue;
            }
            for (const auto &variable : *variables) {
                const auto *bytes = static_cast<const uint8_t *>(variable.second.datap());
                uint64_t hash = 14695981039346656037u; // FNV-1a
                for (size_t i = 0; i < variable.second.totalSize(); i++) {
                    hash = (hash ^ bytes[i]) * 1099511628211u;
                }
                std::printf("state %" PRIu64 " %s.%s %016" PRIx64 "\n", now, scope.first, variable.first,
                            hash);
            }
        }
    }
#endif

    void forget()
    {
        entropy.clear();
        values.clear();
        reads.clear();
    }

    void reset()
    {
        forget();
        top.write_i = 0;
        top.command_i = 0;
        top.abort_i = 0;
        top.rst_i = 1;
        tick();
        tick();
        top.rst_i = 0;
        tick();
        std::printf("reset %" PRIu64 "\n", now);
    }

    void abort_job()
    {
        top.abort_i = 1;
        tick();
        top.abort_i = 0;
    }

    void set(uint32_t address, uint32_t value)
    {
        top.write_i = 1;
        top.write_address_i = address;
        top.write_data_i = value;
        tick();
        top.write_i = 0;
        top.write_address_i = 0;
        top.write_data_i = 0;
    }

    void run_cycles(uint64_t count)
    {
        for (; count != 0; count--) {
            tick();
        }
    }

    // Commands wait until they are taken.
    void command(unsigned code)
    {
        top.command_i = 1;
        top.command_code_i = code;
        const uint64_t start = now;
        const unsigned fault = top.fault_o;
        for (bool taken = false; !taken && top.fault_o == fault;) {
            if (now - start > 1000000) {
                std::fprintf(stderr, "a command is not taken\n");
                std::exit(1);
            }
            settle();
            taken = top.ready_o;
            if (taken) {
                std::printf("taken %" PRIu64 "\n", now);
            }
            tick();
        }
        top.command_i = 0;
    }

    void run(uint64_t most)
    {
        const unsigned fault = top.fault_o;
        for (; most != 0; most--) {
            settle();
            if (top.idle_o || top.fault_o != fault) {
                break;
            }
            tick();
        }
        std::printf("done %" PRIu64 " %u %u\n", now, unsigned{top.fault_o}, unsigned{top.idle_o});
        std::fflush(stdout);
    }

    std::deque<uint32_t> entropy;
    std::deque<word> values;
    std::deque<uint32_t> reads;
    unsigned pause_in = 0;
    unsigned pause_out = 0;
    std::mt19937 random_bits;

  private:
    VerilatedContext context;
    Vcm_client_engine top{&context};
    uint64_t now = 0;
    const bool records;
    bool offers = false; // on the streams in
    bool takes = true;   // on the streams out
#ifdef WAVES
    VerilatedVcdC waves;
#endif

    // A cycle is ten units of time, its rising edge in the middle.
    void dump([[maybe_unused]] unsigned phase)
    {
#ifdef WAVES
        if (waves.isOpen()) {
            waves.dump(10 * now + phase);
        }
#endif
    }

    void settle()
    {
        top.entropy_valid_i = !entropy.empty();
        top.entropy_i = entropy.empty() ? 0 : entropy.front();
        top.value_valid_i = offers && !values.empty();
        top.value_i = values.empty() ? 0 : values.front().data;
        top.value_last_i = !values.empty() && values.front().last;
        top.read_valid_i = offers && !reads.empty();
        top.read_i = reads.empty() ? 0 : reads.front();
        top.result_ready_i = takes;
        top.frame_ready_i = takes;
        top.clk_i = 0;
        top.eval();
    }

    void tick()
    {
        settle();
        dump(0);
        const bool took_entropy = top.entropy_valid_i && top.entropy_ready_o;
        const bool took_value = top.value_valid_i && top.value_ready_o;
        if (top.frame_valid_o && top.frame_ready_i) {
            const unsigned last = top.frame_last_o;
            std::printf("frame %" PRIu64 " %08x %u\n", now, unsigned{top.frame_o}, last);
        }
        if (top.result_valid_o && top.result_ready_i) {
            const unsigned last = top.result_last_o;
            std::printf("result %" PRIu64 " %u %u\n", now, unsigned{top.result_o}, last);
        }
        const bool took_read = top.read_valid_i && top.read_ready_o;
        if (records) {
            std::printf("in %" PRIu64 " %x %x %x %x %x %x %x %x %x %x %x %x %x %x %x %x\n", now,
                        unsigned{top.rst_i}, unsigned{top.abort_i}, unsigned{top.write_i},
                        unsigned{top.write_address_i}, unsigned{top.write_data_i}, unsigned{top.command_i},
                        unsigned{top.command_code_i}, unsigned{top.entropy_valid_i}, unsigned{top.entropy_i},
                        unsigned{top.value_valid_i}, unsigned{top.value_i}, unsigned{top.value_last_i},
                        unsigned{top.frame_ready_i}, unsigned{top.read_valid_i}, unsigned{top.read_i},
                        unsigned{top.result_ready_i});
        }
        const bool held = (top.value_valid_i && !took_value) || (top.read_valid_i && !took_read);
        top.clk_i = 1;
        top.eval();
        dump(5);
        now++;
        if (took_entropy) {
            entropy.pop_front();
        }
        if (took_value) {
            values.pop_front();
        }
        if (took_read) {
            reads.pop_front();
        }
        offers = held || pause_in == 0 || random_bits() % 256 >= pause_in;
        takes = pause_out == 0 || random_bits() % 256 >= pause_out;
    }
};

uint32_t number()
{
    uint64_t value = 0;
    std::cin >> value;
    return static_cast<uint32_t>(value);
}

} // namespace

int main(int argc, char **)
{
    const auto hardware = std::make_unique<client>(argc > 1);
    for (std::string what; std::cin >> what && what != "quit";) {
        if (what == "set") {
            const uint32_t address = number();
            hardware->set(address, number());
        } else if (what == "entropy") {
            for (uint32_t left = number(); left != 0; left--) {
                hardware->entropy.push_back(number());
            }
        } else if (what == "values") {
            const uint32_t count = number();
            const bool ends = number() != 0;
            for (uint32_t i = 0; i < count; i++) {
                hardware->values.push_back({number(), ends && i + 1 == count});
            }
        } else if (what == "read") {
            for (uint32_t left = number(); left != 0; left--) {
                hardware->reads.push_back(number());
            }
        } else if (what == "command") {
            hardware->command(number());
        } else if (what == "stall") {
            hardware->pause_in = number();
            hardware->pause_out = number();
            hardware->random_bits.seed(number());
        } else if (what == "run") {
            hardware->run(number());
        } else if (what == "cycles") {
            hardware->run_cycles(number());
#ifdef STATE
        } else if (what == "state") {
            hardware->state();
#endif
#ifdef WAVES
        } else if (what == "waves") {
            std::string path;
            std::getline(std::cin >> std::ws, path);
            hardware->record_waves(path);
#endif
        } else if (what == "forget") {
            hardware->forget();
        } else if (what == "abort") {
            hardware->abort_job();
        } else if (what == "reset") {
            hardware->reset();
        } else {
            std::fprintf(stderr, "what is %s?\n", what.c_str());
            return 2;
        }
    }
}
