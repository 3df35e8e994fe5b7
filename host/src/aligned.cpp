// SPDX-License-Identifier: Apache-2.0
#include "aligned.h"

#include <map>

namespace ciphermote
{

namespace
{

constexpr std::align_val_t alignment{64};
constexpr std::size_t most_kept_bytes = 64u << 20;
constexpr std::size_t least_kept_bytes = 1u << 14; // the system's allocator is good at less

// A thread's memory to be taken again, by size.
class Kept
{
  public:
    ~Kept()
    {
        gone() = true;
        for (const auto &[bytes, memory] : kept_) {
            ::operator delete(memory, alignment);
        }
    }

    void *take(std::size_t bytes)
    {
        const auto found = kept_.find(bytes);
        if (found == kept_.end()) {
            return nullptr;
        }
        void *memory = found->second;
        kept_.erase(found);
        bytes_ -= bytes;
        return memory;
    }

    bool give(void *memory, std::size_t bytes) noexcept
    {
        if (bytes < least_kept_bytes || bytes_ + bytes > most_kept_bytes) {
            return false;
        }
        try {
            kept_.emplace(bytes, memory);
        } catch (const std::bad_alloc &) {
            return false;
        }
        bytes_ += bytes;
        return true;
    }

    // Null once the thread ends: other objects of its own may be destroyed later.
    static Kept *of_thread()
    {
        thread_local Kept own;
        return gone() ? nullptr : &own;
    }

  private:
    static bool &gone()
    {
        thread_local bool is_gone = false;
        return is_gone;
    }

    std::multimap<std::size_t, void *> kept_;
    std::size_t bytes_ = 0;
};

} // namespace

void *take_memory(std::size_t bytes)
{
    Kept *kept = Kept::of_thread();
    void *memory = kept ? kept->take(bytes) : nullptr;
    return memory ? memory : ::operator new(bytes, alignment);
}

void give_memory(void *memory, std::size_t bytes) noexcept
{
    Kept *kept = Kept::of_thread();
    if (!kept || !kept->give(memory, bytes)) {
        ::operator delete(memory, alignment);
    }
}

} // namespace ciphermote
