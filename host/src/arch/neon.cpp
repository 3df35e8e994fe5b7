// SPDX-License-Identifier: Apache-2.0
#include "simd_neon.h"

#include "kernels_impl.h"

namespace ciphermote::arch
{

const kernels neon = table("neon");

} // namespace ciphermote::arch
