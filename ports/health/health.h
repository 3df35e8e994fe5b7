/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The continuous health tests of NIST SP 800-90B (4.4) for a source of bytes. A port's health_limits.h has
 * the cutoffs for the entropy that its source must have per byte: a source with that much fails a test with
 * probability at most 2^-30 (per byte, per window), a better one practically never.
 */
#ifndef HEALTH_H
#define HEALTH_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Zero it before the first sample. */
typedef struct health {
    uint8_t last;     /* sample */
    uint8_t repeats;  /* of the last sample in a row */
    uint8_t watched;  /* the window's first sample */
    uint16_t seen;    /* samples of the window */
    uint16_t matches; /* of these, equal to the watched one */
    bool failed;      /* for good */
} health;

/* Take one sample. False if it, or an earlier one, failed a test. */
bool health_accepts(health *state, uint8_t sample);

#ifdef __cplusplus
}
#endif
#endif
