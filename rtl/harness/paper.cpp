/* SPDX-License-Identifier: Apache-2.0 */
// The experiment of Mert, Ozturk and Savas on cm_ntt_accelerator_two_clocks: its streams at 250 MHz, the
// engine at 200. NTT_DOUBLE_MULTIPLY, the products of a factor with two that are stored, from the beginning
// of its packet's first beat to the end of the last beat of both results; and the pace of products that
// follow each other. Results are compared with an independent transform. Prints one JSON object of
// picoseconds; random numbers are from the seed in argv[1].
#include <memory>

#include "accelerator_host.h"

namespace
{

// The results of a product, or of two, in the order in which they leave.
std::vector<polynomial> results(host &h, unsigned count, const ring &r)
{
    std::vector<polynomial> transformed;
    for (unsigned i = 0; i < count; i++) {
        transformed.push_back(transform(h.receive(), r));
    }
    return transformed;
}

uint64_t double_multiply_ps(host &h, const polynomial operands[2], const ring &r)
{
    const polynomial a = random_polynomial(r);
    h.hardware.received_by_ps.clear();
    h.queue(CM_NTT_CODE_DOUBLE_PRODUCT, a);
    const std::vector<polynomial> got = results(h, 2, r);
    for (unsigned i = 0; i < 2; i++) {
        require(got[i] == pointwise(transform(a, r), operands[i], r), "a double product");
    }
    const uint64_t taken = h.hardware.received_by_ps.back() - h.hardware.sent_from_ps;
    h.settle();
    return taken;
}

// From job to job, once the pipeline of jobs is full.
double product_pace_ps(host &h, const polynomial &operand, const ring &r)
{
    constexpr unsigned JOBS = 41; // may be computed in pairs: an even number after WARM
    constexpr unsigned WARM = 8;
    std::vector<polynomial> factors;
    h.hardware.received_by_ps.clear();
    for (unsigned job = 0; job < JOBS; job++) {
        factors.push_back(random_polynomial(r));
        h.queue(CM_NTT_CODE_PRODUCT, factors.back());
    }
    for (const polynomial &a : factors) {
        require(results(h, 1, r)[0] == pointwise(transform(a, r), operand, r), "a product");
    }
    const std::vector<uint64_t> &ends = h.hardware.received_by_ps;
    h.settle();
    return static_cast<double>(ends[JOBS - 1] - ends[WARM]) / (JOBS - 1 - WARM);
}

} // namespace

int main(int argc, char **argv)
{
    random_bits.seed(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1);
    const auto h = std::make_unique<host>();
    const ring r = random_ring();
    (void)h->load(r);
    const polynomial operands[2] = {random_polynomial(r), random_polynomial(r)};
    for (uint32_t i = 0; i < 2; i++) {
        (void)h->load_time(CM_NTT_CODE_LOAD_OPERAND | i << CM_NTT_COMMAND_OPERAND_LOW,
                           scaled(operands[i], montgomery_r(r), r));
    }
    const uint64_t latency = double_multiply_ps(*h, operands, r);
    const double pace = product_pace_ps(*h, operands[0], r);
    require(double_multiply_ps(*h, operands, r) <= latency + accelerator_model::ENGINE_PS, "time");
    std::printf("{\"double_multiply_ps\": %llu, \"product_pace_ps\": %.0f}\n",
                static_cast<unsigned long long>(latency), pace);
}
