// SPDX-License-Identifier: Apache-2.0
// The polynomials of ciphertexts, plaintexts and keys: n residues each, values in SEAL's order.
#ifndef CM_HOST_RNS_POLYNOMIALS_H
#define CM_HOST_RNS_POLYNOMIALS_H

#include <cstddef>
#include <cstdint>
#include <memory>

#include "ciphermote/ciphertext.h"
#include "ciphermote/seeded_key.h"
#include "rns/inside.h"

namespace ciphermote
{

// Gives a ciphertext this shape, in the memory that it has if that is large enough. Its residues are to be
// written; where it had as many primes before, they are still there.
void reshape(Ciphertext &c, const std::shared_ptr<const Context> &context, unsigned components,
             unsigned primes, double scale);
std::uint32_t *polynomial(Ciphertext &c, unsigned component, unsigned prime);
const std::uint32_t *polynomial(const Ciphertext &c, unsigned component, unsigned prime);

const std::uint32_t *polynomial(const Plaintext &plaintext, unsigned prime);
// What encryption and sums add, [primes][n] for a ciphertext of so many primes. CKKS: the residues. BFV:
// those of round(Q m / t), Q the primes' product; made in scratch, addend_words of them.
const std::uint32_t *addend(const Plaintext &plaintext, unsigned primes, std::uint32_t *scratch);
std::size_t addend_words(const Plaintext &plaintext, unsigned primes);

// So many pairs of this seed, whose first polynomials are to be written.
SeededKey seeded_key(const std::shared_ptr<const Context> &context, unsigned pairs, const std::uint8_t *seed);
std::uint32_t *polynomial(SeededKey &key, unsigned pair, unsigned prime); // the pair's first one
void expand(const SeededKey &key, unsigned pair, unsigned prime, std::uint32_t *second); // second: n words

} // namespace ciphermote

#endif
