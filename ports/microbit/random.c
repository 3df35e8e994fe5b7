/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The random source: the nRF51's generator, thermal noise with bias correction on, about 0.7 ms per byte.
 * Nordic documents such generators as suitable for cryptography, without health tests of their own. So every
 * byte goes through the tests of health.c, 1024 bytes are tested and discarded after each start, and a
 * failure lasts until the next start. None of this is certified: seeds are also derived from the device
 * secret (docs/security.md).
 */
#include "board.h"
#include "health.h"
#include "nrf51.h"

#define START_UP_BYTES 1024u
#define PATIENCE_TICKS 10u /* 100 ms; the slowest byte takes a few */

static struct {
    health tests;
    bool started;
} source;

/* The next byte, or false if none comes in time or it fails a test. */
static bool next_byte(uint8_t *out)
{
    unsigned ticks = 0;
    (void)clock_ticked();
    while (!RNG_READY) {
        if (ticks == PATIENCE_TICKS) {
            return false;
        }
        sleep_until_event();
        ticks += clock_ticked();
    }
    RNG_READY = 0; /* before the byte is taken, so that no byte is taken twice */
    *out = (uint8_t)RNG_VALUE;
    return health_accepts(&source.tests, *out);
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

static bool fill(uint8_t *out, size_t length)
{
    if (!source.started && !start_up()) {
        return false;
    }
    source.started = true;
    for (size_t i = 0; i < length; i++) {
        if (!next_byte(&out[i])) {
            return false;
        }
    }
    return true;
}

int random_bytes(void *context, uint8_t *out, size_t length)
{
    (void)context;
    RNG_CONFIG = RNG_BIAS_CORRECTION;
    RNG_INTERRUPTS_ON = RNG_INTERRUPT_READY;
    RNG_READY = 0;
    RNG_START = 1;
    const bool filled = fill(out, length);
    RNG_STOP = 1;
    RNG_READY = 0;
    return filled ? 0 : -1;
}
