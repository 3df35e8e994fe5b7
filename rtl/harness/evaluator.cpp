/* SPDX-License-Identifier: Apache-2.0 */
// Runs programs on cm_evaluator_two_clocks under Verilator and compares with plain arithmetic: products of
// polynomials over several primes, and a conversion between bases of primes with its rounded quotient. Prints
// one JSON object of what they took; random numbers are from the seed in argv[1].
#include <memory>

#include "evaluator_host.h"
#include "ring.h"

namespace
{

using words = std::vector<uint32_t>;
constexpr unsigned PRIMES = 4; // the last one is the target of the conversion
constexpr unsigned SOURCES = PRIMES - 1;

enum source : uint64_t { FROM_A, FROM_B, FROM_SET, FROM_ONE };
enum destination : uint64_t { TO_A, TO_B, TO_SET };

struct program {
    std::vector<uint64_t> code;
    words weights;
    size_t header = 0;

    void receive(bool memory_b, uint64_t slot)
    {
        code.push_back(uint64_t{2} << 62 | slot << 2 | memory_b);
    }

    // Further fields of the header that was written last.
    void sends()
    {
        code[header] |= uint64_t{1} << 39;
    }
    void ends()
    {
        code[header] |= uint64_t{1} << 40;
    }
    void waits(uint64_t arrivals)
    {
        code[header] |= arrivals << 31;
    }

    void begin(uint64_t modulus, destination to, uint64_t slot, uint64_t shift = 0)
    {
        header = code.size();
        code.push_back(modulus << 8 | (shift != 0 ? uint64_t{1} << 12 : 0) | shift << 13 | to << 19 |
                       slot << 21);
    }

    void times(source from, uint64_t slot, uint64_t weight)
    {
        code[header]++;
        code.push_back(uint64_t{1} << 62 | from | slot << 2 | uint64_t{weights.size()} << 13);
        weights.push_back(static_cast<uint32_t>(weight));
    }

    void times_b(source from, uint64_t slot, uint64_t slot_of_b)
    {
        code[header]++;
        code.push_back(uint64_t{1} << 62 | from | slot << 2 | 1u << 12 | slot_of_b << 13);
    }
};

struct bench {
    evaluator_host host;
    std::vector<ring> rings;

    word r(unsigned prime, unsigned times = 1) const
    {
        return power(2, word{host.machine().montgomery_bits} * times, rings[prime].q);
    }

    bench()
    {
        for (unsigned prime = 0; prime < PRIMES; prime++) {
            ring next;
            do {
                next = random_ring();
            } while (std::any_of(rings.begin(), rings.end(), [&](const ring &r) { return r.q == next.q; }));
            rings.push_back(next);
            words twiddles(N);
            const word scale = power(2, host.machine().twiddle_bits, next.q);
            for (unsigned j = 0; j < N; j++) {
                twiddles[j] =
                    static_cast<uint32_t>(multiply(power(next.psi, bit_reverse(j), next.q), scale, next.q));
            }
            host.load_modulus(prime, static_cast<uint32_t>(next.q), twiddles.data());
        }
    }

    void load(const program &p)
    {
        host.load_program(0, p.code.data(), p.code.size());
        host.load_weights(0, p.weights.data(), p.weights.size());
    }
};

words narrow(const polynomial &a)
{
    return words(a.begin(), a.end());
}

void print(const char *name, const evaluator_host::cost &cost, const char *end)
{
    std::printf("\"%s\": {\"ps\": %llu, \"cycles\": %llu, \"beats_in\": %llu, \"beats_out\": %llu}%s", name,
                static_cast<unsigned long long>(cost.ps), static_cast<unsigned long long>(cost.cycles),
                static_cast<unsigned long long>(cost.beats_in),
                static_cast<unsigned long long>(cost.beats_out), end);
}

// a b for each of SOURCES primes; consecutive jobs use other slots, `offset` apart.
program product_program(const bench &b, unsigned offset)
{
    program p;
    for (unsigned i = 0; i < 2 * SOURCES; i++) {
        p.receive(i & 1, offset + i / 2);
    }
    for (unsigned i = 0; i < SOURCES; i++) {
        p.begin(i, TO_SET, 0);
        p.times(FROM_A, offset + i, b.r(i, 2)); // one R of it is for the product
        p.waits(2 * i + 1);
        p.begin(i, TO_SET, 1);
        p.times(FROM_B, offset + i, b.r(i));
        p.waits(2 * i + 2);
        p.begin(i, TO_A, offset + i);
        p.times(FROM_SET, 0, b.r(i));
        p.begin(i, TO_B, offset + i);
        p.times(FROM_SET, 1, b.r(i));
        p.begin(i, TO_SET, 2); // set 0, inverse
        p.times_b(FROM_A, offset + i, offset + i);
        p.begin(i, TO_A, offset + SOURCES + i);
        p.times(FROM_SET, 0, b.r(i));
        p.sends();
    }
    p.ends();
    return p;
}

void run_products(bench &b, unsigned jobs, const char *name, const char *end)
{
    const unsigned apart = 2 * SOURCES;
    const program first = product_program(b, 0);
    program both = first;
    const program second = product_program(b, apart);
    const unsigned second_at = static_cast<unsigned>(first.code.size());
    both.code.insert(both.code.end(), second.code.begin(), second.code.end());
    b.load(both); // their weights are the same
    std::vector<std::vector<words>> operands(jobs), results(jobs);
    std::vector<evaluator_host::job> all;
    for (unsigned j = 0; j < jobs; j++) {
        evaluator_host::job job{j & 1 ? second_at : 0, {}, {}};
        for (unsigned i = 0; i < 2 * SOURCES; i++) {
            operands[j].push_back(narrow(random_polynomial(b.rings[i / 2])));
        }
        results[j].assign(SOURCES, words(N));
        for (const words &operand : operands[j]) {
            job.operands.push_back(operand.data());
        }
        for (words &result : results[j]) {
            job.results.push_back(result.data());
        }
        all.push_back(job);
    }
    b.host.run(all);
    for (unsigned j = 0; j < jobs; j++) {
        for (unsigned i = 0; i < SOURCES; i++) {
            const ring &r = b.rings[i];
            const auto wide = [](const words &a) { return polynomial(a.begin(), a.end()); };
            require(transform(wide(results[j][i]), r) == pointwise(transform(wide(operands[j][2 * i]), r),
                                                                   transform(wide(operands[j][2 * i + 1]), r),
                                                                   r),
                    name);
        }
    }
    evaluator_host::cost cost = b.host.last_run;
    if (jobs > 2) { // from job to job, once they follow each other
        const std::vector<uint64_t> &ends = b.host.job_ends_ps;
        cost = {(ends[jobs - 1] - ends[1]) / (jobs - 2), 0, cost.beats_in / jobs, cost.beats_out / jobs, 0};
        cost.cycles = cost.ps / accelerator_model::ENGINE_PS;
    }
    print(name, cost, end);
}

// x modulo the last prime, for the x nearest to 0 with given residues modulo the others.
void run_conversion(bench &b, const char *name, const char *end)
{
    constexpr unsigned SHIFT = 54;
    const word target = b.rings[SOURCES].q;
    program p;
    word q_mod_target = 1;
    for (unsigned i = 0; i < SOURCES; i++) {
        p.receive(false, i);
        q_mod_target = multiply(q_mod_target, b.rings[i].q, target);
    }
    words inverses;
    for (unsigned i = 0; i < SOURCES; i++) { // y_i = x_i / (Q / q_i) modulo q_i
        const word q = b.rings[i].q;
        word others = 1;
        for (unsigned k = 0; k < SOURCES; k++) {
            others = k == i ? others : multiply(others, b.rings[k].q % q, q);
        }
        inverses.push_back(static_cast<uint32_t>(power(others, q - 2, q)));
        p.begin(i, TO_A, SOURCES + i);
        p.times(FROM_A, i, multiply(inverses.back(), b.r(i), q));
        p.waits(i + 1);
    }
    p.begin(0, TO_B, 0, SHIFT); // the nearest integer to the sum of y_i / q_i
    for (unsigned i = 0; i < SOURCES; i++) {
        p.times(FROM_A, SOURCES + i, ((word{1} << SHIFT) + b.rings[i].q / 2) / b.rings[i].q);
    }
    p.begin(SOURCES, TO_B, 1);
    words cofactors;
    for (unsigned i = 0; i < SOURCES; i++) {
        const word cofactor =
            multiply(q_mod_target, power(b.rings[i].q % target, target - 2, target), target);
        cofactors.push_back(static_cast<uint32_t>(cofactor));
        p.times(FROM_A, SOURCES + i, multiply(cofactor, b.r(SOURCES), target));
    }
    p.times(FROM_B, 0, multiply(target - q_mod_target, b.r(SOURCES), target));
    p.sends();
    p.ends();
    b.load(p);

    evaluator_host::job job{0, {}, {}};
    std::vector<words> operands;
    for (unsigned i = 0; i < SOURCES; i++) {
        operands.push_back(narrow(random_polynomial(b.rings[i])));
    }
    words result(N);
    for (const words &operand : operands) {
        job.operands.push_back(operand.data());
    }
    job.results.push_back(result.data());
    b.host.run({job});
    for (unsigned j = 0; j < N; j++) {
        word sum = 0;
        word converted = 0;
        for (unsigned i = 0; i < SOURCES; i++) {
            const word q = b.rings[i].q;
            const word y = multiply(operands[i][j], inverses[i], q);
            sum += y * (((word{1} << SHIFT) + q / 2) / q);
            converted += multiply(y, cofactors[i], target);
        }
        const word quotient = (sum + (word{1} << (SHIFT - 1))) >> SHIFT;
        converted += multiply(quotient, target - q_mod_target, target);
        require(result[j] == converted % target, name);
    }
    print(name, b.host.last_run, end);
}

// Cycles that another of some instructions takes, at the end of `times` of them: what they leave in slot 1 of
// memory A is sent, and compared with what they must.
template <typename Write> uint64_t cycles_of(bench &b, Write write)
{
    constexpr unsigned FEW = 4, MANY = 12; // even: the instructions may take turns
    uint64_t taken[2];
    words results[2];
    for (unsigned i = 0; i < 2; i++) {
        program p;
        for (unsigned k = 0; k < (i == 0 ? FEW : MANY); k++) {
            write(p, k);
        }
        p.begin(0, TO_A, 0);
        p.times(FROM_A, 1, b.r(0));
        p.sends();
        p.ends();
        b.load(p);
        results[i].resize(N);
        b.host.run({{0, {}, {results[i].data()}}});
        taken[i] = b.host.last_run.cycles;
    }
    require(results[0] == results[1], "the same instructions once more");
    return (taken[1] - taken[0] + (MANY - FEW) / 2) / (MANY - FEW);
}

// A sum of one term, and of three.
void run_sums(bench &b)
{
    const words a = narrow(random_polynomial(b.rings[0]));
    b.host.load_polynomial(false, 2, a.data());
    for (const unsigned terms : {1u, 3u}) {
        const uint64_t cycles = cycles_of(b, [&](program &p, unsigned) {
            p.begin(0, TO_A, 1);
            for (unsigned t = 0; t < terms; t++) {
                p.times(FROM_A, 2, b.r(0));
            }
        });
        std::printf("\"sum_of_%u\": {\"cycles\": %llu}, ", terms, static_cast<unsigned long long>(cycles));
    }
}

// Transforms with both sets in turn: one is drained and filled while the other one's transform runs.
void run_transforms(bench &b)
{
    const uint64_t cycles = cycles_of(b, [&](program &p, unsigned k) {
        if (k > 1) {
            p.begin(0, TO_A, 1);
            p.times(FROM_SET, k & 1, b.r(0));
        }
        p.begin(0, TO_SET, k & 1);
        p.times(FROM_A, 2, b.r(0));
    });
    std::printf("\"transform\": {\"cycles\": %llu}, ", static_cast<unsigned long long>(cycles));
}

} // namespace

int main(int argc, char **argv)
{
    random_bits.seed(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1);
    const auto b = std::make_unique<bench>();
    std::printf("{");
    run_sums(*b);
    run_transforms(*b);
    run_products(*b, 1, "products", ", ");
    run_products(*b, 6, "products_in_a_row", ", ");
    run_conversion(*b, "conversion", "}\n");
}
