/* SPDX-License-Identifier: Apache-2.0 */
/* Noise, its tests, and the generator: entropy.h says what is assumed. */
#include "entropy.h"

#include <string.h>

#include "common/wipe.h"
#include "health_limits.h"
#include "random/xof.h"
#include "watchdog.h"

#define HIT_CUTOFF HEALTH_PROPORTION_CUTOFF /* a guess's hits are counted over as many samples */

/* ---- the generator's key ---- */

/* key = the start of the ChaCha20 block under key xor bytes: at most CM_GENERATOR_KEY_BYTES at once. */
static void mix(cm_generator *generator, const uint8_t *bytes, size_t length, cm_entropy_work *work)
{
    const uint32_t nonce[3] = {0, 0, 0};
    memset(work->block, 0, sizeof work->block);
    memcpy(work->block, generator->key, sizeof generator->key);
    for (size_t i = 0; i < length; i++) {
        work->block[i] ^= bytes[i];
    }
    cmi_chacha20_block(work->block, work->block, nonce, 0); /* it reads the key before it writes */
    memcpy(generator->key, work->block, sizeof generator->key);
}

static bool seeded(const cm_generator *generator)
{
    uint8_t any = 0;
    for (uint8_t i = 0; i < sizeof generator->key; i++) {
        any |= generator->key[i];
    }
    return any != 0;
}

void cm_generator_stir(cm_generator *generator, const uint8_t *bytes, size_t length, cm_entropy_work *work)
{
    if (!seeded(generator)) {
        return;
    }
    while (length > 0) {
        const size_t piece = length < CM_GENERATOR_KEY_BYTES ? length : CM_GENERATOR_KEY_BYTES;
        mix(generator, bytes, piece, work);
        bytes += piece;
        length -= piece;
    }
    cmi_wipe(work, sizeof *work);
    cmi_wipe_stack();
}

int cm_generator_draw(const cm_generator *generator, uint8_t *out, size_t length)
{
    memset(out, 0, length);
    if (!seeded(generator) || length < sizeof generator->key) {
        return 1;
    }
    memcpy(out, generator->key, sizeof generator->key);
    return 0;
}

void cm_generator_forget(cm_generator *generator, cm_entropy_work *work)
{
    if (seeded(generator)) {
        mix(generator, generator->key, 0, work);
    }
    cmi_wipe(work, sizeof *work);
    cmi_wipe_stack();
}

/* ---- noise ---- */

/*
 * Whether no guess predicts the samples. Without jitter some guess does, because counts then repeat in
 * cycles.
 */
static bool guesses_accept(cm_entropy_work *work, uint8_t sample)
{
    bool accepted = true;
    for (uint8_t i = 0; i < sizeof work->guesses; i++) {
        const uint8_t difference = work->guesses[i] ^ sample;
        work->hits[i] += (uint8_t)((uint16_t)(difference - 1) >> 15);
        accepted &= work->hits[i] < HIT_CUTOFF;
    }
    memmove(work->guesses + 1, work->guesses, CM_ENTROPY_LAGS - 1); /* the last entry stays 0 */
    work->guesses[0] = sample;
    return accepted;
}

static bool sample_accepted(cm_entropy_work *work, uint8_t sample)
{
    const bool standard = health_accepts(&work->standard, sample);
    return guesses_accept(work, sample) && standard;
}

/* Mix in the periods of a start. False if one does not end, or a difference fails a test. */
static bool gather(cm_generator *generator, cm_entropy_work *work)
{
    uint16_t before = cm_watchdog_next();
    bool sound = before != 0;
    for (uint16_t i = 0; sound && i < CM_ENTROPY_SAMPLES; i++) {
        const uint16_t period = cm_watchdog_next();
        const uint8_t bytes[2] = {(uint8_t)period, (uint8_t)(period >> 8)};
        sound = period != 0 && sample_accepted(work, (uint8_t)(period - before));
        mix(generator, bytes, sizeof bytes, work);
        before = period;
    }
    return sound;
}

bool cm_generator_seed(cm_generator *generator, const uint8_t salt[CM_SALT_BYTES], cm_entropy_work *work)
{
    cm_watchdog found;
    memset(generator, 0, sizeof *generator);
    memset(work, 0, sizeof *work);
    mix(generator, salt, CM_SALT_BYTES, work);
    const bool sound = cm_watchdog_start(&found) && gather(generator, work);
    cm_watchdog_stop(&found);
    if (!sound) {
        cmi_wipe(generator, sizeof *generator);
    }
    cmi_wipe(work, sizeof *work);
    cmi_wipe_stack();
    return sound;
}
