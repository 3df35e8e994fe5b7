/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samplers: uniform residues from public seeds, ternary and centred binomial coefficients from secret
 * streams.
 *
 * The uniform sampler branches on what it reads, which is public. The other two never branch on data: they
 * read a fixed number of bytes and use additions, shifts and masks alone.
 */
#include "random/sample.h"

#include <string.h>

#include "arch/backends.h"
#include "common/bytes.h"
#include "common/compiler.h"
#include "common/wipe.h"
#include "ring/prime.h"
#include "ring/ring.h"

size_t cm_public_seed_bytes(cm_xof_kind xof)
{
    switch (xof) {
    case CM_XOF_BLAKE2XB:
    case CM_XOF_SHAKE256:
        return CM_CONFIG_SEAL_XOFS ? 64 : 0;
    case CM_XOF_CHACHA20:
        return 32;
    case CM_XOF_NONE:
        break;
    }
    return 0;
}

/* ---- uniform ---- */

void cmi_uniform_init(cmi_uniform *uniform, cm_xof_kind kind, const uint8_t *seed, unsigned log2_n,
                      unsigned primes)
{
    uniform->seed = seed;
#if CM_CONFIG_SEAL_XOFS
    uniform->kind = kind;
    uniform->replacements = ((uint64_t)primes << log2_n) * 8;
#else
    (void)kind;
    (void)primes;
#endif
    uniform->log2_n = (uint8_t)log2_n;
}

void cmi_uniform_begin_prime(cmi_uniform *uniform, const cm_prime *prime, unsigned index)
{
#if CM_UNIFORM_KEEPS_Q
    uniform->q = prime->q;
#else
    uniform->prime = prime;
#endif
#if CM_PRIME_BITS == 0
    uniform->bits = (uint8_t)cmi_bits_of(prime->q);
#endif
    uniform->pending = 0;
    uniform->pending_bits = 0;
#if CM_CONFIG_SEAL_XOFS
    /* SEAL's bound, (2^64 - 1) - ((2^64 - 1) mod q) - 1; and (2^64 - 1) mod q = r2 - 1, as r2 > 0. */
    uniform->limit = UINT64_MAX - prime->r2;
    if (uniform->kind != CM_XOF_CHACHA20) {
        /* 8 n is a multiple of 4096, so this is a block boundary, and starting there is free. */
        cmi_seal_stream_init(&uniform->stream.seal, uniform->kind, uniform->seed,
                             ((uint64_t)index << uniform->log2_n) * 8);
        return;
    }
#endif
    const uint32_t nonce[3] = {CM_LABEL_UNIFORM, index, 0};
    cmi_stream_init(&uniform->stream.chacha, uniform->seed, nonce);
}

/* How many words of key stream the next count fields need. */
static uint32_t uniform_words(const cmi_uniform *uniform, uint32_t count)
{
    const uint32_t bits = count * cmi_uniform_bits(uniform);
    return bits <= uniform->pending_bits ? 0 : (bits - uniform->pending_bits + 31) / 32;
}

/*
 * The next count fields of the key stream, taken as a string of bits, low bits first; returns how many were
 * accepted.
 *
 * The words of the stream are drawn into the end of residues and cut into fields from there. A field takes no
 * more than a word, so there are never more words left than places, and no word is overwritten before it is
 * read.
 */
CM_NOINLINE static uint32_t uniform_fields(cmi_uniform *uniform, uint32_t *residues, uint32_t count)
{
    const uint32_t q = cmi_uniform_q(uniform);
    const uint32_t bits = cmi_uniform_bits(uniform);
    const uint32_t kept = 32 - bits;
    const uint32_t mask = ((uint32_t)1 << bits) - 1u;
    const uint32_t words = uniform_words(uniform, count);
    uint8_t *word = (uint8_t *)(residues + (count - words));
    uint32_t pending = uniform->pending;
    uint32_t pending_bits = uniform->pending_bits;
    uint32_t *next = residues;
    cmi_stream_read(&uniform->stream.chacha, word, (size_t)words * 4);
    for (; count > 0; count--) {
        uint32_t field = pending & mask;
        if (pending_bits >= bits) {
            pending >>= bits;
            pending_bits -= bits;
        } else {
            const uint32_t drawn = cmi_load32(word);
            word += 4;
            field = (pending | drawn << pending_bits) & mask;
            pending_bits += kept;
            pending = drawn >> (32 - pending_bits);
        }
        *next = field;
        if (field < q) {
            next++;
        }
    }
    uniform->pending = pending;
    uniform->pending_bits = (uint8_t)pending_bits;
    return (uint32_t)(next - residues);
}

static uint32_t uniform_accepted(cmi_uniform *uniform, uint32_t *residues, uint32_t count)
{
    uint32_t bytes;
    if (!CM_ARCH_TRY(uniform_draw, &count, &bytes, cmi_uniform_bits(uniform), cmi_uniform_q(uniform),
                     uniform->pending_bits)) {
        return uniform_fields(uniform, residues, count);
    }
    uint32_t accepted;
#ifdef CM_ARCH
    accepted = 0; /* for the compiler, a back-end might draw without cutting */
#endif
    cmi_stream_read(&uniform->stream.chacha, (uint8_t *)(residues + count) - bytes, bytes);
    (void)CM_ARCH_TRY(uniform_cut, residues, count, &accepted, bytes, cmi_uniform_bits(uniform),
                      cmi_uniform_q(uniform), &uniform->pending, &uniform->pending_bits);
    return accepted;
}

/* A rejection costs the bits of one residue, never a block. */
static void uniform_values_chacha(cmi_uniform *uniform, uint32_t *residues, uint32_t count)
{
    while (count > 0) {
        const uint32_t accepted = uniform_accepted(uniform, residues, count);
        residues += accepted;
        count -= accepted;
    }
}

#if CM_CONFIG_SEAL_XOFS

/*
 * x mod q. With x = 2^32 h + l the sum below is 2^32 x mod q and less than 2^33 q, so its reduction is less
 * than 3 q.
 */
static uint32_t uniform_residue(uint64_t x, const cm_prime *prime)
{
    uint64_t sum = cmi_product((uint32_t)(x >> 32), prime->r2) + cmi_product((uint32_t)x, prime->r1);
    uint32_t residue = cmi_montgomery_reduce(sum, prime);
    return cmi_subtract_once(cmi_subtract_once(residue, prime->q), prime->q);
}

/* Needed less than once in 2^37 words, so a stream that is opened for a single word is good enough. */
static uint64_t uniform_replacement(cmi_uniform *uniform)
{
    cmi_seal_stream stream;
    cmi_seal_stream_init(&stream, uniform->kind, uniform->seed, uniform->replacements);
    uniform->replacements += 8;
    return cmi_seal_stream_next(&stream);
}

static void uniform_values_seal(cmi_uniform *uniform, uint32_t *residues, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t x = cmi_seal_stream_next(&uniform->stream.seal);
        while (x >= uniform->limit) {
            x = uniform_replacement(uniform);
        }
        residues[i] = uniform_residue(x, uniform->prime);
    }
}

#endif

void cmi_uniform_values(cmi_uniform *uniform, uint32_t *residues, uint32_t count)
{
#if CM_CONFIG_SEAL_XOFS
    if (uniform->kind != CM_XOF_CHACHA20) {
        uniform_values_seal(uniform, residues, count);
        return;
    }
#endif
    uniform_values_chacha(uniform, residues, count);
}

/* ---- ternary ---- */

#define TERNARY_WORD_TRITS 16           /* from 64 bits of key stream */
#define TERNARY_VALUES ((uint32_t)6561) /* 3^8 */

/*
 * The integer part of 3^8 x / 2^64, less than 3^8; the fraction stays in x, limbs of 16 bits, the lowest
 * first.
 */
static uint32_t ternary_value(uint32_t x[4])
{
    uint32_t product = 0;
    for (unsigned i = 0; i < 4; i++) {
        product = x[i] * TERNARY_VALUES + (product >> 16);
        x[i] = product & 0xFFFFu;
    }
    return product >> 16;
}

/*
 * A fraction f / 2^14 with the same first eight base-3 digits as v / 3^8, that is, with v <= 3^8 f / 2^14 < v
 * + 1. Let r = 2^14 / 3^8 = 2.49718... As r <= 10229 / 2^12 < r + 0.00014, f > v r, and f < v r + 6560 *
 * 0.00014 + 1 < (v + 1) r.
 */
static uint32_t ternary_fraction(uint32_t v)
{
    return (v * 10229u >> 12) + 1;
}

/*
 * Sixteen trits from a uniform 64-bit word x: the base-3 digits, first one highest, of v = floor(x M / 2^64),
 * M = 3^16.
 *
 * Distance from uniform. The x that give one v are an interval of floor(2^64 / M) or one more integers, and r
 * = 2^64 mod M of the M values of v get the one more. So v (all sixteen trits jointly) is at statistical
 * distance
 *     1/2 sum_v |P(v) - 1/M| = r (M - r) / (M 2^64) <= M / (4 * 2^64) < 2^(25.4 - 66) < 2^-40
 * from uniform; each coefficient alone is no farther.
 *
 * v is taken in two halves of eight digits, with products that fit 32 bits, because wide ones are slow or
 * take a varying time on some cores. The fraction of each half then takes half a word. Tripled, its integer
 * part is the next digit, and it fits 16 bits, so neither half disturbs the other.
 */
static uint32_t ternary_trits(const uint8_t word[8])
{
    const uint32_t low = cmi_load32(word);
    const uint32_t high = cmi_load32(word + 4);
    uint32_t x[4] = {low & 0xFFFFu, low >> 16, high & 0xFFFFu, high >> 16};
    uint32_t fractions = ternary_fraction(ternary_value(x));
    fractions |= ternary_fraction(ternary_value(x)) << 16;
    uint32_t packed = 0;
    for (unsigned i = 0; i < TERNARY_WORD_TRITS / 2; i++) {
        fractions += fractions << 1;
        packed = packed >> 2 | (fractions & 0xC000C000u);
        fractions &= 0x3FFF3FFFu;
    }
    return packed;
}

void cmi_sample_ternary(cmi_stream *stream, uint8_t *packed, uint32_t n)
{
    uint8_t words[CM_CHACHA20_BLOCK_BYTES];
    uint32_t left = n / TERNARY_WORD_TRITS;
    while (left > 0) {
        const uint32_t take = left < sizeof words / 8 ? left : sizeof words / 8;
        cmi_stream_read(stream, words, 8 * (size_t)take);
        for (uint32_t i = 0; i < take; i++) {
            cmi_store32(packed, ternary_trits(words + 8 * i));
            packed += 4;
        }
        left -= take;
    }
    cmi_wipe(words, sizeof words);
}

/* ---- centred binomial ---- */

#define CBD_WORDS (2 * CM_CBD_ETA) /* for 32 coefficients: bit j of each word belongs to coefficient j */

#define CBD_COUNTER_BITS 6 /* counts to 42 */
#define CBD_GROUP 4        /* words of each half added at a step, after the first word */

/* A full adder in each bit: adds two summands to *sum and returns the carry. */
static inline uint32_t cbd_add(uint32_t *sum, uint32_t a, uint32_t b)
{
    const uint32_t difference = a ^ b;
    const uint32_t carry = (a & b) | (difference & *sum);
    *sum ^= difference;
    return carry;
}

/*
 * Thirty-two sums of 42 bits at once: counter[k] holds bit k of every sum. Carries of the same weight are
 * kept until there are two, for one full adder. The minus words are inverted: ones + (21 - ones of the other
 * half) is the coefficient plus 21.
 */
static void cbd_count(uint32_t counter[CBD_COUNTER_BITS], const uint8_t *plus)
{
    const uint8_t *minus = plus + 4 * CM_CBD_ETA;
    uint32_t ones = cmi_load32(plus) ^ ~cmi_load32(minus);
    uint32_t twos = cmi_load32(plus) & ~cmi_load32(minus);
    uint32_t fours = 0;
    counter[3] = counter[4] = counter[5] = 0;
    for (unsigned i = 1; i < CM_CBD_ETA; i += CBD_GROUP) {
        const uint8_t *a = plus + 4 * i;
        const uint8_t *b = minus + 4 * i;
        uint32_t two = cbd_add(&ones, cmi_load32(a), cmi_load32(a + 4));
        const uint32_t four = cbd_add(&twos, two, cbd_add(&ones, cmi_load32(a + 8), cmi_load32(a + 12)));
        two = cbd_add(&ones, ~cmi_load32(b), ~cmi_load32(b + 4));
        two = cbd_add(&twos, two, cbd_add(&ones, ~cmi_load32(b + 8), ~cmi_load32(b + 12)));
        uint32_t carry = cbd_add(&fours, four, two);
        for (unsigned k = 3; k < CBD_COUNTER_BITS; k++) {
            const uint32_t next = counter[k] & carry;
            counter[k] ^= carry;
            carry = next;
        }
    }
    counter[0] = ones;
    counter[1] = twos;
    counter[2] = fours;
}

/* Exchange the bits of b under mask with those of a that are higher by shift. */
static inline void cbd_exchange(uint32_t *a, uint32_t *b, unsigned shift, uint32_t mask)
{
    const uint32_t difference = (*a >> shift ^ *b) & mask;
    *b ^= difference;
    *a ^= difference << shift;
}

/*
 * Transpose the four squares of eight by eight bits: bit j of each byte of row k becomes bit k of each byte
 * of row j. Halves, then quarters, then single rows and columns are exchanged.
 */
static void cbd_transpose(uint32_t rows[8])
{
    for (unsigned i = 0; i < 4; i++) {
        cbd_exchange(&rows[i], &rows[i + 4], 4, 0x0F0F0F0Fu);
    }
    for (unsigned i = 0; i < 8; i += i % 4 == 0 ? 1 : 3) {
        cbd_exchange(&rows[i], &rows[i + 2], 2, 0x33333333u);
    }
    for (unsigned i = 0; i < 8; i += 2) {
        cbd_exchange(&rows[i], &rows[i + 1], 1, 0x55555555u);
    }
}

/* Thirty-two coefficients, a byte each: coefficient j takes bit j of each word. The words are cleared. */
static void cbd_coefficients(int8_t noise[CM_SAMPLE_BLOCK], uint32_t words[CBD_WORDS])
{
    if (CM_ARCH_TRY(cbd, noise, words)) {
        return;
    }
    uint32_t rows[8] = {0}; /* CBD_COUNTER_BITS of them are used */
    cbd_count(rows, (const uint8_t *)words);
    cbd_transpose(rows);
    /*
     * Row j has coefficients j, j + 8, j + 16 and j + 24; 128 more than each of them cannot borrow from the
     * next.
     */
    for (unsigned j = 0; j < 8; j++) {
        const uint32_t four = (rows[j] + (128u - CM_CBD_ETA) * 0x01010101u) ^ 0x80808080u;
        for (unsigned lane = 0; lane < 4; lane++) {
            ((uint8_t *)noise)[j + 8 * lane] = (uint8_t)(four >> 8 * lane);
        }
    }
    cmi_wipe(words, CBD_WORDS * sizeof *words);
}

void cmi_sample_cbd(cmi_stream *stream, int8_t noise[CM_SAMPLE_BLOCK])
{
    if (CM_ARCH_TRY(sample_cbd, stream, noise)) {
        return;
    }
    uint32_t words[CBD_WORDS];
    cmi_stream_read(stream, (uint8_t *)words, sizeof words);
    cbd_coefficients(noise, words);
}

void cmi_sample_cbd_blocks(cmi_stream *stream, int8_t noise[CM_SAMPLE_BLOCKS * CM_SAMPLE_BLOCK])
{
    if (CM_ARCH_TRY(sample_cbd, stream, noise)) {
        for (unsigned i = 1; i < CM_SAMPLE_BLOCKS; i++) {
            cmi_sample_cbd(stream, noise + i * CM_SAMPLE_BLOCK);
        }
        return;
    }
    uint32_t words[CM_SAMPLE_BLOCKS][CBD_WORDS];
    cmi_stream_read(stream, (uint8_t *)words, sizeof words);
    for (unsigned i = 0; i < CM_SAMPLE_BLOCKS; i++) {
        cbd_coefficients(noise + i * CM_SAMPLE_BLOCK, words[i]);
    }
}
