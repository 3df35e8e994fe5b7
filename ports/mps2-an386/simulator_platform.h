/* SPDX-License-Identifier: Apache-2.0 */
/* The random source of cm_platform as the simulator's host serves it. It is for no real device. */
#ifndef SIMULATOR_PLATFORM_H
#define SIMULATOR_PLATFORM_H

#include <stddef.h>
#include <stdint.h>

int simulator_random(void *context, uint8_t *out, size_t length);

#endif
