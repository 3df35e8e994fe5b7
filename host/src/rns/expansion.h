// SPDX-License-Identifier: Apache-2.0
// Uniform polynomials from public seeds.
#ifndef CM_HOST_RNS_EXPANSION_H
#define CM_HOST_RNS_EXPANSION_H

#include <cstdint>

#include "rns/modulus.h"
#include "rns/tables.h"

namespace ciphermote
{

// n residues: the stream number `index` of a seed of 32 bytes, by ChaCha20 (docs/wire-format.md). Time
// depends on the residues, which are public.
void expand_uniform(const arch::kernels &kernels, const std::uint8_t *seed, std::uint32_t index,
                    const Modulus &modulus, std::uint32_t *residues);

// [primes][n]: a seed of 64 bytes as SEAL expands it, by BLAKE2Xb or SHAKE256.
void expand_as_seal(const Tables &t, bool shake256, const std::uint8_t *seed, unsigned primes,
                    std::uint32_t *residues);

} // namespace ciphermote

#endif
