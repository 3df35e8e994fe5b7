/*
 * Constant time, shown by valgrind: memcheck is told that every secret is uninitialised memory, and so reports each branch
 * and each address that depends on one. What a secret's consequences make public is declared so in two places: in the
 * library by random/declassify.h, where reasons stand, and here when residues leave.
 *
 * Run it under valgrind, without an argument, and with "leaks" to see that leaks are found. Divisions, and multiplications
 * whose time varies, are beyond memcheck: see docs/security.md.
 */
#include <stdlib.h>
#include <string.h>
#include <valgrind/memcheck.h>

#include "check.h"
#include "ciphermote/ciphermote.h"
#include "platform.h"
#include "random/sample.h"
#include "secret_key.h"

#ifndef CM_TEST_CONSTANT_TIME
#error "Compile the library and this test with CM_TEST_CONSTANT_TIME=1, or nothing public is known to be so."
#endif

enum { MOST = 4096, DATA_PRIMES = 3, EXPONENT_OF_INTEGERS = -12 };

cm_checks cm_check_state;

static uint64_t arena[CM_CKKS_ASYMMETRIC_ARENA_BYTES(MOST, CM_SLOTS_COMPLEX, CM_FIXED_63) / 8];
static uint64_t values_apart[MOST / 2];
static uint8_t ternary[CM_TERNARY_BYTES(MOST)];
static uint32_t public_words[DATA_PRIMES * 2 * MOST];
static uint32_t words[MOST];
static cm_device device;

static void mark_secret(void *memory, size_t bytes)
{
    (void)VALGRIND_MAKE_MEM_UNDEFINED(memory, bytes);
}

static void mark_public(void *memory, size_t bytes)
{
    (void)VALGRIND_MAKE_MEM_DEFINED(memory, bytes);
}

/* How many of the words follow from a secret, in any bit. */
static size_t secret_words(const void *memory, size_t count)
{
    static uint32_t unknown[MOST];
    size_t secret = 0;
    CHECK(VALGRIND_GET_VBITS(memory, unknown, count * sizeof *unknown) == 1);
    for (size_t i = 0; i < count; i++) {
        secret += unknown[i] != 0 ? 1u : 0u;
    }
    return secret;
}

/* Errors since the last call. */
static unsigned new_errors(void)
{
    static unsigned known;
    const unsigned all = VALGRIND_COUNT_ERRORS;
    const unsigned fresh = all - known;
    known = all;
    return fresh;
}

/* ---- secrets ---- */

static void draw_secret(void *out, size_t bytes)
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

static void start_device(void)
{
    static test_platform platform;
    const cm_platform callbacks = {secret_randomness, test_counter_read, test_counter_write, &platform};
    uint8_t secret[CM_DEVICE_SECRET_BYTES];
    draw_secret(secret, sizeof secret);
    CHECK(cm_device_init(&device, secret, &callbacks) == CM_OK);
}

static void make_secret_key(const cm_params *params)
{
    uint8_t seed[CM_SEED_BYTES];
    const size_t n = (size_t)1 << params->log2_n;
    draw_secret(seed, sizeof seed);
    CHECK(cm_secret_key_generate(params, seed, ternary) == CM_OK);
    CHECK(secret_words(ternary, CM_TERNARY_BYTES(n) / 4u) == CM_TERNARY_BYTES(n) / 4u);
}

static void make_public_key(const cm_params *params)
{
    uint8_t seed[CM_SEED_BYTES];
    const size_t n = (size_t)1 << params->log2_n;
    draw_secret(seed, sizeof seed);
    for (unsigned prime = 0; prime < params->data_primes; prime++) {
        uint32_t *c0 = public_words + 2u * n * prime;
        CHECK(cm_zero_encryption(params, ternary, seed, prime, c0, c0 + n) == CM_OK);
        CHECK(secret_words(c0, n) == n);
        CHECK(secret_words(c0 + n, n) == 0);
        mark_public(c0, n * sizeof *c0); /* a public key is published */
    }
}

/* Numbers of any sign and many sizes, below 2^3 in magnitude; a zero and a subnormal one among the floats. */
static void draw_values(cm_ckks_values *values, void *at)
{
    static uint32_t x;
    const uint32_t count = values->count * (values->slots == CM_SLOTS_COMPLEX ? 2u : 1u);
    const size_t size = values->number == CM_INT16 ? 2u : 4u;
    for (uint32_t i = 0; i < count; i++) {
        x = 1664525u * x + 1013904223u;
        const uint32_t float_bits = (x & 0x807FFFFFu) | (x >> 27 & 15u ? 130u - (x >> 27 & 15u) : 0u) << 23;
        const uint32_t word = values->number == CM_FLOAT32 ? float_bits : x >> 17;
        memcpy((uint8_t *)at + size * i, &word, size);
    }
    mark_secret(at, size * count);
    values->data = at;
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

/* Residues follow from secrets, all but those of an expanded public seed, until they are emitted: they are the ciphertext. */
static cm_status observe(cm_emitter *self, unsigned component, unsigned prime, unsigned tile,
                         const uint32_t *residues)
{
    const size_t points = (size_t)1 << (self->info.params->log2_n - self->info.log2_tiles);
    const bool expanded = self->info.xof != CM_XOF_NONE && component == 1;
    CHECK(secret_words(residues, points) == (expanded ? 0u : points));
    (void)VALGRIND_MAKE_MEM_DEFINED(residues, points * sizeof *residues);
    return emit_further(self, component, prime, tile, residues);
}

typedef struct writers {
    cm_frame_writer frames;
    cm_seal_writer seal;
} writers;

static cm_emitter *open_writer(writers *all, bool seal)
{
    const cm_sink sink = {drop, NULL};
    cm_emitter *emitter = seal ? &all->seal.emitter : &all->frames.emitter;
    if (seal) {
        cm_seal_writer_init(&all->seal, CM_SEAL_FULL, sink);
    } else {
        cm_frame_writer_init(&all->frames, sink);
    }
    emit_further = emitter->residues;
    emitter->residues = observe;
    return emitter;
}

/* ---- encryptions ---- */

typedef struct encryption {
    cm_number number;
    cm_slots slots;
    cm_precision precision;
    cm_xof_kind xof; /* CM_XOF_NONE: with the public key */
    bool seal;
    bool in_place;
} encryption;

static cm_ckks_values describe(const cm_params *params, const encryption *how)
{
    cm_ckks_values values;
    memset(&values, 0, sizeof values);
    values.count = ((uint32_t)1 << (params->log2_n - 1u)) - 1u;
    values.number = how->number;
    values.slots = how->slots;
    values.precision = how->precision;
    values.exponent = EXPONENT_OF_INTEGERS;
    values.log2_scale = 15;
    return values;
}

static void encrypt(const cm_params *params, const encryption *how)
{
    cm_flat_public_key flat = {public_words, (uint32_t)1 << params->log2_n};
    const cm_public_key public_key = {params, 1, cm_flat_public_key_polynomial, &flat};
    const cm_secret_key secret_key = test_secret_key(params, 1, ternary);
    cm_ckks_values values = describe(params, how);
    writers all;
    cm_emitter *emitter = open_writer(&all, how->seal);
    draw_values(&values, how->in_place ? (void *)arena : (void *)values_apart);
    const cm_status status =
        how->xof == CM_XOF_NONE
            ? cm_ckks_encrypt_asymmetric(&device, &public_key, &values, arena, sizeof arena, emitter)
            : cm_ckks_encrypt_symmetric(&device, &secret_key, how->xof, &values, arena, sizeof arena, emitter);
    CHECK(VALGRIND_CHECK_MEM_IS_DEFINED(&status, sizeof status) == 0);
    CHECK(status == CM_OK);
    CHECK(new_errors() == 0);
}

static void keys_are_made_without_branch_or_address_by_a_secret(void)
{
    make_secret_key(&cm_n1024_q26);
    CHECK(cm_secret_key_residues(&cm_n1024_q26, ternary, 0, words) == CM_OK);
    CHECK(secret_words(words, 1024) == 1024);
    CHECK(cm_secret_key_transform(&cm_n1024_q26, ternary, 0, words) == CM_OK);
    make_public_key(&cm_n1024_q26);
    CHECK(new_errors() == 0);
}

static void every_number_slot_and_precision_encrypts_without_branch_or_address_by_a_secret(void)
{
    static const cm_precision precisions[] = {CM_FIXED_31, CM_FIXED_63};
    for (unsigned i = 0; i < 2; i++) {
        for (unsigned number = CM_FLOAT32; number <= CM_INT32; number++) {
            for (unsigned slots = CM_SLOTS_REAL; slots <= CM_SLOTS_COMPLEX; slots++) {
                const encryption how = {.number = (cm_number)number,
                                        .slots = (cm_slots)slots,
                                        .precision = precisions[i],
                                        .xof = CM_XOF_CHACHA20,
                                        .in_place = number != CM_INT32};
                encrypt(&cm_n1024_q26, &how);
            }
        }
    }
}

static void every_kind_of_key_xof_and_emitter_encrypts_without_branch_or_address_by_a_secret(void)
{
    for (unsigned xof = CM_XOF_NONE; xof <= CM_XOF_CHACHA20; xof++) {
        for (unsigned seal = 0; seal < 2; seal++) {
            const encryption how = {.precision = CM_FIXED_31, .xof = (cm_xof_kind)xof, .seal = seal == 1};
            encrypt(&cm_n1024_q26, &how);
        }
    }
}

static void three_primes_of_4096_encrypt_without_branch_or_address_by_a_secret(void)
{
    const encryption symmetric = {.precision = CM_FIXED_31, .xof = CM_XOF_CHACHA20, .in_place = true};
    const encryption asymmetric = {.precision = CM_FIXED_63, .in_place = true};
    make_secret_key(&cm_n4096_q26x3_p27);
    make_public_key(&cm_n4096_q26x3_p27);
    encrypt(&cm_n4096_q26x3_p27, &symmetric);
    encrypt(&cm_n4096_q26x3_p27, &asymmetric);
}

/* A refusal may tell that there was one, and nothing more. */
static void a_value_out_of_range_is_refused_without_telling_which(void)
{
    const encryption how = {
        .slots = CM_SLOTS_REAL, .precision = CM_FIXED_31, .number = CM_FLOAT32, .largest = 1};
    cm_ckks_values values = describe(&cm_n1024_q26, &how);
    writers all;
    cm_flat_public_key flat = {public_words, 1024};
    const cm_public_key key = {&cm_n1024_q26, 1, cm_flat_public_key_polynomial, &flat};
    draw_values(&values, values_apart);
    values.log2_scale = 40;
    CHECK(cm_ckks_encrypt_asymmetric(&device, &key, &values, arena, sizeof arena, open_writer(&all, false)) ==
          CM_ERR_VALUE_RANGE);
    CHECK(new_errors() == 0);
}

/* ---- decryptions ---- */

static uint8_t stream[32 * (CM_FRAME_HEADER_BYTES + CM_FRAME_CRC_BYTES) + 2 * 1024 / 8 * 26];
static size_t stream_bytes;

static int keep_frames(void *context, const uint8_t *bytes, size_t length)
{
    (void)context;
    memcpy(stream + stream_bytes, bytes, length);
    stream_bytes += length;
    return 0;
}

/* Frames of a ciphertext that nobody made: its coefficients are of any size. CKKS: at a scale that is no power of two. */
static cm_status feed_frames(cm_scheme scheme, uint32_t t, unsigned log2_tiles, cm_receiver *receiver)
{
    const cm_params *params = &cm_n1024_q26;
    const cm_sink sink = {keep_frames, NULL};
    const uint64_t scale = (uint64_t)0x416 << 52 | (uint64_t)1 << 51;
    const cm_ciphertext_info info = {.params = params,
                                     .scheme = scheme,
                                     .ntt_form = true,
                                     .components = 2,
                                     .primes = 1,
                                     .log2_tiles = (uint8_t)log2_tiles,
                                     .key_id = 1,
                                     .scale_or_t = scheme == CM_BFV ? t : scale};
    static test_platform source;
    cm_frame_writer writer;
    cm_frame_reader reader;
    cm_frame_writer_init(&writer, sink);
    writer.emitter.info = info;
    stream_bytes = 0;
    for (unsigned tile = 0; tile < 1u << log2_tiles; tile++) {
        for (unsigned component = 2; component-- > 0;) {
            CHECK(test_random_bytes(&source, (uint8_t *)words, 4u * 1024u) == 0);
            for (unsigned i = 0; i < 1024; i++) {
                words[i] %= params->primes[0].q;
            }
            CHECK(writer.emitter.residues(&writer.emitter, component, 0, tile, words) == CM_OK);
        }
    }
    cm_frame_reader_init(&reader, params, receiver);
    return cm_frame_reader_feed(&reader, stream, stream_bytes);
}

static void check_values(cm_status status, size_t count)
{
    CHECK(VALGRIND_CHECK_MEM_IS_DEFINED(&status, sizeof status) == 0);
    CHECK(status == CM_OK && secret_words(arena, count) == count);
    CHECK(new_errors() == 0);
}

static void integers_are_decrypted_without_branch_or_address_by_a_secret(void)
{
    const cm_secret_key key = test_secret_key(&cm_n1024_q26, 1, ternary);
    for (unsigned number = CM_INT16; number <= CM_UINT32; number++) {
        for (unsigned way = 0; way < 4; way++) {
            const bool narrow = number == CM_INT16 || number == CM_UINT16;
            const cm_bfv_expected expected = {
                way & 1u ? CM_BFV_COEFFICIENTS : CM_BFV_BATCH, (cm_number)number,
                way & 2u && narrow ? CM_BFV_SUMS_24 : CM_BFV_SUMS_32, (uint8_t)(way & 2u), 12289};
            cm_decryption decryption;
            CHECK(cm_bfv_decrypt_begin(&decryption, &key, &expected, arena, sizeof arena) == CM_OK);
            CHECK(feed_frames(CM_BFV, 12289, expected.log2_tiles, &decryption.receiver) == CM_OK);
            check_values(cm_bfv_decrypt_end(&decryption), narrow ? 512 : 1024);
        }
    }
}

static void slots_are_decrypted_without_branch_or_address_by_a_secret(void)
{
    const cm_secret_key key = test_secret_key(&cm_n1024_q26, 1, ternary);
    for (unsigned way = 0; way < 8; way++) {
        const cm_ckks_expected expected = {way & 1u ? CM_SLOTS_COMPLEX : CM_SLOTS_REAL,
                                           CM_FIXED_63,
                                           way & 2u ? CM_INT32 : CM_FLOAT32,
                                           EXPONENT_OF_INTEGERS,
                                           (uint8_t)(way & 2u),
                                           1};
        cm_decryption decryption;
        CHECK(cm_ckks_decrypt_begin(&decryption, &key, &expected, arena, sizeof arena) == CM_OK);
        CHECK(feed_frames(CM_CKKS, 0, expected.log2_tiles, &decryption.receiver) == CM_OK);
        check_values(way & 4u ? cm_ckks_decrypt_end_shared(&decryption, &device, 10)
                              : cm_ckks_decrypt_end(&decryption),
                     way & 1u ? 1024 : 512);
    }
}

/* Coefficients of up to q/2 are too much for 31 bits. */
static void a_slot_out_of_range_is_refused_without_telling_which(void)
{
    const cm_secret_key key = test_secret_key(&cm_n1024_q26, 1, ternary);
    const cm_ckks_expected expected = {
        .slots = CM_SLOTS_REAL, .precision = CM_FIXED_31, .number = CM_FLOAT32, .largest = 1};
    cm_decryption decryption;
    CHECK(cm_ckks_decrypt_begin(&decryption, &key, &expected, arena, sizeof arena) == CM_OK);
    CHECK(feed_frames(CM_CKKS, 0, 0, &decryption.receiver) == CM_OK);
    CHECK(cm_ckks_decrypt_end(&decryption) == CM_ERR_VALUE_RANGE);
    CHECK(new_errors() == 0);
}

static void a_device_makes_its_keys_without_branch_or_address_by_a_secret(void)
{
    uint64_t key_id;
    writers all;
    CHECK(cm_device_make_secret_key(&device, &cm_n1024_q26, ternary, &key_id) == CM_OK);
    CHECK(VALGRIND_CHECK_MEM_IS_DEFINED(&key_id, sizeof key_id) == 0);
    CHECK(cm_device_emit_public_key(&device, &cm_n1024_q26, ternary, key_id, CM_XOF_CHACHA20, arena,
                                    sizeof arena, open_writer(&all, false)) == CM_OK);
    CHECK(new_errors() == 0);
}

static void integers_are_encrypted_without_branch_or_address_by_a_secret(void)
{
    const cm_secret_key key = test_secret_key(&cm_n1024_q26, 1, ternary);
    for (unsigned way = 0; way < 8; way++) {
        const cm_bfv_values values = {.data = values_apart,
                                      .count = 1024,
                                      .number = way & 1u ? CM_INT16 : CM_UINT16,
                                      .encoding = way & 2u ? CM_BFV_COEFFICIENTS : CM_BFV_BATCH,
                                      .width = way & 4u ? CM_BFV_32 : CM_BFV_16,
                                      .plain_modulus = 12289};
        writers all;
        for (unsigned i = 0; i < 1024; i++) {
            ((uint16_t *)(void *)values_apart)[i] = (uint16_t)(i * 7u % 6000u);
        }
        mark_secret(values_apart, 2048);
        CHECK(cm_bfv_encrypt_symmetric(&device, &key, CM_XOF_CHACHA20, &values, CM_DOMAIN_NTT, arena,
                                       sizeof arena, open_writer(&all, false)) == CM_OK);
        CHECK(new_errors() == 0);
    }
}

/* ---- leaks, which must be found ---- */

static volatile uint32_t seen;
static const volatile uint32_t table[256];

static void a_branch_by_a_secret_is_found(void)
{
    uint8_t secret;
    draw_secret(&secret, 1);
    if (secret & 1u) {
        seen = 1;
    }
    CHECK(new_errors() > 0);
}

static void an_address_by_a_secret_is_found(void)
{
    uint8_t secret;
    draw_secret(&secret, 1);
    seen = table[secret];
    CHECK(new_errors() > 0);
}

/* The sampler of public residues rejects by what it reads. */
static void a_secret_given_to_a_function_for_public_data_is_found(void)
{
    uint8_t seed[CM_SEED_BYTES];
    cm_uniform uniform;
    draw_secret(seed, sizeof seed);
    cm_uniform_init(&uniform, CM_XOF_CHACHA20, seed, 10, 1);
    cm_uniform_polynomial(&uniform, cm_n1024_q26.primes, 0, words);
    CHECK(new_errors() > 0);
}

static void a_secret_that_is_emitted_without_a_declaration_is_found(void)
{
    draw_secret(words, sizeof words);
    seen = cm_crc32c(0, (const uint8_t *)words, sizeof words);
    CHECK(new_errors() > 0);
}

int main(int count, char **arguments)
{
    cm_check_state.topic = "constant time";
    if (!RUNNING_ON_VALGRIND) {
        puts("This test shows nothing by itself: run it as `valgrind ./constant_time_tests`.");
        return EXIT_FAILURE;
    }
    if (count > 1 && strcmp(arguments[1], "leaks") == 0) {
        RUN(a_branch_by_a_secret_is_found);
        RUN(an_address_by_a_secret_is_found);
        RUN(a_secret_given_to_a_function_for_public_data_is_found);
        RUN(a_secret_that_is_emitted_without_a_declaration_is_found);
    } else {
        start_device();
        RUN(keys_are_made_without_branch_or_address_by_a_secret);
        RUN(every_number_slot_and_precision_encrypts_without_branch_or_address_by_a_secret);
        RUN(every_kind_of_key_xof_and_emitter_encrypts_without_branch_or_address_by_a_secret);
        RUN(a_value_out_of_range_is_refused_without_telling_which);
        RUN(integers_are_encrypted_without_branch_or_address_by_a_secret);
        RUN(integers_are_decrypted_without_branch_or_address_by_a_secret);
        RUN(slots_are_decrypted_without_branch_or_address_by_a_secret);
        RUN(a_slot_out_of_range_is_refused_without_telling_which);
        RUN(a_device_makes_its_keys_without_branch_or_address_by_a_secret);
        RUN(three_primes_of_4096_encrypt_without_branch_or_address_by_a_secret);
    }
    printf("%lu passed, %lu failed\n", cm_check_state.passed, cm_check_state.failed);
    return cm_check_state.failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
