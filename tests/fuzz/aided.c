/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client-aided session of two rounds with a server that returns anything. Choices: scheme and tiles,
 * lengths of pieces, and how many of the stream's bytes (in units of 32) belong to the first result.
 */
#include "fuzz.h"

const size_t fuzz_choices = 3;

enum { UNIT = 32 };

static int discard(void *context, const uint8_t *bytes, size_t length)
{
    (void)context;
    (void)bytes;
    (void)length;
    return 0;
}

static cm_status feed(void *context, const uint8_t *bytes, size_t length)
{
    return cm_aided_feed((cm_aided *)context, bytes, length);
}

static cm_status step(void *context, unsigned round, void *values, uint32_t count)
{
    (void)context;
    (void)round;
    memset(values, 0, 4u * (size_t)count / 2u);
    return CM_OK;
}

static cm_aided_plan plan_of(uint8_t choice)
{
    const uint8_t log2_tiles = (uint8_t)fuzz_choice(choice >> 1, 3);
    return (cm_aided_plan){.scheme = choice & 1 ? CM_BFV : CM_CKKS,
                           .rounds = 2,
                           .bfv = {.encoding = CM_BFV_BATCH,
                                   .number = CM_INT16,
                                   .sums = CM_BFV_SUMS_24,
                                   .log2_tiles = log2_tiles,
                                   .plain_modulus = FUZZ_T},
                           .ckks = {.slots = CM_SLOTS_REAL,
                                    .precision = CM_FIXED_63,
                                    .number = CM_FLOAT32,
                                    .log2_tiles = log2_tiles,
                                    .largest = FUZZ_LARGEST},
                           .precision = CM_FIXED_31,
                           .log2_scale = FUZZ_LOG2_SCALE,
                           .largest = FUZZ_LARGEST};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size <= fuzz_choices) {
        return 0;
    }
    const cm_aided_plan plan = plan_of(data[0]);
    const size_t bytes = CM_AIDED_LARGER(
        CM_AIDED_BFV_ARENA_BYTES(FUZZ_N, CM_BFV_16, CM_BFV_SUMS_24, plan.bfv.log2_tiles),
        CM_AIDED_CKKS_ARENA_BYTES(FUZZ_N, CM_SLOTS_REAL, CM_FIXED_31, CM_FIXED_63, plan.ckks.log2_tiles));
    uint8_t *arena = calloc(1, bytes);
    cm_aided aided;
    cm_frame_writer writer;
    cm_frame_writer_init(&writer, (cm_sink){discard, NULL});
    const cm_encryptor_setup setup = {.device = fuzz_device(),
                                      .emitter = &writer.emitter,
                                      .arena = arena,
                                      .arena_bytes = bytes,
                                      .xof = CM_XOF_CHACHA20,
                                      .log2_tiles = plan.bfv.log2_tiles};
    fuzz_expect(cm_aided_begin(&aided, fuzz_key(), &plan, &setup) == CM_OK &&
                    cm_aided_send(&aided, 8) == CM_OK,
                "a session begins");
    const uint8_t *stream = data + fuzz_choices;
    const size_t length = size - fuzz_choices;
    const size_t first = (size_t)data[2] * UNIT < length ? (size_t)data[2] * UNIT : length;
    if (fuzz_pieces(stream, first, data[1], feed, &aided) == CM_OK &&
        cm_aided_answer(&aided, step, NULL) == CM_OK &&
        fuzz_pieces(stream + first, length - first, data[1], feed, &aided) == CM_OK &&
        cm_aided_finish(&aided) == CM_OK) {
        fuzz_expect(aided.round == 2, "a session that ends had its rounds");
    } else {
        cm_aided_wipe(&aided);
        for (size_t i = 0; i < bytes; i++) {
            fuzz_expect(arena[i] == 0, "a session that failed leaves a wiped arena");
        }
    }
    free(arena);
    return 0;
}

void fuzz_first_inputs(fuzz_store store)
{
    static uint8_t bytes[1 << 15];
    for (unsigned is_bfv = 0; is_bfv < 2; is_bfv++) {
        const cm_scheme scheme = is_bfv ? CM_BFV : CM_CKKS;
        bytes[0] = (uint8_t)(is_bfv | 1u << 1);
        bytes[1] = 6;
        const size_t first =
            fuzz_frames(bytes + fuzz_choices, 1 << 14, fuzz_params(), scheme, CM_XOF_NONE, 1, 0);
        bytes[2] = (uint8_t)(first / UNIT);
        const size_t second =
            fuzz_frames(bytes + fuzz_choices + first, 1 << 14, fuzz_params(), scheme, CM_XOF_NONE, 1, 1);
        store(is_bfv ? "bfv" : "ckks", bytes, fuzz_choices + first + second);
    }
}
