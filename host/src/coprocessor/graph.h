// SPDX-License-Identifier: Apache-2.0
// What a program computes, before its instructions have an order and its polynomials have slots.
#ifndef CM_HOST_COPROCESSOR_GRAPH_H
#define CM_HOST_COPROCESSOR_GRAPH_H

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ciphermote/coprocessor.h"
#include "rns/modulus.h"

namespace ciphermote::coprocessor
{

using Value = unsigned; // a polynomial of the graph, by the order in which they were made

// Terms of a sum modulo a prime, with residues as weights.
class Sum
{
  public:
    struct Operand {
        std::optional<Value> value;      // none: the constant 1
        std::optional<Value> multiplier; // none: the weight
        std::uint32_t weight;
    };

    Sum &add(Value value, std::uint32_t weight = 1)
    {
        operands_.push_back({value, {}, weight});
        return *this;
    }
    // The product is divided by R.
    Sum &add_product(Value value, Value multiplier)
    {
        operands_.push_back({value, multiplier, 0});
        return *this;
    }
    Sum &add_constant(std::uint32_t weight)
    {
        operands_.push_back({{}, {}, weight});
        return *this;
    }
    Sum &add(const Sum &other)
    {
        operands_.insert(operands_.end(), other.operands_.begin(), other.operands_.end());
        return *this;
    }
    const std::vector<Operand> &operands() const
    {
        return operands_;
    }

  private:
    std::vector<Operand> operands_;
};

class Graph
{
  public:
    enum class Kind : std::uint8_t { operand, key, sum, transform };

    struct Node {
        Kind kind = Kind::sum;
        unsigned modulus = 0;
        unsigned shift = 0;
        bool inverse = false;
        bool send = false;
        std::optional<Memory> memory{};       // where it has to be
        unsigned key = 0;                     // which polynomial of the key
        std::vector<Sum::Operand> operands{}; // with weights as the machine takes them
    };

    // moduli: by index. montgomery_bits: the machine's.
    Graph(std::vector<const Modulus *> moduli, unsigned montgomery_bits);

    const Modulus &modulus(unsigned index) const
    {
        return *moduli_[index];
    }
    // R modulo a prime: a factor that a product takes away.
    std::uint32_t r(unsigned modulus) const;

    // The next operand that the host gives. Residues modulo this prime.
    Value operand(unsigned modulus, std::optional<Memory> memory = {});
    // Polynomial number `index` of the key, in memory B.
    Value key(unsigned modulus, unsigned index);
    Value sum(unsigned modulus, const Sum &sum, std::optional<Memory> memory = {});
    // round((values[0] factors[0] + values[1] factors[1] + ...) / 2^shift)
    Value quotient(std::span<const Value> values, std::span<const std::uint32_t> factors, unsigned shift);
    // The transform of a sum, which one sum may read, as it is in the transformer's set.
    Value transform(unsigned modulus, bool inverse, const Sum &sum);
    // The next result.
    void send(Value value);

    // Whether the machine can compute all sums: it has the moduli, and no sum grows out of its bounds.
    bool fits(const Machine &machine) const;

    const std::vector<Node> &nodes() const
    {
        return nodes_;
    }
    unsigned operands() const
    {
        return operands_;
    }
    const std::vector<Value> &results() const
    {
        return results_;
    }

  private:
    Value add(Node node);
    std::vector<Sum::Operand> weighted(unsigned modulus, const Sum &sum) const;

    std::vector<const Modulus *> moduli_;
    unsigned montgomery_bits_;
    std::vector<Node> nodes_;
    unsigned operands_ = 0;
    std::vector<Value> results_;
};

} // namespace ciphermote::coprocessor

#endif
