// SPDX-License-Identifier: Apache-2.0
#include "rns/memory.h"

#include <algorithm>
#include <map>

namespace ciphermote
{

namespace
{

constexpr std::size_t most_kept_bytes = 64u << 20;
constexpr std::size_t least_kept_bytes = 1u << 14; // the system's allocator is good at less

// A thread's memory to be taken again, by size. What was given back longest ago makes room for more: it may
// be of sizes that nobody asks for any longer.
class Kept
{
  public:
    ~Kept()
    {
        gone() = true;
        while (!kept_.empty()) {
            let_go(kept_.begin());
        }
    }

    void *take(std::size_t bytes)
    {
        const auto found = kept_.find(bytes);
        if (found == kept_.end()) {
            return nullptr;
        }
        void *memory = found->second.memory;
        kept_.erase(found);
        bytes_ -= bytes;
        return memory;
    }

    bool give(void *memory, std::size_t bytes) noexcept
    {
        if (bytes < least_kept_bytes || bytes > most_kept_bytes) {
            return false;
        }
        while (bytes_ + bytes > most_kept_bytes) {
            let_go(std::min_element(kept_.begin(), kept_.end(), [](const auto &a, const auto &b) {
                return a.second.given < b.second.given;
            }));
        }
        try {
            kept_.emplace(bytes, Block{memory, given_++});
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
    struct Block {
        void *memory;
        std::uint64_t given; // when, in blocks
    };
    using Blocks = std::multimap<std::size_t, Block>;

    void let_go(Blocks::iterator block) noexcept
    {
        ::operator delete(block->second.memory, alignment);
        bytes_ -= block->first;
        kept_.erase(block);
    }

    static bool &gone()
    {
        thread_local bool is_gone = false;
        return is_gone;
    }

    Blocks kept_;
    std::size_t bytes_ = 0;
    std::uint64_t given_ = 0;
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
