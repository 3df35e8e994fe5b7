// SPDX-License-Identifier: Apache-2.0
// What a chain's ciphertexts can be.
#ifndef CM_HOST_RNS_LEVEL_H
#define CM_HOST_RNS_LEVEL_H

#include "rns/tables.h"

namespace ciphermote
{

// Error unless there are 2 or 3 components of 1 .. data primes, and the scale is at least 1 and below the
// modulus (BFV: 1).
void check_level(const Tables &t, unsigned components, unsigned primes, double scale);
// CKKS: Error unless the scale is below the product of so many primes. From there on, even 1 wraps around.
void check_scale_fits(const Tables &t, unsigned primes, double scale);
// BFV: Error unless the plain modulus has slots, which what is named (in the plural) is of.
void check_batches(const Tables &t, const char *what);

} // namespace ciphermote

#endif
