// SPDX-License-Identifier: Apache-2.0
// What BFV's arithmetic needs: integers modulo t, and products of ciphertexts.
#ifndef CM_HOST_RNS_INTEGERS_H
#define CM_HOST_RNS_INTEGERS_H

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rns/extension.h"
#include "rns/modulus.h"

namespace ciphermote
{

/*
 * At one level, with the product Q of its data primes. A product of ciphertexts is computed modulo P Q, where
 * P is the product of the first auxiliary primes and at least 2^8 Q. The second operand b is brought to
 * b' = round(P b / Q); then round(t a b / Q) is round(t a b' / P) modulo Q (Kim, Polyakov and Zucca,
 * "Revisiting homomorphic encryption schemes for finite fields", 2021). The rounding of b' adds 2^-8 of what
 * the rounding of the product adds. An operand that is off by Q or P changes the product by a multiple
 * of t times the other one, which decrypts to 0 modulo t: the noise of any product.
 */
struct ProductLevel {
    unsigned auxiliary;                 // primes in P
    std::vector<arch::factor> first;    // by data prime: to the places of a
    std::vector<arch::factor> second;   // by data prime: to the places of P b
    Extension to_auxiliary;             // t a modulo the auxiliary primes
    Extension scaled;                   // places of b' at the auxiliary primes, from those of P b
    Extension to_data;                  // b' modulo the data primes
    Extension remainder;                // (t a b' modulo P) / P, modulo the data primes
    std::vector<arch::factor> t_over_p; // by data prime
    std::vector<std::uint32_t> delta;   // floor(Q/t) modulo each data prime
    std::uint32_t q_mod_t;
};

struct Integers {
    std::uint32_t t;
    std::vector<Modulus> auxiliary;
    std::vector<ProductLevel> levels; // by number of data primes, less 1
    bool batches;                     // whether t has slots: it is a prime that is 1 modulo 2n
    std::unique_ptr<Modulus> slots;   // t, if it has and is below 2^27; else null
    // The place of slot j among the values: the polynomial at psi^(3^j), j < n/2, and then at psi^-(3^j).
    std::vector<std::uint32_t> slot_places;

    // taken: primes that are no auxiliary ones.
    Integers(std::uint32_t t, std::span<const Modulus> data, const std::vector<std::uint32_t> &taken,
             unsigned log2_n, const arch::kernels &kernels);
};

} // namespace ciphermote

#endif
