// SPDX-License-Identifier: Apache-2.0
// A context's coprocessor, and what is loaded on it.
#ifndef CM_HOST_COPROCESSOR_OFFLOAD_H
#define CM_HOST_COPROCESSOR_OFFLOAD_H

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "ciphermote/coprocessor.h"
#include "coprocessor/circuits.h"
#include "coprocessor/schedule.h"
#include "rns/lock.h"

namespace ciphermote
{

namespace coprocessor
{

// A key of key switching. At data primes it is times 1/P.
struct Key {
    std::uint64_t number; // no other key of the process has it
    // Writes the residues of a polynomial.
    std::function<void(unsigned digit, unsigned component, unsigned modulus, std::uint32_t *residues)>
        polynomial;
};

class Offload
{
  public:
    // Where one call's operands are, and its result.
    struct Call {
        std::function<const std::uint32_t *(const Polynomial &)> operand;
        std::function<std::uint32_t *(const Polynomial &)> result;
    };

    // Error if the coprocessor has another degree.
    Offload(const Tables &t, std::unique_ptr<Coprocessor> coprocessor);

    // False, and nothing done, if the machine cannot hold the operation. key: null if it uses none. Several
    // calls overlap.
    bool run(const Tables &t, const Operation &operation, const Key *key, std::span<const Call> calls);
    bool holds(const Tables &t, const Operation &operation);
    CoprocessorUse use() const;

  private:
    struct Loaded {
        Schedule schedule;
        std::size_t words;
        std::optional<unsigned> address; // of the program; none: it is not on the coprocessor now
    };
    struct Prepared {
        Circuit circuit;
        bool fits;
        // By turn, and by where the key is; null: the machine cannot hold it.
        std::map<std::pair<Turn, unsigned>, std::unique_ptr<Loaded>> programs;
    };
    // Slots for a key, and the one that is there.
    struct KeyPlace {
        std::optional<std::uint64_t> number;
        std::uint64_t used = 0; // when, as the count of uses goes
    };

    Prepared &prepared(const Tables &t, const Operation &operation);
    Loaded *program(Prepared &prepared, Turn turn, unsigned key_place);
    // Whether both, which may be one, are on the coprocessor at once; then they are.
    bool load(Loaded *first, Loaded *second);
    void load(Loaded &loaded);
    void forget_programs();
    unsigned place_of(const Tables &t, const Key &key);
    void load_key(const Tables &t, const Key &key, unsigned first);
    unsigned first_slot(unsigned key_place) const;

    std::unique_ptr<Coprocessor> coprocessor_;
    Machine machine_;
    mutable Lock lock_;
    std::map<Operation, Prepared> prepared_;
    unsigned program_words_ = 0, weights_ = 0; // that are loaded
    unsigned slots_b_, key_polynomials_;
    std::vector<KeyPlace> keys_;
    std::uint64_t key_uses_ = 0;
    CoprocessorUse use_;
};

} // namespace coprocessor
} // namespace ciphermote

#endif
