// SPDX-License-Identifier: Apache-2.0
// Polynomials of a call in progress.
#ifndef CM_HOST_EVALUATE_SCRATCH_H
#define CM_HOST_EVALUATE_SCRATCH_H

#include "rns/memory.h"

namespace ciphermote
{

class Polynomials
{
  public:
    Polynomials(std::uint32_t *first, std::size_t stride) : first_(first), stride_(stride)
    {
    }
    std::uint32_t *operator[](std::size_t i) const
    {
        return first_ + i * stride_;
    }

  private:
    std::uint32_t *first_;
    std::size_t stride_;
};

// Neighbours lie a cache line more than n words apart: at a power of two, kernels that read several at once
// would find them all in one set of the first-level cache, which holds eight lines.
class Scratch
{
  public:
    Scratch(std::size_t polynomials, std::size_t n) : stride_(n + 16), memory_(polynomials * stride_)
    {
    }
    Polynomials take(std::size_t polynomials)
    {
        const Polynomials taken(memory_.data() + used_ * stride_, stride_);
        used_ += polynomials;
        return taken;
    }

  private:
    std::size_t stride_, used_ = 0;
    words memory_;
};

} // namespace ciphermote

#endif
