/* SPDX-License-Identifier: Apache-2.0 */
/* The repetition count test and the adaptive proportion test. */
#include "health.h"

#include "health_limits.h"

bool health_accepts(health *state, uint8_t sample)
{
    if (state->repeats != 0 && sample == state->last) {
        state->repeats++;
    } else {
        state->last = sample;
        state->repeats = 1;
    }
    if (state->seen == 0) {
        state->watched = sample;
        state->matches = 0;
    }
    if (sample == state->watched) {
        state->matches++;
    }
    state->seen = (uint16_t)((state->seen + 1u) % HEALTH_PROPORTION_WINDOW);
    if (state->repeats >= HEALTH_REPETITION_CUTOFF || state->matches >= HEALTH_PROPORTION_CUTOFF) {
        state->failed = true;
        state->repeats = 0; /* so that it does not wrap */
    }
    return !state->failed;
}
