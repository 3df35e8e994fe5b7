/*
 * The pinned ciphertexts of tests/vectors: what this build encodes and emits is what the golden model does.
 *
 * Inputs are made by the rules in vectors.h, bytes are digested as they leave, and the public key is computed
 * a polynomial at a time, so n = 16384 needs 534 KB and n = 4096 134 KB. -DCM_TEST_MAX_LOG2_N=12 leaves out
 * what is larger than 4096, and so on.
 */
#include <string.h>

#include "../vectors/bfv_vectors.h"
#include "../vectors/vectors.h"
#include "check.h"
#include "encode/encode.h"
#include "encode/plain.h"
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

/* The numbers of a vector, written to the start of the arena: they are encoded where they lie. */
static cm_ckks_values make_values(const cm_vector *vector, unsigned index)
{
    uint32_t count = vector->slots == CM_COMPLEX_SLOTS ? 2 * vector->count : vector->count;
    uint32_t x = index;
    for (uint32_t i = 0; i < count; i++) {
        x = 1664525u * x + 1013904223u;
        if (vector->number == CM_INT16) {
            put_number(i, false, x >> 16);
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
    return values;
}

/* BFV's, where they are encoded in place if they can be; others lie in the memory of a polynomial. */
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
    values.plain_modulus = t;
    if (wide && vector->width == CM_BFV_16) {
        memcpy(polynomials[2], arena, 4 * (size_t)vector->count);
        values.data = polynomials[2];
    }
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

/* A polynomial at one prime into the digest. */
static void digest_residues(chained_digest *digest, const uint32_t *lazy, const cm_ring *ring)
{
    for (size_t i = 0; i < cm_ring_points(ring); i++) {
        uint8_t word[4];
        cm_store32(word, cm_reduce(lazy[i], ring->prime));
        (void)digest_write(digest, word, sizeof word);
    }
}

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
        digest_residues(&digest, polynomials[0], &ring);
    }
    CHECK_HEX(digest_end(&digest), vector->coefficients);
}

static void check_bfv_coefficients(const cm_bfv_vector *vector, unsigned index)
{
    chained_digest digest = {{0}, 0};
    cm_bfv_values values = make_bfv_values(vector, index);
    cm_plain plain;
    cm_ring ring;
    plain.data = arena;
    if (!CHECK(cm_plain_encode(vector->params, &values, &plain, &ring, (uint8_t *)polynomials[0]) == CM_OK)) {
        return;
    }
    cm_plain_scale(vector->params, &plain);
    for (unsigned prime = 0; prime < vector->params->data_primes; prime++) {
        cm_ring_init(&ring, &vector->params->primes[prime], vector->params->log2_n);
        cm_plain_fold(&plain, &ring, polynomials[0]);
        digest_residues(&digest, polynomials[0], &ring);
    }
    CHECK_HEX(digest_end(&digest), vector->coefficients);
}

/* What an encryption of vector number index has beside its values. */
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
    setup->state = (vector_platform){index, ((uint64_t)index << 32) + 0xFFFFFFFFu - index};
    consecutive_bytes(seed, sizeof seed, 64);
    consecutive_bytes(device_secret, sizeof device_secret, 0);
    cm_status status = cm_secret_key_generate(params, seed, ternary);
    if (status == CM_OK) {
        status = cm_device_init(&setup->device, device_secret, &platform);
    }
    setup->secret_key = test_secret_key(params, key_id, ternary);
    setup->computed = (computed_key){params, 0};
    setup->public_key = (cm_public_key){params, key_id, computed_key_polynomial, &setup->computed};
    return status;
}

static cm_status encrypt(const void *vector, unsigned index, cm_emitter *emitter)
{
    const cm_vector *const ckks = vector;
    vector_setup setup;
    const cm_status status = open_setup(&setup, ckks->params, index);
    if (status != CM_OK) {
        return status;
    }
    const cm_ckks_values values = make_values(ckks, index);
    if (ckks->xof == CM_XOF_NONE) {
        return cm_ckks_encrypt_asymmetric(&setup.device, &setup.public_key, &values, arena, sizeof arena,
                                          emitter);
    }
    return cm_ckks_encrypt_symmetric(&setup.device, &setup.secret_key, ckks->xof, &values, arena,
                                     sizeof arena, emitter);
}

static cm_status encrypt_bfv(const void *vector, unsigned index, cm_emitter *emitter)
{
    const cm_bfv_vector *const bfv = vector;
    vector_setup setup;
    const cm_status status = open_setup(&setup, bfv->params, index);
    if (status != CM_OK) {
        return status;
    }
    const cm_bfv_values values = make_bfv_values(bfv, index);
    if (bfv->xof == CM_XOF_NONE) {
        return cm_bfv_encrypt_asymmetric(&setup.device, &setup.public_key, &values, bfv->domain, arena,
                                         sizeof arena, emitter);
    }
    return cm_bfv_encrypt_symmetric(&setup.device, &setup.secret_key, bfv->xof, &values, bfv->domain, arena,
                                    sizeof arena, emitter);
}

typedef cm_status encrypt_function(const void *vector, unsigned index, cm_emitter *emitter);

static void check_emitted(encrypt_function *encrypt_vector, const void *vector, unsigned index,
                          cm_vector_form form, const char *expected)
{
    chained_digest digest = {{0}, 0};
    const cm_sink sink = {digest_write, &digest};
    cm_frame_writer frames;
    cm_seal_writer seal;
    cm_emitter *emitter = &frames.emitter;
    if (form == CM_VECTOR_FRAMES) {
        cm_frame_writer_init(&frames, sink);
    } else {
        cm_seal_writer_init(&seal, form == CM_VECTOR_SEAL ? CM_SEAL_FULL : CM_SEAL_SEEDED, sink);
        emitter = &seal.emitter;
    }
    if (CHECK(encrypt_vector(vector, index, emitter) == CM_OK)) {
        CHECK_HEX(digest_end(&digest), expected);
    }
}

/*
 * Whether config.h left in what a vector needs, and the buffers above hold it. The frames pinned are of whole polynomials;
 * with tiles there are more of them, and SEAL's form tells whether the residues are right.
 */
static bool in_this_build(const cm_params *params, cm_xof_kind xof, cm_vector_form form)
{
    return (CM_LOG2_TILES == 0 || form != CM_VECTOR_FRAMES) && params->log2_n <= LOG2_N &&
           (CM_XOF_SHAKE256 || xof != CM_SHAKE256) && (CM_XOF_BLAKE2XB || xof != CM_BLAKE2XB);
}

static bool encodes(const cm_vector *vector)
{
    return (CM_COMPLEX || vector->slots == CM_REAL) &&
           (CM_PRECISION_31 || vector->precision != CM_FIXED_31) &&
           (CM_PRECISION_63 || vector->precision != CM_FIXED_63);
}

static unsigned check_ckks_vectors(void)
{
    unsigned checked = 0;
    for (unsigned i = 0; i < sizeof cm_vectors / sizeof cm_vectors[0]; i++) {
        const cm_vector *const vector = &cm_vectors[i];
        if (in_this_build(vector->params, vector->xof, vector->form) && encodes(vector)) {
            BEHAVIOUR(vector->title);
            check_coefficients(vector, i);
            check_emitted(encrypt, vector, i, vector->form, vector->emitted);
            checked++;
        }
    }
    return checked;
}

static unsigned check_bfv_vectors(void)
{
    unsigned checked = 0;
    for (unsigned i = 0; i < sizeof cm_bfv_vectors / sizeof cm_bfv_vectors[0]; i++) {
        const cm_bfv_vector *const vector = &cm_bfv_vectors[i];
        if (in_this_build(vector->params, vector->xof, vector->form) &&
            (CM_LOG2_TILES == 0 || vector->domain == CM_DOMAIN_NTT)) {
            BEHAVIOUR(vector->title);
            check_bfv_coefficients(vector, i);
            check_emitted(encrypt_bfv, vector, i, vector->form, vector->emitted);
            checked++;
        }
    }
    return checked;
}

void test_vectors(void)
{
    const unsigned ckks = check_ckks_vectors();
    const unsigned bfv = check_bfv_vectors();
    BEHAVIOUR("at least one pinned vector of each scheme suits this build");
    CHECK(ckks > 0);
    CHECK(bfv > 0);
}
