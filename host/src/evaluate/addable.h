// SPDX-License-Identifier: Apache-2.0
// What ciphertexts must have in common to be added.
#ifndef CM_HOST_EVALUATE_ADDABLE_H
#define CM_HOST_EVALUATE_ADDABLE_H

namespace ciphermote
{

// Error unless both are equal.
void check_primes(unsigned a, unsigned b);
// The same; scales that differ by rounding alone are one scale.
void check_scales(double a, double b);

} // namespace ciphermote

#endif
