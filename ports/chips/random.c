/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The random source: a chip's generator. What the chip tests by itself is generator_next's to report; here
 * every byte goes through the tests of health.c too, START_UP_BYTES are tested and discarded after each
 * start, and a failure lasts until the next start. Raw noise is hashed, CONDITIONED_SAMPLES into 32 bytes.
 * None of this is certified: seeds are also derived from the device secret (docs/security.md).
 */
#include "board.h"
#include "health.h"
#include "health_limits.h"
#ifdef CONDITIONED_SAMPLES
#include <string.h>

#include "common/wipe.h"
#include "random/xof.h"
#endif

#define START_UP_BYTES 1024u

static struct {
    health tests;
    bool started;
    bool failed; /* for good */
} source;

/* The next byte, or false if none comes in time or it fails a test. */
static bool next_byte(uint8_t *out)
{
    unsigned ticks = 0;
    (void)clock_ticked();
    generated found = generator_next(out);
    while (found == GENERATOR_WAITS && ticks < GENERATOR_PATIENCE_TICKS) {
        sleep_until_event();
        ticks += clock_ticked();
        found = generator_next(out);
    }
    return found == GENERATED && health_accepts(&source.tests, *out);
}

static bool start_up(void)
{
    uint8_t discarded = 0;
    for (unsigned i = 0; i < START_UP_BYTES; i++) {
        if (!next_byte(&discarded)) {
            return false;
        }
    }
    return true;
}

static bool next_bytes(uint8_t *out, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (!next_byte(&out[i])) {
            return false;
        }
    }
    return true;
}

#ifdef CONDITIONED_SAMPLES

#define BLOCK_BYTES 32u

static bool conditioned(uint8_t *out, size_t length)
{
    static uint8_t samples[CONDITIONED_SAMPLES];
    uint8_t block[BLOCK_BYTES];
    bool sound = true;
    for (size_t done = 0; sound && done < length; done += BLOCK_BYTES) {
        const size_t piece = length - done < BLOCK_BYTES ? length - done : BLOCK_BYTES;
        sound = next_bytes(samples, sizeof samples);
        cmi_blake2b(block, BLOCK_BYTES, NULL, 0, samples, sizeof samples);
        memcpy(out + done, block, piece);
    }
    cmi_wipe(samples, sizeof samples);
    cmi_wipe(block, sizeof block);
    return sound;
}

#else

static bool conditioned(uint8_t *out, size_t length)
{
    return next_bytes(out, length);
}

#endif

static bool fill(uint8_t *out, size_t length)
{
    source.started = source.started || start_up();
    return source.started && conditioned(out, length);
}

int random_bytes(void *context, uint8_t *out, size_t length)
{
    (void)context;
    if (source.failed) {
        return -1;
    }
    generator_start();
    source.failed = !fill(out, length);
    generator_stop();
    return source.failed ? -1 : 0;
}
