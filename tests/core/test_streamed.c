/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A public key that comes a prime at a time: the same ciphertext as under the key in memory, and nothing of a
 * prime whose polynomials are not the owner's.
 */
#include "build.h"
#include "check.h"
#include "common/bytes.h"
#include "encrypting.h"
#include "platform.h"
#include "random/xof.h"
#include "ring/prime.h"
#include "roots.h"

enum {
    N = 1024,
    PRIMES = 2,
    KEY_ID = 42,
    SLOTS = N / 2,
    STREAM_BYTES =
        2 * PRIMES * (N / 8 * 26 + ((CM_FRAME_HEADER_BYTES + CM_FRAME_CRC_BYTES) << BUILD_LOG2_TILES))
};

/* Two data primes, which is not secure at this n: for tests only. */
static cm_prime primes[PRIMES + 1];
static const cm_params params = {"test", 0x74736574u, 10, PRIMES + 1, PRIMES, 51, primes};

static uint64_t
    arena[CM_CKKS_ASYMMETRIC_ARENA_BYTES(N, CM_SLOTS_REAL, BUILD_PRECISION, BUILD_LOG2_TILES) / 8 + 1];
static uint32_t own_key[PRIMES][2][N];
static uint8_t digests[PRIMES][2][CM_KEY_DIGEST_BYTES];
static uint32_t held[2][N];
static uint8_t expected[STREAM_BYTES];
static uint8_t stream[STREAM_BYTES];
static size_t length;

static int store(void *context, const uint8_t *bytes, size_t count)
{
    (void)context;
    if (length + count > sizeof stream) {
        return -1;
    }
    memcpy(stream + length, bytes, count);
    length += count;
    return 0;
}

static void write_digest(uint8_t *digest, uint64_t key_id, unsigned component, unsigned prime,
                         const uint32_t *residues)
{
    static uint8_t bytes[4 * N];
    uint8_t which[35] = "ciphermote public key";
    cmi_store64(which + 21, key_id);
    cmi_store32(which + 29, params.id);
    which[33] = (uint8_t)component;
    which[34] = (uint8_t)prime;
    cmi_store_words(bytes, residues, N);
    cmi_blake2b(digest, CM_KEY_DIGEST_BYTES, which, sizeof which, bytes, sizeof bytes);
}

static void make_own_key(void)
{
    for (unsigned i = 0; i < PRIMES + 1; i++) {
        CHECK(cmi_prime_init(&primes[i], cm_n4096_q26x3_p27.primes[i].q, params.log2_n, NULL));
    }
    uint32_t state = 1;
    for (unsigned i = 0; i < PRIMES; i++) {
        for (unsigned component = 0; component < 2; component++) {
            for (unsigned j = 0; j < N; j++) {
                state = state * 1664525u + 1013904223u;
                own_key[i][component][j] = state >> 7; /* below 2^25, so below any of the primes */
            }
            write_digest(digests[i][component], KEY_ID, component, i, own_key[i][component]);
        }
    }
}

/* How a load goes wrong. It concerns prime alone, and component alone. */
typedef enum fault {
    NO_FAULT,
    ALTERED_FIRST_WORD,
    ALTERED_LAST_WORD,
    OTHER_PRIME,
    OTHER_COMPONENT,
    ANOTHER_KEY,
    ALL_ZERO,
    SILENCE,
    FAULTS
} fault;

typedef struct loader {
    fault fault;
    unsigned prime;
    unsigned component;
    unsigned loads;
    unsigned highest; /* the last prime that was asked for */
} loader;

static cm_status load(void *context, unsigned component, unsigned prime, uint8_t *bytes, size_t count)
{
    loader *self = context;
    CHECK(count == sizeof held[0] && bytes == (uint8_t *)held[component]);
    self->loads++;
    self->highest = prime;
    const fault now = prime == self->prime && component == self->component ? self->fault : NO_FAULT;
    const uint32_t *words =
        own_key[now == OTHER_PRIME ? 1u - prime : prime][now == OTHER_COMPONENT ? 1u - component : component];
    cmi_store_words(bytes, words, N);
    bytes[0] ^= now == ALTERED_FIRST_WORD;
    bytes[count - 1] ^= now == ALTERED_LAST_WORD;
    if (now == ANOTHER_KEY) {
        for (size_t i = 0; i < count; i += 4) {
            bytes[i] ^= 1;
        }
    } else if (now == ALL_ZERO) {
        memset(bytes, 0, count);
    }
    return now == SILENCE ? CM_ERR_FRAME_SHORT : CM_OK;
}

/* The same device each time, so that all encryptions have the same seeds. */
static cm_status encrypt_under(const cm_public_key *key, bool component_major)
{
    static float readings[SLOTS];
    for (unsigned i = 0; i < SLOTS; i++) {
        readings[i] = (float)((int)(i * 37u % 101u) - 50) / 50;
    }
    const cm_ckks_values values = {.data = readings,
                                   .count = SLOTS,
                                   .number = CM_FLOAT32,
                                   .slots = CM_SLOTS_REAL,
                                   .log2_scale = 18,
                                   .precision = BUILD_PRECISION,
                                   .largest = 1};
    const cm_sink sink = {store, NULL};
    test_platform platform = {0};
    cm_device device;
    cm_frame_writer writer;
    CHECK(test_device_start(&device, &platform) == CM_OK);
    cm_frame_writer_init(&writer, sink);
    writer.emitter.component_major = component_major;
    length = 0;
    return test_ckks_asymmetric(&device, key, &values, arena, sizeof arena, &writer.emitter);
}

static cm_streamed_public_key streamed_key(loader *from)
{
    return (cm_streamed_public_key){.params = &params,
                                    .key_id = KEY_ID,
                                    .digests = &digests[0][0][0],
                                    .residues = held[0],
                                    .load = load,
                                    .context = from};
}

static cm_status encrypt_streamed(cm_streamed_public_key *streamed, bool component_major)
{
    const cm_public_key key = {&params, KEY_ID, cm_streamed_public_key_polynomial, streamed,
                               test_roots(&params)};
    return encrypt_under(&key, component_major);
}

static void encrypt_expected(void)
{
    cm_flat_public_key flat = {&own_key[0][0][0], N};
    const cm_public_key key = {&params, KEY_ID, cm_flat_public_key_polynomial, &flat, test_roots(&params)};
    CHECK(encrypt_under(&key, false) == CM_OK && length == sizeof stream);
    memcpy(expected, stream, sizeof expected);
}

static bool is_wiped(const void *memory, size_t bytes)
{
    const uint8_t *const at = memory;
    uint8_t any = 0;
    for (size_t i = 0; i < bytes; i++) {
        any |= at[i];
    }
    return any == 0;
}

/* By Python's hashlib: the documented format, not this file's. */
static void a_digest_is_the_one_that_the_owner_computes(void)
{
    CHECK_HEX(digests[1][0], "0aad5d1421fb841383a2ba91b63c66c57a096fa35938ca8e71ffd1a88db2a78a");
}

static void a_key_that_comes_prime_by_prime_encrypts_as_one_in_memory(void)
{
    encrypt_expected();
    for (unsigned component_major = 0; component_major < 2; component_major++) {
        loader from = {0};
        cm_streamed_public_key streamed = streamed_key(&from);
        CHECK(encrypt_streamed(&streamed, component_major == 1) == CM_OK);
        CHECK(component_major == 1 || memcmp(stream, expected, sizeof expected) == 0);
        CHECK(from.loads == (component_major == 1 ? 4u * PRIMES : 2u * PRIMES)); /* however many tiles */
    }
}

static void a_polynomial_that_is_not_the_owners_ends_the_encryption_before_its_prime(void)
{
    encrypt_expected();
    for (unsigned i = NO_FAULT + 1; i < FAULTS; i++) {
        for (unsigned where = 0; where < 2 * PRIMES; where++) {
            loader from = {.fault = (fault)i, .prime = where / 2u, .component = where % 2u};
            cm_streamed_public_key streamed = streamed_key(&from);
            CHECK(encrypt_streamed(&streamed, false) == CM_ERR_PUBLIC_KEY);
            CHECK(streamed.status == (i == SILENCE ? CM_ERR_FRAME_SHORT : CM_ERR_PUBLIC_KEY));
            CHECK(length == sizeof expected / PRIMES * from.prime && memcmp(stream, expected, length) == 0);
            CHECK(from.highest == from.prime);
            CHECK(is_wiped(held, sizeof held) && is_wiped(arena, sizeof arena));
            from.fault = NO_FAULT;
            CHECK(encrypt_streamed(&streamed, false) == CM_OK);
            CHECK(memcmp(stream, expected, sizeof expected) == 0);
        }
    }
}

static void a_digest_holds_for_one_key_set_and_place(void)
{
    loader from = {0};
    cm_streamed_public_key streamed = streamed_key(&from);
    streamed.key_id++;
    CHECK(cm_streamed_public_key_polynomial(&streamed, 0, 0) == cm_refused_polynomial);
    cm_params other = params;
    other.id++;
    streamed = streamed_key(&from);
    streamed.params = &other;
    CHECK(cm_streamed_public_key_polynomial(&streamed, 0, 0) == cm_refused_polynomial);
    streamed = streamed_key(&from);
    CHECK(cm_streamed_public_key_polynomial(&streamed, 0, 0) == held[0]);
    memcpy(digests[0][1], digests[0][0], CM_KEY_DIGEST_BYTES); /* equal polynomials have other digests */
    memcpy(own_key[0][1], own_key[0][0], sizeof own_key[0][0]);
    streamed = streamed_key(&from);
    CHECK(cm_streamed_public_key_polynomial(&streamed, 0, 0) == cm_refused_polynomial);
    make_own_key();
}

static void a_streamed_key_that_was_not_set_up_is_refused(void)
{
    loader from = {0};
    const cm_streamed_public_key whole = streamed_key(&from);
    cm_streamed_public_key streamed = whole;
    streamed.params = NULL;
    CHECK(cm_streamed_public_key_polynomial(&streamed, 0, 0) == NULL);
    streamed = whole;
    streamed.digests = NULL;
    CHECK(cm_streamed_public_key_polynomial(&streamed, 0, 0) == NULL);
    streamed = whole;
    streamed.residues = NULL;
    CHECK(cm_streamed_public_key_polynomial(&streamed, 0, 0) == NULL);
    streamed = whole;
    streamed.load = NULL;
    CHECK(encrypt_streamed(&streamed, false) == CM_ERR_ARGUMENT && length == 0);
    streamed = whole;
    CHECK(cm_streamed_public_key_polynomial(&streamed, 2, 0) == NULL);
    CHECK(cm_streamed_public_key_polynomial(&streamed, 0, PRIMES) == NULL);
    CHECK(cm_streamed_public_key_polynomial(NULL, 0, 0) == NULL);
    CHECK(from.loads == 0);
}

void test_streamed(void)
{
    make_own_key();
    RUN(a_digest_is_the_one_that_the_owner_computes);
    RUN(a_key_that_comes_prime_by_prime_encrypts_as_one_in_memory);
    RUN(a_polynomial_that_is_not_the_owners_ends_the_encryption_before_its_prime);
    RUN(a_digest_holds_for_one_key_set_and_place);
    RUN(a_streamed_key_that_was_not_set_up_is_refused);
}
