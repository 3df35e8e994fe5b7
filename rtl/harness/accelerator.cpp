/* SPDX-License-Identifier: Apache-2.0 */
// Runs cm_ntt_accelerator under Verilator: random jobs through its buses against an independent transform,
// the cycles of each from the last beat in to the first beat out, and between jobs one after the other.
//
// The shape of the hardware comes as macros (LOG2_N, WIDTH, LOG2_BEAT), random numbers from the seed in
// argv[1]. Prints one JSON object of cycles; stops with status 1 at the first difference.
#include <memory>
#include <utility>

#include "accelerator_host.h"

namespace
{

struct kind {
    const char *name;
    uint32_t command;
};

constexpr kind KINDS[] = {
    {"forward", CM_NTT_CODE_FORWARD},
    {"inverse", CM_NTT_CODE_INVERSE},
    {"product", CM_NTT_CODE_PRODUCT},
    {"double_product", CM_NTT_CODE_DOUBLE_PRODUCT},
    {"double_product_transformed", CM_NTT_CODE_DOUBLE_PRODUCT | 1u << CM_NTT_COMMAND_TRANSFORMED_LOW},
};

// The expected packets of a job: the transform of each.
std::vector<polynomial> expected(const kind &k, const polynomial &a, const polynomial operands[2],
                                 const ring &r)
{
    const polynomial transformed = transform(a, r);
    const uint32_t code = k.command & 15u;
    if (code == CM_NTT_CODE_FORWARD) {
        return {transformed};
    }
    if (code == CM_NTT_CODE_INVERSE) {
        return {a};
    }
    std::vector<polynomial> products = {pointwise(transformed, operands[0], r)};
    if (code == CM_NTT_CODE_DOUBLE_PRODUCT) {
        products.push_back(pointwise(transformed, operands[1], r));
    }
    return products;
}

bool leaves_transformed(const kind &k)
{
    return k.command == CM_NTT_CODE_FORWARD || k.command == CM_NTT_CODE_INVERSE ||
           k.command >> CM_NTT_COMMAND_TRANSFORMED_LOW != 0;
}

// Cycles from the last beat of a lone job's packet to the first beat out; and between the starts of such jobs
// in a row.
struct times {
    uint64_t latency;
    double pace;
};

times run(host &h, const kind &k, const polynomial operands[2], const ring &r)
{
    constexpr unsigned JOBS = 21; // jobs may be computed in pairs: an even number after WARM
    constexpr unsigned WARM = 4;
    times taken{};
    for (const unsigned jobs : {1u, JOBS}) {
        std::vector<std::vector<polynomial>> wanted;
        h.hardware.first_received_at.clear();
        for (unsigned job = 0; job < jobs; job++) {
            const polynomial a = random_polynomial(r);
            wanted.push_back(expected(k, a, operands, r));
            h.queue(k.command, k.command == CM_NTT_CODE_INVERSE ? transform(a, r) : a);
        }
        for (const std::vector<polynomial> &packets : wanted) {
            for (const polynomial &packet : packets) {
                const polynomial got = h.receive();
                require((leaves_transformed(k) ? got : transform(got, r)) == packet, k.name);
            }
        }
        const std::vector<uint64_t> &starts = h.hardware.first_received_at;
        if (jobs == 1) {
            taken.latency = starts[0] - h.hardware.last_sent_at;
        } else {
            const size_t packets = wanted[0].size();
            taken.pace = static_cast<double>(starts[(JOBS - 1) * packets] - starts[WARM * packets]) /
                         (JOBS - 1 - WARM);
        }
        h.settle();
    }
    return taken;
}

// Jobs of all kinds in a row, as many as the queue takes, while the streams wait at random: whatever the
// order of both, a packet must not overwrite what has not been sent.
void run_mixed(host &h, const polynomial operands[2], const ring &r)
{
    constexpr unsigned JOBS = 40;
    h.hardware.hesitates = true;
    std::vector<std::pair<const kind *, polynomial>> wanted;
    for (unsigned job = 0; job < JOBS; job++) {
        const kind &k = KINDS[random_bits() % (sizeof KINDS / sizeof KINDS[0])];
        const polynomial a = random_polynomial(r);
        for (const polynomial &packet : expected(k, a, operands, r)) {
            wanted.emplace_back(&k, packet);
        }
        h.queue(k.command, k.command == CM_NTT_CODE_INVERSE ? transform(a, r) : a);
    }
    for (const auto &[k, packet] : wanted) {
        const polynomial got = h.receive();
        require((leaves_transformed(*k) ? got : transform(got, r)) == packet, "jobs of all kinds");
    }
    h.settle();
    h.hardware.hesitates = false;
}

} // namespace

int main(int argc, char **argv)
{
    random_bits.seed(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1);
    const auto h = std::make_unique<host>();
    std::vector<times> all;
    uint64_t loads[2] = {};
    for (unsigned round = 0; round < 2; round++) {
        const ring r = random_ring();
        const word scale = montgomery_r(r);
        const uint64_t twiddle_load = h->load(r);
        uint64_t factor_load = 0;
        const polynomial operands[2] = {random_polynomial(r), random_polynomial(r)};
        for (uint32_t i = 0; i < 2; i++) {
            factor_load = h->load_time(CM_NTT_CODE_LOAD_OPERAND | i << CM_NTT_COMMAND_OPERAND_LOW,
                                       scaled(operands[i], scale, r));
        }
        loads[0] = twiddle_load;
        loads[1] = factor_load;
        for (size_t i = 0; i < sizeof KINDS / sizeof KINDS[0]; i++) {
            const times taken = run(*h, KINDS[i], operands, r);
            if (round == 0) {
                all.push_back(taken);
            }
            require(taken.latency == all[i].latency && taken.pace == all[i].pace, "cycles");
        }
        run_mixed(*h, operands, r);
    }
    std::printf("{\"tables\": {\"twiddles\": %llu, \"factor\": %llu}, ",
                static_cast<unsigned long long>(loads[0]), static_cast<unsigned long long>(loads[1]));
    for (size_t i = 0; i < all.size(); i++) {
        std::printf("%s\"%s\": {\"latency\": %llu, \"pace\": %.1f}", i ? ", " : "", KINDS[i].name,
                    static_cast<unsigned long long>(all[i].latency), all[i].pace);
    }
    std::printf("}\n");
}
