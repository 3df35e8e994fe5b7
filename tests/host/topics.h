// SPDX-License-Identifier: Apache-2.0
// The tests, at one degree.
#ifndef CM_TESTS_HOST_TOPICS_H
#define CM_TESTS_HOST_TOPICS_H

#include <algorithm>
#include <string>

#include "arch/kernels.h"
#include "check.h"

// Checks that name what they compare: the behaviour is the name.
template <class Words>
bool check_same(const Words &found, const Words &expected, const std::string &what, unsigned log2_n,
                const char *isa)
{
    const std::string behaviour = what + " at n = 2^" + std::to_string(log2_n) + ": " + isa + " as portable";
    BEHAVIOUR(behaviour.c_str());
    const bool same = CHECK(std::equal(found.begin(), found.end(), expected.begin(), expected.end()));
    BEHAVIOUR("(no behaviour named)");
    return same;
}

namespace ciphermote::arch
{
extern const kernels sixteen_lanes;
} // namespace ciphermote::arch

void test_kernels(unsigned log2_n);
void test_operations(unsigned log2_n);

#endif
