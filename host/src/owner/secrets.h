// SPDX-License-Identifier: Apache-2.0
// Memory and streams of secrets, wiped when they are given back.
#ifndef CM_HOST_OWNER_SECRETS_H
#define CM_HOST_OWNER_SECRETS_H

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ciphermote/owner.h"
#include "rns/inside.h"
#include "rns/memory.h"

extern "C" {
#include "common/declassify.h"
#include "common/wipe.h"
#include "random/sample.h"
}

namespace ciphermote
{

// A thread keeps what is given back, so it is wiped first.
template <class T> struct wiping_allocator : aligned_allocator<T> {
    wiping_allocator() = default;
    template <class U> wiping_allocator(const wiping_allocator<U> &)
    {
    }
    void deallocate(T *p, std::size_t count) noexcept
    {
        cmi_wipe(p, count * sizeof(T));
        aligned_allocator<T>::deallocate(p, count);
    }
};

template <class T> using secret_array = std::vector<T, wiping_allocator<T>>;

// At the end of a call: key streams and spilled values lie below.
class StackWiper
{
  public:
    StackWiper() = default;
    StackWiper(const StackWiper &) = delete;
    StackWiper &operator=(const StackWiper &) = delete;
    ~StackWiper()
    {
        cmi_wipe_stack();
    }
};

struct Seeds {
    std::uint8_t public_seed[SeededKey::seed_bytes];
    std::uint8_t secret_seed[SeededKey::seed_bytes];

    ~Seeds()
    {
        cmi_wipe(secret_seed, sizeof secret_seed);
    }
};

// The next two seeds.
Seeds draw(Entropy &entropy);
// [n] of -1, 0 and 1, uniform; and of noise, centred binomial. Of one secret seed, each stream is read once:
// noise by component or pair.
void sample_ternary(const Seeds &seeds, std::size_t n, std::int8_t *coefficients);
void sample_noise(const Seeds &seeds, std::uint32_t stream, std::size_t n, std::int8_t *coefficients);

} // namespace ciphermote

#endif
