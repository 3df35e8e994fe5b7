// SPDX-License-Identifier: Apache-2.0
// BFV's product of two ciphertexts: rns/integers.h says how.
#ifndef CM_HOST_EVALUATE_INTEGER_PRODUCT_H
#define CM_HOST_EVALUATE_INTEGER_PRODUCT_H

#include "ciphermote/ciphertext.h"

namespace ciphermote
{

// round(t/Q (a0 b0, a0 b1 + a1 b0, a1 b1)). a and b: of two components and as many primes.
void multiply_integers(Ciphertext &out, const Ciphertext &a, const Ciphertext &b);

} // namespace ciphermote

#endif
