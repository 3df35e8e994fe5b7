/* SPDX-License-Identifier: Apache-2.0 */
// cm_ntt_accelerator under Verilator, as a host sees it: registers, packets to send, packets received. Its
// buses wait for the hardware only, or at random as well. LOG2_BEAT, at least 2, comes as a macro, and
// residues take 32 bits. With LOG2_STREAM as well, it is cm_ntt_accelerator_two_clocks, with the clocks of
// Mert, Ozturk and Savas: the engine's at 200 MHz, the streams' at 250. With EVALUATOR, it is
// cm_evaluator_two_clocks with those clocks.
#ifndef CM_RTL_HARNESS_ACCELERATOR_MODEL_H
#define CM_RTL_HARNESS_ACCELERATOR_MODEL_H

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#ifdef EVALUATOR
#include "Vcm_evaluator_two_clocks.h"
using verilated_top = Vcm_evaluator_two_clocks;
#elif defined LOG2_STREAM
#include "Vcm_ntt_accelerator_two_clocks.h"
using verilated_top = Vcm_ntt_accelerator_two_clocks;
#else
#include "Vcm_ntt_accelerator.h"
using verilated_top = Vcm_ntt_accelerator;
#define LOG2_STREAM LOG2_BEAT
#define ONE_CLOCK
#endif
#include "verilated.h"

class accelerator_model
{
  public:
    using packet = std::vector<uint32_t>;

    static constexpr unsigned WORDS = 1u << LOG2_STREAM; // in a beat
    static constexpr uint64_t ENGINE_PS = 5000;
    static constexpr uint64_t STREAM_PS = 4000;

    uint64_t cycle = 0;
    uint64_t beats_in = 0;
    uint64_t beats_out = 0;
    uint64_t register_accesses = 0;
    uint64_t last_sent_at = 0;               // cycle in which the last beat of a packet was taken
    std::vector<uint64_t> first_received_at; // cycle of each packet's first beat
    uint64_t sent_from_ps = 0;               // when the first beat of the last packet began
    std::vector<uint64_t> received_by_ps;    // when each packet's last beat ended
    std::deque<packet> received;
    bool hesitates = false; // both streams wait now and then, at random

    accelerator_model()
    {
        top.s_axil_wstrb = 15;
        keep_all(top.s_axis_tkeep);
        reset(0);
        for (unsigned i = 0; i < RESET_CYCLES; i++) {
            tick();
        }
        reset(1);
        while (!(read(STATUS) & 1u)) { // the memories are wiped
        }
    }

    // Verilator's models take leave of the thread's context, which is that of the model made last.
    ~accelerator_model()
    {
        Verilated::threadContextp(&context);
    }

    accelerator_model(const accelerator_model &) = delete;
    accelerator_model &operator=(const accelerator_model &) = delete;

    void tick()
    {
#ifdef ONE_CLOCK
        offer_beats();
        top.aclk = 0;
        top.eval();
        take_beats();
        top.aclk = 1;
        top.eval();
#else
        for (; stream_ps < engine_ps; stream_ps += STREAM_PS) {
            offer_beats();
            top.axis_aclk = 0;
            top.eval();
            take_beats();
            top.axis_aclk = 1;
            top.eval();
        }
        top.aclk = 0;
        top.eval();
        top.aclk = 1;
        top.eval();
        engine_ps += ENGINE_PS;
#endif
        cycle++;
    }

    // Time of the engine's clock; of two clocks only.
    uint64_t now_ps() const
    {
        return engine_ps;
    }

    void write(uint32_t offset, uint32_t value)
    {
        register_accesses++;
        top.s_axil_awaddr = static_cast<uint8_t>(offset);
        top.s_axil_wdata = value;
        top.s_axil_awvalid = top.s_axil_wvalid = 1;
        tick(); // ready at once: no response is pending
        top.s_axil_awvalid = top.s_axil_wvalid = 0;
        top.s_axil_bready = 1;
        tick();
        top.s_axil_bready = 0;
    }

    uint32_t read(uint32_t offset)
    {
        register_accesses++;
        top.s_axil_araddr = static_cast<uint8_t>(offset);
        top.s_axil_arvalid = 1;
        tick();
        top.s_axil_arvalid = 0;
        const uint32_t value = top.s_axil_rdata;
        top.s_axil_rready = 1;
        tick();
        top.s_axil_rready = 0;
        return value;
    }

    // Queue a packet, a whole number of beats.
    void send(const uint32_t *words, size_t count)
    {
        for (size_t i = 0; i < count; i += WORDS) {
            beat next{{}, i + WORDS >= count};
            for (unsigned w = 0; w < WORDS; w++) {
                next.words[w] = words[i + w];
            }
            waiting.push_back(next);
        }
    }

    // Let what is in progress come out, and drop it.
    void forget()
    {
        waiting.clear();
        offered = false;
        for (unsigned i = 0; i < SETTLING; i++) {
            tick();
        }
        received.clear();
        arriving.clear();
        first_received_at.clear();
        received_by_ps.clear();
    }

    bool all_sent() const
    {
        return waiting.empty();
    }

    // The next packet, or an empty one if none comes within `patience` cycles.
    packet receive(uint64_t patience)
    {
        for (uint64_t waited = 0; received.empty() && waited < patience; waited++) {
            tick();
        }
        packet next;
        if (!received.empty()) {
            next = received.front();
            received.pop_front();
        }
        return next;
    }

  private:
    template <typename T> static void keep_all(T &keep)
    {
        keep = static_cast<T>(~uint64_t{0} >> (64 - 4 * WORDS));
    }

    static constexpr uint32_t STATUS = 8;
    static constexpr unsigned RESET_CYCLES = 8;
    static constexpr unsigned SETTLING = 1u << 16; // cycles, more than any job takes

    struct beat {
        uint32_t words[WORDS];
        bool last;
    };

    VerilatedContext context;
    verilated_top top{&context};
    uint64_t engine_ps = ENGINE_PS;     // of the next edge
    uint64_t stream_ps = STREAM_PS / 8; // so that no edge of one clock is one of the other
    std::deque<beat> waiting;
    packet arriving;
    bool offered = false;
    bool between_packets = true;
    uint32_t random = 1;

    // Runs of either answer, some of them long.
    bool goes_on()
    {
        random = random * 1664525u + 1013904223u;
        return !hesitates || ((cycle >> 5) * 2654435761u + (random >> 8)) % 4u != 0;
    }

    void reset(uint8_t level)
    {
        top.aresetn = level;
#ifndef ONE_CLOCK
        top.axis_aresetn = level;
#endif
    }

    // A word once offered stays.
    void offer_beats()
    {
        top.s_axis_tvalid = !waiting.empty() && (offered || goes_on());
        top.m_axis_tready = goes_on();
        if (!waiting.empty()) {
            for (unsigned w = 0; w < WORDS; w++) {
                top.s_axis_tdata[w] = waiting.front().words[w];
            }
            top.s_axis_tlast = waiting.front().last;
        }
    }

    void take_beats()
    {
        offered = top.s_axis_tvalid && !top.s_axis_tready;
        if (top.s_axis_tvalid && top.s_axis_tready) {
            if (between_packets) {
                sent_from_ps = stream_ps - STREAM_PS;
            }
            between_packets = waiting.front().last;
            last_sent_at = waiting.front().last ? cycle : last_sent_at;
            waiting.pop_front();
            beats_in++;
        }
        if (top.m_axis_tvalid && top.m_axis_tready) {
            take_beat();
        }
    }

    void take_beat()
    {
        if (arriving.empty()) {
            first_received_at.push_back(cycle);
        }
        for (unsigned w = 0; w < WORDS; w++) {
            arriving.push_back(top.m_axis_tdata[w]);
        }
        beats_out++;
        if (top.m_axis_tlast) {
            received_by_ps.push_back(stream_ps);
            received.push_back(arriving);
            arriving.clear();
        }
    }
};

#endif
