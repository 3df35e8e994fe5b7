/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The RP2040's oscillator gives raw noise, a sample of eight bits that are neither balanced nor independent:
 * tested for 1 bit per sample, and hashed, half of that counted (generator.c).
 */
#ifndef HEALTH_LIMITS_H
#define HEALTH_LIMITS_H

#define HEALTH_REPETITION_CUTOFF 31u  /* 1 + 30 / 1 */
#define HEALTH_PROPORTION_CUTOFF 177u /* 1 + the smallest k with P(B(256, 2^-1) <= k) >= 1 - 2^-30 */
#define HEALTH_PROPORTION_WINDOW 256u

#define CONDITIONED_SAMPLES 512u /* for 32 bytes */

#endif
