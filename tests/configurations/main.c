/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the pinned vectors only: tools/test_configurations.py builds this with each combination of options. */
#include "check.h"

cm_checks cm_check_state;

void test_vectors(void);

int main(void)
{
    cm_check_state.topic = "vectors";
    test_vectors();
    return cm_check_summary();
}
