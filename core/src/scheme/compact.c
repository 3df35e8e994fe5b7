/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The compact lane's arithmetic. One coefficient of a s is n masked additions, (a s)[i] = sum_j a[j] s[i - j]
 * with s[i - j + n] = -s[i - j]: for a few coefficients that takes less time than a transform, and neither
 * polynomial is ever held.
 */
#include "scheme/compact.h"

#include <string.h>

#include "arch/backends.h"
#include "common/bytes.h"
#include "common/compiler.h"
#include "common/masks.h"
#include "common/wipe.h"
#include "ring/prime.h"
#include "ring/ring.h"

/* ---- -a s ---- */

/*
 * Fours of -s[from], -s[from + 1] and so on, for a from of at least -n that is a multiple of 4: s continues
 * to negative indices. A byte's four codes are spread over a word, where no byte borrows from the next: 0x80
 * more than each, 1 - code or code - 1, has its top bit turned afterwards.
 */
static void take_trits(int8_t *trits, unsigned fours, const uint8_t *ternary, int16_t from, unsigned log2_n)
{
    const uint16_t mask = (uint16_t)(((uint16_t)1 << log2_n) - 1u);
    for (; fours > 0; fours--, from = (int16_t)(from + 4), trits += 4) {
        const uint32_t packed = cmi_flash_byte(ternary + ((uint16_t)from & mask) / 4u);
        const uint32_t codes = (packed | packed << 6 | packed << 12 | packed << 18) & 0x03030303u;
        const uint32_t four = from < 0 ? (codes | 0x80808080u) - 0x01010101u : 0x81818181u - codes;
        cmi_store32((uint8_t *)trits, four ^ 0x80808080u);
    }
}

static inline uint32_t times_trit(uint32_t x, int8_t trit)
{
#ifdef __AVR__ /* which may lack a multiplier, and gcc's library function takes a varying time */
    const uint32_t sign = cmi_mask_of_sign(trit);
    return cmi_negated(x & (sign | cmi_mask_of_sign(-trit)), sign);
#else
    const int32_t factor = trit;
    return x * (uint32_t)factor;
#endif
}

/* Four sums at a time share what they load. */
static void ternary_products(uint32_t *sums, uint16_t count, const uint32_t *residues, const int8_t *trits)
{
    if (CM_ARCH_TRY(ternary_products, sums, count, residues, CM_COMPACT_BLOCK, trits)) {
        return;
    }
    uint16_t i = 0;
    for (; i + 4u <= count; i += 4u) {
        uint32_t sum[4] = {sums[i], sums[i + 1u], sums[i + 2u], sums[i + 3u]};
        const int8_t *trit = trits + i + CM_COMPACT_BLOCK - 1;
        for (unsigned j = 0; j < CM_COMPACT_BLOCK; j++, trit--) {
            for (unsigned k = 0; k < 4; k++) {
                sum[k] += times_trit(residues[j], trit[k]);
            }
        }
        memcpy(sums + i, sum, sizeof sum);
    }
    for (; i < count; i++) {
        for (unsigned j = 0; j < CM_COMPACT_BLOCK; j++) {
            sums[i] += times_trit(residues[j], trits[i + CM_COMPACT_BLOCK - 1u - j]);
        }
    }
}

void cmi_compact_reduce(uint32_t *sums, uint16_t count, uint32_t q, unsigned bits)
{
    for (uint16_t i = 0; i < count; i++) {
        uint32_t x = sums[i] + (q << (30u - bits));
        for (uint32_t multiple = q << (31u - bits); multiple >= q; multiple >>= 1) {
            x = cmi_subtract_once(x, multiple);
        }
        sums[i] = x;
    }
}

/* Start the expansion of the public seed at a prime. The seed is the stream's own block: it is the key before
   that changes. */
static void open_expansion(cmi_uniform *uniform, const cm_compact_key *key, const uint32_t position[4],
                           unsigned index)
{
    const cm_compact_set *set = cmi_compact_set_of(key);
    cmi_stream *stream = &uniform->stream.chacha;
    cmi_stream_derive(stream, key->material + CM_LANE_KEY, position);
    cmi_uniform_init(uniform, CM_XOF_CHACHA20, stream->block, set->log2_n, set->prime_count);
    cmi_uniform_begin_prime(uniform, &set->primes[index], index);
}

/* The terms of the residues from a[j] on, block by block, so that sums can be reduced in between. */
static void add_terms(const cm_compact_key *key, uint16_t first, uint16_t j, uint32_t *sums, uint16_t count,
                      unsigned bits, uint32_t q, cmi_compact_work *work)
{
    const uint32_t most = (uint32_t)1 << (30u - bits); /* terms between reductions */
    int8_t *const trits = work->step.block.trits;
    const int16_t lowest = (int16_t)(first - j - (CM_COMPACT_READ - 1));
    const unsigned before = (unsigned)lowest & 3u;
    take_trits(trits, (before + count + CM_COMPACT_READ + 2u) / 4u, key->ternary,
               (int16_t)(lowest - (int16_t)before), cmi_compact_set_of(key)->log2_n);
    for (uint16_t at = 0; at < CM_COMPACT_READ; at += CM_COMPACT_BLOCK) {
        ternary_products(sums, count, work->step.block.residues + at,
                         trits + before + (CM_COMPACT_READ - CM_COMPACT_BLOCK) - at);
        const uint16_t taken = (uint16_t)(j + at + CM_COMPACT_BLOCK);
        if ((taken & (most - 1u)) == 0) {
            cmi_compact_reduce(sums, count, q, bits);
        }
    }
}

/* A back-end that takes terms takes them all, as many at a time as sums hold until they are reduced. */
CM_NOINLINE static void direct_products(const cm_compact_key *key, uint16_t first, uint16_t count,
                                        const cm_prime *prime, uint32_t *sums, cmi_compact_work *work)
{
    const uint16_t n = (uint16_t)((uint16_t)1 << cmi_compact_set_of(key)->log2_n);
    const unsigned bits = cmi_uniform_bits(&work->of.uniform);
    const uint32_t most = (uint32_t)1 << (30u - bits);
    const uint16_t terms = n < most ? n : (uint16_t)most;
    memset(sums, 0, sizeof *sums * count);
    uint16_t j = 0;
    while (j < n && CM_ARCH_TRY(ternary_terms, sums, count, &work->of.uniform, key->ternary,
                                (int16_t)(first - j), terms, &work->step)) {
        j = (uint16_t)(j + terms);
    }
    if (CM_TARGET_WIDE_TERMS && j > 0) {
        cmi_compact_reduce(sums, count, prime->q, bits);
    }
    for (; j < n; j = (uint16_t)(j + CM_COMPACT_READ)) {
        cmi_uniform_values(&work->of.uniform, work->step.block.residues, CM_COMPACT_READ);
        for (uint16_t at = 0; at < count; at += CM_COMPACT_GROUP) {
            const uint16_t left = (uint16_t)(count - at);
            add_terms(key, (uint16_t)(first + at), j, sums + at,
                      left < CM_COMPACT_GROUP ? left : CM_COMPACT_GROUP, bits, prime->q, work);
        }
    }
}

/* ---- the same by transforms ---- */

#ifdef __AVR__

static bool room_for_transforms(const cm_compact_set *set, uint16_t count, size_t work_bytes)
{
    (void)set;
    (void)count;
    (void)work_bytes;
    return false;
}

static void transformed_products(const cm_compact_key *key, uint16_t first, uint16_t count,
                                 const cm_prime *prime, uint32_t *sums, cmi_compact_work *work)
{
    (void)key;
    (void)first;
    (void)count;
    (void)prime;
    (void)sums;
    (void)work;
}

#else

_Static_assert(sizeof(cmi_ring) <= CM_COMPACT_RING_BYTES, "CM_COMPACT_RING_BYTES has room for a ring");

static bool room_for_transforms(const cm_compact_set *set, uint16_t count, size_t work_bytes)
{
    return count >= CM_COMPACT_FROM_TRANSFORMS &&
           work_bytes >= CM_COMPACT_WORKSPACE_BYTES + CM_COMPACT_RING_BYTES + ((size_t)8 << set->log2_n);
}

static void transformed_products(const cm_compact_key *key, uint16_t first, uint16_t count,
                                 const cm_prime *prime, uint32_t *sums, cmi_compact_work *work)
{
    cmi_ring *ring = (cmi_ring *)(void *)((uint8_t *)work + CM_COMPACT_WORKSPACE_BYTES);
    uint32_t *secret = (uint32_t *)(void *)((uint8_t *)ring + CM_COMPACT_RING_BYTES);
    const uint32_t n = (uint32_t)1 << cmi_compact_set_of(key)->log2_n;
    uint32_t *a = secret + n;
    cmi_ring_init(ring, prime, cmi_compact_set_of(key)->log2_n, NULL);
    cmi_ternary_transform(secret, key->ternary, prime->q - prime->r1, ring);
    cmi_uniform_values(&work->of.uniform, a, n);
    cmi_ntt_forward(a, ring);
    cmi_reduce_all(a, n, prime);
    cmi_multiply(a, secret, a, n, prime);
    cmi_ntt_inverse(a, ring);
    memcpy(sums, a + first, sizeof *sums * count);
}

#endif

/* ---- noise ---- */

/* The stream of the noise's blocks, from the one on that coefficient first is in. A block's bytes are 2^7 +
   2^5 + 2^3: no product, which a core may lack. */
_Static_assert(CM_CBD_BLOCK_BYTES == 128 + 32 + 8, "a block's place is a sum of shifts");
CM_NOINLINE static void open_noise(const cm_compact_key *key, const uint32_t position[4], uint16_t first,
                                   cmi_stream *stream)
{
    const uint32_t nonce[3] = {CM_LABEL_NOISE, 0, 0};
    cmi_stream_derive(stream, key->material + CM_NOISE_KEY, position);
    cmi_stream_set_key(stream, stream->block);
    const uint16_t blocks = first / CM_SAMPLE_BLOCK;
    cmi_stream_restart(stream, nonce, (uint16_t)((blocks << 7) + (blocks << 5) + (blocks << 3)));
}

/* The same at every prime. */
CM_NOINLINE static void add_noise(const cm_compact_key *key, uint16_t first, uint16_t count,
                                  uint32_t *residues, cmi_compact_work *work)
{
    const uint16_t skipped = first % CM_SAMPLE_BLOCK;
    for (uint16_t i = 0; i < count; i++) {
        const uint16_t within = (uint16_t)(skipped + i) % CM_SAMPLE_BLOCK;
        if (i == 0 || within == 0) {
            cmi_sample_cbd(&work->of.stream, work->step.noise);
        }
        for (unsigned k = 0; k < cmi_compact_set_of(key)->prime_count; k++) {
            const uint32_t q = cmi_compact_set_of(key)->primes[k].q;
            uint32_t *residue = residues + (size_t)k * count + i;
            const int32_t e = work->step.noise[within];
            *residue = cmi_subtract_once(cmi_add_if_negative(*residue + (uint32_t)e, q), q);
        }
    }
}

void cmi_compact_residues(const cm_compact_key *key, const uint32_t position[4], uint16_t first,
                          uint16_t count, uint32_t *residues, void *memory, size_t work_bytes)
{
    cmi_compact_work *work = memory;
    const bool transforms = room_for_transforms(cmi_compact_set_of(key), count, work_bytes);
    for (unsigned k = 0; k < cmi_compact_set_of(key)->prime_count; k++) {
        uint32_t *sums = residues + (size_t)k * count;
        open_expansion(&work->of.uniform, key, position, k);
        if (transforms) {
            transformed_products(key, first, count, &cmi_compact_set_of(key)->primes[k], sums, work);
        } else {
            direct_products(key, first, count, &cmi_compact_set_of(key)->primes[k], sums, work);
        }
    }
    open_noise(key, position, first, &work->of.stream);
    add_noise(key, first, count, residues, work);
}

/* ---- the message ---- */

#define VALUE_BITS 12

/*
 * floor((Q m + (t + 1) / 2) / t), as SEAL rounds: within (t + 1) / 2t of Q m / t. Q m = whole m t + part m,
 * and part m = estimate t + left: quotient is less than 1 below 2^32 part / t, so left is below 2t, and left
 * + half below 3t, which is a word. Values are at most 4095, and below t; the results of all sets are words.
 */
#if defined(__AVR__) && !defined(__AVR_HAVE_MUL__)

/*
 * Without products: bit by bit of m, from the highest, as whole + part / t. The part is below t, doubled and
 * with another one below 3t; the last step adds half.
 */
CM_NOINLINE static uint32_t scaled(const cm_compact_set *set, uint16_t m)
{
    const uint32_t t = set->plain_modulus;
    uint32_t whole = 0, part = 0;
    m = (uint16_t)(m << (16u - VALUE_BITS));
    for (uint8_t i = 0; i < VALUE_BITS; i++, m = (uint16_t)(m << 1)) {
        const uint32_t taken = cmi_mask_of_top((uint32_t)m << 16);
        whole = 2u * whole + (set->whole & taken);
        part = 2u * part + (set->part & taken);
        for (uint8_t j = 0; j < 2; j++) {
            part -= t;
            const uint32_t below = cmi_mask_of_top(part);
            part += t & below;
            whole += 1u + below;
        }
    }
    return whole + 1u + cmi_mask_of_top(part - (t - (t + 1u) / 2u));
}

#else

static uint32_t scaled(const cm_compact_set *set, uint16_t m)
{
    const uint32_t t = set->plain_modulus, half = (t + 1u) / 2u;
    const uint32_t estimate = cmi_upper_word(cmi_product(m, set->quotient));
    const uint32_t left = (uint32_t)(cmi_product(m, set->part) - cmi_product(estimate, t));
    const uint32_t below = left + half - t;
    const uint32_t one = 1u + cmi_mask_of_top(below), two = 1u + cmi_mask_of_top(below - t);
    return (uint32_t)cmi_product(m, set->whole) + estimate + one + (one & two);
}

#endif

/* x_0 + q_0 ((x_1 - x_0) / q_0 mod q_1), below q_0 q_1. */
static uint64_t composed(const cm_compact_set *set, uint32_t x0, uint32_t x1)
{
    const cm_prime *first = &set->primes[0], *second = &set->primes[1];
    const uint32_t difference = x1 + second->q - cmi_subtract_once(x0, second->q);
    return x0 + cmi_product(first->q, cmi_montgomery_residue(difference, set->radix, second));
}

uint64_t cmi_compact_coefficient(const cm_compact_set *set, const uint32_t *residues, uint16_t count,
                                 uint16_t i, uint16_t value)
{
    const uint32_t message = scaled(set, value);
    if (set->prime_count == 1) {
        return cmi_subtract_once(residues[i] + message, set->primes[0].q) >> set->dropped_bits;
    }
    const uint64_t q = cmi_product(set->primes[0].q, set->primes[1].q);
    const uint64_t sum = composed(set, residues[i], residues[count + i]) + message - q;
    return (sum + cmi_if_negative_64(sum, q)) >> set->dropped_bits;
}
