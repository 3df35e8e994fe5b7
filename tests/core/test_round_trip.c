/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decryption accepts what encryption produces: values go through the frames of each scheme and kind of key,
 * and come back; what cannot come back is refused with its own status.
 */
#include <string.h>

#include "build.h"
#include "check.h"
#include "common/bytes.h"
#include "decrypting.h"
#include "encrypting.h"
#include "platform.h"
#include "ring/prime.h"
#include "roots.h"
#include "secret_key.h"

enum {
    N = 1024,
    PRIMES = 3,
    T = 12289,
    KEY_ID = 42,
    LOG2_TILES = BUILD_LOG2_TILES,
    MOST_FRAMES = 2 * PRIMES << LOG2_TILES,
    SEED_FRAME_MAX = CM_FRAME_HEADER_BYTES + 64 + CM_FRAME_CRC_BYTES,
    STREAM_BYTES =
        2 * PRIMES * N / 8 * 27 + MOST_FRAMES * (CM_FRAME_HEADER_BYTES + CM_FRAME_CRC_BYTES) + SEED_FRAME_MAX
};

/* Three data primes, which is not secure at this n: for tests only. */
static cm_prime primes[PRIMES + 1];
static cm_params params = {"test", 0x74736574u, 10, PRIMES + 1, PRIMES, 77, primes};

static uint64_t arena[BUILD_MOST_ARENA_BYTES(N) / 8];
static uint8_t ternary[CM_TERNARY_BYTES(N)];
static uint32_t public_key[PRIMES][2][N];
static uint8_t stream[STREAM_BYTES];
static size_t length;
static test_platform platform;
static cm_device device;

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

static void make_keys(void)
{
    const uint8_t seed[CM_SEED_BYTES] = {3, 1, 4};
    const uint8_t public_seed[CM_SEED_BYTES] = {1, 5, 9};
    for (unsigned i = 0; i < PRIMES + 1; i++) {
        CHECK(cmi_prime_init(&primes[i], cm_n4096_q26x3_p27.primes[i].q, params.log2_n, NULL));
    }
    CHECK(cm_secret_key_generate(&params, seed, ternary) == CM_OK);
    for (unsigned i = 0; i < PRIMES; i++) {
        CHECK(cm_zero_encryption(&params, ternary, public_seed, i, public_key[i][0], public_key[i][1]) ==
              CM_OK);
    }
    CHECK(test_device_start(&device, &platform) == CM_OK);
}

static float reading(uint32_t i)
{
    return (float)((int32_t)(i * 7919u % 601u) - 300) / 10.0f; /* -30 .. 30 */
}

static uint16_t integer(uint32_t i)
{
    return (uint16_t)((i * 7919u + 5u) % T);
}

/* xof: CM_XOF_NONE under the public key. */
static cm_status encrypt_readings(cm_xof_kind xof, cm_precision precision, int log2_scale)
{
    static float readings[N / 2];
    const cm_secret_key secret = test_secret_key(&params, KEY_ID, ternary);
    cm_flat_public_key flat = {&public_key[0][0][0], N};
    const cm_public_key public = {&params, KEY_ID, cm_flat_public_key_polynomial, &flat, test_roots(&params)};
    const cm_sink sink = {store, NULL};
    cm_frame_writer writer;
    for (uint32_t i = 0; i < N / 2; i++) {
        readings[i] = reading(i);
    }
    const cm_ckks_values values = {.data = readings,
                                   .count = N / 2,
                                   .number = CM_FLOAT32,
                                   .slots = CM_SLOTS_REAL,
                                   .log2_scale = (int16_t)log2_scale,
                                   .precision = precision,
                                   .largest = 30};
    length = 0;
    cm_frame_writer_init(&writer, sink);
    return xof == CM_XOF_NONE
               ? test_ckks_asymmetric(&device, &public, &values, arena, sizeof arena, &writer.emitter)
               : test_ckks_symmetric(&device, &secret, xof, &values, arena, sizeof arena, &writer.emitter);
}

static cm_status encrypt_integers(cm_xof_kind xof, cm_domain domain)
{
    static uint16_t integers[N];
    const cm_secret_key secret = test_secret_key(&params, KEY_ID, ternary);
    cm_flat_public_key flat = {&public_key[0][0][0], N};
    const cm_public_key public = {&params, KEY_ID, cm_flat_public_key_polynomial, &flat, test_roots(&params)};
    const cm_sink sink = {store, NULL};
    cm_frame_writer writer;
    for (uint32_t i = 0; i < N; i++) {
        integers[i] = integer(i);
    }
    const cm_bfv_values values = {.data = integers,
                                  .count = N,
                                  .number = CM_UINT16,
                                  .encoding = CM_BFV_BATCH,
                                  .width = CM_BFV_16,
                                  .plain_modulus = T,
                                  .domain = domain,
                                  .largest = T - 1};
    length = 0;
    cm_frame_writer_init(&writer, sink);
    return xof == CM_XOF_NONE
               ? test_bfv_asymmetric(&device, &public, &values, arena, sizeof arena, &writer.emitter)
               : test_bfv_symmetric(&device, &secret, xof, &values, arena, sizeof arena, &writer.emitter);
}

static cm_decryption decryption;
static cm_seed_expander expander;

/* Through an expander, in pieces that match no boundary. */
static cm_status read_stream(void)
{
    cm_frame_reader reader;
    cm_status status = CM_OK;
    cm_frame_reader_init(&reader, &params, cm_seed_expander_begin(&expander, &decryption.receiver));
    for (size_t at = 0; at < length && status == CM_OK; at += 1009) {
        status = cm_frame_reader_feed(&reader, stream + at, length - at < 1009 ? length - at : 1009);
    }
    return status;
}

/* Integers are in units of 2^-4, roughly tenths of a reading. */
static cm_status begin_numbers(cm_precision precision, cm_number number, uint32_t largest,
                               const uint8_t *secret_ternary)
{
    static cm_secret_key secret; /* a decryption goes on without this function */
    secret = test_secret_key(&params, KEY_ID, secret_ternary);
    const cm_ckks_expected expected = {.slots = CM_SLOTS_REAL,
                                       .precision = precision,
                                       .number = number,
                                       .exponent = -4,
                                       .log2_tiles = LOG2_TILES,
                                       .largest = largest};
    return test_ckks_begin(&decryption, &secret, &expected, arena, sizeof arena);
}

static cm_status begin_readings(cm_precision precision, uint32_t largest)
{
    return begin_numbers(precision, CM_FLOAT32, largest, ternary);
}

static cm_status begin_integers(void)
{
    static cm_secret_key secret; /* a decryption goes on without this function */
    secret = test_secret_key(&params, KEY_ID, ternary);
    const cm_bfv_expected expected = {.encoding = CM_BFV_BATCH,
                                      .number = CM_UINT16,
                                      .sums = CM_BFV_SUMS_32,
                                      .log2_tiles = LOG2_TILES,
                                      .plain_modulus = T};
    return test_bfv_begin(&decryption, &secret, &expected, arena, sizeof arena);
}

static const cm_xof_kind kinds[] = {CM_XOF_NONE, CM_XOF_CHACHA20, CM_XOF_SHAKE256, CM_XOF_BLAKE2XB};

static void real_numbers_come_back_under_either_key_and_any_xof(void)
{
    const cm_precision precisions[] = {CM_FIXED_31, CM_FIXED_63};
    for (unsigned p = 0; p < 2; p++) {
        for (unsigned k = 0; k < 4 && build_has_precision(precisions[p]); k++) {
            if (!build_has_xof(kinds[k])) {
                continue;
            }
            /* At one prime of 26 bits, 30 leaves room for a scale of 2^18; at two, for far more. */
            const int log2_scale = precisions[p] == CM_FIXED_31 ? 18 : 30;
            CHECK(encrypt_readings(kinds[k], precisions[p], log2_scale) == CM_OK);
            CHECK(begin_readings(precisions[p], 30) == CM_OK);
            CHECK(read_stream() == CM_OK);
            CHECK(cmi_ckks_decryption_end(&decryption) == CM_OK);
            const float *const values = (const float *)(const void *)arena;
            uint32_t far = 0;
            for (uint32_t i = 0; i < N / 2; i++) {
                far += values[i] < reading(i) - 0.1f || values[i] > reading(i) + 0.1f;
            }
            CHECK(far == 0);
        }
    }
}

static void integers_come_back_under_either_key_and_any_xof(void)
{
    for (unsigned k = 0; k < 4; k++) {
        if (!build_has_xof(kinds[k])) {
            continue;
        }
        CHECK(encrypt_integers(kinds[k], CM_DOMAIN_NTT) == CM_OK);
        CHECK(begin_integers() == CM_OK);
        CHECK(read_stream() == CM_OK);
        CHECK(cmi_bfv_decryption_end(&decryption) == CM_OK);
        const uint16_t *const values = (const uint16_t *)(const void *)arena;
        uint32_t wrong = 0;
        for (uint32_t i = 0; i < N; i++) {
            wrong += values[i] != integer(i);
        }
        CHECK(wrong == 0);
    }
}

/* 4 * 2^23 * 1.999... is just below the first prime; 4 * 2^24 is beyond it, whatever the values really
   are. */
static void a_scale_without_room_for_the_largest_value_is_refused(void)
{
    const cm_precision precision = BUILD_PRECISION;
    const uint64_t first = primes[0].q;
    const uint64_t q = precision == CM_FIXED_31 ? first : first * primes[1].q;
    const int log2_scale = precision == CM_FIXED_31 ? 20 : 44;
    const uint32_t most = (uint32_t)((q - 1u) >> (log2_scale + 2));
    CHECK(begin_readings(precision, 0) == CM_ERR_ARGUMENT);
    CHECK(encrypt_readings(CM_XOF_CHACHA20, precision, precision == CM_FIXED_31 ? 20 : 44) == CM_OK);
    CHECK(begin_readings(precision, most) == CM_OK);
    CHECK(read_stream() == CM_OK);
    CHECK(begin_readings(precision, most + 1u) == CM_OK);
    CHECK(read_stream() == CM_ERR_SCALE);
    CHECK(cmi_ckks_decryption_end(&decryption) == CM_ERR_SCALE);
    CHECK(begin_readings(precision, UINT32_MAX) == CM_OK);
    CHECK(read_stream() == CM_ERR_SCALE);
}

static cm_status outcome_of_readings(cm_precision precision, cm_number number, uint32_t largest,
                                     const uint8_t *secret_ternary)
{
    const int log2_scale = precision == CM_FIXED_31 ? 18 : 34;
    CHECK(encrypt_readings(CM_XOF_CHACHA20, precision, log2_scale) == CM_OK);
    CHECK(begin_numbers(precision, number, largest, secret_ternary) == CM_OK);
    CHECK(read_stream() == CM_OK);
    return cmi_ckks_decryption_end(&decryption);
}

/* The readings reach 30. */
static void values_beyond_twice_the_largest_are_refused(void)
{
    const cm_number numbers[] = {CM_FLOAT32, CM_INT32};
    const cm_precision precisions[] = {CM_FIXED_31, CM_FIXED_63};
    for (unsigned i = 0; i < 4; i++) {
        if (!build_has_precision(precisions[i / 2])) {
            continue;
        }
        CHECK(outcome_of_readings(precisions[i / 2], numbers[i % 2], 16, ternary) == CM_OK);
        CHECK(outcome_of_readings(precisions[i / 2], numbers[i % 2], 14, ternary) == CM_ERR_VALUE_RANGE);
        CHECK(outcome_of_readings(precisions[i / 2], numbers[i % 2], 1, ternary) == CM_ERR_VALUE_RANGE);
        uint32_t left = 0;
        for (uint32_t at = 0; at < N / 2; at++) {
            left |= ((const uint32_t *)(const void *)arena)[at];
        }
        CHECK(left == 0);
    }
}

static void what_another_key_of_the_same_id_encrypted_is_refused(void)
{
    static uint8_t other[CM_TERNARY_BYTES(N)];
    const uint8_t seed[CM_SEED_BYTES] = {2, 7, 1};
    const cm_number numbers[] = {CM_FLOAT32, CM_INT32};
    const cm_precision precisions[] = {CM_FIXED_31, CM_FIXED_63};
    CHECK(cm_secret_key_generate(&params, seed, other) == CM_OK);
    for (unsigned i = 0; i < 4; i++) {
        const cm_precision precision = precisions[i / 2];
        /* Nearly as large as the scale allows: noise exceeds even that. */
        const uint32_t most = precision == CM_FIXED_31 ? 63 : 65000;
        CHECK(!build_has_precision(precision) ||
              outcome_of_readings(precision, numbers[i % 2], most, other) == CM_ERR_VALUE_RANGE);
    }
}

static void a_secret_key_inside_the_arena_is_refused_and_kept(void)
{
    const cm_secret_key outside = test_secret_key(&params, KEY_ID, ternary);
    cm_secret_key inside = outside;
    const size_t bytes = CM_CONFIG_TRANSFORMED_SECRET ? 4u * N : CM_TERNARY_BYTES(N);
    const void *const from = CM_CONFIG_TRANSFORMED_SECRET ? (const void *)outside.transformed : ternary;
    uint8_t *const within = (uint8_t *)arena + 64;
    memcpy(within, from, bytes);
    inside.ternary = within;
    inside.transformed = (const uint32_t *)(const void *)within;
    const cm_bfv_expected integers = {.encoding = CM_BFV_BATCH,
                                      .number = CM_UINT16,
                                      .sums = CM_BFV_SUMS_32,
                                      .log2_tiles = LOG2_TILES,
                                      .plain_modulus = T};
    const cm_ckks_expected reals = {.slots = CM_SLOTS_REAL,
                                    .precision = BUILD_PRECISION,
                                    .number = CM_FLOAT32,
                                    .log2_tiles = LOG2_TILES,
                                    .largest = 30};
    CHECK(test_bfv_begin(&decryption, &inside, &integers, arena, sizeof arena) == CM_ERR_ARENA);
    CHECK(test_ckks_begin(&decryption, &inside, &reals, arena, sizeof arena) == CM_ERR_ARENA);
    CHECK(memcmp(within, from, bytes) == 0);
}

/* Under the public key, so that component 1 comes as residues. */
static cm_status feed_part(cm_frame_reader *reader, size_t from, size_t to)
{
    return cm_frame_reader_feed(reader, stream + from, to - from);
}

static void a_reader_left_over_from_another_decryption_is_refused(void)
{
    cm_frame_reader reader;
    CHECK(encrypt_integers(CM_XOF_NONE, CM_DOMAIN_NTT) == CM_OK);
    for (unsigned wiped = 0; wiped < 2; wiped++) {
        CHECK(begin_integers() == CM_OK);
        cm_frame_reader_init(&reader, &params, &decryption.receiver);
        CHECK(feed_part(&reader, 0, 300) == CM_OK);
        if (wiped) {
            cmi_decryption_wipe(&decryption);
        }
        CHECK(begin_integers() == CM_OK);
        CHECK(feed_part(&reader, 300, length) == CM_ERR_FRAME_ORDER);
        CHECK(cmi_bfv_decryption_end(&decryption) == CM_ERR_FRAME_ORDER);
    }
}

static void an_arena_that_served_something_else_meanwhile_is_noticed(void)
{
    const size_t cuts[] = {300, length / 2, length};
    for (unsigned i = 0; i < 3; i++) {
        cm_frame_reader reader;
        CHECK(encrypt_integers(CM_XOF_NONE, CM_DOMAIN_NTT) == CM_OK);
        const size_t cut = i == 2 ? length : cuts[i];
        CHECK(begin_integers() == CM_OK);
        cm_frame_reader_init(&reader, &params, &decryption.receiver);
        CHECK(feed_part(&reader, 0, cut) == CM_OK);
        memset(arena, 0, sizeof arena); /* as any other call might leave it */
        CHECK(feed_part(&reader, cut, length) == (cut < length ? CM_ERR_ARENA : CM_OK));
        CHECK(cmi_bfv_decryption_end(&decryption) == CM_ERR_ARENA);
    }
}

/* Each of these ends before the decryption's workspace does. */
static void use_the_front_of_the_arena(unsigned how)
{
    const cm_bfv_expected small = {.encoding = CM_BFV_BATCH,
                                   .number = CM_UINT16,
                                   .sums = CM_BFV_SUMS_24,
                                   .log2_tiles = LOG2_TILES,
                                   .plain_modulus = T};
    const cm_secret_key key = test_secret_key(&params, KEY_ID, ternary);
    cm_bfv_expected same = small;
    same.sums = CM_BFV_SUMS_32;
    cm_decryption another;
    if (how == 0) {
        memset(arena, 0, 8); /* as the smallest call might leave it */
    } else if (how == 1) {
        CHECK(test_bfv_begin(&another, &key, &small, arena,
                             CM_BFV_DECRYPT_ARENA_BYTES(N, CM_BFV_SUMS_24, LOG2_TILES)) == CM_OK);
    } else {
        CHECK(test_bfv_begin(&another, &key, &same, arena, sizeof arena) == CM_OK);
    }
}

static void a_smaller_use_of_the_arena_is_noticed_too(void)
{
    for (unsigned how = 0; how < 3; how++) {
        for (unsigned i = 0; i < 3; i++) {
            cm_frame_reader reader;
            CHECK(encrypt_integers(CM_XOF_NONE, CM_DOMAIN_NTT) == CM_OK);
            const size_t cut = i == 0 ? 300 : i == 1 ? length / 2 : length;
            CHECK(begin_integers() == CM_OK);
            cm_frame_reader_init(&reader, &params, &decryption.receiver);
            CHECK(feed_part(&reader, 0, cut) == CM_OK);
            use_the_front_of_the_arena(how);
            CHECK(feed_part(&reader, cut, length) == (cut < length ? CM_ERR_ARENA : CM_OK));
            CHECK(cmi_bfv_decryption_end(&decryption) == CM_ERR_ARENA);
        }
    }
}

static void a_public_key_inside_the_arena_is_refused_and_kept(void)
{
    uint32_t *const within = (uint32_t *)(void *)arena + 16;
    cm_flat_public_key flat = {within, N};
    const cm_public_key inside = {&params, KEY_ID, cm_flat_public_key_polynomial, &flat, NULL};
    const cm_sink sink = {store, NULL};
    const uint16_t number = 1;
    const cm_bfv_values values = {.data = &number,
                                  .count = 1,
                                  .number = CM_UINT16,
                                  .encoding = CM_BFV_BATCH,
                                  .width = CM_BFV_16,
                                  .plain_modulus = T,
                                  .largest = T - 1};
    cm_frame_writer frames;
    cm_frame_writer_init(&frames, sink);
    memset(arena, 0x5A, sizeof arena);
    CHECK(test_bfv_asymmetric(&device, &inside, &values, arena, sizeof arena, &frames.emitter) ==
          CM_ERR_ARENA);
    CHECK(within[0] == 0x5A5A5A5Au);
    /* Nor may it extend into the arena from before its start. */
    flat.residues = (const uint32_t *)(const void *)arena;
    CHECK(test_bfv_asymmetric(&device, &inside, &values, arena + 8, sizeof arena - 64, &frames.emitter) ==
          CM_ERR_ARENA);
}

static void a_reader_of_other_primes_under_the_same_id_is_refused(void)
{
    static cm_prime others[PRIMES + 1];
    cm_params set = params;
    memcpy(others, primes, sizeof others);
    others[0] = primes[1];
    others[1] = primes[0];
    set.primes = others;
    cm_frame_reader reader;
    CHECK(encrypt_integers(CM_XOF_NONE, CM_DOMAIN_NTT) == CM_OK);
    CHECK(begin_integers() == CM_OK);
    cm_frame_reader_init(&reader, &set, &decryption.receiver);
    CHECK(feed_part(&reader, 0, length) == CM_ERR_FRAME_FOREIGN);
}

/* The scale of a ciphertext comes from outside: set it in every frame, and correct the checksum. */
static void set_scale(uint64_t bits)
{
    for (size_t at = 0; at < length;) {
        cm_frame frame;
        CHECK(cm_frame_parse(stream + at, length - at, &params, &frame) == CM_OK);
        uint8_t *const bytes = stream + at;
        cmi_store64(bytes + 28, bits);
        cmi_store32(bytes + frame.frame_bytes - CM_FRAME_CRC_BYTES,
                    cm_crc32c(0, bytes, frame.frame_bytes - CM_FRAME_CRC_BYTES));
        at += frame.frame_bytes;
    }
}

static cm_status outcome_at_scale(uint64_t bits, uint32_t largest)
{
    CHECK(encrypt_readings(CM_XOF_CHACHA20, BUILD_PRECISION, 18) == CM_OK);
    set_scale(bits);
    CHECK(begin_readings(BUILD_PRECISION, largest) == CM_OK);
    return read_stream();
}

static void any_scale_from_outside_is_held_to_the_bound(void)
{
    const bool narrow = BUILD_PRECISION == CM_FIXED_31;
    const uint64_t one = (uint64_t)1023 << 52;
    CHECK(outcome_at_scale(one, 1) == CM_OK);
    CHECK(outcome_at_scale(one, narrow ? primes[0].q / 4u : UINT32_MAX) == CM_OK);
    CHECK(outcome_at_scale(one, UINT32_MAX) == (narrow ? CM_ERR_SCALE : CM_OK));
    CHECK(outcome_at_scale(one + ((uint64_t)511 << 52), 1) == CM_ERR_SCALE);
    CHECK(outcome_at_scale(one + ((uint64_t)75 << 52), 1) == CM_ERR_SCALE);
    CHECK(outcome_at_scale(one + ((uint64_t)64 << 52), UINT32_MAX) == CM_ERR_SCALE);
    /* just below a power of two: rounded up, it is that power */
    const unsigned log2_limit = narrow ? 23u : 49u;
    CHECK(outcome_at_scale(one + ((uint64_t)log2_limit << 52), 1) == CM_OK);
    CHECK(outcome_at_scale(one + ((uint64_t)(log2_limit + 1u) << 52) - 1u, 1) == CM_ERR_SCALE);
}

static void coefficient_form_is_refused_as_such(void)
{
    CHECK(encrypt_integers(CM_XOF_NONE, CM_DOMAIN_COEFFICIENTS) == CM_OK);
    CHECK(begin_integers() == CM_OK);
    CHECK(read_stream() == CM_ERR_FRAME_DOMAIN);
}

static void a_seed_that_nothing_expands_is_refused_as_such(void)
{
    cm_frame_reader reader;
    CHECK(encrypt_integers(CM_XOF_CHACHA20, CM_DOMAIN_NTT) == CM_OK);
    CHECK(begin_integers() == CM_OK);
    cm_frame_reader_init(&reader, &params, &decryption.receiver);
    CHECK(cm_frame_reader_feed(&reader, stream, length) == CM_ERR_FRAME_SEED);
    CHECK(cmi_bfv_decryption_end(&decryption) == CM_ERR_FRAME_SEED);
}

static const size_t seed_frame_bytes = CM_FRAME_HEADER_BYTES + 32 + CM_FRAME_CRC_BYTES;

static void a_damaged_seed_is_never_expanded(void)
{
    for (size_t at = 0; at < seed_frame_bytes; at++) {
        CHECK(encrypt_integers(CM_XOF_CHACHA20, CM_DOMAIN_NTT) == CM_OK);
        stream[at] ^= 1u;
        CHECK(begin_integers() == CM_OK);
        CHECK(read_stream() != CM_OK);
        CHECK(expander.stage != 2 && cmi_bfv_decryption_end(&decryption) != CM_OK);
    }
}

static void residues_need_the_seed_of_their_own_ciphertext_before_them(void)
{
    static uint8_t other_seed[CM_FRAME_HEADER_BYTES + 32 + CM_FRAME_CRC_BYTES];
    CHECK(encrypt_integers(CM_XOF_CHACHA20, CM_DOMAIN_NTT) == CM_OK);
    memcpy(other_seed, stream, seed_frame_bytes);
    CHECK(encrypt_integers(CM_XOF_CHACHA20, CM_DOMAIN_NTT) == CM_OK);

    memcpy(stream, other_seed, seed_frame_bytes);
    CHECK(begin_integers() == CM_OK);
    CHECK(read_stream() == CM_ERR_FRAME_FOREIGN);

    length -= seed_frame_bytes;
    memmove(stream, stream + seed_frame_bytes, length);
    CHECK(begin_integers() == CM_OK);
    CHECK(read_stream() == CM_ERR_FRAME_ORDER);

    length = 2 * seed_frame_bytes;
    memcpy(stream, other_seed, seed_frame_bytes);
    memcpy(stream + seed_frame_bytes, other_seed, seed_frame_bytes);
    CHECK(begin_integers() == CM_OK);
    CHECK(read_stream() == CM_ERR_FRAME_ORDER);
}

static void a_key_without_what_the_build_asks_of_it_is_refused(void)
{
    const cm_secret_key empty = {.params = &params, .key_id = KEY_ID};
    const cm_bfv_expected expected = {.encoding = CM_BFV_BATCH,
                                      .number = CM_UINT16,
                                      .sums = CM_BFV_SUMS_32,
                                      .log2_tiles = LOG2_TILES,
                                      .plain_modulus = T};
    cm_secret_key other_form = empty;
#if CM_CONFIG_TRANSFORMED_SECRET
    other_form.ternary = ternary;
#else
    other_form.transformed = &public_key[0][0][0];
#endif
    CHECK(test_bfv_begin(&decryption, &empty, &expected, arena, sizeof arena) == CM_ERR_ARGUMENT);
    CHECK(test_bfv_begin(&decryption, &other_form, &expected, arena, sizeof arena) == CM_ERR_ARGUMENT);
}

static cm_status encrypt_to(cm_emitter *emitter, const cm_secret_key *secret)
{
    static const uint16_t numbers[4] = {1, 2, 3, 4};
    const cm_bfv_values values = {.data = numbers,
                                  .count = 4,
                                  .number = CM_UINT16,
                                  .encoding = CM_BFV_BATCH,
                                  .width = CM_BFV_16,
                                  .plain_modulus = T,
                                  .largest = T - 1};
    return test_bfv_symmetric(&device, secret, CM_XOF_CHACHA20, &values, arena, sizeof arena, emitter);
}

static void what_was_never_initialised_is_refused(void)
{
    const cm_secret_key secret = test_secret_key(&params, KEY_ID, ternary);
    const cm_sink sink = {store, NULL};
    cm_frame_writer writer;
    cm_seal_writer seal;
    cm_frame_reader reader;
    memset(&writer, 0, sizeof writer);
    CHECK(encrypt_to(&writer.emitter, &secret) == CM_ERR_ARGUMENT);
    cm_frame_writer_init(&writer, (cm_sink){NULL, NULL});
    CHECK(encrypt_to(&writer.emitter, &secret) == CM_ERR_ARGUMENT);
    cm_seal_writer_init(&seal, (cm_seal_form)0, sink);
    CHECK(encrypt_to(&seal.emitter, &secret) == CM_ERR_ARGUMENT);
    memset(&reader, 0, sizeof reader);
    CHECK(cm_frame_reader_feed(&reader, (const uint8_t *)"CM", 2) == CM_ERR_ARGUMENT);
    memset(&decryption, 0, sizeof decryption);
    cm_frame_reader_init(&reader, &params, &decryption.receiver);
    CHECK(cm_frame_reader_feed(&reader, (const uint8_t *)"CM", 2) == CM_ERR_ARGUMENT);
    cm_frame_reader_init(&reader, &params, cm_seed_expander_begin(&expander, &decryption.receiver));
    CHECK(cm_frame_reader_feed(&reader, (const uint8_t *)"CM", 2) == CM_ERR_ARGUMENT);
}

/* Under a key of zeros, anybody can read the message. */
static void a_key_that_was_never_filled_in_is_refused(void)
{
    static const uint32_t zeros[PRIMES * N];
    const cm_sink sink = {store, NULL};
    const cm_secret_key empty = {&params, KEY_ID, (const uint8_t *)zeros, zeros, NULL};
    cm_flat_public_key flat = {&public_key[0][0][0], 0};
    cm_frame_writer writer;
    cm_frame_writer_init(&writer, sink);
    CHECK(encrypt_to(&writer.emitter, &empty) == CM_ERR_ARGUMENT);
    CHECK(cm_flat_public_key_polynomial(&flat, 0, 0) == NULL);
    CHECK(cm_flat_public_key_polynomial(NULL, 0, 0) == NULL);
    flat = (cm_flat_public_key){NULL, N};
    CHECK(cm_flat_public_key_polynomial(&flat, 0, 0) == NULL);
}

void test_round_trip(void)
{
    make_keys();
    RUN(real_numbers_come_back_under_either_key_and_any_xof);
    RUN(integers_come_back_under_either_key_and_any_xof);
    RUN(a_scale_without_room_for_the_largest_value_is_refused);
    RUN(values_beyond_twice_the_largest_are_refused);
    RUN(what_another_key_of_the_same_id_encrypted_is_refused);
    RUN(any_scale_from_outside_is_held_to_the_bound);
    RUN(coefficient_form_is_refused_as_such);
    RUN(a_seed_that_nothing_expands_is_refused_as_such);
    RUN(a_damaged_seed_is_never_expanded);
    RUN(residues_need_the_seed_of_their_own_ciphertext_before_them);
    RUN(a_reader_left_over_from_another_decryption_is_refused);
    RUN(an_arena_that_served_something_else_meanwhile_is_noticed);
    RUN(a_smaller_use_of_the_arena_is_noticed_too);
    RUN(a_public_key_inside_the_arena_is_refused_and_kept);
    RUN(a_reader_of_other_primes_under_the_same_id_is_refused);
    RUN(a_secret_key_inside_the_arena_is_refused_and_kept);
    RUN(a_key_without_what_the_build_asks_of_it_is_refused);
    RUN(what_was_never_initialised_is_refused);
    RUN(a_key_that_was_never_filled_in_is_refused);
}
