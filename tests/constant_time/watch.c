/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this test share: see watch.h. */
#include "watch.h"

#include <valgrind/memcheck.h>

#include "secret_key.h"

cm_checks cm_check_state;
uint64_t arena[BUILD_MOST_ARENA_BYTES(MOST) / 8];
uint32_t words[MOST];
cm_device device;
test_platform platform;
uint8_t ternary[CM_TERNARY_BYTES(MOST)];

static uint32_t public_words[DATA_PRIMES * 2 * MOST]; /* the public key */

/* ---- marks ---- */

void mark_secret(void *memory, size_t bytes)
{
    (void)VALGRIND_MAKE_MEM_UNDEFINED(memory, bytes);
}

void mark_public(const void *memory, size_t bytes)
{
    (void)VALGRIND_MAKE_MEM_DEFINED(memory, bytes);
}

size_t secret_words(const void *memory, size_t count)
{
    static uint32_t unknown[MOST];
    size_t secret = 0;
    CHECK(VALGRIND_GET_VBITS(memory, unknown, count * sizeof *unknown) == 1);
    for (size_t i = 0; i < count; i++) {
        secret += unknown[i] != 0 ? 1u : 0u;
    }
    return secret;
}

unsigned new_errors(void)
{
    static unsigned known;
    const unsigned all = VALGRIND_COUNT_ERRORS;
    const unsigned fresh = all - known;
    known = all;
    return fresh;
}

void check_call(cm_status status, cm_status expected)
{
    CHECK(VALGRIND_CHECK_MEM_IS_DEFINED(&status, sizeof status) == 0);
    CHECK(status == expected);
    CHECK(new_errors() == 0);
}

/* ---- secrets ---- */

void draw_secret(void *out, size_t bytes)
{
    static test_platform source;
    (void)test_random_bytes(&source, (uint8_t *)out, bytes);
    mark_secret(out, bytes);
}

static int secret_randomness(void *context, uint8_t *out, size_t bytes)
{
    const int failure = test_random_bytes(context, out, bytes);
    mark_secret(out, bytes);
    return failure;
}

void start_device(void)
{
    const cm_platform callbacks = {secret_randomness, test_counter_read, test_counter_write, &platform};
    uint8_t secret[CM_DEVICE_SECRET_BYTES];
    draw_secret(secret, sizeof secret);
    check_call(cm_device_init(&device, secret, &callbacks), CM_OK);
}

void make_secret_key(const cm_params *params)
{
    uint8_t seed[CM_SEED_BYTES];
    const size_t count = CM_TERNARY_BYTES((size_t)1 << params->log2_n) / 4u;
    draw_secret(seed, sizeof seed);
    check_call(cm_secret_key_generate(params, seed, ternary), CM_OK);
    CHECK(secret_words(ternary, count) == count);
}

cm_secret_key secret_key_of(const cm_params *params)
{
    const cm_secret_key key = test_secret_key(params, KEY_ID, ternary);
    check_call(CM_OK, CM_OK);
    return key;
}

void make_public_key(const cm_params *params)
{
    uint8_t seed[CM_SEED_BYTES];
    const size_t n = (size_t)1 << params->log2_n;
    draw_secret(seed, sizeof seed);
    for (unsigned prime = 0; prime < params->data_primes; prime++) {
        uint32_t *c0 = public_words + 2u * n * prime;
        check_call(cm_zero_encryption(params, ternary, seed, prime, c0, c0 + n), CM_OK);
        CHECK(secret_words(c0, n) == n);
        CHECK(secret_words(c0 + n, n) == 0);
        mark_public(c0, n * sizeof *c0); /* a public key is published */
    }
}

cm_public_key public_key_of(const cm_params *params)
{
    static cm_flat_public_key flat;
    flat = (cm_flat_public_key){public_words, (uint32_t)1 << params->log2_n};
    return (cm_public_key){params, KEY_ID, cm_flat_public_key_polynomial, &flat, NULL};
}

/* ---- what leaves ---- */

static int drop(void *context, const uint8_t *bytes, size_t length)
{
    (void)context;
    CHECK(VALGRIND_CHECK_MEM_IS_DEFINED(bytes, length) == 0);
    return 0;
}

typedef cm_status residues_function(cm_emitter *self, unsigned component, unsigned prime, unsigned tile,
                                    const uint32_t *residues);

static residues_function *emit_further;

static cm_status observe(cm_emitter *self, unsigned component, unsigned prime, unsigned tile,
                         const uint32_t *residues)
{
    const size_t points = (size_t)1 << (self->info.params->log2_n - self->info.log2_tiles);
    const bool expanded = self->info.xof != CM_XOF_NONE && component == 1;
    CHECK(secret_words(residues, points) == (expanded ? 0u : points));
    mark_public(residues, points * sizeof *residues);
    return emit_further(self, component, prime, tile, residues);
}

static cm_emitter *observed(cm_emitter *emitter)
{
    emit_further = emitter->residues;
    emitter->residues = observe;
    return emitter;
}

cm_emitter *open_writer(form_of_bytes form)
{
    static cm_frame_writer frames;
    static cm_seal_writer seal;
    const cm_sink sink = {drop, NULL};
    if (form == FRAMES) {
        cm_frame_writer_init(&frames, sink);
        return observed(&frames.emitter);
    }
    cm_seal_writer_init(&seal, form == SEAL_FULL ? CM_SEAL_FULL : CM_SEAL_SEEDED, sink);
    return observed(&seal.emitter);
}

/* ---- the cloud ---- */

typedef struct cloud {
    cm_emitter emitter; /* first */
    uint32_t residues[DATA_PRIMES][2][MOST];
} cloud;

static cloud kept;
static uint8_t stream[DATA_PRIMES * 2 * (MOST / 8 * 27 + 16 * (CM_FRAME_HEADER_BYTES + CM_FRAME_CRC_BYTES))];
static size_t stream_bytes;

static cm_status begin_nothing(cm_emitter *self, const cm_ciphertext_info *info)
{
    (void)self;
    (void)info;
    return CM_OK;
}

static cm_status keep(cm_emitter *self, unsigned component, unsigned prime, unsigned tile,
                      const uint32_t *residues)
{
    cloud *to = (cloud *)(void *)self;
    const size_t points = (size_t)1 << (self->info.params->log2_n - self->info.log2_tiles);
    memcpy(to->residues[prime][component] + tile * points, residues, points * sizeof *residues);
    return CM_OK;
}

static cm_status end_nothing(cm_emitter *self)
{
    (void)self;
    return CM_OK;
}

cm_emitter *open_cloud(void)
{
    memset(&kept, 0, sizeof kept);
    kept.emitter.begin = begin_nothing;
    kept.emitter.residues = keep;
    kept.emitter.end = end_nothing;
    kept.emitter.expands_seed = true;
    return observed(&kept.emitter);
}

static int keep_frames(void *context, const uint8_t *bytes, size_t length)
{
    (void)context;
    memcpy(stream + stream_bytes, bytes, length);
    stream_bytes += length;
    return 0;
}

cm_status return_ciphertext(unsigned log2_tiles, unsigned primes, feed_function *feed, void *to)
{
    const cm_sink sink = {keep_frames, NULL};
    const size_t points = (size_t)1 << (kept.emitter.info.params->log2_n - log2_tiles);
    cm_frame_writer writer;
    cm_frame_writer_init(&writer, sink);
    writer.emitter.info = kept.emitter.info;
    writer.emitter.info.xof = CM_XOF_NONE;
    writer.emitter.info.primes = (uint8_t)primes;
    writer.emitter.info.log2_tiles = (uint8_t)log2_tiles;
    stream_bytes = 0;
    for (unsigned prime = 0; prime < primes; prime++) {
        for (unsigned tile = 0; tile < 1u << log2_tiles; tile++) {
            for (unsigned component = 2; component-- > 0;) {
                const uint32_t *residues = kept.residues[prime][component] + tile * points;
                check_call(writer.emitter.residues(&writer.emitter, component, prime, tile, residues), CM_OK);
            }
        }
    }
    return feed(to, stream, stream_bytes);
}

static cm_status feed_decryptor(void *to, const uint8_t *bytes, size_t length)
{
    return cm_decryptor_feed((cm_decryptor *)to, bytes, length);
}

cm_status decrypt_ciphertext(unsigned log2_tiles, unsigned primes, cm_decryptor *decryptor)
{
    return return_ciphertext(log2_tiles, primes, feed_decryptor, decryptor);
}

/* ---- values ---- */

static uint64_t values_apart[MOST / 2];

static uint32_t next_random(void)
{
    static uint32_t x;
    x = 1664525u * x + 1013904223u;
    return x;
}

cm_ckks_values draw_reals(const cm_params *params, cm_number number, cm_slots slots, cm_precision precision,
                          bool in_place)
{
    uint8_t *const at = in_place ? (uint8_t *)arena : (uint8_t *)values_apart;
    const cm_ckks_values values = {.data = at,
                                   .count = ((uint32_t)1 << (params->log2_n - 1u)) - 1u,
                                   .number = number,
                                   .slots = slots,
                                   .precision = precision,
                                   .exponent = EXPONENT_OF_INTEGERS,
                                   .log2_scale = LOG2_SCALE,
                                   .largest = 12}; /* either part is below 8 */
    const uint32_t count = values.count * (slots == CM_SLOTS_COMPLEX ? 2u : 1u);
    const size_t size = number == CM_INT16 ? 2u : number == CM_INT64 ? 8u : 4u;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t x = next_random();
        const uint32_t float_bits = (x & 0x807FFFFFu) | (x >> 27 & 15u ? 130u - (x >> 27 & 15u) : 0u) << 23;
        const uint64_t word = number == CM_FLOAT32 ? float_bits : x >> 17;
        memcpy(at + size * i, &word, size); /* the low bytes */
    }
    mark_secret(at, size * count);
    return values;
}

cm_bfv_values draw_integers(const cm_params *params, cm_number number, cm_bfv_encoding encoding,
                            cm_bfv_width width, uint32_t t)
{
    uint8_t *const at = (uint8_t *)values_apart;
    const cm_bfv_values values = {.data = at,
                                  .count = (uint32_t)1 << params->log2_n,
                                  .number = number,
                                  .encoding = encoding,
                                  .width = width,
                                  .plain_modulus = t,
                                  .largest = t - 1u};
    const uint32_t most = t / 2u < 0x7FFFu ? t / 2u : 0x7FFFu; /* fits both widths, signed or not */
    const size_t size = number == CM_INT16 || number == CM_UINT16 ? 2u : 4u;
    for (uint32_t i = 0; i < values.count; i++) {
        const uint32_t word = next_random() >> 8 & most >> 1;
        memcpy(at + size * i, &word, size);
    }
    mark_secret(at, size * values.count);
    return values;
}
