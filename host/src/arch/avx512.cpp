// SPDX-License-Identifier: Apache-2.0
#include "simd_avx512.h"

#include "kernels_impl.h"

namespace ciphermote::arch
{

const kernels avx512 = table("avx512");

} // namespace ciphermote::arch
