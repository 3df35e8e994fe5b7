/*
 * The samplers: uniform residues from public seeds, ternary and centred binomial coefficients from secret
 * streams.
 *
 * The uniform one branches on what it reads, which is public. The other two never do: they read a fixed
 * number of bytes and use additions, shifts and masks alone.
 */
#include "random/sample.h"

#include "random/bytes.h"
#include "random/wipe.h"
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

static uint32_t bits_of(uint32_t q)
{
    uint32_t bits = 0;
    while (q >> bits) {
        bits++;
    }
    return bits;
}

void cm_uniform_begin_prime(cm_uniform *uniform, const cm_prime *prime, unsigned index)
{
    uniform->prime = prime;
    uniform->bits = bits_of(prime->q);
    uniform->pending = 0;
    uniform->pending_bits = 0;
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

/* The next field of the key stream, taken as a string of bits, low bits first. */
static uint32_t uniform_field(cm_uniform *uniform)
{
    if (uniform->pending_bits < uniform->bits) {
        uint8_t word[4];
        cm_stream_read(&uniform->stream.chacha, word, sizeof word);
        uniform->pending |= (uint64_t)cm_load32(word) << uniform->pending_bits;
        uniform->pending_bits += 32;
    }
    const uint32_t field = (uint32_t)uniform->pending & (((uint32_t)1 << uniform->bits) - 1u);
    uniform->pending >>= uniform->bits;
    uniform->pending_bits -= uniform->bits;
    return field;
}

/* A rejection costs the bits of one residue, never a block. */
static void uniform_read_chacha(cm_uniform *uniform, uint32_t residues[CM_SAMPLE_BLOCK])
{
    for (unsigned accepted = 0; accepted < CM_SAMPLE_BLOCK;) {
        residues[accepted] = uniform_field(uniform);
        accepted += residues[accepted] < uniform->prime->q;
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
#define CBD_WORDS (2 * CBD_ETA) /* for 32 coefficients: bit j of each word belongs to coefficient j */
#define CBD_COUNTER_BITS 6      /* counts to 42 */

/*
 * Thirty-two sums of 42 bits at once: counter[k] holds bit k of every sum. A full adder joins two words to the
 * lowest bits, and its carry ripples up.
 */
static void cbd_count(uint32_t counter[CBD_COUNTER_BITS], uint32_t a, uint32_t b)
{
    uint32_t difference = a ^ b;
    uint32_t carry = (a & b) | (difference & counter[0]);
    counter[0] ^= difference;
    for (unsigned k = 1; k < CBD_COUNTER_BITS; k++) {
        uint32_t next = counter[k] & carry;
        counter[k] ^= carry;
        carry = next;
    }
}

/* The minus words are inverted: ones + (21 - ones of the other half) is the coefficient plus 21. */
void cm_sample_cbd(cm_stream *stream, int8_t noise[CM_SAMPLE_BLOCK])
{
    uint32_t counter[CBD_COUNTER_BITS] = {0};
    uint8_t words[4 * CBD_WORDS];
    cm_stream_read(stream, words, sizeof words);
    for (unsigned i = 0; i < CBD_ETA; i++) {
        cbd_count(counter, cm_load32(words + 4 * i), ~cm_load32(words + 4 * (i + CBD_ETA)));
    }
    /* Four coefficients a step: j, j + 8, j + 16 and j + 24, one in each byte. */
    for (unsigned j = 0; j < 8; j++) {
        uint32_t sums = 0;
        for (unsigned k = 0; k < CBD_COUNTER_BITS; k++) {
            sums |= (counter[k] >> j & 0x01010101u) << k;
        }
        for (unsigned lane = 0; lane < 4; lane++) {
            noise[j + 8 * lane] = (int8_t)((int)(sums >> 8 * lane & 0xFFu) - CBD_ETA);
        }
    }
    cm_wipe(words, sizeof words);
}
