/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole frames, and the same stream through the reader: both must find the same frames, and residues below
 * their primes. Choices: lengths of pieces.
 */
#include "fuzz.h"

const size_t fuzz_choices = 1;

typedef struct sums {
    cm_receiver receiver; /* first */
    const cm_params *params;
    unsigned prime;
    uint32_t frames;
    uint64_t residues;
} sums;

static cm_status begin(cm_receiver *self, const cm_ciphertext_info *info, unsigned component, unsigned prime,
                       unsigned tile)
{
    sums *to = (sums *)(void *)self;
    fuzz_expect(info->params == to->params && component < info->components && prime < info->primes &&
                    tile >> info->log2_tiles == 0,
                "a frame's place is one of its ciphertext");
    to->prime = component == 1 && info->xof != CM_XOF_NONE ? UINT8_MAX : prime;
    return CM_OK;
}

static cm_status take(cm_receiver *self, const uint32_t *residues, uint32_t count)
{
    sums *to = (sums *)(void *)self;
    for (uint32_t i = 0; i < count; i++) {
        fuzz_expect(to->prime == UINT8_MAX || residues[i] < to->params->primes[to->prime].q,
                    "the reader hands on residues alone");
        to->residues = to->residues * 31u + residues[i];
    }
    return CM_OK;
}

static cm_status end(cm_receiver *self)
{
    ((sums *)(void *)self)->frames++;
    return CM_OK;
}

static void fail(cm_receiver *self, cm_status status)
{
    (void)self;
    fuzz_expect(status != CM_OK, "only a fault is handed on as one");
}

static cm_status feed(void *context, const uint8_t *bytes, size_t length)
{
    return cm_frame_reader_feed((cm_frame_reader *)context, bytes, length);
}

static uint32_t whole_frames(const cm_params *params, const uint8_t *bytes, size_t length)
{
    uint32_t count = 0;
    cm_frame frame;
    while (cm_frame_parse(bytes, length, params, &frame) == CM_OK && frame.version == CM_FRAME_VERSION) {
        fuzz_expect(frame.frame_bytes <= length, "a frame lies within its bytes");
        cm_frame again;
        fuzz_expect(cm_frame_parse(bytes, frame.frame_bytes - 1, params, &again) == CM_ERR_FRAME_SHORT,
                    "a frame needs its last byte");
        fuzz_expect(cm_frame_parse(bytes, frame.frame_bytes, params, &again) == CM_OK,
                    "a frame needs nothing behind it");
        if (frame.payload == CM_PAYLOAD_RESIDUES) {
            uint32_t *residues = malloc(4u * frame.residue_count);
            const cm_status status = cm_frame_unpack(&frame, residues);
            for (uint32_t i = 0; i < frame.residue_count && status == CM_OK; i++) {
                fuzz_expect(residues[i] < params->primes[frame.prime].q, "a residue is below its prime");
            }
            free(residues);
            if (status != CM_OK) {
                break;
            }
        }
        count++;
        bytes += frame.frame_bytes;
        length -= frame.frame_bytes;
    }
    return count;
}

/* A reader that expects what the first frame says it is: it ends as many as have right tags. */
static void read_tagged(const cm_params *params, const uint8_t *bytes, size_t length, uint8_t seed)
{
    static const uint8_t key[CM_TAG_KEY_BYTES] = FUZZ_RESULT_KEY;
    cm_frame frame;
    if (cm_frame_parse(bytes, length, params, &frame) != CM_OK) {
        return;
    }
    cm_frame_expected expected;
    cm_frame_expected_init(&expected, key, frame.device, frame.epoch);
    expected.counter = frame.info.counter;
    expected.window = frame.info.counter - frame.since_window;
    memcpy(expected.random, frame.random, sizeof expected.random);
    sums seen = {.receiver = {begin, take, end, fail}, .params = params};
    cm_frame_reader reader;
    cm_frame_reader_init(&reader, params, &seen.receiver);
    cm_frame_reader_expect(&reader, &expected);
    (void)fuzz_pieces(bytes, length, seed, feed, &reader);
    uint32_t most = 0;
    while (cm_frame_parse(bytes, length, params, &frame) == CM_OK && cm_frame_verify(&frame, key) == CM_OK) {
        most++;
        bytes += frame.frame_bytes;
        length -= frame.frame_bytes;
    }
    fuzz_expect(seen.frames <= most, "a frame ends where its tag is right");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size <= fuzz_choices) {
        return 0;
    }
    const cm_params *params = fuzz_params();
    const size_t length = size - fuzz_choices;
    uint8_t *bytes = malloc(length);
    memcpy(bytes, data + fuzz_choices, length);
    cm_frame any;
    (void)!cm_frame_parse(bytes, length, NULL, &any);
    const uint32_t count = whole_frames(params, bytes, length);
    sums seen = {.receiver = {begin, take, end, fail}, .params = params};
    cm_frame_reader reader;
    cm_frame_reader_init(&reader, params, &seen.receiver);
    (void)fuzz_pieces(bytes, length, data[0], feed, &reader);
    fuzz_expect(seen.frames == count, "the reader ends as many frames as there are");
    read_tagged(params, bytes, length, data[0]);
    free(bytes);
    return 0;
}

void fuzz_first_inputs(fuzz_store store)
{
    static uint8_t bytes[1 << 15];
    bytes[0] = 3;
    store("bfv", bytes,
          1 + fuzz_frames(bytes + 1, sizeof bytes - 1, fuzz_params(), CM_BFV, CM_XOF_NONE, 4, 5));
    fuzz_sender = fuzz_results();
    store("tagged", bytes,
          1 + fuzz_frames(bytes + 1, sizeof bytes - 1, fuzz_params(), CM_BFV, CM_XOF_NONE, 4, 5));
    fuzz_sender = NULL;
    store("ckks-seed", bytes,
          1 + fuzz_frames(bytes + 1, sizeof bytes - 1, fuzz_params(), CM_CKKS, CM_XOF_SHAKE256, 0, 5));
}
