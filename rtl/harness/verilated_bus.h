/* SPDX-License-Identifier: Apache-2.0 */
// The bus of ciphermote/accelerator.h to an accelerator that runs under Verilator in this process, and what
// each kind of command cost: packets, beats, cycles. It can also replay its answers from memory, to time the
// software alone.
#ifndef CM_RTL_HARNESS_VERILATED_BUS_H
#define CM_RTL_HARNESS_VERILATED_BUS_H

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "accelerator_model.h"
#include "backends/accelerator/registers.h"
#include "ciphermote/accelerator.h"

class verilated_bus
{
  public:
    struct cost {
        uint64_t commands;
        uint64_t beats_in;
        uint64_t beats_out;
        // Cycles from the last beat in to the first beat out; of a table's packet, until it is stored.
        uint64_t computing;
    };

    static constexpr size_t KINDS = CM_NTT_CODE_DOUBLE_PRODUCT + 1u;

    accelerator_model hardware;
    std::array<cost, KINDS> costs{}; // by command code
    uint64_t fails_every =
        0; // so many packets, one is lost, or has a word that is not a residue, in turn; 0: none

    // Opens the accelerator on this bus.
    explicit verilated_bus(unsigned log2_n) : words(CM_ACCELERATOR_WORDS(size_t{1} << log2_n))
    {
        open();
    }

    verilated_bus(const verilated_bus &) = delete;
    verilated_bus &operator=(const verilated_bus &) = delete;

    cm_accelerator *accelerator()
    {
        return &client;
    }

    bool open()
    {
        hardware.forget();
        const cm_accelerator_bus functions = {read, write, send, receive, this};
        return cm_accelerator_open(&client, &functions, words.data(), words.size()) == CM_OK;
    }

    // From now on, the packets of this round are repeated in order, and no cycle passes.
    void replay()
    {
        replays = true;
        next = 0;
    }

    // Begin a round: what is received from now on is what replay() returns.
    void record()
    {
        recorded.clear();
    }

  private:
    static constexpr uint64_t PATIENCE = 1u << 20;

    cm_accelerator client{};
    std::vector<uint32_t> words;
    uint32_t code = 0;
    bool first_packet = true; // of a command
    uint64_t packets = 0;
    std::vector<accelerator_model::packet> recorded;
    bool replays = false;
    size_t next = 0;

    static verilated_bus &at(void *context)
    {
        return *static_cast<verilated_bus *>(context);
    }

    static uint32_t read(void *context, uint32_t offset)
    {
        if (at(context).replays) {
            return offset == CM_NTT_STATUS_OFFSET ? 1u << CM_NTT_STATUS_IDLE_LOW : 0;
        }
        return at(context).hardware.read(offset);
    }

    static void write(void *context, uint32_t offset, uint32_t value)
    {
        verilated_bus &self = at(context);
        if (self.replays) {
            return;
        }
        self.hardware.write(offset, value);
        if (offset == CM_NTT_COMMAND_OFFSET) {
            self.code = value & 15u;
            self.first_packet = true;
            self.costs[self.code].commands++;
        }
    }

    static int send(void *context, const uint32_t *words, size_t count)
    {
        verilated_bus &self = at(context);
        if (self.replays) {
            return 0;
        }
        const uint64_t start = self.hardware.cycle;
        const uint64_t beats = self.hardware.beats_in;
        self.hardware.send(words, count);
        while (!self.hardware.all_sent() && self.hardware.cycle - start < PATIENCE) {
            self.hardware.tick();
        }
        self.costs[self.code].beats_in += self.hardware.beats_in - beats;
        if (self.code == CM_NTT_CODE_LOAD_TWIDDLES || self.code == CM_NTT_CODE_LOAD_OPERAND) {
            self.costs[self.code].computing += self.hardware.cycle - start;
        }
        return self.hardware.all_sent() ? 0 : 1;
    }

    static int receive(void *context, uint32_t *words, size_t count)
    {
        verilated_bus &self = at(context);
        if (self.replays) {
            const accelerator_model::packet &again = self.recorded[self.next++ % self.recorded.size()];
            std::copy(again.begin(), again.end(), words);
            return 0;
        }
        const uint64_t sent_at = self.hardware.last_sent_at;
        accelerator_model::packet packet = self.hardware.receive(PATIENCE);
        const bool fails = self.fails_every != 0 && ++self.packets % self.fails_every == 0;
        if (packet.size() != count || (fails && self.packets / self.fails_every % 2 == 0)) {
            return 1;
        }
        if (fails) {
            packet[self.packets % count] = self.packets % 4 < 2 ? self.client.q : UINT32_MAX;
        }
        std::copy(packet.begin(), packet.end(), words);
        self.recorded.push_back(packet);
        cost &spent = self.costs[self.code];
        spent.beats_out += count / accelerator_model::WORDS;
        if (self.first_packet) {
            spent.computing += self.hardware.first_received_at.front() - sent_at;
            self.first_packet = false;
        }
        self.hardware.first_received_at.erase(self.hardware.first_received_at.begin());
        return 0;
    }
};

#endif
