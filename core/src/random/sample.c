/*
 * The samplers: uniform residues from public seeds, ternary and centred binomial coefficients from secret
 * streams.
 *
 * The uniform one branches on what it reads, which is public. The other two never do: they read a fixed
 * number of bytes and use additions, shifts and masks alone.
 */
#include "random/sample.h"

#include "random/bytes.h"
#include "ring/ring.h"

size_t cm_public_seed_bytes(cm_xof_kind xof)
{
    switch (xof) {
    case CM_BLAKE2XB:
    case CM_SHAKE256:
        return 64;
    case CM_CHACHA20:
        return 32;
    case CM_XOF_NONE:
        break;
    }
    return 0;
}

/* ---- uniform ---- */

void cm_uniform_init(cm_uniform *uniform, cm_xof_kind kind, const uint8_t *seed, unsigned log2_n,
                     unsigned primes)
{
    uniform->kind = kind;
    uniform->seed = seed;
    uniform->replacements = ((uint64_t)primes << log2_n) * 8;
    uniform->log2_n = (uint8_t)log2_n;
}

/* The smallest 2^k - 1 that is not below q. */
static uint32_t uniform_mask(uint32_t q)
{
    q |= q >> 1;
    q |= q >> 2;
    q |= q >> 4;
    q |= q >> 8;
    return q | q >> 16;
}

void cm_uniform_begin_prime(cm_uniform *uniform, const cm_prime *prime, unsigned index)
{
    uniform->prime = prime;
    uniform->mask = uniform_mask(prime->q);
    /* SEAL's bound, (2^64 - 1) - ((2^64 - 1) mod q) - 1; and (2^64 - 1) mod q = r2 - 1, as r2 > 0. */
    uniform->limit = UINT64_MAX - prime->r2;
#if CM_XOF_SHAKE256 || CM_XOF_BLAKE2XB
    if (uniform->kind != CM_CHACHA20) {
        /* 8 n is a multiple of 4096, so this is a block's edge, and starting there is free. */
        cm_seal_stream_init(&uniform->stream.seal, uniform->kind, uniform->seed,
                            ((uint64_t)index << uniform->log2_n) * 8);
        return;
    }
#endif
    const uint32_t nonce[3] = {CM_LABEL_UNIFORM, index, 0};
    cm_stream_init(&uniform->stream.chacha, uniform->seed, nonce);
}

/*
 * As many words are drawn as residues are missing, into their places; the accepted ones move up. So each word
 * of the stream is used in order, none is lost between reads, and a rejection costs four bytes, not a block.
 */
static void uniform_read_chacha(cm_uniform *uniform, uint32_t residues[CM_SAMPLE_BLOCK])
{
    unsigned accepted = 0;
    while (accepted < CM_SAMPLE_BLOCK) {
        unsigned drawn = accepted;
        cm_stream_read(&uniform->stream.chacha, (uint8_t *)&residues[drawn],
                       (CM_SAMPLE_BLOCK - drawn) * sizeof residues[0]);
        for (; drawn < CM_SAMPLE_BLOCK; drawn++) {
            uint32_t candidate = cm_load32((const uint8_t *)&residues[drawn]) & uniform->mask;
            if (candidate < uniform->prime->q) {
                residues[accepted++] = candidate;
            }
        }
    }
}

#if CM_XOF_SHAKE256 || CM_XOF_BLAKE2XB

/*
 * x mod q. With x = 2^32 h + l the sum below is 2^32 x mod q and less than 2^33 q, so its reduction is less
 * than 3 q.
 */
static uint32_t uniform_residue(uint64_t x, const cm_prime *prime)
{
    uint64_t sum = (uint64_t)(uint32_t)(x >> 32) * prime->r2 + (uint64_t)(uint32_t)x * prime->r1;
    uint32_t residue = cm_montgomery_reduce(sum, prime);
    return cm_subtract_once(cm_subtract_once(residue, prime->q), prime->q);
}

/* Needed less than once in 2^37 words, so a stream of its own, opened for one word, is good enough. */
static uint64_t uniform_replacement(cm_uniform *uniform)
{
    cm_seal_stream stream;
    cm_seal_stream_init(&stream, uniform->kind, uniform->seed, uniform->replacements);
    uniform->replacements += 8;
    return cm_seal_stream_next(&stream);
}

static void uniform_read_seal(cm_uniform *uniform, uint32_t residues[CM_SAMPLE_BLOCK])
{
    for (unsigned i = 0; i < CM_SAMPLE_BLOCK; i++) {
        uint64_t x = cm_seal_stream_next(&uniform->stream.seal);
        while (x >= uniform->limit) {
            x = uniform_replacement(uniform);
        }
        residues[i] = uniform_residue(x, uniform->prime);
    }
}

#endif

void cm_uniform_read(cm_uniform *uniform, uint32_t residues[CM_SAMPLE_BLOCK])
{
#if CM_XOF_SHAKE256 || CM_XOF_BLAKE2XB
    if (uniform->kind != CM_CHACHA20) {
        uniform_read_seal(uniform, residues);
        return;
    }
#endif
    uniform_read_chacha(uniform, residues);
}

/* ---- ternary ---- */

/*
 * Sixteen trits from a uniform 64-bit word x: multiply by 3 and take the digit that overflows, sixteen times.
 *
 * Distance from uniform. The digits, first one highest, are the number v = floor(x M / 2^64) in base 3, M =
 * 3^16. The x that give one v are an interval of floor(2^64 / M) or one more integers, and r = 2^64 mod M of
 * the M values of v get the one more. So v (all sixteen trits jointly) is at statistical distance
 *     1/2 sum_v |P(v) - 1/M| = r (M - r) / (M 2^64) <= M / (4 * 2^64) < 2^(25.4 - 66) < 2^-40
 * from uniform; each coefficient alone is no farther.
 *
 * x lies in three limbs of 22, 21 and 21 bits: three times a limb and a carry fit 32 bits, so no carry flag
 * (which a compiler may turn into a branch) and no wide product (slow or of varying time on some cores) is
 * needed.
 */
static uint32_t ternary_trits(uint64_t x)
{
    uint32_t low = (uint32_t)x & 0x3FFFFFu;
    uint32_t middle = (uint32_t)(x >> 22) & 0x1FFFFFu;
    uint32_t high = (uint32_t)(x >> 43);
    uint32_t packed = 0;
    for (unsigned i = 0; i < 16; i++) {
        low += low << 1;
        middle += (middle << 1) + (low >> 22);
        high += (high << 1) + (middle >> 21);
        packed = packed >> 2 | (high >> 21) << 30;
        low &= 0x3FFFFFu;
        middle &= 0x1FFFFFu;
        high &= 0x1FFFFFu;
    }
    return packed;
}

void cm_sample_ternary(cm_stream *stream, uint8_t *packed, uint32_t n)
{
    for (uint32_t i = 0; i < n; i += 16) {
        uint8_t word[8];
        cm_stream_read(stream, word, sizeof word);
        cm_store32(packed, ternary_trits(cm_load64(word)));
        packed += 4;
    }
}

/* ---- centred binomial ---- */

#define CBD_ETA 21
#define CBD_BYTES 6 /* a coefficient */
#define CBD_GROUP 8 /* coefficients read at once: 48 bytes of stack */

/* Counts of ones in each four bits. */
static inline uint32_t cbd_nibble_counts(uint32_t bits)
{
    bits -= (bits >> 1) & 0x55555555u;
    return (bits & 0x33333333u) + ((bits >> 2) & 0x33333333u);
}

/*
 * Ones among 21 bits minus ones among 21 others. The others are inverted: (21 - their ones) + ones is one sum
 * of 42 bits, and its shape is not the idiom that compilers replace by a population count, which may be a
 * table.
 */
static int8_t cbd_coefficient(const uint8_t bytes[CBD_BYTES])
{
    uint32_t plus = (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)(bytes[2] & 0x1Fu) << 16;
    uint32_t minus = (uint32_t)bytes[3] | (uint32_t)bytes[4] << 8 | (uint32_t)(bytes[5] & 0x1Fu) << 16;
    /* At most 8 in each four bits, then 16 in each byte, then 42 in the lowest. */
    uint32_t sum = cbd_nibble_counts(plus) + cbd_nibble_counts(minus ^ 0x1FFFFFu);
    sum = (sum & 0x0F0F0Fu) + ((sum >> 4) & 0x0F0F0Fu);
    sum += (sum >> 8) + (sum >> 16);
    return (int8_t)((int)(sum & 0xFFu) - CBD_ETA);
}

void cm_sample_cbd(cm_stream *stream, int8_t noise[CM_SAMPLE_BLOCK])
{
    for (unsigned i = 0; i < CM_SAMPLE_BLOCK; i += CBD_GROUP) {
        uint8_t bytes[CBD_GROUP * CBD_BYTES];
        cm_stream_read(stream, bytes, sizeof bytes);
        for (unsigned j = 0; j < CBD_GROUP; j++) {
            noise[i + j] = cbd_coefficient(bytes + j * CBD_BYTES);
        }
    }
}
