// SPDX-License-Identifier: Apache-2.0
#include "coprocessor/graph.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "coprocessor/program.h"

namespace ciphermote::coprocessor
{

Graph::Graph(std::vector<const Modulus *> moduli, unsigned montgomery_bits)
    : moduli_(std::move(moduli)), montgomery_bits_(montgomery_bits)
{
}

std::uint32_t Graph::r(unsigned modulus) const
{
    return moduli_[modulus]->residue(std::uint64_t{1} << montgomery_bits_);
}

Value Graph::add(Node node)
{
    nodes_.push_back(std::move(node));
    return static_cast<Value>(nodes_.size() - 1);
}

std::vector<Sum::Operand> Graph::weighted(unsigned modulus, const Sum &sum) const
{
    std::vector<Sum::Operand> operands = sum.operands();
    for (Sum::Operand &operand : operands) {
        operand.weight = operand.multiplier ? 0 : moduli_[modulus]->multiply(operand.weight, r(modulus));
    }
    return operands;
}

Value Graph::operand(unsigned modulus, std::optional<Memory> memory)
{
    operands_++;
    return add({.kind = Kind::operand, .modulus = modulus, .memory = memory});
}

Value Graph::key(unsigned modulus, unsigned index)
{
    return add({.kind = Kind::key, .modulus = modulus, .memory = Memory::b, .key = index});
}

Value Graph::sum(unsigned modulus, const Sum &sum, std::optional<Memory> memory)
{
    return add({.kind = Kind::sum, .modulus = modulus, .memory = memory, .operands = weighted(modulus, sum)});
}

Value Graph::quotient(std::span<const Value> values, std::span<const std::uint32_t> factors, unsigned shift)
{
    Sum sum;
    for (std::size_t i = 0; i < values.size(); i++) {
        sum.add(values[i], factors[i]);
    }
    return add({.kind = Kind::sum, .shift = shift, .operands = sum.operands()});
}

Value Graph::transform(unsigned modulus, bool inverse, const Sum &sum)
{
    return add({.kind = Kind::transform,
                .modulus = modulus,
                .inverse = inverse,
                .operands = weighted(modulus, sum)});
}

bool Graph::fits(const Machine &machine) const
{
    std::vector<std::uint64_t> largest; // of each value
    for (const Node &node : nodes_) {
        if (node.modulus >= std::min(machine.moduli, most_moduli)) {
            return false;
        }
        const std::uint32_t q = moduli_[node.modulus]->q();
        double sum = 0;
        for (const Sum::Operand &operand : node.operands) {
            const std::uint64_t factor = operand.multiplier ? largest[*operand.multiplier] : operand.weight;
            sum += static_cast<double>(factor * (operand.value ? largest[*operand.value] : 1));
        }
        const double bound =
            node.shift ? 0x1p62 : std::min(0x1p62, std::ldexp(q, static_cast<int>(montgomery_bits_)));
        if (sum + std::ldexp(1, static_cast<int>(node.shift)) >= bound * (1 - 0x1p-40)) {
            return false;
        }
        const double shifted = std::ldexp(sum, -static_cast<int>(node.shift)) + 1;
        if (node.shift && shifted >= word_bound) {
            return false;
        }
        largest.push_back(node.shift ? static_cast<std::uint64_t>(shifted) : q - 1);
    }
    return true;
}

void Graph::send(Value value)
{
    nodes_[value].send = true;
    results_.push_back(value);
}

} // namespace ciphermote::coprocessor
