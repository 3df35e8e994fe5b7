// SPDX-License-Identifier: Apache-2.0
// A context's device, and what is loaded on it.
#ifndef CM_HOST_DEVICE_OFFLOAD_H
#define CM_HOST_DEVICE_OFFLOAD_H

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "ciphermote/machine.h"
#include "device/circuits.h"
#include "device/schedule.h"

namespace ciphermote
{

struct SwitchingKey;

namespace device
{

class Offload
{
  public:
    // Where one call's operands are, and its result.
    struct Call {
        std::function<const std::uint32_t *(const Polynomial &)> operand;
        std::function<std::uint32_t *(const Polynomial &)> result;
    };

    // Error if the device has another degree.
    Offload(const Tables &t, std::unique_ptr<Device> device);

    // False, and nothing done, if the machine cannot hold the operation. key: null if it uses none. Several
    // calls overlap.
    bool run(const Tables &t, const Operation &operation, const SwitchingKey *key, std::span<const Call> calls);
    bool holds(const Tables &t, const Operation &operation);
    DeviceUse use() const;

  private:
    struct Loaded {
        Schedule schedule;
        std::optional<unsigned> address; // of the program; none: it is not on the device now
    };
    struct Prepared {
        Circuit circuit;
        std::map<Turn, Loaded> turns; // those that the machine can hold
    };

    Prepared &prepared(const Tables &t, const Operation &operation);
    std::optional<Schedule> scheduled(const Tables &t, const Operation &operation, const Circuit &circuit,
                                      Turn turn) const;
    unsigned address(Loaded &loaded);
    void forget_programs();
    void load_key(const Tables &t, const SwitchingKey &key);
    unsigned key_polynomials(const Tables &t) const;

    std::unique_ptr<Device> device_;
    Machine machine_;
    mutable std::mutex mutex_;
    std::map<Operation, Prepared> prepared_;
    unsigned program_words_ = 0, weights_ = 0; // that are loaded
    std::optional<std::uint64_t> key_;         // the one that is loaded, by number
    DeviceUse use_;
};

} // namespace device
} // namespace ciphermote

#endif
