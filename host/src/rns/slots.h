// SPDX-License-Identifier: Apache-2.0
// Between slots and coefficients.
#ifndef CM_HOST_RNS_SLOTS_H
#define CM_HOST_RNS_SLOTS_H

#include <complex>
#include <cstdint>
#include <span>
#include <vector>

namespace ciphermote
{

/*
 * Between coefficients of a real polynomial and its values at psi^(3^j), j < n/2, the slots. Where 3^j
 * is 3 modulo 4, its conjugate psi^-(3^j) stands for it; then all exponents are 1 modulo 4, which are the
 * powers of 5, and X^(n/2) is i at all of them: coefficients k and k + n/2 are the real and imaginary part
 * of one complex coefficient. The transform of n/2 points is that of Cheon, Han, Kim, Kim and Song,
 * "Bootstrapping for approximate homomorphic encryption" (2018), section 5.
 */
class SlotTransform
{
  public:
    explicit SlotTransform(unsigned log2_n);
    // slots[n/2] to complex coefficients, in place.
    void to_coefficients(std::vector<std::complex<double>> &slots) const;
    // n real coefficients to n/2 slots, real and imaginary parts in turn, in place. scratch: n numbers. No
    // branch and no address depends on the numbers.
    void to_slots(std::span<double> values, std::span<double> scratch) const;

  private:
    unsigned log2_n_;
    std::vector<std::complex<double>> roots_; // exp(2 pi i 5^j / 8h), j < h, at h - 1 + j: of level h
    std::vector<std::uint32_t> places_;       // of slot j, among the powers of 5
};

} // namespace ciphermote

#endif
