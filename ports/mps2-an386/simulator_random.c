/* SPDX-License-Identifier: Apache-2.0 */
/*
 * THE SIMULATOR'S random source: the host's /dev/urandom, read through semihosting. No real device has it. A
 * device must read its own hardware generator here, run health tests on it, and fail when it fails.
 */
#include "simulator_platform.h"

#include "board.h"

/* A test that repeats what a device does names another file; every draw is its first bytes. */
#ifndef SIMULATOR_RANDOM
#define SIMULATOR_RANDOM "/dev/urandom"
#endif

int simulator_random(void *context, uint8_t *out, size_t length)
{
    (void)context;
    const int32_t handle = host_open(SIMULATOR_RANDOM, HOST_READ);
    if (handle < 0) {
        return -1;
    }
    const bool complete = host_read(handle, out, length);
    const bool closed = host_close(handle);
    return complete && closed ? 0 : -1;
}
