// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "kernels.h"

namespace ciphermote::arch
{

namespace
{

const kernels *usable(unsigned index)
{
#if defined(__x86_64__)
    switch (index) {
    case 0:
        return __builtin_cpu_supports("avx512f") ? &avx512 : nullptr;
    case 1:
        return __builtin_cpu_supports("avx2") ? &avx2 : nullptr;
    default:
        break;
    }
#endif
    (void)index;
    return &portable;
}

constexpr unsigned count = 3;

} // namespace

const kernels &best_kernels()
{
    static const kernels &best = []() -> const kernels & {
        for (unsigned i = 0; i < count; i++) {
            if (const kernels *found = usable(i)) {
                return *found;
            }
        }
        return portable;
    }();
    return best;
}

const kernels *kernels_by_name(const char *name)
{
    for (unsigned i = 0; i < count; i++) {
        const kernels *found = usable(i);
        if (found && std::strcmp(found->name, name) == 0) {
            return found;
        }
    }
    return nullptr;
}

} // namespace ciphermote::arch
