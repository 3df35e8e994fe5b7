/* SPDX-License-Identifier: Apache-2.0 */
/* The fuzzed device's windows: two channels of four samples. */
#ifndef APP_MODEL_H
#define APP_MODEL_H

#define APP_CHANNELS 2
#define APP_SAMPLES 4
#define APP_FEATURES 24
#define APP_CLIP 8.0f
#define APP_LOG2_SCALE 18
static const float app_mean[APP_FEATURES] = {0.5f, -0.5f};
static const float app_inverse_deviation[APP_FEATURES] = {1.0f, 2.0f, 0.5f};

#endif
