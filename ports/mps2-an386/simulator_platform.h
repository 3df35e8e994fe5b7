/* The callbacks of cm_platform as the simulator's host serves them. None of them is for a real device. */
#ifndef SIMULATOR_PLATFORM_H
#define SIMULATOR_PLATFORM_H

#include <stddef.h>
#include <stdint.h>

int simulator_random(void *context, uint8_t *out, size_t length);
int simulator_counter_read(void *context, uint64_t *value);
int simulator_counter_write(void *context, uint64_t value);

#endif
