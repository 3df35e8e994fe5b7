// SPDX-License-Identifier: Apache-2.0
// Threads that take turns; where there are none, as in WebAssembly here, nothing.
#ifndef CM_HOST_RNS_LOCK_H
#define CM_HOST_RNS_LOCK_H

#include <mutex>

namespace ciphermote
{

#if defined(_LIBCPP_HAS_NO_THREADS)
struct Lock {
};
struct Turn {
    explicit Turn(Lock &)
    {
    }
};
#else
using Lock = std::mutex;
using Turn = std::lock_guard<Lock>;
#endif

} // namespace ciphermote

#endif
