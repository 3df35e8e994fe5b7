// SPDX-License-Identifier: Apache-2.0
/*
 * Compares the back-ends of this machine with portable C++, bit for bit. The first line names them, the last
 * one says "N passed, N failed"; the exit code is nonzero if a check failed. Lines between them are digests
 * of what whole operations give, to be compared with vectors/evaluator.json:
 *
 *     digest n<n> <operation> <BLAKE2b-256>
 */
#include "topics.h"

#include <cstdio>

#include "arch/kernels.h"

cm_checks cm_check_state;

int main()
{
    std::printf("back-ends:");
    for (const ciphermote::arch::kernels *kernels : ciphermote::arch::usable_kernels()) {
        std::printf(" %s", kernels->name);
    }
    std::printf("\n");
    for (unsigned log2_n = 10; log2_n <= 15; log2_n++) {
        cm_check_state.topic = "kernels";
        test_kernels(log2_n);
        cm_check_state.topic = "operations";
        test_operations(log2_n);
    }
    return cm_check_summary();
}
