// SPDX-License-Identifier: Apache-2.0
// What a context holds.
#ifndef CM_HOST_RNS_TABLES_H
#define CM_HOST_RNS_TABLES_H

#include <cstddef>
#include <memory>
#include <vector>

#include "ciphermote/context.h"
#include "rns/group.h"
#include "rns/integers.h"
#include "rns/modulus.h"
#include "rns/slots.h"

namespace ciphermote
{

namespace coprocessor
{
class Offload;
} // namespace coprocessor

// Primes that rescaling divides by.
struct Divisor {
    Group primes;
    std::vector<arch::factor> inverse; // of their product, modulo each prime before them
};

struct Tables {
    Chain chain;
    const arch::kernels *kernels;
    std::vector<Modulus> moduli; // the data primes, then the special ones
    std::vector<Group> digits;
    std::unique_ptr<Group> special;       // null without special primes
    std::unique_ptr<SlotTransform> slots; // CKKS's
    std::unique_ptr<Integers> integers;   // BFV's
    std::vector<std::uint32_t> p_inverse; // 1/P modulo each data prime
    // What rescaling by so many primes divides by, for each number of primes that can be left; [count - 1].
    std::vector<Divisor> divisors[most_group_primes];
    std::shared_ptr<coprocessor::Offload> offload; // null without a coprocessor

    std::size_t n() const
    {
        return std::size_t{1} << chain.log2_n;
    }
    unsigned data() const
    {
        return static_cast<unsigned>(chain.data.size());
    }
    unsigned all() const
    {
        return static_cast<unsigned>(moduli.size());
    }
    double log2_modulus(unsigned primes) const; // of the first data primes' product
    const arch::prime &prime(unsigned modulus) const
    {
        return moduli[modulus].prime();
    }
};

// Without a coprocessor. Error as Context's constructors.
std::unique_ptr<Tables> make_tables(Chain chain, const std::string &isa);
void check_secure(const Tables &t);

} // namespace ciphermote

#endif
