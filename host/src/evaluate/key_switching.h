// SPDX-License-Identifier: Apache-2.0
// Hybrid key switching (Han and Ki, "Better bootstrapping for approximate homomorphic encryption", 2020).
#ifndef CM_HOST_EVALUATE_KEY_SWITCHING_H
#define CM_HOST_EVALUATE_KEY_SWITCHING_H

#include <span>

#include "ciphermote/evaluate.h"
#include "coprocessor/offload.h"
#include "rns/memory.h"
#include "rns/tables.h"

namespace ciphermote
{

/*
 * A key as key switching reads it: [modulus][n / lanes][digits][2][lanes], Montgomery form, centred. At data
 * primes it is multiplied by 1/P, which key switching would divide by in the end. A Galois key is permuted by
 * the inverse automorphism, so that digits are those of the ciphertext as it is; the sum is permuted instead.
 */
struct SwitchingKey {
    std::uint64_t number; // no other key of the process has it
    words residues;
    words vectors; // of the automorphism, as kernels.permute reads it; empty for relinearization
    words in_vector;
};

// Error if the key is missing.
const SwitchingKey &relinearization_key(const EvaluationKeys &keys);
const SwitchingKey &galois_key(const EvaluationKeys &keys, std::uint32_t element);
const SwitchingKey &rekeying_key(const RekeyKey &key);

// The key as a coprocessor takes it, while it lives.
coprocessor::Key coprocessor_key(const Tables &t, const SwitchingKey &key);

// One key for the polynomial that is being switched.
struct Switching {
    const SwitchingKey *key;
    const std::uint32_t *addend[2]; // [primes][n], added to the result's components; or null
    std::uint32_t *out[2];          // [primes][n]
};

// Switch values c[primes][n]. The digits are transformed once for all keys.
void switch_keys(const Tables &t, const std::uint32_t *c, unsigned primes,
                 std::span<const Switching> switchings);

} // namespace ciphermote

#endif
