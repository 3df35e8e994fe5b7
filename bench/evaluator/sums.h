// SPDX-License-Identifier: Apache-2.0
// Sums of a thousand symmetric ciphertexts.
#ifndef CM_BENCH_EVALUATOR_SUMS_H
#define CM_BENCH_EVALUATOR_SUMS_H

#include <string>
#include <vector>

void compare_sums(double seconds, const std::vector<std::string> &isas);

#endif
