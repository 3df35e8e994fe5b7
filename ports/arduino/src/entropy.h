/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The board's random source: 128 bits from the watchdog's noise (watchdog.h) at each start, and a generator
 * seeded with them that forgets what it has returned.
 *
 * Entropy. A sample is the difference of two successive periods of the watchdog, of 16 ms each, modulo 256.
 * Half a bit of min-entropy is assumed for each of 256: half of what the well-known Arduino library of this
 * kind assumes of periods that it counts eight times as coarsely. The samples must pass the tests of SP
 * 800-90B (4.4), and neither any of the previous 16 nor 0 may predict them, with cutoffs for a whole bit per
 * sample. So a watchdog without jitter is refused; one with less than is assumed may pass, because 256
 * samples prove nothing. docs/security.md says what is promised, and how to measure a board.
 *
 * Generator. Salt and periods go through ChaCha20, one after the other, as cmi_seeds_derive mixes randomness
 * in. A draw is the key; once it is used, the key goes through ChaCha20 again, which cannot be undone.
 */
#ifndef CM_ENTROPY_H
#define CM_ENTROPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "health.h"
#include "salt.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CM_ENTROPY_SAMPLES 256
#define CM_ENTROPY_LAGS 16

/* 128 bits, and 64 more so that chance collisions of states do not matter. Zero: not seeded. */
#define CM_GENERATOR_KEY_BYTES 24
typedef struct cm_generator {
    uint8_t key[CM_GENERATOR_KEY_BYTES];
} cm_generator;

/* Idle memory for a call to work in; wiped. */
typedef struct cm_entropy_work {
    uint8_t block[64];
    health standard;
    uint8_t guesses[CM_ENTROPY_LAGS + 1]; /* the previous samples, newest first; and 0, for no change */
    uint8_t hits[CM_ENTROPY_LAGS + 1];
} cm_entropy_work;

/*
 * Gather entropy, for about 4 seconds with interrupts off, and seed the generator with it and the salt. False
 * if there is none: draws then fail.
 */
bool cm_generator_seed(cm_generator *generator, const uint8_t salt[CM_SALT_BYTES], cm_entropy_work *work);

/* Mix in more bytes, random or not. No effect before it is seeded. */
void cm_generator_stir(cm_generator *generator, const uint8_t *bytes, size_t length, cm_entropy_work *work);

/* CM_GENERATOR_KEY_BYTES random bytes, then zeros. Nonzero if it was not seeded, or fewer are asked for. */
int cm_generator_draw(const cm_generator *generator, uint8_t *out, size_t length);

/* Forget what was drawn: the next draw is different. */
void cm_generator_forget(cm_generator *generator, cm_entropy_work *work);

#ifdef __cplusplus
}
#endif
#endif
