/* SPDX-License-Identifier: Apache-2.0 */
/*
 * XOFs and samplers: known answers, the streams that other programs must reproduce, and the samplers'
 * distributions.
 *
 * Every seed is fixed, so a statistical check gives the same figure on each run: it always passes or always
 * fails. Known answers are those of vectors/random.json, which says where they come from.
 */
#include "check.h"

#include "../vectors/random_vectors.h"
#include "common/wipe.h"
#include "random/sample.h"
#include "random/xof.h"

/* 0, 1, 2 ... as message, key and seed. */
static uint8_t counting[256];

static void fill_counting(void)
{
    for (unsigned i = 0; i < sizeof counting; i++) {
        counting[i] = (uint8_t)i;
    }
}

/* The low bytes of a word, the lowest first. */
static void store_word(uint8_t *out, uint64_t word, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++) {
        out[i] = (uint8_t)(word >> (8 * i));
    }
}

static cm_prime make_prime(uint32_t q)
{
    uint32_t inverse = q; /* correct in three bits for odd q; each step doubles them */
    for (unsigned i = 0; i < 4; i++) {
        inverse *= 2 - q * inverse;
    }
    cm_prime prime = {.q = q, .neg_q_inv = 0u - inverse};
    prime.r1 = (uint32_t)(((uint64_t)1 << 32) % q);
    prime.r2 = (uint32_t)((uint64_t)prime.r1 * prime.r1 % q);
    return prime;
}

/* Pearson's statistic for equally likely categories. */
static double chi_square_flat(const uint32_t *counts, unsigned categories, double total)
{
    double sum = 0;
    for (unsigned i = 0; i < categories; i++) {
        double difference = counts[i] - total / categories;
        sum += difference * difference / (total / categories);
    }
    return sum;
}

/* ---- ChaCha20 ---- */

static void test_chacha20(void)
{
    uint8_t block[64];
    uint8_t expected[3 * 64];
    uint8_t read[sizeof expected];
    cmi_stream stream;

    BEHAVIOUR("ChaCha20 is RFC 8439's, as blocks and as a stream from block 0 on");
    for (size_t i = 0; i < sizeof cm_known_chacha20 / sizeof cm_known_chacha20[0]; i++) {
        const cm_known_stream *known = &cm_known_chacha20[i];
        const size_t length = strlen(known->output) / 2;
        for (uint32_t start = 0; start < length; start += 64) {
            cmi_chacha20_block(read + start, counting, known->nonce, known->counter + start / 64);
        }
        CHECK_HEX(read, known->output);
        cmi_stream_init(&stream, counting, known->nonce);
        for (uint32_t skipped = 0; skipped < known->counter; skipped++) {
            cmi_stream_read(&stream, read, 64);
        }
        cmi_stream_read(&stream, read, length);
        CHECK_HEX(read, known->output);
    }

    const uint32_t *const nonce = cm_known_chacha20[1].nonce;
    BEHAVIOUR("a stream gives the same bytes in pieces of any size");
    for (uint32_t i = 0; i < 3; i++) {
        cmi_chacha20_block(expected + 64 * i, counting, nonce, i);
    }
    for (size_t piece = 1; piece <= sizeof read; piece++) {
        cmi_stream_init(&stream, counting, nonce);
        memset(read, 0, sizeof read);
        for (size_t done = 0; done < sizeof read; done += piece) {
            cmi_stream_read(&stream, read + done, piece < sizeof read - done ? piece : sizeof read - done);
        }
        CHECK_BYTES(read, expected, sizeof read);
    }

    BEHAVIOUR("a stream writes to any address, and nothing around its bytes");
    for (size_t offset = 0; offset < 4; offset++) {
        uint8_t around[sizeof expected + 8];
        memset(around, 0x5A, sizeof around);
        cmi_stream_init(&stream, counting, nonce);
        cmi_stream_read(&stream, around + 1 + offset, sizeof expected);
        CHECK_BYTES(around + 1 + offset, expected, sizeof expected);
        CHECK(around[offset] == 0x5A && around[sizeof expected + 1 + offset] == 0x5A);
    }

    BEHAVIOUR("each of the three nonce words and the counter changes the block");
    for (unsigned word = 0; word < 3; word++) {
        uint32_t other[3];
        memcpy(other, nonce, sizeof other);
        other[word] ^= 1;
        cmi_chacha20_block(block, counting, other, 0);
        CHECK(memcmp(block, expected, 64) != 0);
    }
    CHECK(memcmp(expected + 64, expected, 64) != 0);
}

/* ---- hashes ---- */

#define RANDOM_VECTORS "tests/vectors/random_vectors.h"

/* most: bytes that a hash may write. */
static bool known_in_step(const cm_known_output *known, size_t most)
{
    return cm_check_in_step(known->key_bytes <= sizeof counting && known->message_bytes <= sizeof counting &&
                                known->output_bytes <= most && known->output != NULL &&
                                known->offset + strlen(known->output) / 2 <= known->output_bytes,
                            RANDOM_VECTORS);
}

/* Check that a hash wrote the known output, and nothing beyond its length. */
static void check_known(const cm_known_output *known, const uint8_t *out)
{
    CHECK_HEX(out + known->offset, known->output);
    CHECK(out[known->output_bytes] == 0x5A);
}

#if CM_CONFIG_SEAL_XOFS
static void test_shake256(void)
{
    BEHAVIOUR("SHAKE256 is FIPS 202's, for empty, short and rate-filling messages, over four squeezes");
    for (size_t i = 0; i < sizeof cm_known_shake256 / sizeof cm_known_shake256[0]; i++) {
        const cm_known_output *known = &cm_known_shake256[i];
        uint8_t out[501];
        if (!known_in_step(known, sizeof out - 1)) {
            continue;
        }
        memset(out, 0x5A, sizeof out);
        cmi_shake256(out, known->output_bytes, counting, known->message_bytes);
        check_known(known, out);
    }

    BEHAVIOUR("SHAKE256 writes exactly the length it is asked for");
    uint8_t long_out[300];
    cmi_shake256(long_out, sizeof long_out, counting, 72);
    for (size_t length = 0; length < sizeof long_out; length += 17) {
        uint8_t out[sizeof long_out];
        memset(out, 0x5A, sizeof out);
        cmi_shake256(out, length, counting, 72);
        CHECK_BYTES(out, long_out, length);
        CHECK(out[length] == 0x5A);
    }
}
#endif

static void test_blake2b(void)
{
    uint8_t digest[65];

    BEHAVIOUR(
        "BLAKE2b is RFC 7693's: without a key and with one, at and around a block's edge, any digest length");
    for (size_t i = 0; i < sizeof cm_known_blake2b / sizeof cm_known_blake2b[0]; i++) {
        const cm_known_output *known = &cm_known_blake2b[i];
        if (!known_in_step(known, sizeof digest - 1)) {
            continue;
        }
        const uint8_t *key = known->key_bytes > 0 ? counting : NULL;
        const uint8_t *message = known->message_bytes > 0 ? counting : NULL;
        memset(digest, 0x5A, sizeof digest);
        cmi_blake2b(digest, known->output_bytes, key, known->key_bytes, message, known->message_bytes);
        check_known(known, digest);
        memset(digest, 0x5A, sizeof digest);
        cmi_blake2b_long(digest, known->output_bytes, key, known->key_bytes, message, known->message_bytes);
        check_known(known, digest);
    }
}

#if CM_CONFIG_SEAL_XOFS
static void test_blake2xb(void)
{
    uint8_t out[201];

    BEHAVIOUR("BLAKE2Xb is that of the BLAKE2X specification, for one byte, one node and several nodes");
    for (size_t i = 0; i < sizeof cm_known_blake2xb / sizeof cm_known_blake2xb[0]; i++) {
        const cm_known_output *known = &cm_known_blake2xb[i];
        if (!known_in_step(known, sizeof out - 1)) {
            continue;
        }
        memset(out, 0x5A, sizeof out);
        cmi_blake2xb(out, known->output_bytes, counting, known->key_bytes, counting, known->message_bytes);
        check_known(known, out);
    }
}
#endif

/* ---- SEAL's streams ---- */

#if CM_CONFIG_SEAL_XOFS

static uint8_t buffer[3 * CM_SEAL_BLOCK_BYTES];

/* One block of SEAL's stream, in the one call that the specification names. */
static void seal_block(uint8_t out[CM_SEAL_BLOCK_BYTES], cm_xof_kind kind, const uint8_t seed[64],
                       uint64_t number)
{
    uint8_t message[72];
    memcpy(message, seed, 64);
    store_word(message + 64, number, 8);
#if CM_CONFIG_SEAL_XOFS
    if (kind == CM_XOF_SHAKE256) {
        cmi_shake256(out, CM_SEAL_BLOCK_BYTES, message, sizeof message);
    }
    if (kind == CM_XOF_BLAKE2XB) {
        cmi_blake2xb(out, CM_SEAL_BLOCK_BYTES, message, 64, message + 64, 8);
    }
#endif
}

static void test_seal_stream(cm_xof_kind kind, const char *digest_of_three_blocks)
{
    cmi_seal_stream stream;
    uint8_t digest[32];

    BEHAVIOUR("the first three blocks for seed 0, 1, 2 ... 63 are those that SEAL's generator gives");
    cmi_seal_stream_init(&stream, kind, counting, 0);
    for (size_t i = 0; i < sizeof buffer; i += 8) {
        store_word(buffer + i, cmi_seal_stream_next(&stream), 8);
    }
    cmi_blake2b(digest, sizeof digest, NULL, 0, buffer, sizeof buffer);
    CHECK_HEX(digest, digest_of_three_blocks);

    BEHAVIOUR("each block is one call of the XOF on seed and block number");
    for (uint64_t number = 0; number < 3; number++) {
        uint8_t block[CM_SEAL_BLOCK_BYTES];
        seal_block(block, kind, counting, number);
        CHECK_BYTES(buffer + number * CM_SEAL_BLOCK_BYTES, block, sizeof block);
    }

    BEHAVIOUR("a stream that starts in the middle goes on as one that was read from the start");
    static const uint16_t starts[] = {8, 56, 64, 128, 136, 144, 4080, 4088, 4096, 4104, 8184, 8192, 12280};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        uint8_t bytes[3 * 136];
        size_t length = sizeof buffer - starts[i] < sizeof bytes ? sizeof buffer - starts[i] : sizeof bytes;
        cmi_seal_stream_init(&stream, kind, counting, starts[i]);
        for (size_t j = 0; j < length; j += 8) {
            store_word(bytes + j, cmi_seal_stream_next(&stream), 8);
        }
        CHECK_BYTES(bytes, buffer + starts[i], length);
    }

    BEHAVIOUR("block numbers beyond 32 bits count on");
    uint64_t far = (uint64_t)1 << 33;
    cmi_seal_stream_init(&stream, kind, counting, far * CM_SEAL_BLOCK_BYTES + 4088);
    (void)cmi_seal_stream_next(&stream);
    store_word(digest, cmi_seal_stream_next(&stream), 8);
    seal_block(buffer, kind, counting, far + 1);
    CHECK_BYTES(digest, buffer, 8);
}

/* ---- uniform residues by SEAL's rule, compared with a slow and literal implementation of that rule ---- */

/* The word at a byte position; two blocks are kept, as the rule reads in two places. */
static uint64_t seal_word_at(cm_xof_kind kind, uint64_t position, unsigned place)
{
    static uint8_t blocks[2][CM_SEAL_BLOCK_BYTES];
    static uint64_t numbers[2] = {UINT64_MAX, UINT64_MAX};
    static cm_xof_kind kinds[2];
    uint64_t number = position / CM_SEAL_BLOCK_BYTES;
    if (numbers[place] != number || kinds[place] != kind) {
        seal_block(blocks[place], kind, counting, number);
        numbers[place] = number;
        kinds[place] = kind;
    }
    uint64_t word = 0;
    for (unsigned i = 8; i-- > 0;) {
        word = word << 8 | blocks[place][position % CM_SEAL_BLOCK_BYTES + i];
    }
    return word;
}

#define REFERENCE_LOG2_N 10
#define REFERENCE_PRIMES 3

/*
 * Compare a whole expansion with the rule. limit 0 leaves SEAL's own in place. Returns how many words in a
 * row, at most, were rejected for one residue.
 */
static unsigned compare_with_seals_rule(cm_xof_kind kind, uint64_t limit)
{
    static const uint32_t primes[REFERENCE_PRIMES] = {67043329u, 12289u, 132120577u};
    const uint32_t n = (uint32_t)1 << REFERENCE_LOG2_N;
    uint64_t replacement = (uint64_t)8 * n * REFERENCE_PRIMES;
    unsigned longest = 0;
    uint32_t wrong = 0;
    cmi_uniform uniform;

    cmi_uniform_init(&uniform, kind, counting, REFERENCE_LOG2_N, REFERENCE_PRIMES);
    for (unsigned p = 0; p < REFERENCE_PRIMES; p++) {
        const cm_prime prime = make_prime(primes[p]);
        const uint64_t seals_limit = UINT64_MAX - UINT64_MAX % prime.q - 1;
        cmi_uniform_begin_prime(&uniform, &prime, p);
        CHECK(uniform.limit == seals_limit);
        if (limit != 0) {
            uniform.limit = limit;
        }
        for (uint32_t i = 0; i < n; i += CM_SAMPLE_BLOCK) {
            uint32_t residues[CM_SAMPLE_BLOCK];
            cmi_uniform_read(&uniform, residues);
            for (uint32_t j = 0; j < CM_SAMPLE_BLOCK; j++) {
                uint64_t x = seal_word_at(kind, (uint64_t)8 * (p * n + i + j), 0);
                unsigned rejected = 0;
                while (x >= (limit != 0 ? limit : seals_limit)) {
                    x = seal_word_at(kind, replacement, 1);
                    replacement += 8;
                    rejected++;
                }
                longest = rejected > longest ? rejected : longest;
                wrong += residues[j] != x % prime.q;
            }
        }
    }
    CHECK(wrong == 0);
    CHECK(uniform.replacements == replacement);
    return longest;
}

static void test_uniform_seal(cm_xof_kind kind, const char *digest_of_residues)
{
    const uint32_t n = (uint32_t)1 << REFERENCE_LOG2_N;
    const cm_prime prime = make_prime(67043329u);
    cmi_uniform uniform;
    uint8_t digest[32];

    BEHAVIOUR("the residues for seed 0, 1, 2 ... 63, n = 1024, q = 67043329 are those that SEAL expands");
    cmi_uniform_init(&uniform, kind, counting, REFERENCE_LOG2_N, 1);
    cmi_uniform_begin_prime(&uniform, &prime, 0);
    for (uint32_t i = 0; i < n; i += CM_SAMPLE_BLOCK) {
        uint32_t residues[CM_SAMPLE_BLOCK];
        cmi_uniform_read(&uniform, residues);
        for (uint32_t j = 0; j < CM_SAMPLE_BLOCK; j++) {
            store_word(buffer + 4 * (i + j), residues[j], 4);
        }
    }
    cmi_blake2b(digest, sizeof digest, NULL, 0, buffer, 4 * n);
    CHECK_HEX(digest, digest_of_residues);

    BEHAVIOUR("residues over several primes follow SEAL's rule");
    CHECK(compare_with_seals_rule(kind, 0) == 0);

    BEHAVIOUR(
        "rejected words are replaced by the words after all bulk bytes, in order, and again if need be");
    CHECK(compare_with_seals_rule(kind, (uint64_t)1 << 62) >= 2);
}

#endif

/* ---- uniform residues from ChaCha20 ---- */

/* A prime's residues by the rule, bit by bit. Returns how many bits of the stream they take. */
static uint32_t uniform_reference(uint32_t *residues, uint32_t count, uint32_t q, unsigned bits,
                                  uint32_t index)
{
    const uint32_t nonce[3] = {CM_LABEL_UNIFORM, index, 0};
    uint8_t block[64];
    uint32_t next = 0; /* stream bit */
    for (uint32_t i = 0; i < count;) {
        uint32_t field = 0;
        for (unsigned bit = 0; bit < bits; bit++, next++) {
            if (next % 512 == 0) {
                cmi_chacha20_block(block, counting, nonce, next / 512);
            }
            field |= ((uint32_t)block[next % 512 / 8] >> next % 8 & 1u) << bit;
        }
        residues[i] = field;
        i += field < q;
    }
    return next;
}

#define UNIFORM_N 1024

static void test_uniform_chacha20(void)
{
    /* Just above 2^25 (every other word is rejected), just below 2^26 (hardly any is), other sizes. */
    static const struct {
        uint32_t q;
        unsigned bits;
        uint32_t least, most; /* fields that 1024 residues take */
    } primes[] = {{33564673u, 26, 1900, 2200}, {67043329u, 26, 1024, 1040}, {132120577u, 27, 1024, 1080},
                  {12289u, 14, 1200, 1500},    {1032193u, 20, 1024, 1060},  {1073479681u, 30, 1024, 1040}};
    static const uint32_t pieces[] = {CM_SAMPLE_BLOCK, 1, 2, 31, 100, UNIFORM_N};
    static uint32_t residues[UNIFORM_N + 1];
    static uint32_t expected[UNIFORM_N];
    cmi_uniform uniform;

    BEHAVIOUR("ChaCha20's residues are the stream's fields, as wide as q, that are below q, none lost "
              "between reads of "
              "any length");
    cmi_uniform_init(&uniform, CM_XOF_CHACHA20, counting, 10, sizeof primes / sizeof primes[0]);
    for (uint32_t p = 0; p < sizeof primes / sizeof primes[0]; p++) {
        const cm_prime prime = make_prime(primes[p].q);
        const uint32_t taken = uniform_reference(expected, UNIFORM_N, prime.q, primes[p].bits, p);
        CHECK(taken >= primes[p].least * primes[p].bits && taken < primes[p].most * primes[p].bits);
        for (unsigned i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
            memset(residues, 0x5A, sizeof residues);
            cmi_uniform_begin_prime(&uniform, &prime, p);
            for (uint32_t done = 0; done < UNIFORM_N; done += pieces[i]) {
                const uint32_t left = UNIFORM_N - done;
                cmi_uniform_values(&uniform, residues + done, left < pieces[i] ? left : pieces[i]);
            }
            CHECK(memcmp(residues, expected, sizeof expected) == 0);
            CHECK(residues[UNIFORM_N] == 0x5A5A5A5Au);
        }
    }
}

/*
 * Always below q, and spread evenly over 16 intervals: chi-square at 15 degrees of freedom exceeds 37.7 once
 * in 1000.
 */
static void test_uniform_spread(cm_xof_kind kind)
{
    const cm_prime prime = make_prime(67043329u);
    uint32_t counts[16] = {0};
    uint32_t too_large = 0;
    cmi_uniform uniform;

    cmi_uniform_init(&uniform, kind, counting, 14, 1);
    cmi_uniform_begin_prime(&uniform, &prime, 0);
    for (uint32_t i = 0; i < 16384; i += CM_SAMPLE_BLOCK) {
        uint32_t residues[CM_SAMPLE_BLOCK];
        cmi_uniform_read(&uniform, residues);
        for (unsigned j = 0; j < CM_SAMPLE_BLOCK; j++) {
            if (residues[j] >= prime.q) {
                too_large++;
            } else {
                counts[(uint64_t)residues[j] * 16 / prime.q]++;
            }
        }
    }
    CHECK(too_large == 0);
    CHECK(chi_square_flat(counts, 16, 16384) < 37.7);
}

static void test_public_seeds(void)
{
    BEHAVIOUR("a public seed has 32 bytes for ChaCha20, 64 for SEAL's two, none without a XOF that is built");
    CHECK(cm_public_seed_bytes(CM_XOF_CHACHA20) == 32);
    CHECK(cm_public_seed_bytes(CM_XOF_SHAKE256) == (CM_CONFIG_SEAL_XOFS ? 64u : 0u));
    CHECK(cm_public_seed_bytes(CM_XOF_BLAKE2XB) == (CM_CONFIG_SEAL_XOFS ? 64u : 0u));
    CHECK(cm_public_seed_bytes(CM_XOF_NONE) == 0);

    BEHAVIOUR("residues are below q and evenly spread, whatever the XOF");
    test_uniform_spread(CM_XOF_CHACHA20);
#if CM_CONFIG_SEAL_XOFS
    test_uniform_spread(CM_XOF_SHAKE256);
    test_uniform_spread(CM_XOF_BLAKE2XB);
#endif
}

/* ---- ternary and centred binomial ---- */

#define DRAWS ((uint32_t)1 << 18)
#define TERNARY_N 4096
#define TRIT_VALUES ((uint32_t)43046721) /* 3^16 */

/*
 * The next bytes of a stream under the key 0, 1, 2 ... are those at this position of one with the same
 * nonce.
 */
static void check_position(cmi_stream *stream, const uint32_t nonce[3], uint32_t position)
{
    uint8_t next[8];
    uint8_t block[64];
    cmi_stream_read(stream, next, sizeof next);
    cmi_chacha20_block(block, counting, nonce, position / 64);
    CHECK_BYTES(next, block + position % 64, sizeof next); /* positions here are multiples of 32 */
}

/* The first trits of floor(x 3^16 / 2^64) in base 3, by long division. */
static void reference_trits(uint64_t x, uint8_t trits[16])
{
    const uint64_t m = TRIT_VALUES;
    uint32_t v = (uint32_t)(((x >> 32) * m + (((x & 0xFFFFFFFFu) * m) >> 32)) >> 32);
    for (unsigned i = 16; i-- > 0;) {
        trits[i] = (uint8_t)(v % 3);
        v /= 3;
    }
}

/* The smallest word whose trits are v in base 3: v 2^64 / 3^16, rounded up. */
static uint64_t first_word_of(uint32_t v)
{
    uint64_t high = ((uint64_t)v << 32) / TRIT_VALUES;
    uint64_t low = (((uint64_t)v << 32) % TRIT_VALUES) << 32;
    return (high << 32 | low / TRIT_VALUES) + (low % TRIT_VALUES != 0);
}

/* All bits of a word matter only at the boundary between two values, which random words never hit. */
static void test_ternary_edges(void)
{
    uint32_t wrong = 0;
    BEHAVIOUR("the words on both sides of each edge between two ternary values get the right digits");
    for (uint32_t v = 1; v < TRIT_VALUES; v += 10007) {
        cmi_stream stream = {.used = 48}; /* a block with two words left, which are these */
        uint8_t packed[8];
        uint8_t trits[32];
        store_word(stream.block + 48, first_word_of(v), 8);
        store_word(stream.block + 56, first_word_of(v) - 1, 8);
        cmi_sample_ternary(&stream, packed, 32);
        for (uint32_t i = 16, left = v, less = v - 1; i-- > 0; left /= 3, less /= 3) {
            trits[i] = (uint8_t)(left % 3);
            trits[16 + i] = (uint8_t)(less % 3);
        }
        for (unsigned i = 0; i < 32; i++) {
            wrong += (packed[i / 4] >> (2 * (i % 4)) & 3) != trits[i];
        }
    }
    CHECK(wrong == 0);
}

static void test_ternary(void)
{
    const uint32_t nonce[3] = {CM_LABEL_TERNARY, 0, 0};
    uint8_t packed[TERNARY_N / 4 + 1];
    uint8_t bytes[TERNARY_N / 2];
    uint32_t counts[4] = {0};
    uint32_t pairs[9] = {0};
    uint32_t wrong = 0;
    unsigned previous = 0;
    cmi_stream stream;

    BEHAVIOUR("ternary coefficients are the base-3 digits of 64-bit words, four packed in a byte, the first "
              "lowest");
    cmi_stream_init(&stream, counting, nonce);
    cmi_stream_read(&stream, bytes, sizeof bytes);
    cmi_stream_init(&stream, counting, nonce);
    packed[TERNARY_N / 4] = 0x5A;
    cmi_sample_ternary(&stream, packed, TERNARY_N);
    for (unsigned i = 0; i < TERNARY_N; i += 16) {
        uint64_t x = 0;
        uint8_t trits[16];
        for (unsigned j = 8; j-- > 0;) {
            x = x << 8 | bytes[i / 2 + j];
        }
        reference_trits(x, trits);
        for (unsigned j = 0; j < 16; j++) {
            wrong += (packed[(i + j) / 4] >> (2 * (j % 4)) & 3) != trits[j];
        }
    }
    CHECK(wrong == 0);
    CHECK(packed[TERNARY_N / 4] == 0x5A);

    BEHAVIOUR("n ternary coefficients take n/2 bytes of the stream");
    check_position(&stream, nonce, TERNARY_N / 2);

    /* Chi-square exceeds these bounds once in 1000: 13.8 at 2 degrees of freedom, 26.1 at 8. */
    BEHAVIOUR("ternary coefficients are -1, 0 and 1 equally often, alone and after each other");
    cmi_stream_init(&stream, counting, nonce);
    for (uint32_t done = 0; done < DRAWS; done += TERNARY_N) {
        cmi_sample_ternary(&stream, packed, TERNARY_N);
        for (unsigned i = 0; i < TERNARY_N; i++) {
            unsigned trit = (unsigned)(packed[i / 4] >> (2 * (i % 4))) & 3u;
            counts[trit]++;
            if (i % 2 == 1 && trit < 3) {
                pairs[3 * previous + trit]++;
            }
            previous = trit < 3 ? trit : 0;
        }
    }
    CHECK(counts[3] == 0);
    CHECK(chi_square_flat(counts, 3, DRAWS) < 13.8);
    CHECK(chi_square_flat(pairs, 9, DRAWS / 2) < 26.1);
}

/* Ones among the bits of one column in 21 little-endian words. */
static int ones_in_column(const uint8_t *words, unsigned column)
{
    int ones = 0;
    for (unsigned i = 0; i < 21; i++) {
        ones += words[4 * i + column / 8] >> column % 8 & 1;
    }
    return ones;
}

#define CBD_TAIL 13 /* values this far out and farther are counted together: at least ten expected a side */

static void test_cbd(void)
{
    const uint32_t nonce[3] = {CM_LABEL_NOISE, 1, 0};
    uint8_t bytes[168];
    int8_t noise[CM_SAMPLE_BLOCK];
    uint32_t counts[2 * CBD_TAIL + 1] = {0};
    double expected[2 * CBD_TAIL + 1] = {0};
    uint32_t wrong = 0;
    uint32_t out_of_range = 0;
    int32_t sum = 0;
    uint32_t sum_of_squares = 0;
    cmi_stream stream;

    BEHAVIOUR("noise coefficient j is the difference of the counts of bit j in 21 words and in 21 others");
    cmi_stream_init(&stream, counting, nonce);
    for (unsigned block = 0; block < 64; block++) {
        int8_t around[CM_SAMPLE_BLOCK + 5];
        int8_t *start = around + 1 + block % 4;
        cmi_stream reader = stream;
        memset(around, 0x5A, sizeof around);
        cmi_stream_read(&reader, bytes, sizeof bytes);
        cmi_sample_cbd(&stream, start);
        for (unsigned i = 0; i < CM_SAMPLE_BLOCK; i++) {
            wrong += start[i] != ones_in_column(bytes, i) - ones_in_column(bytes + 84, i);
        }
        wrong += start[-1] != 0x5A || (block % 4 < 3 && start[CM_SAMPLE_BLOCK] != 0x5A);
    }
    CHECK(wrong == 0);

    BEHAVIOUR("thirty-two noise coefficients take 168 bytes of the stream");
    check_position(&stream, nonce, 64 * 168);

    cmi_stream_init(&stream, counting, nonce);
    for (uint32_t done = 0; done < DRAWS; done += CM_SAMPLE_BLOCK) {
        cmi_sample_cbd(&stream, noise);
        for (unsigned i = 0; i < CM_SAMPLE_BLOCK; i++) {
            int value = noise[i];
            sum += value;
            sum_of_squares += (uint32_t)(value * value);
            out_of_range += value < -21 || value > 21;
            value = value > CBD_TAIL ? CBD_TAIL : value < -CBD_TAIL ? -CBD_TAIL : value;
            counts[value + CBD_TAIL]++;
        }
    }

    /* P(k) = C(42, 21 + k) / 2^42: the centred binomial of 21 is a binomial of 42 shifted by 21. */
    double probability = 1.0 / 4398046511104.0;
    for (int k = -21; k <= 21; k++) {
        int bin = k > CBD_TAIL ? CBD_TAIL : k < -CBD_TAIL ? -CBD_TAIL : k;
        expected[bin + CBD_TAIL] += DRAWS * probability;
        probability *= (double)(21 - k) / (22 + k);
    }
    double chi_square = 0;
    for (unsigned i = 0; i < 2 * CBD_TAIL + 1; i++) {
        chi_square += (counts[i] - expected[i]) * (counts[i] - expected[i]) / expected[i];
    }

    BEHAVIOUR(
        "noise lies within -21 .. 21 and is binomial: chi-square at 26 degrees of freedom, once in 1000");
    CHECK(out_of_range == 0);
    CHECK(chi_square < 54.1);

    BEHAVIOUR("noise has mean 0 and variance 10.5, each within four standard deviations of its estimate");
    double mean = sum / (double)DRAWS;
    double variance = sum_of_squares / (double)DRAWS;
    CHECK(mean > -0.0254 && mean < 0.0254); /* 4 sqrt(10.5 / 2^18) */
    CHECK(variance > 10.385 &&
          variance < 10.615); /* 4 sqrt((2 - 1/21) 10.5^2 / 2^18): the kurtosis is 3 - 1/21 */
}

static void test_wipe(void)
{
    BEHAVIOUR("a wipe clears the bytes it is given and no others");
    uint8_t memory[40];
    uint8_t expected[40];
    memset(memory, 0xA5, sizeof memory);
    memset(expected, 0xA5, sizeof expected);
    memset(expected + 3, 0, 30);
    cmi_wipe(memory + 3, 30);
    CHECK_BYTES(memory, expected, sizeof memory);
    cmi_wipe(memory, 0);
    CHECK_BYTES(memory, expected, sizeof memory);
}

void test_random(void)
{
    fill_counting();
    test_chacha20();
    test_blake2b();
#if CM_CONFIG_SEAL_XOFS
    test_shake256();
    test_blake2xb();
    for (size_t i = 0; i < sizeof cm_known_seal / sizeof cm_known_seal[0]; i++) {
        test_seal_stream(cm_known_seal[i].xof, cm_known_seal[i].stream);
        test_uniform_seal(cm_known_seal[i].xof, cm_known_seal[i].residues);
    }
#endif
    test_uniform_chacha20();
    test_public_seeds();
    test_ternary();
    test_ternary_edges();
    test_cbd();
    test_wipe();
}
