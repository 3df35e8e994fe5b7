/*
 * The pinned ciphertexts of tests/vectors: what this build encodes and emits is what the golden model does.
 *
 * Inputs are made by the rules in vectors.h, bytes are digested as they leave, and the public key is computed
 * a polynomial at a time, so n = 16384 needs 534 KB and n = 4096 134 KB. -DCM_TEST_MAX_LOG2_N=12 leaves out
 * what is larger than 4096, and so on.
 */
#include <string.h>

#include "../vectors/vectors.h"
#include "check.h"
#include "encode/encode.h"
#include "random/bytes.h"
#include "random/xof.h"
#include "secret_key.h"

#ifndef CM_TEST_MAX_LOG2_N
#define CM_TEST_MAX_LOG2_N 14
#endif

#define LOG2_N (CM_TEST_MAX_LOG2_N < CM_MAX_LOG2_N ? CM_TEST_MAX_LOG2_N : CM_MAX_LOG2_N)
#define N ((size_t)1 << LOG2_N)

static uint64_t arena[CM_CKKS_ASYMMETRIC_ARENA_BYTES(N, CM_COMPLEX_SLOTS, CM_FIXED_63) / 8u];
static uint32_t polynomials[3][N];
static uint8_t ternary[CM_TERNARY_BYTES(N)];

/* ---- the chained digest ---- */

enum { DIGEST_BYTES = 32, PIECE_BYTES = 96 };

typedef struct chained_digest {
    uint8_t input[DIGEST_BYTES + PIECE_BYTES]; /* the digest so far, then a piece */
    uint8_t filled;                            /* bytes of the piece */
} chained_digest;

static void digest_piece(chained_digest *digest)
{
    uint8_t next[DIGEST_BYTES];
    cm_blake2b(next, sizeof next, NULL, 0, digest->input, (size_t)DIGEST_BYTES + digest->filled);
    memcpy(digest->input, next, sizeof next);
    digest->filled = 0;
}

static int digest_write(void *context, const uint8_t *bytes, size_t length)
{
    chained_digest *digest = (chained_digest *)context;
    for (size_t i = 0; i < length; i++) {
        digest->input[DIGEST_BYTES + digest->filled++] = bytes[i];
        if (digest->filled == PIECE_BYTES) {
            digest_piece(digest);
        }
    }
    return 0;
}

static const uint8_t *digest_end(chained_digest *digest)
{
    if (digest->filled > 0) {
        digest_piece(digest);
    }
    return digest->input;
}

/* ---- inputs ---- */

static void consecutive_bytes(uint8_t *out, size_t length, unsigned first)
{
    for (size_t i = 0; i < length; i++) {
        out[i] = (uint8_t)(first + i);
    }
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

/* The numbers of a vector, written to the start of the arena: they are encoded where they lie. */
static cm_ckks_values make_values(const cm_vector *vector, unsigned index)
{
    uint8_t *out = (uint8_t *)arena;
    uint32_t count = vector->slots == CM_COMPLEX_SLOTS ? 2 * vector->count : vector->count;
    uint32_t x = index;
    for (uint32_t i = 0; i < count; i++) {
        x = 1664525u * x + 1013904223u;
        if (vector->number == CM_INT16) {
            uint16_t upper = (uint16_t)(x >> 16);
            memcpy(out + 2 * (size_t)i, &upper, sizeof upper);
        } else {
            uint32_t word = vector->number == CM_FLOAT32 ? float_bits(x) : x;
            memcpy(out + 4 * (size_t)i, &word, sizeof word);
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
    return values;
}

/* A public key that computes what it is asked for: the last two stay valid; polynomials[2] takes the rest. */
typedef struct computed_key {
    const cm_params *params;
    unsigned calls;
} computed_key;

static const uint32_t *computed_key_polynomial(void *context, unsigned component, unsigned prime)
{
    computed_key *key = (computed_key *)context;
    uint8_t seed[CM_SEED_BYTES];
    consecutive_bytes(seed, sizeof seed, 128);
    uint32_t *asked = polynomials[key->calls++ % 2];
    uint32_t *other = polynomials[2];
    cm_status status = component == 0 ? cm_zero_encryption(key->params, ternary, seed, prime, asked, other)
                                      : cm_zero_encryption(key->params, ternary, seed, prime, other, asked);
    return status == CM_OK ? asked : NULL;
}

/* ---- outputs ---- */

static void check_coefficients(const cm_vector *vector, unsigned index)
{
    chained_digest digest = {{0}, 0};
    cm_ckks_values values = make_values(vector, index);
    cm_message message;
    cm_ring ring;
    message.data = arena;
    if (!CHECK(cm_encode(vector->params, &values, &message, (uint8_t *)polynomials[0]) == CM_OK)) {
        return;
    }
    for (unsigned prime = 0; prime < vector->params->data_primes; prime++) {
        cm_ring_init(&ring, &vector->params->primes[prime], vector->params->log2_n);
        cm_message_fold(&message, &ring, polynomials[0]);
        for (size_t i = 0; i < (size_t)1 << vector->params->log2_n; i++) {
            uint8_t word[4];
            cm_store32(word, cm_reduce(polynomials[0][i], ring.prime));
            (void)digest_write(&digest, word, sizeof word);
        }
    }
    CHECK_HEX(digest_end(&digest), vector->coefficients);
}

static cm_status encrypt(const cm_vector *vector, unsigned index, cm_emitter *emitter)
{
    uint8_t seed[CM_SEED_BYTES];
    uint8_t device_secret[CM_DEVICE_SECRET_BYTES];
    const uint64_t key_id = 0x636970686572u + (uint64_t)index;
    vector_platform state = {index, ((uint64_t)index << 32) + 0xFFFFFFFFu - index};
    const cm_platform platform = {platform_random, platform_counter_read, platform_counter_write, &state};
    cm_device device;
    cm_status status;

    consecutive_bytes(seed, sizeof seed, 64);
    consecutive_bytes(device_secret, sizeof device_secret, 0);
    status = cm_secret_key_generate(vector->params, seed, ternary);
    if (status == CM_OK) {
        status = cm_device_init(&device, device_secret, &platform);
    }
    if (status != CM_OK) {
        return status;
    }
    const cm_ckks_values values = make_values(vector, index);
    if (vector->xof == CM_XOF_NONE) {
        computed_key computed = {vector->params, 0};
        const cm_public_key key = {vector->params, key_id, computed_key_polynomial, &computed};
        return cm_ckks_encrypt_asymmetric(&device, &key, &values, arena, sizeof arena, emitter);
    }
    const cm_secret_key key = test_secret_key(vector->params, key_id, ternary);
    return cm_ckks_encrypt_symmetric(&device, &key, vector->xof, &values, arena, sizeof arena, emitter);
}

static void check_emitted(const cm_vector *vector, unsigned index)
{
    chained_digest digest = {{0}, 0};
    const cm_sink sink = {digest_write, &digest};
    cm_frame_writer frames;
    cm_seal_writer seal;
    cm_emitter *emitter = &frames.emitter;
    if (vector->form == CM_VECTOR_FRAMES) {
        cm_frame_writer_init(&frames, sink);
    } else {
        cm_seal_writer_init(&seal, vector->form == CM_VECTOR_SEAL ? CM_SEAL_FULL : CM_SEAL_SEEDED, sink);
        emitter = &seal.emitter;
    }
    if (CHECK(encrypt(vector, index, emitter) == CM_OK)) {
        CHECK_HEX(digest_end(&digest), vector->emitted);
    }
}

/*
 * Whether config.h left everything in that the vector needs, and the buffers above hold it. The frames pinned are of
 * whole polynomials; with tiles there are more of them, and SEAL's form tells whether the residues are right.
 */
static bool in_this_build(const cm_vector *vector)
{
    return (CM_LOG2_TILES == 0 || vector->form != CM_VECTOR_FRAMES) && vector->params->log2_n <= LOG2_N &&
           (CM_COMPLEX || vector->slots == CM_REAL) &&
           (CM_PRECISION_31 || vector->precision != CM_FIXED_31) &&
           (CM_PRECISION_63 || vector->precision != CM_FIXED_63) &&
           (CM_XOF_SHAKE256 || vector->xof != CM_SHAKE256) && (CM_XOF_BLAKE2XB || vector->xof != CM_BLAKE2XB);
}

void test_vectors(void)
{
    unsigned checked = 0;
    for (unsigned i = 0; i < sizeof cm_vectors / sizeof cm_vectors[0]; i++) {
        if (in_this_build(&cm_vectors[i])) {
            BEHAVIOUR(cm_vectors[i].title);
            check_coefficients(&cm_vectors[i], i);
            check_emitted(&cm_vectors[i], i);
            checked++;
        }
    }
    BEHAVIOUR("at least one pinned vector suits this build");
    CHECK(checked > 0);
}
