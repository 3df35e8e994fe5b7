/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decryption: the values of frames that arrive in pieces of any size; damaged, foreign, lost and out-of-order
 * frames end in a status and a wiped arena.
 */
#include <string.h>

#include "build.h"
#include "check.h"
#include "common/bytes.h"
#include "decrypting.h"
#include "platform.h"
#include "ring/ring.h"
#include "secret_key.h"

enum {
    N = 1024,
    T = 12289,
    KEY_ID = 42,
    COUNTER = 7,
    MAX_FRAMES = 32,
    STREAM_BYTES = 2 * N / 8 * 26 + MAX_FRAMES * (CM_FRAME_HEADER_BYTES + CM_FRAME_CRC_BYTES)
};

/* Where there is time, every byte of a stream is damaged in turn; elsewhere only some. */
#ifdef __linux__
enum { DAMAGE_STEP = 1 };
#else
enum { DAMAGE_STEP = 97 };
#endif

static const cm_params *const params = &cm_n1024_q26;

static uint64_t arena[CM_BFV_DECRYPT_ARENA_BYTES(N, CM_BFV_SUMS_32, 0) / 8 + N];
static uint8_t ternary[CM_TERNARY_BYTES(N)];
static uint32_t c0[N];
static uint32_t c1[N];
static uint8_t stream[STREAM_BYTES];
static size_t length;
static size_t frame_ends[MAX_FRAMES + 1];

static int store(void *context, const uint8_t *bytes, size_t count)
{
    (void)context;
    memcpy(stream + length, bytes, count);
    length += count;
    return 0;
}

static cm_secret_key secret_key(void)
{
    const uint8_t seed[CM_SEED_BYTES] = {3, 1, 4};
    CHECK(cm_secret_key_generate(params, seed, ternary) == CM_OK);
    return test_secret_key(params, KEY_ID, ternary);
}

/* message(i), from 0 to T - 1 */
static uint32_t message(uint32_t i)
{
    return (i * 7919u + 5u) % T;
}

/* c0 + c1 s = coefficients + noise, for coefficients below q. */
static void encrypt(const uint32_t *coefficients)
{
    static uint32_t m[N];
    const cm_prime *prime = &params->primes[0];
    const uint8_t seed[CM_SEED_BYTES] = {2, 7, 1};
    cmi_ring ring;
    cmi_ring_init(&ring, prime, params->log2_n, NULL);
    CHECK(cm_zero_encryption(params, ternary, seed, 0, c0, c1) == CM_OK);
    memcpy(m, coefficients, sizeof m);
    cmi_ntt_forward(m, &ring);
    cmi_add(m, c0, N, prime);
    memcpy(c0, m, sizeof m);
}

static void encrypt_bfv(void)
{
    static uint32_t scaled[N];
    const uint64_t q = params->primes[0].q;
    for (uint32_t i = 0; i < N; i++) {
        scaled[i] = (uint32_t)((q * message(i) + T / 2u) / T);
    }
    encrypt(scaled);
}

static cm_frame_writer writer_of(cm_scheme scheme, uint64_t scale_or_modulus, unsigned log2_tiles)
{
    const cm_sink sink = {store, NULL};
    cm_frame_writer writer;
    cm_frame_writer_init(&writer, sink);
    cm_ciphertext_info *info = &writer.emitter.info;
    info->params = params;
    info->scheme = scheme;
    info->ntt_form = true;
    info->components = 2;
    info->primes = 1;
    info->log2_tiles = (uint8_t)log2_tiles;
    info->key_id = KEY_ID;
    info->counter = COUNTER;
    info->scale_bits = scale_or_modulus;
    return writer;
}

static void write_frame(cm_frame_writer *writer, unsigned component, unsigned tile)
{
    const uint32_t *const residues = component == 0 ? c0 : c1;
    const size_t points = (size_t)N >> writer->emitter.info.log2_tiles;
    CHECK(writer->emitter.residues(&writer->emitter, component, 0, tile, residues + tile * points) == CM_OK);
}

/* All frames in the order that a decryption takes; frame i ends at frame_ends[i + 1]. */
static void write_stream(cm_scheme scheme, uint64_t scale_or_modulus, unsigned log2_tiles)
{
    cm_frame_writer writer = writer_of(scheme, scale_or_modulus, log2_tiles);
    unsigned frame = 0;
    length = 0;
    frame_ends[0] = 0;
    for (unsigned tile = 0; tile < 1u << log2_tiles; tile++) {
        for (unsigned component = 2; component-- > 0;) {
            write_frame(&writer, component, tile);
            frame_ends[++frame] = length;
        }
    }
}

static cm_bfv_expected expected_bfv(cm_number number, cm_bfv_sums sums, unsigned log2_tiles)
{
    const cm_bfv_expected expected = {CM_BFV_COEFFICIENTS, number, sums, (uint8_t)log2_tiles, T};
    return expected;
}

static void open_bfv(cm_decryption *decryption, cm_frame_reader *reader, const cm_bfv_expected *expected)
{
    static cm_secret_key key; /* the decryption outlives this function */
    key = test_secret_key(params, KEY_ID, ternary);
    memset(arena, 0xA5, sizeof arena);
    CHECK(test_bfv_begin(decryption, &key, expected, arena, sizeof arena) == CM_OK);
    cm_frame_reader_init(reader, params, &decryption->receiver);
}

static bool arena_is_zero_from(size_t start)
{
    uint8_t any = 0;
    for (size_t i = start; i < sizeof arena; i++) {
        any |= ((const uint8_t *)arena)[i];
    }
    return any == 0;
}

static uint32_t wrong_values(cm_number number)
{
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < N; i++) {
        uint32_t found;
        if (number == CM_UINT16) {
            found = ((const uint16_t *)(const void *)arena)[i];
        } else if (number == CM_INT16) {
            const int32_t centred = ((const int16_t *)(const void *)arena)[i];
            wrong += centred > T / 2 || centred < -(T / 2);
            found = (uint32_t)(centred < 0 ? centred + T : centred);
        } else if (number == CM_INT32) {
            const int32_t centred = ((const int32_t *)(const void *)arena)[i];
            found = (uint32_t)(centred < 0 ? centred + T : centred);
        } else {
            found = ((const uint32_t *)(const void *)arena)[i];
        }
        wrong += found != message(i);
    }
    return wrong;
}

static unsigned most_log2_tiles(void)
{
    return 4u;
}

static void bfv_comes_out_exactly_in_tiles_of_any_size_and_pieces_of_any_length(void)
{
    (void)secret_key();
    encrypt_bfv();
    for (unsigned log2_tiles = 0; log2_tiles <= most_log2_tiles(); log2_tiles++) {
        write_stream(CM_BFV, T, log2_tiles);
        for (unsigned kind = 0; kind < 5; kind++) {
            const cm_number numbers[5] = {CM_UINT16, CM_INT16, CM_UINT32, CM_INT32, CM_UINT16};
            const cm_bfv_expected expected =
                expected_bfv(numbers[kind], kind < 2 ? CM_BFV_SUMS_24 : CM_BFV_SUMS_32, log2_tiles);
            const size_t pieces[5] = {1, 7, 113, 4096, sizeof stream};
            cm_decryption decryption;
            cm_frame_reader reader;
            open_bfv(&decryption, &reader, &expected);
            for (size_t at = 0; at < length; at += pieces[kind]) {
                const size_t piece = length - at < pieces[kind] ? length - at : pieces[kind];
                CHECK(cm_frame_reader_feed(&reader, stream + at, piece) == CM_OK);
            }
            CHECK(cmi_bfv_decryption_end(&decryption) == CM_OK);
            CHECK(decryption.counter == COUNTER);
            CHECK(wrong_values(numbers[kind]) == 0);
            CHECK(arena_is_zero_from((size_t)N * (kind < 2 || kind == 4 ? 2u : 4u)));
            CHECK(cmi_bfv_decryption_end(&decryption) == CM_ERR_ARGUMENT);
        }
    }
}

/* x such that t x differs from q m by q/3 at most, above or below. */
static uint32_t nearly_wrong(uint64_t m, bool above, uint32_t t)
{
    const uint64_t q = params->primes[0].q;
    if (above) {
        return (uint32_t)((q * m + q / 3u) / t);
    }
    return m == 0 ? (uint32_t)(q - q / 3u / t) : (uint32_t)((q * m - q / 3u + t - 1u) / t);
}

static void noise_of_a_third_of_what_a_value_has_changes_none(void)
{
    static uint32_t coefficients[N];
    const uint32_t moduli[4] = {0x10000, 2, 0x100000, 3};
    (void)secret_key();
    for (unsigned way = 0; way < 8; way++) {
        const uint32_t t = moduli[way / 2u];
        const unsigned log2_tiles = way % 2u == 0 ? 0u : most_log2_tiles();
        const bool wide = way / 2u == 2;
        const cm_bfv_expected expected = {CM_BFV_COEFFICIENTS, wide ? CM_UINT32 : CM_UINT16,
                                          wide ? CM_BFV_SUMS_32 : CM_BFV_SUMS_24, (uint8_t)log2_tiles, t};
        const uint32_t values[4] = {0, t / 2u, t - 1u, 7919u % t};
        cm_decryption decryption;
        cm_frame_reader reader;
        uint32_t wrong = 0;
        for (uint32_t i = 0; i < N; i++) {
            coefficients[i] = nearly_wrong((values[i % 4u] + i / 8u) % t, i / 4u % 2u == 0, t);
        }
        memset(c1, 0, sizeof c1);
        cmi_ring ring;
        cmi_ring_init(&ring, &params->primes[0], params->log2_n, NULL);
        memcpy(c0, coefficients, sizeof c0);
        cmi_ntt_forward(c0, &ring);
        cmi_reduce_all(c0, N, &params->primes[0]);
        write_stream(CM_BFV, t, log2_tiles);
        open_bfv(&decryption, &reader, &expected);
        CHECK(cm_frame_reader_feed(&reader, stream, length) == CM_OK);
        CHECK(cmi_bfv_decryption_end(&decryption) == CM_OK);
        for (uint32_t i = 0; i < N; i++) {
            const uint32_t found = wide ? ((const uint32_t *)(const void *)arena)[i]
                                        : ((const uint16_t *)(const void *)arena)[i];
            wrong += found != (values[i % 4u] + i / 8u) % t;
        }
        CHECK(wrong == 0);
    }
}

/*
 * Feed bytes that are partly wrong: returns the first status that is not CM_OK, from the reader or from the
 * end.
 */
static cm_status outcome_of(const uint8_t *bytes, size_t count, const cm_bfv_expected *expected)
{
    cm_decryption decryption;
    cm_frame_reader reader;
    open_bfv(&decryption, &reader, expected);
    const cm_status fed = cm_frame_reader_feed(&reader, bytes, count);
    const cm_status status = cmi_bfv_decryption_end(&decryption);
    if (fed != CM_OK) {
        CHECK(status == fed);
        CHECK(cm_frame_reader_feed(&reader, bytes, count) == fed);
    }
    CHECK(status == CM_OK || arena_is_zero_from(0));
    return status;
}

static void any_damaged_byte_and_any_header_bit_ends_in_a_status(void)
{
    const cm_bfv_expected expected = expected_bfv(CM_UINT16, CM_BFV_SUMS_32, 1);
    (void)secret_key();
    encrypt_bfv();
    write_stream(CM_BFV, T, 1);
    uint32_t accepted = 0;
    for (size_t i = 0; i < length; i++) {
        const size_t place = i % (length / 4u);
        const bool whole = place < CM_FRAME_HEADER_BYTES || place >= length / 4u - CM_FRAME_CRC_BYTES;
        if (!whole && i % DAMAGE_STEP != 0) {
            continue;
        }
        for (unsigned bit = 0; bit < 8u; bit++) {
            if (whole || bit == i % 8u) {
                stream[i] ^= (uint8_t)(1u << bit);
                accepted += outcome_of(stream, length, &expected) == CM_OK;
                stream[i] ^= (uint8_t)(1u << bit);
            }
        }
    }
    CHECK(accepted == 0);
    CHECK(outcome_of(stream, length, &expected) == CM_OK);
}

static void a_stream_cut_anywhere_is_short(void)
{
    const cm_bfv_expected expected = expected_bfv(CM_UINT16, CM_BFV_SUMS_24, 1);
    (void)secret_key();
    encrypt_bfv();
    write_stream(CM_BFV, T, 1);
    uint32_t wrong = 0;
    for (size_t i = 0; i < length; i += DAMAGE_STEP) {
        wrong += outcome_of(stream, i, &expected) != CM_ERR_FRAME_SHORT;
    }
    CHECK(wrong == 0);
}

/*
 * Feed the stream up to middle, end or wipe the decryption, and feed the rest once the arena holds something
 * else.
 */
static uint32_t changed_after_the_end(size_t middle, bool forget, const cm_bfv_expected *expected)
{
    const uint8_t *const bytes = (const uint8_t *)arena;
    uint32_t changed = 0;
    cm_decryption decryption;
    cm_frame_reader reader;
    open_bfv(&decryption, &reader, expected);
    CHECK(cm_frame_reader_feed(&reader, stream, middle) == CM_OK);
    if (forget) {
        cmi_decryption_wipe(&decryption);
    } else {
        CHECK(cmi_bfv_decryption_end(&decryption) == CM_ERR_FRAME_SHORT);
    }
    memset(arena, 0x5A, sizeof arena);
    CHECK(cm_frame_reader_feed(&reader, stream + middle, length - middle) ==
          (forget ? CM_ERR_ARGUMENT : CM_ERR_FRAME_SHORT));
    for (size_t i = 0; i < sizeof arena; i++) {
        changed += bytes[i] != 0x5A;
    }
    return changed;
}

static void what_comes_after_the_end_of_a_decryption_touches_nothing(void)
{
    const cm_bfv_expected expected = expected_bfv(CM_UINT16, CM_BFV_SUMS_24, 1);
    (void)secret_key();
    encrypt_bfv();
    write_stream(CM_BFV, T, 1);
    for (unsigned frame = 0; frame < 4; frame++) {
        const size_t middles[4] = {frame_ends[frame] + 10, frame_ends[frame] + CM_FRAME_HEADER_BYTES,
                                   (frame_ends[frame] + frame_ends[frame + 1u]) / 2u,
                                   frame_ends[frame + 1u] - 1u};
        for (unsigned i = 0; i < 4; i++) {
            CHECK(changed_after_the_end(middles[i], false, &expected) == 0);
            CHECK(changed_after_the_end(middles[i], true, &expected) == 0);
        }
    }
}

/* Rearrange four frames of equal length. */
static cm_status outcome_of_order(const unsigned *order, unsigned count, const cm_bfv_expected *expected)
{
    static uint8_t other[2 * STREAM_BYTES];
    const size_t frame = frame_ends[1];
    for (unsigned i = 0; i < count; i++) {
        memcpy(other + i * frame, stream + order[i] * frame, frame);
    }
    return outcome_of(other, count * frame, expected);
}

static void frames_that_are_lost_doubled_or_swapped_are_out_of_order(void)
{
    const unsigned orders[6][5] = {{0, 0, 1, 2, 3}, {1, 0, 2, 3, 0}, {0, 2, 1, 3, 0},
                                   {0, 1, 3, 2, 0}, {2, 3, 0, 1, 0}, {0, 1, 2, 3, 3}};
    const unsigned right[4] = {0, 1, 2, 3};
    const cm_bfv_expected expected = expected_bfv(CM_UINT16, CM_BFV_SUMS_24, 1);
    (void)secret_key();
    encrypt_bfv();
    write_stream(CM_BFV, T, 1);
    for (unsigned i = 0; i < 6; i++) {
        CHECK(outcome_of_order(orders[i], i == 0 || i == 5 ? 5 : 4, &expected) == CM_ERR_FRAME_ORDER);
    }
    CHECK(outcome_of_order(right, 3, &expected) == CM_ERR_FRAME_SHORT);
    CHECK(outcome_of_order(right, 4, &expected) == CM_OK);
}

/* Set a byte of one frame's header and correct its checksum. */
static void forge(unsigned frame, size_t at, uint8_t value)
{
    uint8_t *const start = stream + frame_ends[frame];
    const size_t covered = frame_ends[frame + 1u] - frame_ends[frame] - CM_FRAME_CRC_BYTES;
    start[at] = value;
    cmi_store32(start + covered, cm_crc32c(0, start, covered));
}

static cm_status outcome_of_forgery(unsigned frame, size_t at, uint8_t value)
{
    const cm_bfv_expected expected = expected_bfv(CM_UINT16, CM_BFV_SUMS_24, 1);
    write_stream(CM_BFV, T, 1);
    forge(frame, at, value);
    return outcome_of(stream, length, &expected);
}

static void well_formed_frames_of_something_else_are_foreign(void)
{
    (void)secret_key();
    encrypt_bfv();
    for (unsigned frame = 0; frame < 4; frame++) {
        CHECK(outcome_of_forgery(frame, 5, 0) == CM_ERR_FRAME_DOMAIN);
        CHECK(outcome_of_forgery(frame, 6, 3) == CM_ERR_FRAME_FOREIGN);     /* three components */
        CHECK(outcome_of_forgery(frame, 12, 41) == CM_ERR_FRAME_FOREIGN);   /* key id */
        CHECK(outcome_of_forgery(frame, 28, 0xFF) == CM_ERR_FRAME_FOREIGN); /* t */
        CHECK(outcome_of_forgery(frame, 0, 'X') == CM_ERR_FRAME_MAGIC);
        CHECK(outcome_of_forgery(frame, 2, 2) == CM_ERR_FRAME_VERSION);
        CHECK(outcome_of_forgery(frame, 7, 2) == CM_ERR_FRAME_FIELD); /* primes */
        CHECK(outcome_of_forgery(frame, 8, 0) == CM_ERR_PARAMS);
        CHECK(outcome_of_forgery(frame, 40, 0) == CM_ERR_FRAME_FIELD); /* length */
    }
    /* The first frame determines the counter that the others must have. */
    CHECK(outcome_of_forgery(0, 20, 8) == CM_ERR_FRAME_FOREIGN);
    CHECK(outcome_of_forgery(3, 20, 8) == CM_ERR_FRAME_FOREIGN);
    const cm_bfv_expected expected = expected_bfv(CM_UINT16, CM_BFV_SUMS_24, 1);
    write_stream(CM_BFV, T, 2);
    CHECK(outcome_of(stream, length, &expected) == CM_ERR_FRAME_FOREIGN);
    write_stream(CM_CKKS, (uint64_t)(1023 + 18) << 52, 1);
    CHECK(outcome_of(stream, length, &expected) == CM_ERR_FRAME_FOREIGN);
}

static void residues_that_are_not_below_their_prime_are_refused(void)
{
    const cm_bfv_expected expected = expected_bfv(CM_UINT16, CM_BFV_SUMS_32, 0);
    (void)secret_key();
    encrypt_bfv();
    for (unsigned i = 0; i < 4; i++) {
        const uint32_t places[4] = {0, 31, 32, N - 1};
        const uint32_t kept = c1[places[i]];
        c1[places[i]] = params->primes[0].q;
        write_stream(CM_BFV, T, 0);
        CHECK(outcome_of(stream, length, &expected) == CM_ERR_RESIDUE);
        c1[places[i]] = kept;
    }
}

/* The budget of a ciphertext (x, 0), whose noise is t x. */
static unsigned budget_of(uint32_t x, unsigned log2_tiles)
{
    const cm_secret_key key = secret_key();
    cm_decryption decryption;
    cm_frame_reader reader;
    unsigned bits = 99;
    memset(c1, 0, sizeof c1);
    for (uint32_t i = 0; i < N; i++) {
        c0[i] = x; /* a constant, transformed */
    }
    write_stream(CM_BFV, T, log2_tiles);
    CHECK(test_noise_begin(&decryption, &key, T, log2_tiles, arena, sizeof arena) == CM_OK);
    cm_frame_reader_init(&reader, params, &decryption.receiver);
    CHECK(cm_frame_reader_feed(&reader, stream, length) == CM_OK);
    CHECK(cmi_bfv_decryption_end(&decryption) == CM_ERR_ARGUMENT);
    CHECK(cmi_noise_budget(&decryption, &bits) == CM_OK);
    CHECK(arena_is_zero_from(0));
    return bits;
}

/* q has 26 bits, t 14. */
static void the_noise_budget_is_what_the_noise_leaves_of_q(void)
{
    const uint32_t q = params->primes[0].q;
    for (unsigned log2_tiles = 0; log2_tiles <= most_log2_tiles(); log2_tiles++) {
        CHECK(budget_of(0, log2_tiles) == 25);
        CHECK(budget_of(1, log2_tiles) == 11 && budget_of(q - 1, log2_tiles) == 11);
        CHECK(budget_of(5, log2_tiles) == 9);
        CHECK(budget_of(q / (2u * T), log2_tiles) == 0);
    }
}

static void no_noise_budget_is_told_before_its_time(void)
{
    const cm_secret_key key = secret_key();
    const cm_bfv_expected values = expected_bfv(CM_UINT16, CM_BFV_SUMS_32, 0);
    const size_t bytes = CM_BFV_NOISE_ARENA_BYTES(N, 1, 0);
    cm_decryption decryption;
    cm_frame_reader reader;
    unsigned bits = 99;
    CHECK(test_noise_begin(&decryption, NULL, T, 0, arena, bytes) == CM_ERR_ARGUMENT);
    CHECK(test_noise_begin(&decryption, &key, 1, 0, arena, bytes) == CM_ERR_PLAIN_MODULUS);
    CHECK(test_noise_begin(&decryption, &key, T, 0, arena, bytes - 1) == CM_ERR_ARENA);
    CHECK(test_noise_begin(&decryption, &key, T, 0, arena, bytes) == CM_OK);
    CHECK(cmi_noise_budget(&decryption, NULL) == CM_ERR_ARGUMENT);
    CHECK(cmi_noise_budget(&decryption, &bits) == CM_ERR_FRAME_SHORT && bits == 0);
    encrypt_bfv();
    write_stream(CM_BFV, T, 0);
    open_bfv(&decryption, &reader, &values);
    CHECK(cm_frame_reader_feed(&reader, stream, length) == CM_OK);
    CHECK(cmi_noise_budget(&decryption, &bits) == CM_ERR_ARGUMENT && bits == 0);
    CHECK(cmi_bfv_decryption_end(&decryption) == CM_OK && wrong_values(CM_UINT16) == 0);
}

static void ckks_comes_out_as_floats_and_as_integers_with_an_exponent(void)
{
    static uint32_t coefficients[N];
    const uint32_t q = params->primes[0].q;
    (void)secret_key();
    /* 3 in all slots, except for x^(n/2), which real slots do not show: i in some, -i in others. */
    memset(coefficients, 0, sizeof coefficients);
    coefficients[0] = 3u << 18;
    coefficients[N / 2] = q - (1u << 18);
    encrypt(coefficients);
    for (unsigned log2_tiles = 0; log2_tiles <= most_log2_tiles(); log2_tiles++) {
        write_stream(CM_CKKS, (uint64_t)(1023 + 18) << 52, log2_tiles);
        for (unsigned way = 0; way < 8; way++) {
            const cm_ckks_expected expected = {way & 1u ? CM_SLOTS_COMPLEX : CM_SLOTS_REAL,
                                               way & 2u ? CM_FIXED_63 : CM_FIXED_31,
                                               way & 4u ? CM_INT32 : CM_FLOAT32,
                                               -10,
                                               (uint8_t)log2_tiles,
                                               4};
            const bool built = build_has_slots(expected.slots) && build_has_precision(expected.precision);
            const cm_secret_key key = test_secret_key(params, KEY_ID, ternary);
            cm_decryption decryption;
            cm_frame_reader reader;
            CHECK(test_ckks_begin(&decryption, &key, &expected, arena, sizeof arena) ==
                  (built ? CM_OK : CM_ERR_UNSUPPORTED));
            if (!built) {
                continue;
            }
            cm_frame_reader_init(&reader, params, &decryption.receiver);
            CHECK(cm_frame_reader_feed(&reader, stream, length) == CM_OK);
            CHECK(cmi_ckks_decryption_end(&decryption) == CM_OK);
            const uint32_t numbers = expected.slots == CM_SLOTS_COMPLEX ? N : N / 2;
            uint32_t far = 0;
            for (uint32_t i = 0; i < numbers; i++) {
                float value;
                int32_t integer;
                memcpy(&value, (const uint8_t *)arena + 4u * i, sizeof value);
                memcpy(&integer, (const uint8_t *)arena + 4u * i, sizeof integer);
                if (way & 4u) {
                    value = (float)integer / 1024;
                }
                const bool imaginary = expected.slots == CM_SLOTS_COMPLEX && i % 2u == 1u;
                /* zeta^(3^j n/2) is i or -i */
                const float exact = imaginary ? ((i / 2u) % 2u ? 1.0f : -1.0f) : 3.0f;
                far += value < exact - 0.01f || value > exact + 0.01f;
            }
            CHECK(far == 0);
            CHECK(arena_is_zero_from(4u * (size_t)numbers));
        }
    }
}

static void values_beyond_the_precision_or_the_number_are_refused(void)
{
    static uint32_t coefficients[N];
    const cm_ckks_expected beyond = {CM_SLOTS_REAL, BUILD_PRECISION, CM_FLOAT32, 0, 0, 1};
    const cm_ckks_expected large = {CM_SLOTS_REAL, BUILD_PRECISION, CM_INT32, -31, 0, 1};
    const cm_secret_key key = secret_key();
    for (unsigned i = 0; i < 2; i++) {
        const cm_ckks_expected *const expected = i == 0 ? &beyond : &large;
        if (i == 0 && !CM_CONFIG_PRECISION_31) {
            continue;
        }
        for (uint32_t k = 0; k < N; k++) {
            coefficients[k] = i == 0 ? (k * k & 1u ? 1u << 23 : params->primes[0].q - (1u << 23)) : 0u;
        }
        coefficients[0] = 3u << 18;
        if (i == 0) {
            memset(coefficients, 0, sizeof coefficients);
            for (uint32_t k = 1; k < N / 2; k++) {
                coefficients[k] = 1u << 23;
                coefficients[N - k] = params->primes[0].q - (1u << 23);
            }
        }
        encrypt(coefficients);
        write_stream(CM_CKKS, (uint64_t)(1023 + 18) << 52, 0);
        cm_decryption decryption;
        cm_frame_reader reader;
        CHECK(test_ckks_begin(&decryption, &key, expected, arena, sizeof arena) == CM_OK);
        cm_frame_reader_init(&reader, params, &decryption.receiver);
        CHECK(cm_frame_reader_feed(&reader, stream, length) == CM_OK);
        CHECK(cmi_ckks_decryption_end(&decryption) == CM_ERR_VALUE_RANGE);
        CHECK(arena_is_zero_from(0));
    }
}

/* A decryption, as far as its end, of what write_stream wrote last. */
static void feed_ckks(cm_decryption *decryption, const cm_secret_key *key, cm_slots slots,
                      cm_precision precision)
{
    const cm_ckks_expected expected = {slots, precision, CM_FLOAT32, 0, 0, 1};
    cm_frame_reader reader;
    memset(arena, 0xA5, sizeof arena);
    CHECK(test_ckks_begin(decryption, key, &expected, arena, sizeof arena) == CM_OK);
    cm_frame_reader_init(&reader, params, &decryption->receiver);
    CHECK(cm_frame_reader_feed(&reader, stream, length) == CM_OK);
}

static void write_zeros_in_ckks(void)
{
    static const uint32_t zeros[N];
    encrypt(zeros);
    write_stream(CM_CKKS, (uint64_t)(1023 + 18) << 52, 0);
}

static void shared_values_are_off_by_noise_of_the_size_asked_for(void)
{
    const unsigned log2_noises[5] = {1, 4, 16, 16, CM_CKKS_SHARED_MAX_LOG2_NOISE};
    const cm_secret_key key = secret_key();
    test_platform platform = {0};
    cm_device device;
    float last = 0;
    CHECK(test_device_start(&device, &platform) == CM_OK);
    write_zeros_in_ckks();
    for (unsigned way = 0; way < 10; way++) {
        const cm_slots slots = way < 5 ? CM_SLOTS_REAL : CM_SLOTS_COMPLEX;
        const unsigned log2_noise = log2_noises[way % 5u];
        const uint32_t numbers = slots == CM_SLOTS_COMPLEX ? N : N / 2;
        double squares = 0;
        cm_decryption decryption;
        if (!build_has_slots(slots)) {
            continue;
        }
        feed_ckks(&decryption, &key, slots, CM_FIXED_63);
        CHECK(cmi_ckks_decryption_end_shared(&decryption, &device, log2_noise) == CM_OK);
        CHECK(arena_is_zero_from(4u * (size_t)numbers));
        const float *const values = (const float *)(const void *)arena;
        for (uint32_t j = 0; j < numbers; j++) {
            squares += (double)values[j] * (double)values[j];
        }
        /*
         * The mean square is (n/12) 4^log2_noise in units of the scale, for complex slots twice that, plus
         * some of the ciphertext's own.
         */
        const double unit = (double)((uint64_t)1 << log2_noise);
        const double flooded = (slots == CM_SLOTS_COMPLEX ? 2.0 : 1.0) * N / 12 * unit * unit / 68719476736.0;
        const double own_square = (double)N / 2 * 10.6 / 68719476736.0;
        const double mean = squares / numbers;
        CHECK(mean > 0.7 * (flooded + own_square) && mean < 1.4 * (flooded + own_square));
        CHECK(values[0] < last || values[0] > last);
        last = values[0];
    }
}

static void what_cannot_be_shared_is_refused_and_wiped(void)
{
    const unsigned log2_noises[4] = {0, CM_CKKS_SHARED_MAX_LOG2_NOISE + 1, 64, UINT32_MAX};
    const cm_secret_key key = secret_key();
    test_platform platform = {0};
    cm_device device;
    cm_decryption decryption;
    CHECK(test_device_start(&device, &platform) == CM_OK);
    write_zeros_in_ckks();
    if (build_has_precision(CM_FIXED_31)) {
        for (unsigned log2_noise = 0; log2_noise <= 24; log2_noise += 4) {
            feed_ckks(&decryption, &key, CM_SLOTS_REAL, CM_FIXED_31);
            CHECK(cmi_ckks_decryption_end_shared(&decryption, &device, log2_noise) == CM_ERR_SHARED_NOISE);
            CHECK(arena_is_zero_from(0));
        }
    }
    if (build_has_precision(CM_FIXED_63)) {
        for (unsigned i = 0; i < 4; i++) {
            feed_ckks(&decryption, &key, CM_SLOTS_REAL, CM_FIXED_63);
            CHECK(cmi_ckks_decryption_end_shared(&decryption, &device, log2_noises[i]) ==
                  CM_ERR_SHARED_NOISE);
            CHECK(arena_is_zero_from(0));
            CHECK(cmi_ckks_decryption_end_shared(&decryption, &device, 16) == CM_ERR_SHARED_NOISE);
        }
        feed_ckks(&decryption, &key, CM_SLOTS_REAL, CM_FIXED_63);
        CHECK(cmi_ckks_decryption_end_shared(&decryption, NULL, 16) == CM_ERR_ARGUMENT);
        CHECK(arena_is_zero_from(0));
        platform.mode = RANDOM_FAILS;
        feed_ckks(&decryption, &key, CM_SLOTS_REAL, CM_FIXED_63);
        CHECK(cmi_ckks_decryption_end_shared(&decryption, &device, 16) == CM_ERR_RANDOM);
        CHECK(arena_is_zero_from(0));
    }
    /* After a decryption has ended, the arena is the caller's. */
    memset(arena, 0x5A, sizeof arena);
    CHECK(cmi_ckks_decryption_end_shared(&decryption, &device, 0) != CM_OK);
    CHECK(arena[0] == 0x5A5A5A5A5A5A5A5Au);
}

static void only_ckks_is_shared(void)
{
    const cm_bfv_expected expected = expected_bfv(CM_UINT16, CM_BFV_SUMS_24, 0);
    test_platform platform = {0};
    cm_device device;
    cm_decryption decryption;
    cm_frame_reader reader;
    (void)secret_key();
    CHECK(test_device_start(&device, &platform) == CM_OK);
    encrypt_bfv();
    write_stream(CM_BFV, T, 0);
    open_bfv(&decryption, &reader, &expected);
    CHECK(cm_frame_reader_feed(&reader, stream, length) == CM_OK);
    CHECK(cmi_ckks_decryption_end_shared(&decryption, &device, 16) == CM_ERR_ARGUMENT);
    CHECK(arena_is_zero_from(0));
}

static void a_decryption_that_could_not_begin_keeps_saying_why(void)
{
    const cm_secret_key key = secret_key();
    const cm_bfv_expected bfv = expected_bfv(CM_UINT16, CM_BFV_SUMS_24, 0);
    cm_bfv_expected bad = bfv;
    const cm_ckks_expected ckks = {
        .slots = CM_SLOTS_REAL, .precision = BUILD_PRECISION, .number = CM_FLOAT32, .largest = 1};
    cm_decryption decryption;
    cm_frame_reader reader;
    unsigned bits = 1;
    bad.plain_modulus = 1;
    encrypt_bfv();
    write_stream(CM_BFV, T, 0);
    CHECK(test_bfv_begin(&decryption, &key, &bad, arena, sizeof arena) == CM_ERR_PLAIN_MODULUS);
    cm_frame_reader_init(&reader, params, &decryption.receiver);
    CHECK(cm_frame_reader_feed(&reader, stream, length) == CM_ERR_PLAIN_MODULUS);
    CHECK(cmi_bfv_decryption_end(&decryption) == CM_ERR_PLAIN_MODULUS);
    CHECK(test_bfv_begin(&decryption, &key, &bfv, arena, 8) == CM_ERR_ARENA);
    CHECK(cmi_bfv_decryption_end(&decryption) == CM_ERR_ARENA);
    CHECK(test_ckks_begin(&decryption, &key, &ckks, arena, 8) == CM_ERR_ARENA);
    CHECK(cmi_ckks_decryption_end(&decryption) == CM_ERR_ARENA);
    CHECK(test_noise_begin(&decryption, &key, T, 0, arena, 8) == CM_ERR_ARENA);
    CHECK(cmi_noise_budget(&decryption, &bits) == CM_ERR_ARENA && bits == 0);
    cmi_decryption_wipe(&decryption);
}

static void what_cannot_work_is_refused_at_once(void)
{
    const cm_secret_key key = secret_key();
    const cm_secret_key none = {0};
    const cm_bfv_expected good = expected_bfv(CM_UINT16, CM_BFV_SUMS_24, 0);
    cm_decryption decryption;
    cm_bfv_expected bad = good;
    CHECK(test_bfv_begin(&decryption, NULL, &good, arena, sizeof arena) == CM_ERR_ARGUMENT);
    CHECK(test_bfv_begin(&decryption, &none, &good, arena, sizeof arena) == CM_ERR_ARGUMENT);
    memset(&decryption, 0xA5, sizeof decryption);
    CHECK(test_bfv_begin(&decryption, &key, NULL, arena, sizeof arena) == CM_ERR_ARGUMENT);
    CHECK(decryption.receiver.begin(&decryption.receiver, NULL, 1, 0, 0) == CM_ERR_ARGUMENT);
    cmi_decryption_wipe(&decryption);
    memset(&decryption, 0xA5, sizeof decryption);
    CHECK(test_ckks_begin(&decryption, &key, NULL, arena, sizeof arena) == CM_ERR_ARGUMENT);
    cmi_decryption_wipe(&decryption);
    CHECK(test_bfv_begin(&decryption, &key, &good, NULL, sizeof arena) == CM_ERR_ARENA);
    CHECK(test_bfv_begin(&decryption, &key, &good, (uint8_t *)arena + 4, sizeof arena - 4) == CM_ERR_ARENA);
    CHECK(test_bfv_begin(&decryption, &key, &good, arena,
                         CM_BFV_DECRYPT_ARENA_BYTES(N, CM_BFV_SUMS_24, 0) - 1) == CM_ERR_ARENA);
    bad.log2_tiles = 5;
    CHECK(test_bfv_begin(&decryption, &key, &bad, arena, sizeof arena) == CM_ERR_ARGUMENT);
    bad = good;
    bad.number = CM_FLOAT32;
    CHECK(test_bfv_begin(&decryption, &key, &bad, arena, sizeof arena) == CM_ERR_ARGUMENT);
    bad.number = CM_UINT32;
    CHECK(test_bfv_begin(&decryption, &key, &bad, arena, sizeof arena) == CM_ERR_ARGUMENT);
    bad = good;
    bad.encoding = CM_BFV_BATCH;
    bad.plain_modulus = T + 2;
    CHECK(test_bfv_begin(&decryption, &key, &bad, arena, sizeof arena) == CM_ERR_PLAIN_MODULUS);
    bad.plain_modulus = 1;
    CHECK(test_bfv_begin(&decryption, &key, &bad, arena, sizeof arena) == CM_ERR_PLAIN_MODULUS);
    bad = good;
    bad.plain_modulus = 0x10001;
    CHECK(test_bfv_begin(&decryption, &key, &bad, arena, sizeof arena) == CM_ERR_PLAIN_MODULUS);
    CHECK(cmi_bfv_decryption_end(&decryption) == CM_ERR_PLAIN_MODULUS);
    CHECK(cmi_ckks_decryption_end(&decryption) == CM_ERR_ARGUMENT);
}

void test_decrypt(void)
{
    RUN(bfv_comes_out_exactly_in_tiles_of_any_size_and_pieces_of_any_length);
    RUN(noise_of_a_third_of_what_a_value_has_changes_none);
    RUN(any_damaged_byte_and_any_header_bit_ends_in_a_status);
    RUN(a_stream_cut_anywhere_is_short);
    RUN(what_comes_after_the_end_of_a_decryption_touches_nothing);
    RUN(frames_that_are_lost_doubled_or_swapped_are_out_of_order);
    RUN(well_formed_frames_of_something_else_are_foreign);
    RUN(residues_that_are_not_below_their_prime_are_refused);
    RUN(the_noise_budget_is_what_the_noise_leaves_of_q);
    RUN(no_noise_budget_is_told_before_its_time);
    RUN(ckks_comes_out_as_floats_and_as_integers_with_an_exponent);
    RUN(values_beyond_the_precision_or_the_number_are_refused);
    RUN_IF(build_has_precision(CM_FIXED_63), shared_values_are_off_by_noise_of_the_size_asked_for);
    RUN(what_cannot_be_shared_is_refused_and_wiped);
    RUN(only_ckks_is_shared);
    RUN(a_decryption_that_could_not_begin_keeps_saying_why);
    RUN(what_cannot_work_is_refused_at_once);
}
