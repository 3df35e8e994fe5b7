/*
 * The continuous health tests of NIST SP 800-90B (4.4) for a source of bytes that is claimed to give at least
 * 4 bits of entropy each, half of what it nominally gives. Each test fails a source as good as that with a
 * chance of at most 2^-30 (a byte, a window); a source of uniform bytes practically never.
 */
#ifndef HEALTH_H
#define HEALTH_H

#include <stdbool.h>
#include <stdint.h>

/* Zero it before the first sample. */
typedef struct health {
    uint8_t last;     /* sample */
    uint8_t repeats;  /* of the last sample in a row */
    uint8_t watched;  /* the window's first sample */
    uint16_t seen;    /* samples of the window */
    uint16_t matches; /* of them, equal to the watched one */
    bool failed;      /* for good */
} health;

/* Take one sample in. False if it, or one before it, fails a test. */
bool health_accepts(health *state, uint8_t sample);

#endif
