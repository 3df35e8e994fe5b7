// SPDX-License-Identifier: Apache-2.0
// Arrays of words aligned to 64 bytes, as the back-ends want them.
#ifndef CM_HOST_RNS_MEMORY_H
#define CM_HOST_RNS_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace ciphermote
{

constexpr std::align_val_t alignment{64};

/*
 * Memory that a thread gave back is taken again: fresh pages from the system cost more than a sum of two
 * ciphertexts. A thread keeps 64 MiB at most.
 */
void *take_memory(std::size_t bytes);
void give_memory(void *memory, std::size_t bytes) noexcept;

template <class T> struct aligned_allocator {
    using value_type = T;

    aligned_allocator() = default;
    template <class U> aligned_allocator(const aligned_allocator<U> &)
    {
    }
    T *allocate(std::size_t count)
    {
        return static_cast<T *>(take_memory(count * sizeof(T)));
    }
    void deallocate(T *p, std::size_t count) noexcept
    {
        give_memory(p, count * sizeof(T));
    }
    // Elements begin without a value: what is allocated is written before it is read.
    template <class U> void construct(U *p)
    {
        ::new (static_cast<void *>(p)) U;
    }
    template <class U, class... A> void construct(U *p, A &&...a)
    {
        ::new (static_cast<void *>(p)) U(static_cast<A &&>(a)...);
    }
    friend bool operator==(const aligned_allocator &, const aligned_allocator &)
    {
        return true;
    }
};

// Memory that goes back to the system at once: of keys, which are large and come seldom.
struct key_allocator : aligned_allocator<std::uint32_t> {
    template <class U> struct rebind {
        using other = key_allocator;
    };
    std::uint32_t *allocate(std::size_t count)
    {
        return static_cast<std::uint32_t *>(::operator new(count * sizeof(std::uint32_t), alignment));
    }
    void deallocate(std::uint32_t *p, std::size_t) noexcept
    {
        ::operator delete(p, alignment);
    }
};

using words = std::vector<std::uint32_t, aligned_allocator<std::uint32_t>>;
using key_words = std::vector<std::uint32_t, key_allocator>;
using signed_words = std::vector<std::int32_t, aligned_allocator<std::int32_t>>;

} // namespace ciphermote

#endif
