/* SPDX-License-Identifier: Apache-2.0 */
// Transforms and dyadic products of 64-bit words, as SEAL asks for them, on a simulated
// cm_ntt_accelerator_two_clocks. The prime, its twiddles and two factors stay in the hardware until others
// are asked for. Every call's result is in memory when the call returns.
//
// Except between expect() and finish(), for a caller whose code is known to read nothing in between: there, a
// transform waits for the products that follow it and these for their inverse transforms, so that a forward
// transform, one or two products and their inverse transforms are one command with one packet in. Such a
// transform is not delivered itself once a product has used it. What breaks the pattern is computed first.
#ifndef CM_RTL_HARNESS_OFFLOAD_H
#define CM_RTL_HARNESS_OFFLOAD_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "accelerator_host.h"

namespace
{

class offload
{
  public:
    uint64_t jobs_ps = 0;   // simulated: commands and their packets, one after the other
    uint64_t tables_ps = 0; // primes, twiddles, factors
    uint64_t commands = 0;

    static bool serves(size_t n, uint64_t q)
    {
        return n == N && q >> WIDTH == 0 && q % (2 * N) == 1;
    }

    void forward(uint64_t *x, uint64_t q, uint64_t psi)
    {
        settle_pending();
        if (expected == 0) {
            set_ring(q, psi);
            deliver(compute(CM_NTT_CODE_FORWARD, packed(x, q)), x);
            return;
        }
        pending = {x, packed(x, q), q, psi, {}};
    }

    void inverse(uint64_t *x, uint64_t q, uint64_t psi)
    {
        for (product &p : pending.products) {
            if (p.out == x && !p.inverse && pending.q == q) {
                p.inverse = true;
                if (pending.products.size() == expected && pending.all_inverse()) {
                    settle_pending();
                }
                return;
            }
        }
        settle_pending();
        set_ring(q, psi);
        deliver(compute(CM_NTT_CODE_INVERSE, packed(x, q)), x);
    }

    void dyadic(const uint64_t *a, const uint64_t *b, uint64_t q, uint64_t *out)
    {
        const bool one_is_pending = pending.x != nullptr && (a == pending.x) != (b == pending.x);
        const bool continues = one_is_pending && pending.q == q && !pending.awaits(a) && !pending.awaits(b) &&
                               pending.products.size() < expected;
        if (!continues) {
            settle_pending();
        }
        set_ring(q, continues ? pending.psi : 0);
        // The factor is the operand that is stored already, or the second one.
        const bool swapped = continues ? b == pending.x : slot_of(b) == SLOTS && slot_of(a) != SLOTS;
        const uint64_t *const streamed = swapped ? b : a;
        const unsigned slot = factor(swapped ? a : b, q);
        if (continues) {
            pending.products.push_back({slot, out, false});
        } else {
            deliver(compute(CM_NTT_CODE_POINTWISE | slot << CM_NTT_COMMAND_OPERAND_LOW, packed(streamed, q)),
                    out);
        }
    }

    // From here on, this many products of each forward transform, 1 or 2, and nothing reads results before
    // finish().
    void expect(unsigned products)
    {
        settle_pending();
        expected = products;
    }

    void finish()
    {
        settle_pending();
        expected = 0;
    }

    // What is received from now on is what replay() returns, in order, without any cycle: to time the
    // software alone.
    void record()
    {
        recorded.clear();
        replays = false;
    }

    void replay()
    {
        replays = true;
        next = 0;
    }

  private:
    using packet = accelerator_model::packet;
    static constexpr unsigned SLOTS = 2;

    struct product {
        unsigned slot;
        uint64_t *out;
        bool inverse;
    };

    struct chain {
        uint64_t *x; // null: none
        packet words;
        uint64_t q;
        uint64_t psi;
        std::vector<product> products;

        // Whether a product is to be delivered there.
        bool awaits(const uint64_t *words) const
        {
            return std::any_of(products.begin(), products.end(),
                               [words](const product &p) { return p.out == words; });
        }

        bool all_inverse() const
        {
            return std::all_of(products.begin(), products.end(), [](const product &p) { return p.inverse; });
        }
    };

    host accelerator;
    ring loaded{0, 0}; // psi 0: no twiddles
    std::vector<uint64_t> factors[SLOTS];
    unsigned used_last = 0;
    chain pending{};
    unsigned expected = 0;
    std::vector<packet> recorded;
    bool replays = false;
    size_t next = 0;

    // Lazy callers leave words up to 4 q.
    static packet packed(const uint64_t *x, uint64_t q)
    {
        packet words(N);
        for (size_t i = 0; i < N; i++) {
            words[i] = static_cast<uint32_t>(x[i] < q ? x[i] : x[i] % q);
        }
        return words;
    }

    static void deliver(const packet &words, uint64_t *x)
    {
        std::copy(words.begin(), words.end(), x);
    }

    void set_ring(uint64_t q, uint64_t psi)
    {
        if (q == loaded.q && (psi == 0 || psi == loaded.psi)) {
            return;
        }
        const uint64_t start = accelerator.hardware.now_ps();
        if (q != loaded.q) {
            for (std::vector<uint64_t> &f : factors) {
                f.clear();
            }
            accelerator.set_prime(q);
            loaded = {q, 0};
        }
        if (psi != 0) {
            loaded.psi = psi;
            (void)accelerator.load_twiddles(loaded);
        }
        tables_ps += accelerator.hardware.now_ps() - start;
    }

    unsigned slot_of(const uint64_t *b) const
    {
        unsigned slot = 0;
        while (slot < SLOTS && !(factors[slot].size() == N && std::equal(b, b + N, factors[slot].begin()))) {
            slot++;
        }
        return slot;
    }

    unsigned factor(const uint64_t *b, uint64_t q)
    {
        unsigned slot = slot_of(b);
        if (slot == SLOTS) {
            slot = 1 - used_last;
            factors[slot].assign(b, b + N);
            const uint64_t start = accelerator.hardware.now_ps();
            const packet words = packed(b, q);
            (void)accelerator.load_time(
                CM_NTT_CODE_LOAD_OPERAND | slot << CM_NTT_COMMAND_OPERAND_LOW,
                scaled(polynomial(words.begin(), words.end()), montgomery_r(loaded), loaded));
            tables_ps += accelerator.hardware.now_ps() - start;
        }
        used_last = slot;
        return slot;
    }

    packet compute(uint32_t command, const packet &words)
    {
        std::vector<packet> results = compute_all(command, words, 1);
        return results[0];
    }

    std::vector<packet> compute_all(uint32_t command, const packet &words, unsigned count)
    {
        std::vector<packet> results(count);
        commands++;
        if (replays) {
            for (packet &result : results) {
                result = recorded[next++ % recorded.size()];
            }
            return results;
        }
        const uint64_t start = accelerator.hardware.now_ps();
        accelerator.hardware.write(CM_NTT_COMMAND_OFFSET, command);
        accelerator.hardware.send(words.data(), words.size());
        for (packet &result : results) {
            result = accelerator.hardware.receive(100u * N);
            require(result.size() == N, "the length of a packet");
            recorded.push_back(result);
        }
        jobs_ps += accelerator.hardware.now_ps() - start;
        return results;
    }

    void settle_pending()
    {
        if (pending.x == nullptr) {
            return;
        }
        const chain whole = pending;
        pending = {};
        set_ring(whole.q, whole.psi);
        const std::vector<product> &products = whole.products;
        if (products.empty()) {
            deliver(compute(CM_NTT_CODE_FORWARD, whole.words), whole.x);
        } else if (products.size() == 2 && products[0].inverse == products[1].inverse &&
                   products[0].slot != products[1].slot) {
            const std::vector<packet> both =
                compute_all(CM_NTT_CODE_DOUBLE_PRODUCT | transformed(products[0]), whole.words, 2);
            for (const product &p : products) {
                deliver(both[p.slot], p.out);
            }
        } else {
            for (const product &p : products) {
                deliver(compute(CM_NTT_CODE_PRODUCT | p.slot << CM_NTT_COMMAND_OPERAND_LOW | transformed(p),
                                whole.words),
                        p.out);
            }
        }
    }

    static uint32_t transformed(const product &p)
    {
        return (p.inverse ? 0u : 1u) << CM_NTT_COMMAND_TRANSFORMED_LOW;
    }
};

} // namespace

#endif
