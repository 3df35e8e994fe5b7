/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encryption with an accelerator that may answer anything: it ends, and every frame sent is valid, because a
 * corrupted word must not spill into its neighbours. Choices: key. The stream is what the bus delivers: words
 * below the prime, unless its first bytes say otherwise.
 */
#include "common/bytes.h"
#include "fuzz.h"

#include "backends/accelerator/registers.h"
#include "ciphermote/accelerator.h"

const size_t fuzz_choices = 2;

static const uint8_t *bus_bytes;
static size_t bus_length;
static uint8_t faults; /* one in how many answers is raw; 0: none */
static unsigned answers;
static cm_accelerator accelerator;
static uint32_t words[CM_ACCELERATOR_WORDS(FUZZ_N)];

static uint32_t next_word(void)
{
    uint8_t bytes[4] = {0};
    const size_t count = bus_length < sizeof bytes ? bus_length : sizeof bytes;
    memcpy(bytes, bus_bytes, count);
    bus_bytes += count;
    bus_length -= count;
    return cmi_load32(bytes);
}

static bool is_raw(void)
{
    answers++;
    return faults != 0 && answers % faults == 0;
}

static uint32_t bus_read(void *context, uint32_t offset)
{
    (void)context;
    if (is_raw()) {
        return next_word();
    }
    switch (offset) {
    case CM_NTT_ID_OFFSET:
        return 0x434D4E54u;
    case CM_NTT_SHAPE_OFFSET:
        return 10u << CM_NTT_SHAPE_LOG2_N_LOW | 27u << CM_NTT_SHAPE_WIDTH_LOW |
               28u << CM_NTT_SHAPE_LOG2_R_LOW;
    case CM_NTT_STATUS_OFFSET:
        return 1u << CM_NTT_STATUS_IDLE_LOW;
    default:
        return 0;
    }
}

static void bus_write(void *context, uint32_t offset, uint32_t value)
{
    (void)context;
    (void)offset;
    (void)value;
}

static int bus_send(void *context, const uint32_t *packet, size_t count)
{
    (void)context;
    fuzz_expect(packet == words && count == FUZZ_N, "a packet is the caller's words");
    return is_raw() && next_word() % 2 != 0;
}

static int bus_receive(void *context, uint32_t *packet, size_t count)
{
    (void)context;
    for (size_t i = 0; i < count; i++) {
        const uint32_t word = next_word();
        packet[i] = is_raw() ? word : word % cm_n1024_q26.primes[0].q;
    }
    return is_raw() && next_word() % 2 != 0;
}

cm_accelerator *cm_accelerator_for(unsigned log2_n, uint32_t q)
{
    (void)log2_n;
    (void)q;
    return &accelerator;
}

/* ---- what leaves ---- */

static uint8_t frames[4 * FUZZ_N * 4];
static size_t length;

static int keep(void *context, const uint8_t *bytes, size_t count)
{
    (void)context;
    fuzz_expect(count <= sizeof frames - length, "a ciphertext has its size");
    memcpy(frames + length, bytes, count);
    length += count;
    return 0;
}

static void check_frames(void)
{
    static uint32_t residues[FUZZ_N];
    for (size_t at = 0; at < length;) {
        cm_frame frame;
        fuzz_expect(cm_frame_parse(frames + at, length - at, &cm_n1024_q26, &frame) == CM_OK,
                    "what leaves is a frame");
        fuzz_expect(frame.payload == CM_PAYLOAD_SEED || cm_frame_unpack(&frame, residues) == CM_OK,
                    "its residues are below the prime");
        at += frame.frame_bytes;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const cm_accelerator_bus bus = {bus_read, bus_write, bus_send, bus_receive, NULL};
    static uint64_t arena[CM_CKKS_ASYMMETRIC_ARENA_BYTES(FUZZ_N, CM_SLOTS_REAL, CM_FIXED_31, 0) / 8 + 1];
    static uint32_t public_key[2 * FUZZ_N];
    static const float values[4] = {1.0f, -2.0f, 0.25f, 30.0f};
    if (size <= fuzz_choices) {
        return 0;
    }
    const cm_secret_key secret = {.params = &cm_n1024_q26, .key_id = 1, .ternary = fuzz_key()->ternary};
    for (uint32_t i = 0; i < 2 * FUZZ_N; i++) {
        public_key[i] = i * 65537u;
    }
    cm_flat_public_key flat = {public_key, FUZZ_N};
    const cm_public_key public = {&cm_n1024_q26, 1, cm_flat_public_key_polynomial, &flat, NULL};
    const cm_ckks_values readings = {.data = values,
                                     .count = 4,
                                     .number = CM_FLOAT32,
                                     .slots = CM_SLOTS_REAL,
                                     .log2_scale = 18,
                                     .precision = CM_FIXED_31,
                                     .largest = 30};
    bus_bytes = data + fuzz_choices;
    bus_length = size - fuzz_choices;
    faults = data[1];
    answers = 0;
    (void)!cm_accelerator_open(&accelerator, &bus, words, CM_ACCELERATOR_WORDS(FUZZ_N));
    cm_frame_writer writer;
    cm_frame_writer_init(&writer, (cm_sink){keep, NULL});
    length = 0;
    const cm_encryptor_setup setup = {.device = fuzz_device(),
                                      .emitter = &writer.emitter,
                                      .arena = arena,
                                      .arena_bytes = sizeof arena,
                                      .xof = data[0] & 1 ? CM_XOF_CHACHA20 : CM_XOF_NONE};
    cm_encryptor encryptor;
    const cm_status status = data[0] & 1 ? cm_encryptor_init_symmetric(&encryptor, &secret, &setup)
                                         : cm_encryptor_init_asymmetric(&encryptor, &public, &setup);
    fuzz_expect(status == CM_OK, "an encryptor is set up");
    fuzz_expect(cm_ckks_encrypt(&encryptor, &readings) == CM_OK,
                "portable C does what an accelerator does not");
    check_frames();
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    (void)seed;
    return LLVMFuzzerMutate(data, size, max_size);
}

void fuzz_first_inputs(fuzz_store store)
{
    static uint8_t bytes[512];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(i * 37u);
    }
    for (uint8_t key = 0; key < 2; key++) {
        bytes[0] = key;
        bytes[1] = 0;
        store(key ? "symmetric" : "asymmetric", bytes, sizeof bytes);
        bytes[1] = 100;
        store(key ? "symmetric-faults" : "asymmetric-faults", bytes, sizeof bytes);
    }
}
