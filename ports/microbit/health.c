/* The repetition count test and the adaptive proportion test. Cutoffs hold for 4 bits a sample. */
#include "health.h"

#define REPETITION_CUTOFF 9u  /* 1 + ceil(30 / 4) */
#define PROPORTION_CUTOFF 71u /* 1 + the smallest k with P(B(512, 2^-4) <= k) >= 1 - 2^-30 */
#define PROPORTION_WINDOW 512u

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
    state->seen = (uint16_t)((state->seen + 1u) % PROPORTION_WINDOW);
    if (state->repeats >= REPETITION_CUTOFF || state->matches >= PROPORTION_CUTOFF) {
        state->failed = true;
        state->repeats = 0; /* so that it does not wrap */
    }
    return !state->failed;
}
