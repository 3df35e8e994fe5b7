/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BFV: what encodes to what, and what is refused before a byte is sent. tests/vectors pins whole ciphertexts.
 */
#include "ciphermote/bfv.h"

#include <string.h>

#include "build.h"
#include "check.h"
#include "ciphermote/ciphermote.h"
#include "decrypt.h"
#include "encode/bfv.h"
#include "encode/bfv_numbers.h"
#include "encode/ckks.h"
#include "encrypting.h"
#include "platform.h"
#include "ring/prime.h"
#include "roots.h"
#include "secret_key.h"

enum { N = 1024 };

static const cm_params *const params = &cm_n1024_q26;

static uint64_t arena[CM_BFV_COEFFICIENT_ARENA_BYTES(N, CM_BFV_32) / 8 +
                      CM_BFV_ASYMMETRIC_ARENA_BYTES(N, CM_BFV_32, BUILD_LOG2_TILES) / 8];
static uint32_t encoded[N];
static uint8_t ternary[CM_TERNARY_BYTES(N)];
static uint32_t public_words[2 * N];
static cm_flat_public_key flat_key = {public_words, N};
static unsigned bytes_emitted;
static uint32_t crc_emitted;

static int count_bytes(void *context, const uint8_t *bytes, size_t length)
{
    (void)context;
    bytes_emitted += (unsigned)length;
    crc_emitted = cm_crc32c(crc_emitted, bytes, length);
    return 0;
}

static cm_bfv_values describe(const void *data, uint32_t count, cm_number number, uint32_t t)
{
    cm_bfv_values values;
    memset(&values, 0, sizeof values);
    values.data = data;
    values.count = count;
    values.number = number;
    values.encoding = CM_BFV_COEFFICIENTS;
    values.width = t <= 0x10000u ? CM_BFV_16 : CM_BFV_32;
    values.plain_modulus = t;
    values.largest = t - 1u;
    return values;
}

/* Encoded coefficients, below t, into `encoded`. */
static cm_status encode(const cm_bfv_values *values)
{
    static uint32_t data[N];
    cmi_plain plain = {0};
    cmi_ring ring;
    plain.data = data;
    const cm_status status = cmi_plain_encode(params, values, NULL, &plain, &ring);
    for (unsigned i = 0; i < N && status == CM_OK; i++) {
        encoded[i] = cmi_plain_residue(data, plain.width, i, plain.modulus) % plain.modulus;
    }
    return status;
}

static void signed_numbers_stand_for_residues_from_minus_half_t(void)
{
    const int32_t odd[] = {0, 1, -1, 20480, -20480};
    const int32_t even[] = {500, -499, 0};
    const int16_t narrow[] = {-1, 5, -6144};
    cm_bfv_values values = describe(odd, 5, CM_INT32, 40961);
    CHECK(encode(&values) == CM_OK);
    CHECK(encoded[0] == 0 && encoded[1] == 1 && encoded[2] == 40960 && encoded[3] == 20480 &&
          encoded[4] == 20481 && encoded[5] == 0);
    values.width = CM_BFV_32;
    CHECK(encode(&values) == CM_OK);
    CHECK(encoded[2] == 40960 && encoded[3] == 20480 && encoded[4] == 20481 && encoded[N - 1] == 0);
    values = describe(even, 3, CM_INT32, 1000);
    CHECK(encode(&values) == CM_OK);
    CHECK(encoded[0] == 500 && encoded[1] == 501 && encoded[2] == 0);
    values = describe(narrow, 3, CM_INT16, 12289);
    CHECK(encode(&values) == CM_OK);
    CHECK(encoded[0] == 12288 && encoded[1] == 5 && encoded[2] == 6145);
    values.width = CM_BFV_32;
    CHECK(encode(&values) == CM_OK);
    CHECK(encoded[0] == 12288 && encoded[1] == 5 && encoded[2] == 6145);
}

static void unsigned_numbers_stand_for_themselves(void)
{
    const uint16_t narrow[] = {0, 40960, 20481};
    const uint32_t wide[] = {65535, 32768, 0};
    cm_bfv_values values = describe(narrow, 3, CM_UINT16, 40961);
    CHECK(encode(&values) == CM_OK);
    CHECK(encoded[0] == 0 && encoded[1] == 40960 && encoded[2] == 20481);
    values = describe(wide, 3, CM_UINT32, 65536);
    CHECK(encode(&values) == CM_OK);
    CHECK(encoded[0] == 65535 && encoded[1] == 32768 && encoded[2] == 0);
}

static bool refused(const void *number, cm_number kind, uint32_t t, cm_bfv_width width)
{
    cm_bfv_values values = describe(number, 1, kind, t);
    values.width = width;
    return encode(&values) == CM_ERR_VALUE_RANGE;
}

static bool fits(int32_t number, cm_number kind, uint32_t largest, cm_bfv_width width)
{
    const int16_t narrow = (int16_t)number;
    const bool is_narrow = kind == CM_INT16 || kind == CM_UINT16;
    cm_bfv_values values =
        describe(is_narrow ? (const void *)&narrow : (const void *)&number, 1, kind, 12289);
    values.width = width;
    values.largest = largest;
    const cm_status status = encode(&values);
    CHECK(status == CM_OK || status == CM_ERR_VALUE_RANGE);
    return status == CM_OK;
}

static void numbers_beyond_the_largest_are_refused_in_either_width(void)
{
    for (unsigned width = 0; width < 2; width++) {
        const cm_bfv_width chosen = width == 0 ? CM_BFV_16 : CM_BFV_32;
        for (unsigned kind = CM_INT16; kind <= CM_UINT32; kind++) {
            const cm_number number = (cm_number)kind;
            const bool is_signed = number == CM_INT16 || number == CM_INT32;
            CHECK(fits(100, number, 100, chosen) && fits(0, number, 100, chosen));
            CHECK(!fits(101, number, 100, chosen) && !fits(6144, number, 100, chosen));
            CHECK(fits(-100, number, 100, chosen) == is_signed);
            CHECK(!fits(-101, number, 100, chosen) && !fits(-6144, number, 100, chosen));
            CHECK(fits(1, number, 1, chosen) && !fits(2, number, 1, chosen));
            CHECK(fits(6144, number, 12288, chosen) && fits(12288, number, 12288, chosen) == !is_signed);
        }
    }
}

static void a_largest_that_is_missing_or_not_below_t_is_refused(void)
{
    const int16_t number = 0;
    cm_bfv_values values = describe(&number, 1, CM_INT16, 12289);
    values.largest = 0;
    CHECK(encode(&values) == CM_ERR_ARGUMENT);
    values.largest = 12289;
    CHECK(encode(&values) == CM_ERR_ARGUMENT);
    values.largest = 12288;
    CHECK(encode(&values) == CM_OK);
}

static void numbers_beyond_t_are_refused_in_either_width(void)
{
    const int32_t signed_ones[] = {20481, -20481, INT32_MAX, INT32_MIN, 40961};
    const uint32_t unsigned_ones[] = {40961, 65536, UINT32_MAX, 0x80000000u, 0x7FFFFFFFu};
    const int16_t narrow_signed[] = {6145, -6145, INT16_MAX, INT16_MIN};
    const uint16_t narrow_unsigned[] = {12289, UINT16_MAX};
    for (unsigned width = 0; width < 2; width++) {
        const cm_bfv_width chosen = width == 0 ? CM_BFV_16 : CM_BFV_32;
        for (unsigned i = 0; i < 5; i++) {
            CHECK(refused(&signed_ones[i], CM_INT32, 40961, chosen));
            CHECK(refused(&unsigned_ones[i], CM_UINT32, 40961, chosen));
        }
        for (unsigned i = 0; i < 4; i++) {
            CHECK(refused(&narrow_signed[i], CM_INT16, 12289, chosen));
        }
        for (unsigned i = 0; i < 2; i++) {
            CHECK(refused(&narrow_unsigned[i], CM_UINT16, 12289, chosen));
        }
        const int32_t even[] = {-500, 501};
        CHECK(refused(&even[0], CM_INT32, 1000, chosen) && refused(&even[1], CM_INT32, 1000, chosen));
    }
}

static void batched_values_are_those_at_seals_roots(void)
{
    static uint32_t values_32[N];
    const uint32_t moduli[] = {12289, 40961, 65537};
    const uint32_t slots[] = {0, 1, 2, 3, N / 2 - 1, N / 2, N / 2 + 1, N - 2, N - 1};
    for (unsigned k = 0; k < 3; k++) {
        const uint32_t t = moduli[k];
        for (unsigned i = 0; i < N; i++) {
            values_32[i] = i * 2654435761u % t;
        }
        cm_bfv_values values = describe(values_32, N, CM_UINT32, t);
        values.encoding = CM_BFV_BATCH;
        CHECK(encode(&values) == CM_OK);
        for (unsigned i = 0; i < sizeof slots / sizeof slots[0]; i++) {
            CHECK(batched_value(encoded, params->log2_n, slots[i], t) == values_32[slots[i]]);
        }
    }
}

/* ---- encryption ---- */

static cm_secret_key secret_key(void)
{
    const uint8_t seed[CM_SEED_BYTES] = {1, 2, 3};
    CHECK(cm_secret_key_generate(params, seed, ternary) == CM_OK);
    return test_secret_key(params, 42, ternary);
}

static cm_status encrypt(bool with_public_key, const cm_bfv_values *values, cm_domain domain,
                         size_t arena_bytes)
{
    const uint8_t seed[CM_SEED_BYTES] = {9, 9};
    const cm_sink sink = {count_bytes, NULL};
    const cm_secret_key key = secret_key();
    const cm_public_key public_key = {params, 42, cm_flat_public_key_polynomial, &flat_key,
                                      test_roots(params)};
    test_platform platform = {0};
    cm_frame_writer writer;
    cm_device device;
    CHECK(test_device_start(&device, &platform) == CM_OK);
    CHECK(cm_zero_encryption(params, ternary, seed, 0, public_words, public_words + N) == CM_OK);
    cm_frame_writer_init(&writer, sink);
    bytes_emitted = 0;
    crc_emitted = 0;
    cm_bfv_values formed;
    if (values) {
        formed = *values;
        formed.domain = domain;
        values = &formed;
    }
    return with_public_key
               ? test_bfv_asymmetric(&device, &public_key, values, arena, arena_bytes, &writer.emitter)
               : test_bfv_symmetric(&device, &key, CM_XOF_CHACHA20, values, arena, arena_bytes,
                                    &writer.emitter);
}

static const int16_t small_values[] = {1, -2, 3};

static cm_status encrypt_with(uint32_t t, cm_bfv_encoding encoding, cm_bfv_width width, bool with_public_key)
{
    cm_bfv_values values = describe(small_values, 3, CM_INT16, t);
    values.encoding = encoding;
    values.width = width;
    return encrypt(with_public_key, &values, CM_DOMAIN_NTT, sizeof arena);
}

static void plain_moduli_that_cannot_serve_are_refused(void)
{
    const uint32_t no_batches[] = {12288, 12291, 63489, 32769, 65535};
    for (unsigned i = 0; i < sizeof no_batches / sizeof no_batches[0]; i++) {
        CHECK(encrypt_with(no_batches[i], CM_BFV_BATCH, CM_BFV_32, false) == CM_ERR_PLAIN_MODULUS);
        CHECK(encrypt_with(no_batches[i], CM_BFV_COEFFICIENTS, CM_BFV_32, false) == CM_OK);
    }
    CHECK(encrypt_with(0, CM_BFV_COEFFICIENTS, CM_BFV_16, false) == CM_ERR_PLAIN_MODULUS);
    CHECK(encrypt_with(1, CM_BFV_COEFFICIENTS, CM_BFV_16, false) == CM_ERR_PLAIN_MODULUS);
    CHECK(encrypt_with(params->primes[0].q, CM_BFV_COEFFICIENTS, CM_BFV_32, false) == CM_ERR_PLAIN_MODULUS);
    CHECK(encrypt_with(UINT32_MAX, CM_BFV_COEFFICIENTS, CM_BFV_32, false) == CM_ERR_PLAIN_MODULUS);
    CHECK(encrypt_with(65537, CM_BFV_BATCH, CM_BFV_16, false) == CM_ERR_PLAIN_MODULUS);
    CHECK(encrypt_with(65537, CM_BFV_BATCH, CM_BFV_32, false) == CM_OK);
}

static void plain_moduli_that_leave_no_room_for_noise_are_refused(void)
{
    const uint32_t q = params->primes[0].q;
    CHECK(encrypt_with(q / 44, CM_BFV_COEFFICIENTS, CM_BFV_32, false) == CM_OK);
    CHECK(encrypt_with(q / 44 + 1, CM_BFV_COEFFICIENTS, CM_BFV_32, false) == CM_ERR_PLAIN_MODULUS);
    CHECK(encrypt_with(q / 1440, CM_BFV_COEFFICIENTS, CM_BFV_32, true) == CM_OK);
    CHECK(encrypt_with(q / 1440 + 1, CM_BFV_COEFFICIENTS, CM_BFV_32, true) == CM_ERR_PLAIN_MODULUS);
    CHECK(bytes_emitted == 0);
}

static void choices_that_do_not_exist_are_refused(void)
{
    const cm_bfv_values good = describe(small_values, 3, CM_INT16, 12289);
    cm_bfv_values values = good;
    values.data = NULL;
    CHECK(encrypt(false, &values, CM_DOMAIN_NTT, sizeof arena) == CM_ERR_ARGUMENT);
    values = good;
    values.count = 0;
    CHECK(encrypt(false, &values, CM_DOMAIN_NTT, sizeof arena) == CM_ERR_ARGUMENT);
    values.count = N + 1;
    CHECK(encrypt(false, &values, CM_DOMAIN_NTT, sizeof arena) == CM_ERR_TOO_MANY);
    values = good;
    values.number = CM_FLOAT32;
    CHECK(encrypt(false, &values, CM_DOMAIN_NTT, sizeof arena) == CM_ERR_ARGUMENT);
    values.number = (cm_number)(CM_UINT32 + 1);
    CHECK(encrypt(false, &values, CM_DOMAIN_NTT, sizeof arena) == CM_ERR_ARGUMENT);
    values = good;
    values.encoding = (cm_bfv_encoding)3;
    CHECK(encrypt(false, &values, CM_DOMAIN_NTT, sizeof arena) == CM_ERR_ARGUMENT);
    values = good;
    values.width = (cm_bfv_width)8;
    CHECK(encrypt(false, &values, CM_DOMAIN_NTT, sizeof arena) == CM_ERR_ARGUMENT);
    CHECK(encrypt(false, &good, (cm_domain)3, sizeof arena) == CM_ERR_ARGUMENT);
    CHECK(encrypt(false, NULL, CM_DOMAIN_NTT, sizeof arena) == CM_ERR_ARGUMENT);
    CHECK(encrypt(true, NULL, CM_DOMAIN_NTT, sizeof arena) == CM_ERR_ARGUMENT);
    CHECK(bytes_emitted == 0);
    CHECK(encrypt(false, &good, CM_DOMAIN_NTT, sizeof arena) == CM_OK && bytes_emitted > 0);
}

/* A choice that was left out is refused: no valid choice is 0. */
static void a_choice_that_was_forgotten_is_refused(void)
{
    const cm_bfv_values good = describe(small_values, 3, CM_INT16, 12289);
    cm_bfv_values values = good;
    values.number = (cm_number)0;
    CHECK(encrypt(false, &values, CM_DOMAIN_NTT, sizeof arena) == CM_ERR_ARGUMENT);
    values = good;
    values.encoding = (cm_bfv_encoding)0;
    CHECK(encrypt(false, &values, CM_DOMAIN_NTT, sizeof arena) == CM_ERR_ARGUMENT);
    values = good;
    values.width = (cm_bfv_width)0;
    CHECK(encrypt(false, &values, CM_DOMAIN_NTT, sizeof arena) == CM_ERR_ARGUMENT);
    CHECK(bytes_emitted == 0);
}

static bool arena_is_wiped(void)
{
    uint64_t any = 0;
    for (size_t i = 0; i < sizeof arena / 8; i++) {
        any |= arena[i];
    }
    return any == 0;
}

static void values_in_the_arena_may_be_as_wide_as_the_message_but_not_wider(void)
{
    cm_bfv_values values = describe(arena, N, CM_INT32, 12289);
    memset(arena, 0, sizeof arena);
    CHECK(encrypt(false, &values, CM_DOMAIN_NTT, sizeof arena) == CM_ERR_ARGUMENT);
    values.number = CM_INT16;
    CHECK(encrypt(false, &values, CM_DOMAIN_NTT, sizeof arena) == CM_OK);
    values.number = CM_INT32;
    values.width = CM_BFV_32;
    CHECK(encrypt(false, &values, CM_DOMAIN_NTT, sizeof arena) == CM_OK);
    memset(arena, 0x5A, sizeof arena);
    CHECK(encrypt(false, &values, CM_DOMAIN_NTT, sizeof arena) == CM_ERR_VALUE_RANGE);
    CHECK(bytes_emitted == 0 && arena_is_wiped());
}

/* A call needs the bytes that the macros say, and does not work with fewer. */
static void arenas_are_as_large_as_their_macros_say(void)
{
    const cm_bfv_values values = describe(small_values, 3, CM_INT16, 12289);
    const size_t symmetric = CM_BFV_SYMMETRIC_ARENA_BYTES(N, CM_BFV_16, BUILD_LOG2_TILES);
    const size_t asymmetric = CM_BFV_ASYMMETRIC_ARENA_BYTES(N, CM_BFV_16, BUILD_LOG2_TILES);
    CHECK(encrypt(false, &values, CM_DOMAIN_NTT, symmetric - 1) == CM_ERR_ARENA);
    CHECK(encrypt(false, &values, CM_DOMAIN_NTT, symmetric) == CM_OK);
    CHECK(encrypt(true, &values, CM_DOMAIN_NTT, asymmetric - 1) == CM_ERR_ARENA);
    CHECK(encrypt(true, &values, CM_DOMAIN_NTT, asymmetric) == CM_OK);
}

static cm_status encrypt_coefficients(unsigned log2_tiles, bool with_public_key, size_t arena_bytes)
{
    const cm_bfv_values values = {.data = small_values,
                                  .count = 3,
                                  .number = CM_INT16,
                                  .encoding = CM_BFV_BATCH,
                                  .width = CM_BFV_16,
                                  .plain_modulus = 12289,
                                  .largest = 12288,
                                  .domain = CM_DOMAIN_COEFFICIENTS};
    const cm_secret_key key = secret_key();
    const cm_public_key public_key = {params, 42, cm_flat_public_key_polynomial, &flat_key,
                                      test_roots(params)};
    test_platform platform = {0};
    cm_frame_writer writer;
    cm_device device;
    cm_encryptor encryptor;
    const cm_encryptor_setup setup = {.device = &device,
                                      .emitter = &writer.emitter,
                                      .arena = arena,
                                      .arena_bytes = arena_bytes,
                                      .xof = with_public_key ? CM_XOF_NONE : CM_XOF_CHACHA20,
                                      .log2_tiles = (uint8_t)log2_tiles};
    CHECK(test_device_start(&device, &platform) == CM_OK);
    cm_frame_writer_init(&writer, (cm_sink){count_bytes, NULL});
    CHECK((with_public_key ? cm_encryptor_init_asymmetric(&encryptor, &public_key, &setup)
                           : cm_encryptor_init_symmetric(&encryptor, &key, &setup)) == CM_OK);
    return cm_bfv_encrypt(&encryptor, &values);
}

static void coefficient_form_needs_whole_polynomials(void)
{
    const size_t symmetric = CM_BFV_COEFFICIENT_ARENA_BYTES(N, CM_BFV_16);
    const size_t asymmetric = CM_BFV_ASYMMETRIC_ARENA_BYTES(N, CM_BFV_16, 0);
    CHECK(encrypt_coefficients(0, false, symmetric - 1) == CM_ERR_ARENA);
    CHECK(encrypt_coefficients(0, false, symmetric) == CM_OK);
    CHECK(encrypt_coefficients(0, true, asymmetric - 1) == CM_ERR_ARENA);
    CHECK(encrypt_coefficients(0, true, asymmetric) == CM_OK);
    if (!CM_CONFIG_ACCELERATOR) {
        CHECK(encrypt_coefficients(1, false, symmetric) == CM_ERR_UNSUPPORTED);
        CHECK(encrypt_coefficients(1, true, asymmetric) == CM_ERR_UNSUPPORTED);
    }
}

/* ---- values that are read ---- */

static uint16_t read_value(void *context, uint16_t index)
{
    return ((const uint16_t *)context)[index];
}

static cm_status encrypt_read(const cm_bfv_reader *reader, size_t arena_bytes)
{
    const cm_sink sink = {count_bytes, NULL};
    const cm_secret_key key = secret_key();
    test_platform platform = {0};
    cm_frame_writer writer;
    cm_device device;
    CHECK(test_device_start(&device, &platform) == CM_OK);
    cm_frame_writer_init(&writer, sink);
    bytes_emitted = 0;
    crc_emitted = 0;
    return test_bfv_read(&device, &key, CM_XOF_CHACHA20, reader, arena, arena_bytes, &writer.emitter);
}

/* Modulo a prime that divides t, the values would vanish. */
static void a_plain_modulus_that_is_one_of_the_primes_is_refused(void)
{
    static const uint16_t values[N] = {1, 2, 3};
    static cm_prime primes[3];
    static const cm_params set = {"test", 0x74736574u, 10, 3, 2, 41, primes};
    CHECK(cmi_prime_init(&primes[0], params->primes[0].q, 10, NULL) &&
          cmi_prime_init(&primes[1], 40961, 10, NULL) && cmi_prime_init(&primes[2], 134176769, 10, NULL));
    const cm_sink sink = {count_bytes, NULL};
    (void)secret_key(); /* draws ternary */
    const cm_secret_key key = test_secret_key(&set, 42, ternary);
    test_platform platform = {0};
    cm_frame_writer writer;
    cm_device device;
    CHECK(test_device_start(&device, &platform) == CM_OK);
    cm_frame_writer_init(&writer, sink);
    const cm_bfv_reader reader = {read_value, (void *)(uintptr_t)values, N, 40961, 40960};
    CHECK(test_bfv_read(&device, &key, CM_XOF_CHACHA20, &reader, arena, sizeof arena, &writer.emitter) ==
          CM_ERR_PLAIN_MODULUS);
}

static void values_that_are_read_give_the_ciphertext_of_those_that_are_held(void)
{
    static uint16_t values[N];
    static const uint16_t moduli[] = {2, 3, 257, 12289, 32768, 40961, 65535};
    for (unsigned i = 0; i < 2 * sizeof moduli / sizeof moduli[0]; i++) {
        const uint16_t t = moduli[i / 2];
        const uint16_t count = i % 2 ? N : 5;
        for (unsigned j = 0; j < N; j++) {
            values[j] = (uint16_t)(j < 4 ? t - 1u - j % 2u : j * 40503u % t);
        }
        cm_bfv_values held = describe(values, count, CM_UINT16, t);
        CHECK(encrypt(false, &held, CM_DOMAIN_NTT, sizeof arena) == CM_OK);
        const unsigned length = bytes_emitted;
        const uint32_t crc = crc_emitted;
        const cm_bfv_reader reader = {read_value, values, count, t, (uint16_t)(t - 1u)};
        CHECK(encrypt_read(&reader, CM_BFV_READ_ARENA_BYTES(N, BUILD_LOG2_TILES)) == CM_OK);
        CHECK(bytes_emitted == length && crc_emitted == crc);
    }
}

static void readers_that_cannot_serve_are_refused(void)
{
    static uint16_t values[N + 1];
    const cm_bfv_reader good = {read_value, values, 3, 12289, 100};
    cm_bfv_reader reader = good;
    CHECK(encrypt_read(NULL, sizeof arena) == CM_ERR_ARGUMENT);
    reader.read = NULL;
    CHECK(encrypt_read(&reader, sizeof arena) == CM_ERR_ARGUMENT);
    reader = good;
    reader.count = 0;
    CHECK(encrypt_read(&reader, sizeof arena) == CM_ERR_ARGUMENT);
    reader.count = N + 1;
    CHECK(encrypt_read(&reader, sizeof arena) == CM_ERR_TOO_MANY);
    reader = good;
    reader.plain_modulus = 1;
    CHECK(encrypt_read(&reader, sizeof arena) == CM_ERR_PLAIN_MODULUS);
    reader.plain_modulus = 0x10000;
    CHECK(encrypt_read(&reader, sizeof arena) == CM_ERR_PLAIN_MODULUS);
    reader = good;
    reader.largest = 0;
    CHECK(encrypt_read(&reader, sizeof arena) == CM_ERR_ARGUMENT);
    reader.largest = 12289;
    CHECK(encrypt_read(&reader, sizeof arena) == CM_ERR_ARGUMENT);
    values[2] = 101;
    CHECK(encrypt_read(&good, sizeof arena) == CM_ERR_VALUE_RANGE);
    values[2] = UINT16_MAX;
    CHECK(encrypt_read(&good, sizeof arena) == CM_ERR_VALUE_RANGE);
    values[2] = 100;
    CHECK(encrypt_read(&good, CM_BFV_READ_ARENA_BYTES(N, BUILD_LOG2_TILES) - 1) == CM_ERR_ARENA);
    CHECK(bytes_emitted == 0);
    CHECK(encrypt_read(&good, CM_BFV_READ_ARENA_BYTES(N, BUILD_LOG2_TILES)) == CM_OK && arena_is_wiped());
}

void test_bfv(void)
{
    RUN(signed_numbers_stand_for_residues_from_minus_half_t);
    RUN(unsigned_numbers_stand_for_themselves);
    RUN(numbers_beyond_t_are_refused_in_either_width);
    RUN(numbers_beyond_the_largest_are_refused_in_either_width);
    RUN(a_largest_that_is_missing_or_not_below_t_is_refused);
    RUN(batched_values_are_those_at_seals_roots);
    RUN(plain_moduli_that_cannot_serve_are_refused);
    RUN(plain_moduli_that_leave_no_room_for_noise_are_refused);
    RUN(choices_that_do_not_exist_are_refused);
    RUN(a_choice_that_was_forgotten_is_refused);
    RUN(values_in_the_arena_may_be_as_wide_as_the_message_but_not_wider);
    RUN(arenas_are_as_large_as_their_macros_say);
    RUN(coefficient_form_needs_whole_polynomials);
    RUN(a_plain_modulus_that_is_one_of_the_primes_is_refused);
    RUN(values_that_are_read_give_the_ciphertext_of_those_that_are_held);
    RUN(readers_that_cannot_serve_are_refused);
}
