// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <memory>
#include <vector>

#include "check.h"
#include "ciphermote/evaluate.h"
#include "device/interpreter.h"
#include "device/offload.h"
#include "device/timing.h"
#include "inputs.h"
#include "rns/inside.h"

cm_checks cm_check_state;

using namespace ciphermote;
using namespace ciphermote::testing;

int main()
{
    const Chain chain{12, {67043329, 67084289, 66994177}, {134176769}, 1, 65537};
    Machine machine;
    const auto with = std::make_shared<const Context>(chain, "", std::make_unique<device::Interpreter>(machine));
    const auto without = std::make_shared<const Context>(chain, "portable");
    const auto results = [&](const std::shared_ptr<const Context> &context) {
        Inputs inputs(1);
        std::vector<std::uint32_t> all = chain.data;
        all.insert(all.end(), chain.special.begin(), chain.special.end());
        EvaluationKeys keys(context);
        keys.add_relinearization(inputs.polynomials(6, all, context->n(), Fill::random));
        const Ciphertext a(context, 2, 3, 1, inputs.polynomials(2, chain.data, context->n(), Fill::random));
        const Ciphertext b(context, 2, 3, 1, inputs.polynomials(2, chain.data, context->n(), Fill::random));
        std::vector<Ciphertext> out;
        out.push_back(multiply(a, b));
        out.push_back(relinearize(out[0], keys));
        out.push_back(multiply(a, b, keys));
        return out;
    };
    const auto found = results(with), expected = results(without);
    for (std::size_t i = 0; i < found.size(); i++) {
        std::printf("%zu %d\n", i, std::equal(found[i].residues().begin(), found[i].residues().end(), expected[i].residues().begin()));
    }
    for (std::size_t k = 0; k < 9; k++) { std::size_t d = 0, f=0; for (std::size_t i = 0; i < 4096; i++) { bool x = found[0].residues()[k*4096+i] != expected[0].residues()[k*4096+i]; d += x; if (x && !f) f = i; } std::printf("%zu: %zu first %zu %u %u\n", k, d, f, found[0].residues()[k*4096+f], expected[0].residues()[k*4096+f]); }
    std::printf("%llu %llu\n", (unsigned long long)with->device_use().on_device, (unsigned long long)with->device_use().on_host);
    const Tables &t = tables_of(with);
    for (const device::Operation &op : {device::Operation{device::Operation::Kind::multiply, 3}, device::Operation{device::Operation::Kind::multiply_relinearize, 3}, device::Operation{device::Operation::Kind::switch_last, 3, 3}}) {
        const auto c = device::circuit(t, op, machine.montgomery_bits);
        std::optional<device::Schedule> s[3];
        for (int i = 0; i < 3; i++) s[i] = device::schedule(c.graph, machine, op.uses_key() ? 64 - 24 : 64, static_cast<device::Turn>(i));
        if (!s[0]||!s[1]||!s[2]) { std::printf("no schedule %d %d %d\n", !!s[0], !!s[1], !!s[2]); continue; }
        const auto p = device::predict(machine, s[0]->program, s[1]->program, s[2]->program);
        std::printf("latency %.0f pace %.0f vector %.0f transformer %.0f transforms %zu terms %zu instr %zu words %zu\n", p.latency, p.pace, p.vector_unit, p.transformer, p.transforms, p.terms, s[0]->program.instructions.size(), encode(s[0]->program, 0).size());
    }
}
