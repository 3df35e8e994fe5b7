/* SPDX-License-Identifier: Apache-2.0 */
/* A platform for tests: a deterministic random source and a counter in memory, each of which can be made to
   fail. */
#ifndef CM_TESTS_PLATFORM_H
#define CM_TESTS_PLATFORM_H

#include <string.h>

#include "ciphermote/device.h"

typedef enum test_random_mode {
    RANDOM_GOOD,
    RANDOM_FAILS,
    RANDOM_ZERO,
    RANDOM_STUCK_BYTE,
    RANDOM_EQUAL_HALVES,
    RANDOM_REPEATS
} test_random_mode;

typedef struct test_platform {
    test_random_mode mode;
    uint32_t state;
    uint64_t stored; /* the persistent counter */
    bool write_fails;
    bool write_is_lost; /* reports success, stores nothing */
    bool read_fails;
} test_platform;

static inline int test_random_bytes(void *context, uint8_t *out, size_t length)
{
    test_platform *self = (test_platform *)context;
    if (self->mode == RANDOM_FAILS) {
        return -1;
    }
    if (self->mode == RANDOM_REPEATS) {
        self->state = 1;
    }
    for (size_t i = 0; i < length; i++) {
        self->state = self->state * 1664525u + 1013904223u;
        out[i] = (uint8_t)(self->state >> 24);
        if (self->mode == RANDOM_ZERO || self->mode == RANDOM_STUCK_BYTE) {
            out[i] = self->mode == RANDOM_ZERO ? 0 : 0xA5;
        } else if (self->mode == RANDOM_EQUAL_HALVES && i >= length / 2) {
            out[i] = out[i - length / 2];
        }
    }
    return 0;
}

static inline int test_counter_read(void *context, uint64_t *value)
{
    const test_platform *self = (const test_platform *)context;
    *value = self->stored;
    return self->read_fails ? -1 : 0;
}

static inline int test_counter_write(void *context, uint64_t value)
{
    test_platform *self = (test_platform *)context;
    if (self->write_fails) {
        return -1;
    }
    if (!self->write_is_lost) {
        self->stored = value;
    }
    return 0;
}

/* A device with the secret 1, 2, 3 .. on this platform. */
static inline cm_status test_device_start(cm_device *device, test_platform *self)
{
    uint8_t secret[CM_DEVICE_SECRET_BYTES];
    cm_platform platform;
    for (unsigned i = 0; i < sizeof secret; i++) {
        secret[i] = (uint8_t)(i + 1);
    }
    platform.random = test_random_bytes;
    platform.counter_read = test_counter_read;
    platform.counter_write = test_counter_write;
    platform.context = self;
    return cm_device_init(device, secret, &platform);
}

#endif
