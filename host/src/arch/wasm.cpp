// SPDX-License-Identifier: Apache-2.0
#include "simd_wasm.h"

#include "kernels_impl.h"

namespace ciphermote::arch
{

const kernels wasm = table("wasm");

} // namespace ciphermote::arch
