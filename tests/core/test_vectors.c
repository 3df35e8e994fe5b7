/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pinned ciphertexts of vectors/: this build encodes and emits what the golden model does, and what it
 * emits decrypts to the values. What the build leaves out is refused.
 *
 * Inputs are made by the rules in vectors/README.md, bytes are digested as they are emitted, and the public
 * key is computed a prime at a time, so n = 16384 needs 2.3 MB and n = 4096 400 KB. -DCM_TEST_MAX_LOG2_N=12
 * leaves out rings larger than 4096, and so on; -DCM_TEST_EVERY=6 checks only every sixth one beyond n =
 * 1024.
 */
#include <string.h>

#include "../vectors/bfv_vectors.h"
#include "../vectors/vectors.h"
#include "build.h"
#include "check.h"
#include "common/bytes.h"
#include "decrypt.h"
#include "encode/bfv.h"
#include "encode/ckks.h"
#include "encrypting.h"
#include "pinned.h"
#include "random/xof.h"
#include "roots.h"
#include "secret_key.h"

#ifndef CM_TEST_EVERY
#define CM_TEST_EVERY 1
#endif

#define N TEST_N

static uint64_t arena[BUILD_MOST_ARENA_BYTES(N) / 8u + 1u];
static uint32_t polynomials[4][N];
static uint8_t ternary[CM_TERNARY_BYTES(N)];

/* ---- inputs ---- */

static uint64_t pinned_counter(unsigned index)
{
    return ((uint64_t)index << 32) + 0xFFFFFFFFu - index;
}

/* What a device's platform keeps: the number of the vector, and the persistent counter. */
typedef struct vector_platform {
    unsigned index;
    uint64_t counter;
} vector_platform;

static int platform_random(void *context, uint8_t *out, size_t length)
{
    consecutive_bytes(out, length, ((vector_platform *)context)->index);
    return 0;
}

static int platform_counter_read(void *context, uint64_t *value)
{
    *value = ((vector_platform *)context)->counter;
    return 0;
}

static int platform_counter_write(void *context, uint64_t value)
{
    ((vector_platform *)context)->counter = value;
    return 0;
}

static uint32_t float_bits(uint32_t x)
{
    uint32_t high = x >> 27 & 15u;
    uint32_t field = high == 15 ? 0 : 127 - high;
    return (x & 0x807FFFFFu) | field << 23;
}

static void put_number(size_t i, bool wide, uint32_t number)
{
    uint8_t *const out = (uint8_t *)arena;
    if (wide) {
        memcpy(out + 4 * i, &number, sizeof number);
    } else {
        const uint16_t half = (uint16_t)number;
        memcpy(out + 2 * i, &half, sizeof half);
    }
}

/* The numbers of a vector, written to the start of the arena: they are encoded in place. */
static cm_ckks_values make_values(const cm_vector *vector, unsigned index)
{
    uint32_t count = vector->slots == CM_SLOTS_COMPLEX ? 2 * vector->count : vector->count;
    uint32_t x = index;
    for (uint32_t i = 0; i < count; i++) {
        x = 1664525u * x + 1013904223u;
        if (vector->number == CM_INT16) {
            put_number(i, false, x >> 16);
        } else if (vector->number == CM_INT64) {
            const uint32_t low = x;
            x = 1664525u * x + 1013904223u;
            const uint64_t shifted = ((uint64_t)x << 32 | low) >> 2;
            const int64_t number = (int64_t)(shifted | ((uint64_t)0 - (x >> 31)) << 62);
            memcpy((uint8_t *)arena + 8 * i, &number, sizeof number);
        } else {
            put_number(i, true, vector->number == CM_FLOAT32 ? float_bits(x) : x);
        }
    }
    cm_ckks_values values;
    memset(&values, 0, sizeof values);
    values.data = arena;
    values.count = vector->count;
    values.number = vector->number;
    values.slots = vector->slots;
    values.exponent = vector->exponent;
    values.log2_scale = vector->log2_scale;
    values.precision = vector->precision;
    values.largest = build_room(vector->params, vector->precision, vector->log2_scale);
    return values;
}

/* BFV's, there too if they can be encoded in place; others are in a polynomial's memory. */
static cm_bfv_values make_bfv_values(const cm_bfv_vector *vector, unsigned index)
{
    const bool wide = vector->number == CM_INT32 || vector->number == CM_UINT32;
    const bool is_signed = vector->number == CM_INT16 || vector->number == CM_INT32;
    const uint32_t t = vector->plain_modulus;
    uint32_t x = index;
    for (uint32_t i = 0; i < vector->count; i++) {
        x = 1664525u * x + 1013904223u;
        put_number(i, wide, (uint32_t)((uint64_t)x * t >> 32) - (is_signed ? (t - 1u) / 2u : 0u));
    }
    cm_bfv_values values;
    memset(&values, 0, sizeof values);
    values.data = arena;
    values.count = vector->count;
    values.number = vector->number;
    values.encoding = vector->encoding;
    values.width = vector->width;
    values.domain = vector->domain;
    values.plain_modulus = t;
    values.largest = t - 1u;
    if (wide && vector->width == CM_BFV_16) {
        memcpy(polynomials[2], arena, 4 * (size_t)vector->count);
        values.data = polynomials[2];
    }
    return values;
}

/* A public key that is computed a prime at a time: the last prime's two polynomials and the one's before. */
typedef struct computed_key {
    const cm_params *params;
    unsigned prime;
    unsigned computed; /* how many primes so far */
} computed_key;

static const uint32_t *computed_key_polynomial(void *context, unsigned component, unsigned prime)
{
    computed_key *key = (computed_key *)context;
    if (key->computed == 0 || key->prime != prime) {
        uint8_t seed[CM_SEED_BYTES];
        consecutive_bytes(seed, sizeof seed, 128);
        key->prime = prime;
        key->computed++;
        uint32_t *c0 = polynomials[key->computed % 2u * 2u];
        if (cm_zero_encryption(key->params, ternary, seed, prime, c0, c0 + N) != CM_OK) {
            return NULL;
        }
    }
    return polynomials[key->computed % 2u * 2u + component];
}

/* ---- the output path: a witness that decrypts, then a writer, then for frames of tiles a rejoiner ---- */

/* Passes on what it receives, and gives both components to the owner. */
typedef struct witness {
    cm_emitter emitter;
    cm_emitter *next;
} witness;

static cm_status witness_begin(cm_emitter *self, const cm_ciphertext_info *info)
{
    cm_emitter *next = ((witness *)(void *)self)->next;
    next->info = *info;
    decrypt_open(info->params, ternary, info->ntt_form);
    return next->begin(next, &next->info);
}

static cm_status witness_residues(cm_emitter *self, unsigned component, unsigned prime, unsigned tile,
                                  const uint32_t *residues)
{
    cm_emitter *next = ((witness *)(void *)self)->next;
    const size_t count = (size_t)1 << (self->info.params->log2_n - self->info.log2_tiles);
    const bool in_seed = component == 1 && self->info.xof != CM_XOF_NONE;
    decrypt_residues(component, prime, tile * count, residues, count);
    return in_seed && !next->expands_seed ? CM_OK : next->residues(next, component, prime, tile, residues);
}

static cm_status witness_end(cm_emitter *self)
{
    cm_emitter *next = ((witness *)(void *)self)->next;
    return next->end(next);
}

static void witness_init(witness *self, cm_emitter *next)
{
    memset(self, 0, sizeof *self);
    self->emitter.begin = witness_begin;
    self->emitter.residues = witness_residues;
    self->emitter.end = witness_end;
    self->emitter.component_major = next->component_major;
    self->emitter.expands_seed = true;
    self->next = next;
}

/* Takes frames of tiles, as a gateway would, and writes the frames that a build without tiles sends. */
typedef struct rejoiner {
    cm_frame_writer whole;
    bool begun;
    size_t filled; /* bytes of the current frame */
} rejoiner;

static uint8_t frame_bytes[4 * N];
static uint32_t joined[2][N];

static cm_status rejoin_frame(rejoiner *self, const cm_frame *frame)
{
    cm_emitter *whole = &self->whole.emitter;
    if (!self->begun) {
        self->begun = true;
        whole->info = frame->info;
        whole->info.log2_tiles = 0;
        const cm_status status = whole->begin(whole, &whole->info);
        if (status != CM_OK || frame->payload == CM_PAYLOAD_SEED) {
            return status;
        }
    }
    uint32_t *polynomial = joined[frame->component];
    const cm_status status = cm_frame_unpack(frame, polynomial + (size_t)frame->tile * frame->residue_count);
    if (status != CM_OK || frame->tile + 1u < 1u << frame->log2_tiles) {
        return status;
    }
    return whole->residues(whole, frame->component, frame->prime, 0, polynomial);
}

static int rejoin_write(void *context, const uint8_t *bytes, size_t length)
{
    rejoiner *self = (rejoiner *)context;
    if (length > sizeof frame_bytes - self->filled) {
        return -1;
    }
    memcpy(frame_bytes + self->filled, bytes, length);
    self->filled += length;
    cm_frame frame;
    const cm_status status = cm_frame_parse(frame_bytes, self->filled, NULL, &frame);
    if (status == CM_ERR_FRAME_SHORT) {
        return 0;
    }
    if (status != CM_OK || frame.frame_bytes != self->filled) {
        return -1;
    }
    self->filled = 0;
    return rejoin_frame(self, &frame) == CM_OK ? 0 : -1;
}

/* ---- outputs ---- */

/* Add a polynomial at one prime to the digest. */
static void digest_residues(chained_digest *digest, const uint32_t *lazy, const cmi_ring *ring)
{
    for (size_t i = 0; i < cmi_ring_points(ring); i++) {
        uint8_t word[4];
        cmi_store32(word, cmi_reduce(lazy[i], ring->prime));
        (void)digest_write(digest, word, sizeof word);
    }
}

static void check_ckks_coefficients(const void *pinned, unsigned index)
{
    const cm_vector *const vector = pinned;
    chained_digest digest = {{0}, 0};
    cm_ckks_values values = make_values(vector, index);
    cmi_ckks_message message;
    cmi_ring ring;
    message.data = arena;
    if (!CHECK(cmi_ckks_encode(vector->params, &values, &message) == CM_OK)) {
        return;
    }
    for (unsigned prime = 0; prime < vector->params->data_primes; prime++) {
        cmi_ring_init(&ring, &vector->params->primes[prime], vector->params->log2_n,
                      test_roots(vector->params));
        cmi_ckks_message_fold(&message, &ring, polynomials[0]);
        digest_residues(&digest, polynomials[0], &ring);
    }
    CHECK_HEX(digest_end(&digest), vector->coefficients);
}

static void check_bfv_coefficients(const void *pinned, unsigned index)
{
    const cm_bfv_vector *const vector = pinned;
    chained_digest digest = {{0}, 0};
    cm_bfv_values values = make_bfv_values(vector, index);
    cmi_plain plain;
    cmi_ring ring;
    plain.data = arena;
    if (!CHECK(cmi_plain_encode(vector->params, &values, NULL, &plain, &ring) == CM_OK)) {
        return;
    }
    cmi_plain_scale(vector->params, &plain);
    for (unsigned prime = 0; prime < vector->params->data_primes; prime++) {
        cmi_ring_init(&ring, &vector->params->primes[prime], vector->params->log2_n,
                      test_roots(vector->params));
        cmi_plain_fold(&plain, &ring, polynomials[0]);
        digest_residues(&digest, polynomials[0], &ring);
    }
    CHECK_HEX(digest_end(&digest), vector->coefficients);
}

/* What an encryption of vector number index needs besides its values. */
typedef struct vector_setup {
    vector_platform state;
    cm_device device;
    cm_secret_key secret_key;
    computed_key computed;
    cm_public_key public_key;
} vector_setup;

static cm_status open_setup(vector_setup *setup, const cm_params *params, unsigned index)
{
    const cm_platform platform = {platform_random, platform_counter_read, platform_counter_write,
                                  &setup->state};
    const uint64_t key_id = 0x636970686572u + (uint64_t)index;
    uint8_t seed[CM_SEED_BYTES];
    uint8_t device_secret[CM_DEVICE_SECRET_BYTES];
    setup->state = (vector_platform){index, pinned_counter(index)};
    consecutive_bytes(seed, sizeof seed, 64);
    consecutive_bytes(device_secret, sizeof device_secret, 0);
    cm_status status = cm_secret_key_generate(params, seed, ternary);
    if (status == CM_OK) {
        status = cm_device_init(&setup->device, device_secret, &platform);
    }
    setup->secret_key = test_secret_key(params, key_id, ternary);
    setup->computed = (computed_key){params, 0, 0};
    setup->public_key =
        (cm_public_key){params, key_id, computed_key_polynomial, &setup->computed, test_roots(params)};
    return status;
}

static cm_status encrypt_ckks(const void *pinned, unsigned index, cm_emitter *emitter)
{
    const cm_vector *const vector = pinned;
    const size_t bytes =
        build_arena_bytes(vector->params->log2_n, vector->xof, vector->slots, vector->precision);
    vector_setup setup;
    const cm_status status = open_setup(&setup, vector->params, index);
    if (status != CM_OK) {
        return status;
    }
    const cm_ckks_values values = make_values(vector, index);
    if (vector->xof == CM_XOF_NONE) {
        return test_ckks_asymmetric(&setup.device, &setup.public_key, &values, arena, bytes, emitter);
    }
    return test_ckks_symmetric(&setup.device, &setup.secret_key, vector->xof, &values, arena, bytes, emitter);
}

static cm_status encrypt_bfv(const void *pinned, unsigned index, cm_emitter *emitter)
{
    const cm_bfv_vector *const vector = pinned;
    const size_t bytes =
        build_bfv_arena_bytes(vector->params->log2_n, vector->xof, vector->width, vector->domain);
    vector_setup setup;
    const cm_status status = open_setup(&setup, vector->params, index);
    if (status != CM_OK) {
        return status;
    }
    const cm_bfv_values values = make_bfv_values(vector, index);
    if (vector->xof == CM_XOF_NONE) {
        return test_bfv_asymmetric(&setup.device, &setup.public_key, &values, arena, bytes, emitter);
    }
    return test_bfv_symmetric(&setup.device, &setup.secret_key, vector->xof, &values, arena, bytes, emitter);
}

/* value * 2^exponent */
static double scaled(double value, int exponent)
{
    for (; exponent > 0; exponent--) {
        value *= 2;
    }
    for (; exponent < 0; exponent++) {
        value /= 2;
    }
    return value;
}

/* Number i of those that make_values wrote, times the scale. */
static double scaled_number(const cm_ckks_values *values, size_t i)
{
    const size_t size = values->number == CM_INT16 ? 2u : values->number == CM_INT64 ? 8u : 4u;
    const uint8_t *at = (const uint8_t *)values->data + i * size;
    if (values->number == CM_INT64) {
        int64_t whole;
        memcpy(&whole, at, sizeof whole);
        return scaled((double)whole, values->exponent + values->log2_scale);
    }
    if (values->number == CM_FLOAT32) {
        float value;
        memcpy(&value, at, sizeof value);
        return scaled((double)value, values->log2_scale);
    }
    int16_t narrow = 0;
    int32_t wide = 0;
    memcpy(values->number == CM_INT16 ? (void *)&narrow : (void *)&wide, at,
           values->number == CM_INT16 ? 2 : 4);
    return scaled((double)(values->number == CM_INT16 ? narrow : wide),
                  values->exponent + values->log2_scale);
}

/*
 * How far off a slot may be, squared. A coefficient's noise has the variance 10.5 of one sample, or with u
 * and a public key 10.5 (4n/3 + 1), and 1 covers its rounding; a slot sums n of them on the unit circle, so
 * that either part has n/2 times that. Seven deviations are allowed, plus what multiplying and adding n
 * doubles may lose.
 */
static double allowance(const cm_vector *vector, const cm_ckks_values *values)
{
    const double n = (double)((uint32_t)1 << vector->params->log2_n);
    const double variance = n / 2 * (1 + 10.5 * (vector->xof == CM_XOF_NONE ? 4 * n / 3 + 1 : 1));
    double largest = 0;
    for (size_t i = 0; i < values->count; i++) {
        const double number = scaled_number(values, i);
        const double size = number < 0 ? -number : number;
        largest = size > largest ? size : largest;
    }
    const double rounding = scaled(n * largest, -50);
    return 49 * variance + rounding * rounding;
}

/* The first and last given slots, one between, and the last of all. */
static void check_ckks_decrypted(const void *pinned, unsigned index)
{
    const cm_vector *const vector = pinned;
    const cm_ckks_values values = make_values(vector, index);
    const double allowed = allowance(vector, &values);
    const unsigned parts = values.slots == CM_SLOTS_COMPLEX ? 2 : 1;
    const uint32_t last = ((uint32_t)1 << (vector->params->log2_n - 1u)) - 1u;
    const uint32_t slots[] = {0, values.count / 3u, values.count - 1u, last};
    for (unsigned i = 0; i < sizeof slots / sizeof slots[0]; i++) {
        const bool given = slots[i] < values.count;
        test_complex error = decrypt_slot(slots[i]);
        error.re -= given ? scaled_number(&values, (size_t)parts * slots[i]) : 0;
        error.im -= given && parts == 2 ? scaled_number(&values, 2 * (size_t)slots[i] + 1) : 0;
        CHECK(error.re * error.re < allowed && error.im * error.im < allowed);
    }
}

/* Number i of those that make_bfv_values wrote, modulo t. */
static uint32_t residue_of_number(const cm_bfv_values *values, size_t i)
{
    const bool wide = values->number == CM_INT32 || values->number == CM_UINT32;
    const uint8_t *at = (const uint8_t *)values->data + i * (wide ? 4u : 2u);
    uint16_t narrow = 0;
    uint32_t number = 0;
    memcpy(wide ? (void *)&number : (void *)&narrow, at, wide ? 4 : 2);
    if (values->number == CM_INT16) {
        number = (uint32_t)(int16_t)narrow;
    } else if (!wide) {
        number = narrow;
    }
    const bool is_signed = values->number == CM_INT16 || values->number == CM_INT32;
    return is_signed && number >> 31 ? number + values->plain_modulus : number;
}

/* The first and last given values, one between, and the last of all: exactly as they were. */
static void check_bfv_decrypted(const void *pinned, unsigned index)
{
    const cm_bfv_vector *const vector = pinned;
    const cm_bfv_values values = make_bfv_values(vector, index);
    const uint32_t last = ((uint32_t)1 << vector->params->log2_n) - 1u;
    const uint32_t places[] = {0, values.count / 3u, values.count - 1u, last};
    const uint32_t *m = decrypt_integers(values.plain_modulus);
    for (unsigned i = 0; i < sizeof places / sizeof places[0]; i++) {
        const uint32_t expected = places[i] < values.count ? residue_of_number(&values, places[i]) : 0;
        const uint32_t value =
            values.encoding == CM_BFV_COEFFICIENTS
                ? m[places[i]]
                : batched_value(m, vector->params->log2_n, places[i], values.plain_modulus);
        CHECK(value == expected);
    }
}

/* ---- what is checked of each vector ---- */

/* A vector of either scheme: a cm_vector or a cm_bfv_vector. */
typedef struct pinned_vector {
    const void *vector;
    unsigned index; /* among those of its scheme */
    const char *title;
    const cm_params *params;
    cm_vector_form form;
    const char *emitted;
    bool in_this_build;
    bool without_seed;
    cm_status (*encrypt)(const void *pinned, unsigned index, cm_emitter *emitter);
    void (*check_coefficients)(const void *pinned, unsigned index);
    void (*check_decrypted)(const void *pinned, unsigned index);
} pinned_vector;

/* Frames of version 2, whose window began `index` counters ago. */
static void tag_as_pinned(cm_frame_writer *writer, cm_frame_sender *sender, unsigned index)
{
    static uint8_t tag_key[CM_TAG_KEY_BYTES];
    consecutive_bytes(tag_key, sizeof tag_key, 160);
    cm_frame_sender_init(sender, tag_key, 0x01020304u + index, (uint16_t)(7u + index));
    sender->window = pinned_counter(index) - index;
    cm_frame_writer_tag(writer, sender);
}

/* The bytes are the same with tiles as without: SEAL's directly, frames once a gateway has joined them. */
static cm_status emit(const pinned_vector *pinned, chained_digest *digest)
{
    const cm_sink digest_sink = {digest_write, digest};
    witness listener;
    if (pinned->form == CM_VECTOR_SEAL || pinned->form == CM_VECTOR_SEAL_SEEDED) {
        cm_seal_writer seal;
        const cm_seal_form form = pinned->form == CM_VECTOR_SEAL ? CM_SEAL_FULL : CM_SEAL_SEEDED;
        cm_seal_writer_init(&seal, form, digest_sink);
        witness_init(&listener, &seal.emitter);
        return pinned->encrypt(pinned->vector, pinned->index, &listener.emitter);
    }
    cm_frame_writer frames;
    rejoiner gateway;
    memset(&gateway, 0, sizeof gateway);
    cm_frame_writer_init(&gateway.whole, digest_sink);
    const cm_sink gateway_sink = {rejoin_write, &gateway};
    cm_frame_writer_init(&frames, BUILD_LOG2_TILES == 0 ? digest_sink : gateway_sink);
    cm_frame_sender sender;
    if (pinned->form == CM_VECTOR_TAGGED) {
        tag_as_pinned(BUILD_LOG2_TILES == 0 ? &frames : &gateway.whole, &sender, pinned->index);
    }
    witness_init(&listener, &frames.emitter);
    return pinned->encrypt(pinned->vector, pinned->index, &listener.emitter);
}

static void check_emitted(const pinned_vector *pinned)
{
    chained_digest digest = {{0}, 0};
    if (CHECK(emit(pinned, &digest) == CM_OK)) {
        CHECK_HEX(digest_end(&digest), pinned->emitted);
        if (CHECK(decrypt_close())) {
            pinned->check_decrypted(pinned->vector, pinned->index);
        }
    }
}

static void check_refused(const pinned_vector *pinned)
{
    chained_digest digest = {{0}, 0};
    CHECK(emit(pinned, &digest) == CM_ERR_UNSUPPORTED);
    CHECK(digest.filled == 0);
}

static unsigned too_large;

static bool in_step(const cm_params *params, uint32_t count, const char *coefficients, const char *emitted,
                    const char *table)
{
    return cm_check_in_step(params != NULL && count <= (uint32_t)1 << params->log2_n &&
                                cm_is_hex_of(coefficients, DIGEST_BYTES) &&
                                cm_is_hex_of(emitted, DIGEST_BYTES),
                            table);
}

static void check_vector(const pinned_vector *pinned)
{
    if (pinned->params->log2_n > TEST_LOG2_N) {
        too_large++;
    } else if (pinned->params->log2_n > 10 && pinned->index % CM_TEST_EVERY != 0) {
        return;
    } else if (pinned->form == CM_VECTOR_TAGGED && pinned->without_seed && BUILD_LOG2_TILES != 0) {
        return; /* a gateway that joins tiles has no seed to take the random bytes from */
    } else if (pinned->in_this_build) {
        BEHAVIOUR(pinned->title);
        pinned->check_coefficients(pinned->vector, pinned->index);
        check_emitted(pinned);
    } else {
        BEHAVIOUR("what the build leaves out is refused before a byte leaves");
        check_refused(pinned);
    }
}

static void check_ckks_vector(const cm_vector *vector, unsigned index)
{
    const bool in_this_build = build_has_slots(vector->slots) && build_has_precision(vector->precision) &&
                               build_has_xof(vector->xof);
    const pinned_vector pinned = {vector,
                                  index,
                                  vector->title,
                                  vector->params,
                                  vector->form,
                                  vector->emitted,
                                  in_this_build,
                                  vector->xof == CM_XOF_NONE,
                                  encrypt_ckks,
                                  check_ckks_coefficients,
                                  check_ckks_decrypted};
    check_vector(&pinned);
}

static void check_bfv_vector(const cm_bfv_vector *vector, unsigned index)
{
    const bool in_this_build = build_has_xof(vector->xof);
    const pinned_vector pinned = {vector,
                                  index,
                                  vector->title,
                                  vector->params,
                                  vector->form,
                                  vector->emitted,
                                  in_this_build,
                                  vector->xof == CM_XOF_NONE,
                                  encrypt_bfv,
                                  check_bfv_coefficients,
                                  check_bfv_decrypted};
    check_vector(&pinned);
}

void test_vectors(void)
{
    too_large = 0;
    for (unsigned i = 0; i < sizeof cm_vectors / sizeof cm_vectors[0]; i++) {
        const cm_vector *const row = &cm_vectors[i];
        if (in_step(row->params, row->count, row->coefficients, row->emitted, "tests/vectors/vectors.h")) {
            check_ckks_vector(row, i);
        }
    }
    for (unsigned i = 0; i < sizeof cm_bfv_vectors / sizeof cm_bfv_vectors[0]; i++) {
        const cm_bfv_vector *const row = &cm_bfv_vectors[i];
        if (in_step(row->params, row->count, row->coefficients, row->emitted,
                    "tests/vectors/bfv_vectors.h")) {
            check_bfv_vector(row, i);
        }
    }
    if (too_large > 0) {
        cm_leave_out(too_large, "pinned vectors",
                     "of rings beyond CM_CONFIG_MAX_LOG2_N or CM_TEST_MAX_LOG2_N");
    }
}
