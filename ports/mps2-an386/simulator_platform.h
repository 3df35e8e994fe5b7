/* SPDX-License-Identifier: Apache-2.0 */
/* cm_platform's random source, served by the simulator's host. Not for real devices. */
#ifndef SIMULATOR_PLATFORM_H
#define SIMULATOR_PLATFORM_H

#include <stddef.h>
#include <stdint.h>

int simulator_random(void *context, uint8_t *out, size_t length);

#endif
