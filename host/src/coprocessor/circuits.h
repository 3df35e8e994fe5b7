// SPDX-License-Identifier: Apache-2.0
// The evaluator's operations as graphs of the coprocessor: the same residues as evaluate/ gives.
#ifndef CM_HOST_COPROCESSOR_CIRCUITS_H
#define CM_HOST_COPROCESSOR_CIRCUITS_H

#include <vector>

#include "coprocessor/graph.h"
#include "rns/tables.h"

namespace ciphermote::coprocessor
{

// A polynomial of an operation's operands or of its result.
struct Polynomial {
    unsigned ciphertext; // 0, or 1: the second operand
    unsigned component, prime;
};

struct Circuit {
    Graph graph;
    std::vector<Polynomial> operands, results; // in the graph's order
};

// An operation on ciphertexts of so many primes.
struct Operation {
    enum class Kind : std::uint8_t {
        multiply,
        multiply_relinearize,
        switch_last, // key switching of the last of `components` components
        divide       // each of `components` components by the last `count` primes
    };
    Kind kind;
    unsigned primes;
    unsigned components = 2;
    unsigned count = 0;

    bool uses_key() const
    {
        return kind == Kind::multiply_relinearize || kind == Kind::switch_last;
    }
    auto operator<=>(const Operation &) const = default;
};

// The primes that programs name by index: the chain's, then the auxiliary ones.
std::vector<const Modulus *> moduli_of(const Tables &t);
// Where a key's polynomial for a digit, component and modulus is among its polynomials.
unsigned key_index(const Tables &t, unsigned digit, unsigned component, unsigned modulus);

Circuit circuit(const Tables &t, const Operation &operation, unsigned montgomery_bits);

} // namespace ciphermote::coprocessor

#endif
