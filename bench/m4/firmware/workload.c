/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs made by a linear congruential generator, and the smallest platform there is. */
#include "workload.h"

#include <string.h>

const uint8_t workload_tag_key[CM_TAG_KEY_BYTES] = {
    1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24,
    25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48};

static uint32_t next(uint32_t state)
{
    return state * 1664525u + 1013904223u;
}

/* Sign and fraction as they come; the exponent is one of sixteen, 2^2 down to 2^-13. */
void workload_values(uint8_t *out, uint32_t seed)
{
    uint32_t state = next(seed);
    for (uint32_t i = 0; i < WORKLOAD_VALUES; i++) {
        state = next(state);
        const uint32_t exponent = 129u - (state >> 27 & 15u);
        const uint32_t bits = (state & 0x807FFFFFu) | exponent << 23;
        memcpy(out + 4u * i, &bits, sizeof bits);
    }
}

cm_ckks_values workload_describe(const void *data)
{
    return (cm_ckks_values){.data = data,
                            .count = WORKLOAD_VALUES,
                            .number = CM_FLOAT32,
                            .slots = CM_SLOTS_REAL,
                            .log2_scale = WORKLOAD_LOG2_SCALE,
                            .precision = WORKLOAD_PRECISION,
                            .largest = WORKLOAD_LARGEST};
}

void workload_integers(uint8_t *out, uint32_t seed)
{
    uint32_t state = next(seed);
    for (uint32_t i = 0; i < WORKLOAD_N; i++) {
        state = next(state);
        const uint16_t integer = (uint16_t)((state >> 16) * WORKLOAD_T >> 16);
        memcpy(out + 2u * i, &integer, sizeof integer);
    }
}

cm_bfv_values workload_describe_integers(const void *data)
{
    return (cm_bfv_values){.data = data,
                           .count = WORKLOAD_N,
                           .number = CM_UINT16,
                           .encoding = CM_BFV_BATCH,
                           .width = CM_BFV_16,
                           .plain_modulus = WORKLOAD_T,
                           .largest = WORKLOAD_T - 1u};
}

/* A whole piece is copied by words, as a driver that fills a DMA buffer would; pieces are word-aligned. */
static int write_to_sink(void *context, const uint8_t *bytes, size_t length)
{
    workload_sink *sink = context;
    if (length > sizeof sink->piece) {
        return -1;
    }
    sink->received += length;
    if (length == sizeof sink->piece) {
        sink->piece = *(const workload_piece *)(const void *)bytes;
    } else {
        memcpy(&sink->piece, bytes, length);
    }
    return 0;
}

cm_sink workload_sink_open(workload_sink *sink)
{
    sink->received = 0;
    return (cm_sink){.write = write_to_sink, .context = sink};
}

typedef struct platform_state {
    uint64_t counter;
    uint32_t random;
} platform_state;

static int random_bytes(void *context, uint8_t *out, size_t length)
{
    platform_state *state = context;
    for (size_t i = 0; i < length; i++) {
        state->random = next(state->random);
        out[i] = (uint8_t)(state->random >> 24);
    }
    return 0;
}

static int counter_read(void *context, uint64_t *value)
{
    const platform_state *state = context;
    *value = state->counter;
    return 0;
}

static int counter_write(void *context, uint64_t value)
{
    platform_state *state = context;
    state->counter = value;
    return 0;
}

cm_platform workload_platform(void)
{
    static platform_state state;
    return (cm_platform){.random = random_bytes,
                         .counter_read = counter_read,
                         .counter_write = counter_write,
                         .context = &state};
}

cm_status workload_device(cm_device *device)
{
    const cm_platform platform = workload_platform();
    uint8_t secret[CM_DEVICE_SECRET_BYTES];
    for (unsigned i = 0; i < sizeof secret; i++) {
        secret[i] = (uint8_t)(i + 1);
    }
    return cm_device_init(device, secret, &platform);
}
