// SPDX-License-Identifier: Apache-2.0
#include "rns/memory.h"

#include <algorithm>
#include <iterator>

namespace ciphermote
{

namespace
{

constexpr std::size_t most_kept_bytes = 64u << 20;
constexpr std::size_t least_kept_bytes = 1u << 12; // the smallest polynomial; the system is good at less

// A thread's memory to be taken again. What was given back longest ago makes room for more: it may be of
// sizes that nobody asks for any longer.
class Kept
{
  public:
    ~Kept()
    {
        gone() = true;
        while (!kept_.empty()) {
            let_go_of_oldest();
        }
    }

    void *take(std::size_t bytes)
    {
        const auto found = std::find_if(kept_.rbegin(), kept_.rend(),
                                        [bytes](const Block &block) { return block.bytes == bytes; });
        if (found == kept_.rend()) {
            return nullptr;
        }
        void *memory = found->memory;
        kept_.erase(std::next(found).base());
        bytes_ -= bytes;
        return memory;
    }

    bool give(void *memory, std::size_t bytes) noexcept
    {
        if (bytes < least_kept_bytes || bytes > most_kept_bytes) {
            return false;
        }
        while (bytes_ + bytes > most_kept_bytes) {
            let_go_of_oldest();
        }
        try {
            kept_.push_back({memory, bytes});
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
        std::size_t bytes;
    };

    void let_go_of_oldest() noexcept
    {
        ::operator delete(kept_.front().memory, alignment);
        bytes_ -= kept_.front().bytes;
        kept_.erase(kept_.begin());
    }

    static bool &gone()
    {
        thread_local bool is_gone = false;
        return is_gone;
    }

    std::vector<Block> kept_; // the one given back last is at the end
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
