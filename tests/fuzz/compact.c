/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compact packets: what an input is taken for as a packet, and what a device makes of it as choices and
 * values. Choices: set, first position (2 bytes), room in a packet, values at a time.
 */
#include "common/bytes.h"
#include "fuzz.h"

const size_t fuzz_choices = 5;

static const uint8_t tag_key[CM_TAG_KEY_BYTES] = {1, 2, 3, [32] = 4};

/* ---- reading ---- */

static void read_packet(const uint8_t *bytes, size_t length)
{
    static uint64_t values[4096];
    cm_compact_frame frame;
    if (cm_compact_frame_parse(bytes, length, &frame) != CM_OK) {
        fuzz_expect(!frame.set && !frame.payload, "a packet that is refused leaves nothing");
        return;
    }
    const uint32_t n = (uint32_t)1 << frame.set->log2_n;
    fuzz_expect(frame.count > 0 && (uint32_t)frame.first + frame.count <= n, "positions are the ring's");
    cm_compact_frame_values(&frame, values);
    for (unsigned i = 0; i < frame.count; i++) {
        fuzz_expect(values[i] >> frame.set->wire_bits == 0, "a value has the set's bits");
    }
    (void)!cm_compact_frame_verify(&frame, tag_key, 0);
}

/* ---- sending ---- */

typedef struct received {
    const uint8_t *key;
    unsigned values;
} received;

static int take(void *context, const uint8_t *bytes, size_t length)
{
    received *self = context;
    cm_compact_frame frame;
    uint8_t *copy = malloc(length);
    memcpy(copy, bytes, length);
    fuzz_expect(cm_compact_frame_parse(copy, length, &frame) == CM_OK, "a device's packet is valid");
    fuzz_expect(cm_compact_frame_verify(&frame, self->key, 0) == CM_OK, "a device's tag is right");
    self->values += frame.count;
    free(copy);
    return 0;
}

static void send_values(const uint8_t *choices, const uint8_t *bytes, size_t length)
{
    static uint8_t ternary[512], material[CM_COMPACT_MATERIAL_BYTES];
    memset(material, 0x5A, sizeof material);
    material[0] = 0;
    memcpy(material + 96, tag_key, sizeof tag_key);
    memset(ternary, 0x19, sizeof ternary);
    const cm_compact_key key = {
        cm_compact_set_by_id((uint8_t)(1 + fuzz_choice(choices[0], 6))), ternary, material, 1, 1, 255};
    received radio = {material + 96, 0};
    const uint16_t packet_bytes = (uint16_t)(30u + choices[3]);
    const size_t arena_bytes = CM_COMPACT_ARENA_BYTES(2, choices[4] % 64u, packet_bytes);
    uint64_t *arena = malloc(arena_bytes + 8u);
    const cm_compact_setup setup = {.counter = &fuzz_device()->counter,
                                    .sink = {take, &radio},
                                    .arena = arena,
                                    .arena_bytes = arena_bytes,
                                    .packet_bytes = packet_bytes};
    cm_compact_encryptor encryptor;
    if (cm_compact_init(&encryptor, &key, &setup) == CM_OK) {
        const uint16_t count = (uint16_t)(length < 64 ? length : 64);
        const uint16_t first = (uint16_t)(choices[1] | (choices[2] & 7u) << 8);
        uint16_t values[64] = {0};
        for (unsigned i = 0; i < count; i++) {
            values[i] = bytes[i];
        }
        uint64_t window = CM_NEW_WINDOW;
        const cm_status status = cm_compact_encrypt(&encryptor, values, first, count, &window);
        fuzz_expect(radio.values == (status == CM_OK ? count : 0), "all values are sent, or none");
    }
    free(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_packet(data, size);
    if (size > fuzz_choices) {
        send_values(data, data + fuzz_choices, size - fuzz_choices);
    }
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    size = LLVMFuzzerMutate(data, size, max_size);
    if (size > 1 && fuzz_chance(&seed) % 2 == 0) { /* fields that most inputs would miss */
        data[0] = 0x21;
        data[1] = (uint8_t)(1u + fuzz_chance(&seed) % 5u);
    }
    return size;
}

void fuzz_first_inputs(fuzz_store store)
{
    uint8_t packet[CM_COMPACT_PACKET_BYTES(3, 17)] = {0x21, 2};
    packet[25] = 3 << 4;
    store("three", packet, sizeof packet);
    store("choices", (const uint8_t[]){0, 1, 2, 100, 5, 6, 7, 8}, 8);
}
