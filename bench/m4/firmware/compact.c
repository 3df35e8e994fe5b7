/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The compact lane at set A10, by runs that differ in every secret and in nothing public: lane key, counter
 * and random bytes stay, which the uniform sampler's rejections depend on.
 *
 *   0  16 values, with tag, and without a write of the counter
 *   1  1024 values, by transforms
 *   2  the tag of 16 values' packet
 *   3  the tag of 1024 bytes more
 */
#include "ciphermote/compact.h"

#include <string.h>

#include "mark.h"
#include "random/sample.h"
#include "report.h"
#include "wire/tag.h"

#define RUNS 104u
#define FEW 16u
#define MANY 1024u
#define TAGGED_BYTES 63u /* 16 values' packet, and the counter's high half */
#define LONG_BYTES (TAGGED_BYTES + 1024u)

#define MANY_PACKET_BYTES CM_COMPACT_PACKET_BYTES(MANY, 16)
#define FEW_PACKET_BYTES CM_COMPACT_PACKET_BYTES(FEW, 16)

static _Alignas(8) uint8_t arena[CM_COMPACT_TRANSFORM_ARENA_BYTES(1024, 1, MANY, MANY_PACKET_BYTES)];
static _Alignas(4) uint8_t message[LONG_BYTES];
static uint8_t ternary[1024 / 4];
static uint8_t material[CM_COMPACT_MATERIAL_BYTES];
static uint16_t values[MANY];
static uint64_t stored;

static int same_random(void *context, uint8_t *out, size_t length)
{
    (void)context;
    memset(out, 0x5A, length);
    return 0;
}

static int read_counter(void *context, uint64_t *value)
{
    (void)context;
    *value = stored;
    return 0;
}

static int write_counter(void *context, uint64_t value)
{
    (void)context;
    stored = value;
    return 0;
}

static int take(void *context, const uint8_t *bytes, size_t length)
{
    (void)context;
    (void)bytes;
    (void)length;
    return 0;
}

static cm_counter counter;
static cm_compact_encryptor encryptor;
static const cm_compact_key key = {&cm_compact_a10, ternary, material, 1, 1, 4090};

/* The run's secrets: the key, all but the lane key of the material, and the values. */
static cm_status prepare(uint32_t run, uint16_t count)
{
    static const uint8_t test_key[32] = {2};
    const uint32_t nonce[3] = {run, 0, 0};
    cmi_stream stream;
    cmi_stream_init(&stream, test_key, nonce);
    cmi_sample_ternary(&stream, ternary, 1024);
    cmi_stream_read(&stream, material, sizeof material);
    for (uint8_t i = 0; i < 32; i++) {
        material[i] = i;
    }
    cmi_stream_read(&stream, (uint8_t *)values, sizeof values);
    for (unsigned i = 0; i < MANY; i++) {
        values[i] = run < 2 ? (uint16_t)(run * 4090u) : (uint16_t)((uint32_t)values[i] * 4091u >> 16);
    }
    stored = 0;
    const cm_platform platform = {same_random, read_counter, write_counter, NULL};
    cm_status status = cm_counter_init(&counter, &platform);
    counter.reserved = 2; /* as if it had been written before */
    const cm_compact_setup setup = {
        .counter = &counter,
        .sink = {.write = take},
        .arena = arena,
        .arena_bytes = count == FEW ? CM_COMPACT_ARENA_BYTES(1, FEW, FEW_PACKET_BYTES) : sizeof arena,
        .packet_bytes = (uint16_t)(count == FEW ? FEW_PACKET_BYTES : MANY_PACKET_BYTES)};
    return status == CM_OK ? cm_compact_init(&encryptor, &key, &setup) : status;
}

static cm_status encrypt(uint16_t count)
{
    uint64_t window = CM_NEW_WINDOW;
    return cm_compact_encrypt(&encryptor, values, 0, count, &window);
}

static void tag(size_t length)
{
    cmi_tagger tagger;
    cmi_stream stream;
    uint32_t position[4];
    cmi_tagger_init(&tagger, material + 128);
    cmi_tagger_update(&tagger, message, length);
    cmi_tagger_finish(&tagger, position);
    cmi_stream_derive(&stream, material + 96, position);
}

#define MEASURE(region, count) \
    do { \
        if (prepare(run, count) != CM_OK) { \
            return 1; \
        } \
        MARK_BEGIN(region); \
        const cm_status status = encrypt(count); \
        MARK_END(region); \
        if (status != CM_OK) { \
            return 1; \
        } \
    } while (0)

int main(void)
{
    for (uint32_t run = 0; run < RUNS; run++) {
        MEASURE(0, FEW);
        MEASURE(1, MANY);
    }
    MARK_BEGIN(2);
    tag(TAGGED_BYTES);
    MARK_END(2);
    MARK_BEGIN(3);
    tag(LONG_BYTES);
    MARK_END(3);
    report("runs", RUNS);
    return 0;
}
