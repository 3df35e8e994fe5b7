/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a window of sensor samples to the numbers that are encrypted. Floating point, but neither a branch nor
 * an address depends on a sample.
 */
#ifndef APP_WINDOW_FEATURES_H
#define APP_WINDOW_FEATURES_H

#include <stdint.h>

#include "ciphermote/status.h"

/* A standardisation: feature f becomes (f - mean) * inverse_deviation, clipped to -clip .. clip. */
typedef struct standardisation {
    const float *mean;              /* 3 * channels * samples */
    const float *inverse_deviation; /* as many */
    float clip;                     /* positive and finite */
} standardisation;

#define FEATURES_OF(channels, samples) (3u * (uint32_t)(channels) * (uint32_t)(samples))

/*
 * Turn channels * samples float32 values x[channel][t] at data into 3 * channels * samples features in the
 * same place: first all x, then all |x|, then all |x[t] - x[t-1]| (0 at t = 0), each block in the window's
 * order, and all standardised. data needs no alignment. CM_ERR_NOT_FINITE if a sample is NaN or infinite;
 * data is then zeroed over the length of the features.
 */
CM_MUST_CHECK cm_status features_compute(uint8_t *data, uint32_t channels, uint32_t samples,
                                         const standardisation *rule);

#endif
