/* SPDX-License-Identifier: Apache-2.0 */
/* The device's counter, its random draws and the derivation of seeds. Fails closed: no counter, no seed. */
#include "ciphermote/device.h"

#include <string.h>

#include "common/bytes.h"
#include "common/compiler.h"
#include "common/declassify.h"
#include "common/wipe.h"
#include "random/sample.h"
#include "random/xof.h"
#include "scheme/seeds.h"

#define DRAW_BYTES 32

static void keyed_block(uint8_t out[CM_CHACHA20_BLOCK_BYTES], const uint8_t key[32], enum cmi_label label,
                        uint64_t position)
{
    const uint32_t nonce[3] = {(uint32_t)label, (uint32_t)(position >> 32), 0};
    cmi_chacha20_block(out, key, nonce, (uint32_t)position);
}

void cmi_seeds_derive(const uint8_t secret[CM_DEVICE_SECRET_BYTES], const uint8_t randomness[DRAW_BYTES],
                      uint64_t counter, cmi_seeds *seeds)
{
    keyed_block(seeds->block, secret, CM_LABEL_DERIVE, counter);
    for (unsigned i = 0; i < sizeof seeds->key; i++) {
        seeds->key[i] = (uint8_t)(seeds->block[i] ^ randomness[i]);
    }
    seeds->counter = counter;
    keyed_block(seeds->block, seeds->key, CM_LABEL_PUBLIC_SEED, 0);
    memcpy(seeds->public_seed, seeds->block, sizeof seeds->public_seed);
    keyed_block(seeds->block, seeds->key, CM_LABEL_SECRET_SEED, 0);
    memcpy(seeds->secret_seed, seeds->block, sizeof seeds->secret_seed);
    cmi_wipe(seeds->block, sizeof seeds->block);
    cmi_wipe(seeds->key, sizeof seeds->key);
}

/* Nonzero if two byte strings differ, in time that does not depend on where. */
static uint8_t difference_of(const uint8_t *a, const uint8_t *b, size_t length)
{
    uint8_t difference = 0;
    for (size_t i = 0; i < length; i++) {
        difference |= (uint8_t)(a[i] ^ b[i]);
    }
    return difference;
}

/*
 * A stuck source repeats a byte or a half within one draw, or a whole draw; by chance, each happens with
 * probability below 2^-119.
 */
static cm_status draw_randomness(cm_device *device, uint8_t randomness[DRAW_BYTES],
                                 uint8_t image[CM_CHACHA20_BLOCK_BYTES])
{
    memset(randomness, 0, DRAW_BYTES);
    if (device->counter.platform.random(device->counter.platform.context, randomness, DRAW_BYTES) != 0) {
        return CM_ERR_RANDOM;
    }
    keyed_block(image, randomness, CM_LABEL_DRAW_CHECK, 0);
    const bool same_bytes = difference_of(randomness, randomness + 1, DRAW_BYTES - 1u) == 0;
    const bool same_halves = difference_of(randomness, randomness + DRAW_BYTES / 2, DRAW_BYTES / 2) == 0;
    const bool same_draw = difference_of(image, device->last_draw, sizeof device->last_draw) == 0;
    /* The call's status reveals whether a draw was refused, but not why. */
    const bool refused = cmi_declassified(same_bytes | same_halves | (same_draw & device->drawn));
    memcpy(device->last_draw, image, sizeof device->last_draw);
    device->drawn = true;
    cmi_wipe(image, CM_CHACHA20_BLOCK_BYTES);
    return refused ? CM_ERR_RANDOM : CM_OK;
}

static inline bool same_counters(const uint64_t *a, const uint64_t *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

/* False if that is past the last one. */
static bool advance_counter(uint64_t *counter, uint32_t by)
{
    uint32_t words[2];
    cmi_split64(words, counter);
    words[0] += by;
    words[1] += words[0] < by;
    cmi_join64(counter, words);
    return words[1] != 0 || words[0] >= by;
}

/* The reservation is stored, and read back, before its first counter is used. */
CM_NOINLINE cm_status cmi_counter_take(cm_counter *counter)
{
    const cm_platform *const platform = &counter->platform;
    if (same_counters(&counter->next, &counter->reserved)) {
        uint64_t target;
        memcpy(&target, &counter->reserved, sizeof target);
        if (!advance_counter(&target, CM_CONFIG_COUNTER_RESERVE) ||
            platform->counter_write(platform->context, target) != 0 ||
            platform->counter_read(platform->context, &counter->reserved) != 0 ||
            !same_counters(&counter->reserved, &target)) {
            memcpy(&counter->reserved, &counter->next, sizeof counter->next);
            return CM_ERR_COUNTER;
        }
    }
    (void)advance_counter(&counter->next, 1);
    return CM_OK;
}

cm_status cmi_seeds_draw(cm_device *device, cmi_seeds *seeds)
{
    if (!device || !device->ready) {
        return CM_ERR_ARGUMENT;
    }
    uint8_t randomness[DRAW_BYTES];
    const uint64_t counter = device->counter.next;
    cm_status status = draw_randomness(device, randomness, seeds->block);
    if (status == CM_OK) {
        status = cmi_counter_take(&device->counter);
    }
    if (status == CM_OK) {
        cmi_seeds_derive(device->secret, randomness, counter, seeds);
    }
    cmi_wipe(randomness, sizeof randomness);
    return status;
}

/* All bytes alike: zeros, or the ones of erased flash. */
CM_NOINLINE static bool never_filled_in(const uint8_t *secret)
{
    uint8_t any = 0;
    for (unsigned i = 1; i < CM_DEVICE_SECRET_BYTES; i++) {
        any |= secret[i] ^ secret[0];
    }
    /* The status reveals whether it is one of the few secrets that are refused. */
    return cmi_declassified(any == 0);
}

cm_status cm_counter_init(cm_counter *counter, const cm_platform *platform)
{
    if (!counter) {
        return CM_ERR_ARGUMENT;
    }
    memset(counter, 0, sizeof *counter);
    if (!platform || !platform->counter_read || !platform->counter_write) {
        return CM_ERR_ARGUMENT;
    }
    if (platform->counter_read(platform->context, &counter->next) != 0) {
        return CM_ERR_COUNTER;
    }
    counter->platform = *platform;
    memcpy(&counter->reserved, &counter->next, sizeof counter->next);
    return CM_OK;
}

cm_status cm_device_init(cm_device *device, const uint8_t secret[CM_DEVICE_SECRET_BYTES],
                         const cm_platform *platform)
{
    if (!device) {
        return CM_ERR_ARGUMENT;
    }
    memset(device, 0, sizeof *device);
    if (!secret || !platform || !platform->random) {
        return CM_ERR_ARGUMENT;
    }
    const bool refused = never_filled_in(secret);
    cmi_wipe_stack();
    if (refused) {
        return CM_ERR_ARGUMENT;
    }
    const cm_status status = cm_counter_init(&device->counter, platform);
    if (status != CM_OK) {
        return status;
    }
    memcpy(device->secret, secret, CM_DEVICE_SECRET_BYTES);
    device->ready = true;
    return CM_OK;
}

void cm_device_wipe(cm_device *device)
{
    if (device) {
        cmi_wipe(device, sizeof *device);
    }
}
