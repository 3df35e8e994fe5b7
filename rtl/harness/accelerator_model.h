/* SPDX-License-Identifier: Apache-2.0 */
// cm_ntt_accelerator under Verilator, as a host sees it: registers, packets to send, packets received. Its
// buses wait for the hardware only, or at random as well. LOG2_BEAT, at least 2, comes as a macro, and
// residues take 32 bits.
#ifndef CM_RTL_HARNESS_ACCELERATOR_MODEL_H
#define CM_RTL_HARNESS_ACCELERATOR_MODEL_H

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "Vcm_ntt_accelerator.h"
#include "verilated.h"

class accelerator_model
{
  public:
    using packet = std::vector<uint32_t>;

    static constexpr unsigned WORDS = 1u << LOG2_BEAT; // in a beat

    uint64_t cycle = 0;
    uint64_t beats_in = 0;
    uint64_t beats_out = 0;
    uint64_t last_sent_at = 0;               // cycle in which the last beat of a packet was taken
    std::vector<uint64_t> first_received_at; // cycle of each packet's first beat
    std::deque<packet> received;
    bool hesitates = false; // both streams wait now and then, at random

    accelerator_model()
    {
        top.s_axil_wstrb = 15;
        keep_all(top.s_axis_tkeep);
        top.aresetn = 0;
        tick();
        tick();
        top.aresetn = 1;
        while (!(read(STATUS) & 1u)) { // the memories are wiped
        }
    }

    void tick()
    {
        // A word once offered stays.
        top.s_axis_tvalid = !waiting.empty() && (offered || goes_on());
        top.m_axis_tready = goes_on();
        if (!waiting.empty()) {
            for (unsigned w = 0; w < WORDS; w++) {
                top.s_axis_tdata[w] = waiting.front().words[w];
            }
            top.s_axis_tlast = waiting.front().last;
        }
        top.aclk = 0;
        top.eval();
        offered = top.s_axis_tvalid && !top.s_axis_tready;
        if (top.s_axis_tvalid && top.s_axis_tready) {
            last_sent_at = waiting.front().last ? cycle : last_sent_at;
            waiting.pop_front();
            beats_in++;
        }
        if (top.m_axis_tvalid && top.m_axis_tready) {
            take_beat();
        }
        top.aclk = 1;
        top.eval();
        cycle++;
    }

    void write(uint32_t offset, uint32_t value)
    {
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
        keep = static_cast<T>((uint64_t{1} << (4 * WORDS)) - 1);
    }

    static constexpr uint32_t STATUS = 8;
    static constexpr unsigned SETTLING = 1u << 16; // cycles, more than any job takes

    struct beat {
        uint32_t words[WORDS];
        bool last;
    };

    VerilatedContext context;
    Vcm_ntt_accelerator top{&context};
    std::deque<beat> waiting;
    packet arriving;
    bool offered = false;
    uint32_t random = 1;

    // Runs of either answer, some of them long.
    bool goes_on()
    {
        random = random * 1664525u + 1013904223u;
        return !hesitates || ((cycle >> 5) * 2654435761u + (random >> 8)) % 4u != 0;
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
            received.push_back(arriving);
            arriving.clear();
        }
    }
};

#endif
