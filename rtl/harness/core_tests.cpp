/* SPDX-License-Identifier: Apache-2.0 */
// The C tests, those of the pinned ciphertexts among them, with the accelerator in the library's back-end.
// argv[1]: one in this many packets is lost or corrupted, which must change nothing but the time; 0 for none.
// The program fails if the accelerator was not used.
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "verilated_bus.h"

extern "C" int core_tests_main(void);

namespace
{

std::unique_ptr<verilated_bus> bus;
unsigned opened_again = 0;

} // namespace

cm_accelerator *cm_accelerator_for(unsigned log2_n, uint32_t)
{
    if (log2_n != LOG2_N) {
        return nullptr;
    }
    if (bus->accelerator()->log2_n == 0) {
        opened_again++;
        bus->open();
    }
    return bus->accelerator();
}

int main(int argc, char **argv)
{
    bus = std::make_unique<verilated_bus>(LOG2_N);
    bus->fails_every = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0;
    const int status = core_tests_main();
    const auto &costs = bus->costs;
    std::printf(
        "accelerator: %llu forward, %llu inverse, %llu double products, opened again %u times, %llu cycles\n",
        static_cast<unsigned long long>(costs[CM_NTT_CODE_FORWARD].commands),
        static_cast<unsigned long long>(costs[CM_NTT_CODE_INVERSE].commands),
        static_cast<unsigned long long>(costs[CM_NTT_CODE_DOUBLE_PRODUCT].commands), opened_again,
        static_cast<unsigned long long>(bus->hardware.cycle));
    for (const uint32_t code : {CM_NTT_CODE_FORWARD, CM_NTT_CODE_INVERSE, CM_NTT_CODE_DOUBLE_PRODUCT}) {
        if (costs[code].commands == 0) {
            std::puts("the accelerator took no part");
            return 1;
        }
    }
    return bus->fails_every != 0 && opened_again == 0 ? 1 : status;
}
