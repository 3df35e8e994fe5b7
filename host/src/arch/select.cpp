// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "kernels.h"

#if defined(CM_HOST_NEON) && !defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace ciphermote::arch
{

namespace
{

#if defined(CM_HOST_NEON)
bool has_neon()
{
#if defined(__aarch64__)
    return true;
#else
    constexpr unsigned long hwcap_neon = 1u << 12; // <asm/hwcap.h>, which only this processor's systems have
    return (getauxval(AT_HWCAP) & hwcap_neon) != 0;
#endif
}
#endif

std::vector<const kernels *> find_usable()
{
    std::vector<const kernels *> found;
#if defined(CM_HOST_X86)
    if (__builtin_cpu_supports("avx512f")) {
        found.push_back(&avx512);
    }
    if (__builtin_cpu_supports("avx2")) {
        found.push_back(&avx2);
    }
#elif defined(CM_HOST_NEON)
    if (has_neon()) {
        found.push_back(&neon);
    }
#elif defined(CM_HOST_WASM)
    found.push_back(&wasm);
#endif
    found.push_back(&portable);
    return found;
}

} // namespace

std::span<const kernels *const> usable_kernels()
{
    static const std::vector<const kernels *> usable = find_usable();
    return usable;
}

const kernels *kernels_by_name(const std::string &name)
{
    const auto usable = usable_kernels();
    const auto found = std::find_if(usable.begin(), usable.end(),
                                    [&name](const kernels *candidate) { return candidate->name == name; });
    return found == usable.end() ? nullptr : *found;
}

} // namespace ciphermote::arch
