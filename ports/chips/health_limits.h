/* SPDX-License-Identifier: Apache-2.0 */
/* Chips' generators are tested for 4 bits per byte, half of what they nominally give. */
#ifndef HEALTH_LIMITS_H
#define HEALTH_LIMITS_H

#define HEALTH_REPETITION_CUTOFF 9u  /* 1 + ceil(30 / 4) */
#define HEALTH_PROPORTION_CUTOFF 71u /* 1 + the smallest k with P(B(512, 2^-4) <= k) >= 1 - 2^-30 */
#define HEALTH_PROPORTION_WINDOW 512u

#endif
