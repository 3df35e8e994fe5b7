/* SPDX-License-Identifier: Apache-2.0 */
#include "platform.h"

#include "board.h"

static int draw(void *context, uint8_t *out, size_t length)
{
    (void)context;
    for (size_t i = 0; i < length; i += 4u) {
        const uint32_t word = BOARD_RANDOM;
        for (size_t j = i; j < length && j < i + 4u; j++) {
            out[j] = (uint8_t)(word >> 8u * (j - i));
        }
    }
    return 0;
}

static uint64_t stored_counter;

static int counter_read(void *context, uint64_t *value)
{
    (void)context;
    *value = stored_counter;
    return 0;
}

static int counter_write(void *context, uint64_t value)
{
    (void)context;
    stored_counter = value;
    return 0;
}

const cm_platform picorv32_platform = {
    .random = draw, .counter_read = counter_read, .counter_write = counter_write};
