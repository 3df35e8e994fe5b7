/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include <stdio.h>

#include "ring/prime.h"

static cm_prime primes[FUZZ_PRIMES + 1]; /* the special one included */
static cm_params params = {"fuzz", 0x7a7a7566u, 10, FUZZ_PRIMES + 1, FUZZ_PRIMES, 51, primes};
static uint8_t ternary[CM_TERNARY_BYTES(FUZZ_N)];
static cm_secret_key key = {.params = &params, .key_id = FUZZ_KEY_ID, .ternary = ternary};

const cm_params *fuzz_params(void)
{
    const uint8_t seed[CM_SEED_BYTES] = {3, 1, 4};
    if (primes[0].q == 0) {
        for (unsigned i = 0; i <= FUZZ_PRIMES; i++) {
            fuzz_expect(cmi_prime_init(&primes[i], cm_n4096_q26x3_p27.primes[i].q, params.log2_n, NULL),
                        "the primes serve n = 1024");
        }
        fuzz_expect(cm_secret_key_generate(&params, seed, ternary) == CM_OK, "a key is made");
    }
    return &params;
}

const cm_secret_key *fuzz_key(void)
{
    (void)fuzz_params();
    return &key;
}

cm_device *fuzz_device(void)
{
    static cm_device device;
    static test_platform platform;
    platform = (test_platform){0};
    fuzz_expect(test_device_start(&device, &platform) == CM_OK, "the device starts");
    return &device;
}

void fuzz_expect(bool holds, const char *sentence)
{
    if (!holds) {
        (void)fprintf(stderr, "finding: it does not hold that %s\n", sentence);
        abort();
    }
}

cm_status fuzz_pieces(const uint8_t *bytes, size_t length, uint8_t seed,
                      cm_status (*take)(void *context, const uint8_t *bytes, size_t length), void *context)
{
    static const size_t most[] = {1, 44, 47, 48, 433, 1000, 4000, SIZE_MAX};
    cm_status status = CM_OK;
    uint32_t state = seed;
    while (length > 0 && status == CM_OK) {
        state = state * 1664525u + 1013904223u;
        const size_t limit = most[(seed + (state >> 30)) % (sizeof most / sizeof *most)];
        const size_t piece = length < limit ? length : limit;
        uint8_t *own = malloc(piece); /* so that a read past its end is seen */
        memcpy(own, bytes, piece);
        status = take(context, own, piece);
        free(own);
        bytes += piece;
        length -= piece;
    }
    return status;
}

/* ---- first inputs ---- */

typedef struct buffer {
    uint8_t *bytes;
    size_t capacity;
    size_t length;
} buffer;

static int append(void *context, const uint8_t *bytes, size_t length)
{
    buffer *to = (buffer *)context;
    fuzz_expect(length <= to->capacity - to->length, "a ciphertext fits its buffer");
    memcpy(to->bytes + to->length, bytes, length);
    to->length += length;
    return 0;
}

cm_frame_sender *fuzz_sender;

cm_frame_sender *fuzz_results(void)
{
    static const uint8_t key[CM_TAG_KEY_BYTES] = FUZZ_RESULT_KEY;
    static cm_frame_sender sender;
    cm_frame_sender_init(&sender, key, 7, 1);
    return &sender;
}

size_t fuzz_frames(uint8_t *out, size_t capacity, const cm_params *set, cm_scheme scheme, cm_xof_kind xof,
                   unsigned log2_tiles, uint64_t counter)
{
    static uint32_t residues[FUZZ_N];
    const double scale = (double)((uint32_t)1 << FUZZ_LOG2_SCALE);
    buffer to = {out, capacity, 0};
    cm_frame_writer writer;
    cm_frame_writer_init(&writer, (cm_sink){append, &to});
    cm_frame_writer_tag(&writer, fuzz_sender);
    cm_ciphertext_info *info = &writer.emitter.info;
    *info = (cm_ciphertext_info){.params = set,
                                 .scheme = scheme,
                                 .ntt_form = true,
                                 .components = 2,
                                 .primes = set->data_primes,
                                 .log2_tiles = (uint8_t)log2_tiles,
                                 .key_id = FUZZ_KEY_ID,
                                 .counter = counter,
                                 .plain_modulus = FUZZ_T,
                                 .xof = xof};
    if (scheme == CM_CKKS) {
        memcpy(&info->scale_bits, &scale, sizeof scale);
    }
    memset(info->seed, 7, sizeof info->seed);
    fuzz_expect(writer.emitter.begin(&writer.emitter, info) == CM_OK, "a ciphertext begins");
    for (unsigned prime = 0; prime < set->data_primes; prime++) {
        for (unsigned tile = 0; tile < 1u << log2_tiles; tile++) {
            for (unsigned component = xof == CM_XOF_NONE ? 2 : 1; component-- > 0;) {
                for (uint32_t i = 0; i < FUZZ_N; i++) {
                    residues[i] = (component + 2u * prime + i * 2654435761u % 1021u) % set->primes[prime].q;
                }
                fuzz_expect(writer.emitter.residues(&writer.emitter, component, prime, tile, residues) ==
                                CM_OK,
                            "residues are written");
            }
        }
    }
    return to.length;
}
