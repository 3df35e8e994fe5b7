// SPDX-License-Identifier: Apache-2.0
#include "rns/expansion.h"

extern "C" {
#include "common/bytes.h"
#include "random/sample.h"
#include "ring/prime.h"
}

namespace ciphermote
{

void expand_uniform(const arch::kernels &kernels, const std::uint8_t *seed, std::uint32_t index,
                    const Modulus &modulus, std::uint32_t *residues)
{
    std::uint32_t key[8];
    for (unsigned i = 0; i < 8; i++) {
        key[i] = cmi_load32(seed + 4 * i);
    }
    kernels.uniform(residues, key, index, modulus.prime());
}

namespace
{

// Residue after residue, and those that SEAL draws again from what follows the whole polynomial.
void expand_with_redraws(const Tables &t, bool shake256, const std::uint8_t *seed, unsigned primes,
                         std::uint32_t *residues)
{
    cmi_uniform uniform;
    cmi_uniform_init(&uniform, shake256 ? CM_XOF_SHAKE256 : CM_XOF_BLAKE2XB, seed, t.chain.log2_n, primes);
    for (unsigned m = 0; m < primes; m++) {
        cm_prime prime;
        (void)cmi_prime_init(&prime, t.moduli[m].q(), t.chain.log2_n, nullptr);
        cmi_uniform_polynomial(&uniform, &prime, m, residues + m * t.n());
    }
}

} // namespace

void expand_as_seal(const Tables &t, bool shake256, const std::uint8_t *seed, unsigned primes,
                    std::uint32_t *residues)
{
    std::uint64_t key[8];
    for (unsigned i = 0; i < 8; i++) {
        key[i] = cmi_load64(seed + 8 * i);
    }
    const std::uint64_t blocks = t.n() * 8 / CM_SEAL_BLOCK_BYTES;
    for (unsigned m = 0; m < primes; m++) {
        if (!t.kernels->uniform_of_seal(residues + m * t.n(), shake256, key, m * blocks, t.prime(m))) {
            expand_with_redraws(t, shake256, seed, primes, residues);
            return;
        }
    }
}

} // namespace ciphermote
