/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device: where seeds come from, and what keeps them from ever repeating.
 *
 * Each ciphertext takes a new 64-bit counter value and 32 fresh random bytes. Its public seed (sent in place
 * of the second half of a symmetric ciphertext) and its secret seed (for the noise, and for u of an
 * asymmetric ciphertext) are derived separately from device secret, counter and randomness:
 *     k    = ChaCha20 block (key = device secret, position = label "derive" and the counter)
 *     seed = ChaCha20 block (key = k xor randomness, position = label "public seed" or "secret seed")
 * The secret seed is unknown as long as either the device secret or the randomness is. Two counters never
 * give the same public seed, even if the random source repeats. docs/security.md has the argument.
 */
#ifndef CIPHERMOTE_DEVICE_H
#define CIPHERMOTE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ciphermote/config.h"
#include "ciphermote/status.h"

#ifdef __cplusplus
extern "C" {
#endif

CM_REFUSE_PACKING(device);

#define CM_DEVICE_SECRET_BYTES 32

/* What the platform provides. Each callback returns 0 on success and anything else on failure; context is
   passed to each. */
typedef struct cm_platform {
    /* Fill out[0 .. length - 1] from a cryptographic random source. */
    int (*random)(void *context, uint8_t *out, size_t length);
    /* Read the persistent counter; 0 on a new device. A counter that cannot be read is a failure, not 0. */
    int (*counter_read)(void *context, uint64_t *value);
    /* Store the persistent counter; return success only once it would survive a power cut. */
    int (*counter_write)(void *context, uint64_t value);
    void *context;
} cm_platform;

/*
 * The counter, and what the platform provides. A device has one, whatever it encrypts: one thread of one
 * process may use it. Treat as opaque.
 */
typedef struct cm_counter {
    cm_platform platform;
    uint64_t next;     /* the next one to use */
    uint64_t reserved; /* counters below this one are reserved in persistent storage */
} cm_counter;

/*
 * Start from the platform, which is copied; reads the persistent counter. cm_device_init does the same for
 * the counter in a cm_device. random may be null for a counter of its own (compact.h). CM_ERR_ARGUMENT for
 * null pointers, CM_ERR_COUNTER if the counter cannot be read.
 */
CM_MUST_CHECK cm_status cm_counter_init(cm_counter *counter, const cm_platform *platform);

/* Treat as opaque. It holds secrets: wipe it with cm_device_wipe. One thread of one process may use it. */
typedef struct cm_device {
    cm_counter counter;
    uint8_t secret[CM_DEVICE_SECRET_BYTES];
    uint8_t last_draw[16]; /* a one-way image of the last random draw, to detect a repeating source */
    bool drawn;
    bool ready;
} cm_device;

/*
 * Start a device from its secret (unique to it, drawn by the owner at provisioning) and its platform; both
 * are copied. Reads the counter. CM_ERR_ARGUMENT for null pointers or a secret whose bytes are all equal,
 * CM_ERR_COUNTER if the counter cannot be read.
 */
CM_MUST_CHECK cm_status cm_device_init(cm_device *device, const uint8_t secret[CM_DEVICE_SECRET_BYTES],
                                       const cm_platform *platform);

/* Forget everything. A wiped device refuses to encrypt. */
void cm_device_wipe(cm_device *device);

#ifdef __cplusplus
}
#endif
#endif
