/* SPDX-License-Identifier: Apache-2.0 */
// What a harness does with a simulated accelerator: load a ring, queue commands with their packets, receive.
#ifndef CM_RTL_HARNESS_ACCELERATOR_HOST_H
#define CM_RTL_HARNESS_ACCELERATOR_HOST_H

#include "accelerator_model.h"
#include "backends/accelerator/registers.h"
#include "ring.h"

namespace
{

class host
{
  public:
    accelerator_model hardware;

    uint64_t load(const ring &r)
    {
        set_prime(r.q);
        return load_twiddles(r);
    }

    void set_prime(word q)
    {
        settle();
        hardware.write(CM_NTT_PRIME_OFFSET, static_cast<uint32_t>(q));
    }

    uint64_t load_twiddles(const ring &r)
    {
        const word scale = montgomery_r(r);
        polynomial twiddles(N);
        for (unsigned j = 0; j < N; j++) {
            twiddles[j] = multiply(power(r.psi, bit_reverse(j), r.q), scale, r.q);
        }
        return load_time(CM_NTT_CODE_LOAD_TWIDDLES, twiddles);
    }

    void queue(uint32_t command, const polynomial &a)
    {
        while (hardware.read(CM_NTT_STATUS_OFFSET) >> CM_NTT_STATUS_FREE_LOW == 0) {
        }
        hardware.write(CM_NTT_COMMAND_OFFSET, command);
        const accelerator_model::packet words(a.begin(), a.end());
        hardware.send(words.data(), words.size());
    }

    polynomial receive()
    {
        const accelerator_model::packet words = hardware.receive(100u * N);
        require(words.size() == N, "the length of a packet");
        return polynomial(words.begin(), words.end());
    }

    // Cycles from a command for a table to the end of its load.
    uint64_t load_time(uint32_t command, const polynomial &a)
    {
        settle();
        queue(command, a);
        const uint64_t start = hardware.cycle;
        settle();
        return hardware.cycle - start;
    }

    void settle()
    {
        while (!(hardware.read(CM_NTT_STATUS_OFFSET) & 1u)) {
        }
        require(hardware.read(CM_NTT_ERRORS_OFFSET) == 0, "an error flag");
    }
};

} // namespace

#endif
