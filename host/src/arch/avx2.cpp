// SPDX-License-Identifier: Apache-2.0
#include "simd_avx2.h"

#include "kernels_impl.h"

namespace ciphermote::arch
{

const kernels avx2 = table("avx2");

} // namespace ciphermote::arch
