// SPDX-License-Identifier: Apache-2.0
#include "simd_portable.h"

#include "kernels_impl.h"

namespace ciphermote::arch
{

const kernels portable = table("portable");

} // namespace ciphermote::arch
