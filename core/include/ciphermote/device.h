/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device: where seeds come from, and what keeps them from ever repeating.
 *
 * Each ciphertext takes a fresh 64-bit counter and 32 fresh random bytes. Its public seed (sent in place of
 * the second half of a symmetric ciphertext) and its secret seed (noise, and u of an asymmetric one) are
 * separate derivations of (device secret, counter, label) mixed with the randomness:
 *     k    = ChaCha20 block (key = device secret, position = label "derive" and the counter)
 *     seed = ChaCha20 block (key = k xor randomness, position = label "public seed" or "secret seed")
 * As long as either the device secret or the randomness is unknown, the secret seed is; and two counters
 * never give one public seed, even with a random source that repeats. docs/security.md has the argument.
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

/* What the platform gives. Each callback returns 0 on success and anything else on failure; context is handed
   back. */
typedef struct cm_platform {
    /* Fill out[0 .. length) from a cryptographic random source. */
    int (*random)(void *context, uint8_t *out, size_t length);
    /* Read the persistent counter; 0 on a new device. */
    int (*counter_read)(void *context, uint64_t *value);
    /* Store the persistent counter; return only when it would survive a power cut. */
    int (*counter_write)(void *context, uint64_t value);
    void *context;
} cm_platform;

/* Treat as opaque; the caller owns the memory. It holds secrets: wipe it with cm_device_wipe. */
typedef struct cm_device {
    cm_platform platform;
    uint64_t counter;  /* the next to use */
    uint64_t reserved; /* counters below this one are paid for in persistent storage */
    uint8_t secret[CM_DEVICE_SECRET_BYTES];
    uint8_t last_draw[16]; /* a one-way image of the last random draw, to notice a source that repeats */
    bool drawn;
    bool ready;
} cm_device;

/*
 * Start a device from its secret (unique to it, drawn by the owner at provisioning) and its platform.
 * Reads the counter. CM_ERR_ARGUMENT for null pointers or a secret whose bytes are all alike, CM_ERR_COUNTER
 * if it cannot be read.
 */
CM_MUST_CHECK cm_status cm_device_init(cm_device *device, const uint8_t secret[CM_DEVICE_SECRET_BYTES],
                                       const cm_platform *platform);

/* Forget everything. A wiped device refuses to encrypt. */
void cm_device_wipe(cm_device *device);

#ifdef __cplusplus
}
#endif
#endif
