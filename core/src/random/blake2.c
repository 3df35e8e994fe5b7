/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BLAKE2b (RFC 7693) and BLAKE2Xb on top of it. Whole messages only: there is no running state to misuse.
 *
 * Only additions, exclusive ors and rotations by constants; the message schedule is public. Time depends on
 * lengths.
 */
#include <string.h>

#include "arch/backends.h"
#include "common/bytes.h"
#include "common/compiler.h"
#include "random/blake2xb.h"
#include "random/xof.h"

#define BLAKE2B_BLOCK_BYTES 128
#define BLAKE2B_ROUNDS 12

static const uint64_t blake2b_iv[8] = {
    0x6A09E667F3BCC908u, 0xBB67AE8584CAA73Bu, 0x3C6EF372FE94F82Bu, 0xA54FF53A5F1D36F1u,
    0x510E527FADE682D1u, 0x9B05688C2B3E6C1Fu, 0x1F83D9ABFB41BD6Bu, 0x5BE0CD19137E2179u,
};

/* The message schedule; rounds 10 and 11 use rows 0 and 1 again. */
static const uint8_t blake2b_sigma[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
};

static inline uint64_t blake2b_rotate(uint64_t word, unsigned bits)
{
    return word >> bits | word << (64 - bits);
}

static inline void blake2b_mix(uint64_t v[16], unsigned a, unsigned b, unsigned c, unsigned d, uint64_t x,
                               uint64_t y)
{
    v[a] += v[b] + x;
    v[d] = blake2b_rotate(v[d] ^ v[a], 32);
    v[c] += v[d];
    v[b] = blake2b_rotate(v[b] ^ v[c], 24);
    v[a] += v[b] + y;
    v[d] = blake2b_rotate(v[d] ^ v[a], 16);
    v[c] += v[d];
    v[b] = blake2b_rotate(v[b] ^ v[c], 63);
}

/*
 * Compress one block; total is the number of input bytes up to here, a key's padding included (but not the
 * block's own zeros, unless it is the key's). Not inlined, so that callers that never get here do not pay for
 * its stack.
 */
static CM_NOINLINE void blake2b_compress(uint64_t h[8], const uint64_t m[16], uint64_t total, int last)
{
    uint64_t v[16];
    for (unsigned i = 0; i < 8; i++) {
        v[i] = h[i];
        v[8 + i] = blake2b_iv[i];
    }
    v[12] ^= total;
    if (last) {
        v[14] = ~v[14];
    }

    for (unsigned round = 0; round < BLAKE2B_ROUNDS; round++) {
        const uint8_t *s = blake2b_sigma[round < 10 ? round : round - 10];
        blake2b_mix(v, 0, 4, 8, 12, m[s[0]], m[s[1]]);
        blake2b_mix(v, 1, 5, 9, 13, m[s[2]], m[s[3]]);
        blake2b_mix(v, 2, 6, 10, 14, m[s[4]], m[s[5]]);
        blake2b_mix(v, 3, 7, 11, 15, m[s[6]], m[s[7]]);
        blake2b_mix(v, 0, 5, 10, 15, m[s[8]], m[s[9]]);
        blake2b_mix(v, 1, 6, 11, 12, m[s[10]], m[s[11]]);
        blake2b_mix(v, 2, 7, 8, 13, m[s[12]], m[s[13]]);
        blake2b_mix(v, 3, 4, 9, 14, m[s[14]], m[s[15]]);
    }
    for (unsigned i = 0; i < 8; i++) {
        h[i] ^= v[i] ^ v[8 + i];
    }
}

/* Compresses a block of count <= 128 bytes, the rest zeros. */
typedef void blake2b_absorber(uint64_t h[8], const uint8_t *bytes, size_t count, uint64_t total, int last);

static void blake2b_load(uint64_t m[16], const uint8_t *bytes, size_t count)
{
    memset(m, 0, BLAKE2B_BLOCK_BYTES);
    if (count > 0) {
        memcpy(m, bytes, count);
    }
    for (unsigned i = 0; i < 16; i++) {
        m[i] = cmi_load64((const uint8_t *)&m[i]);
    }
}

static void blake2b_absorb(uint64_t h[8], const uint8_t *bytes, size_t count, uint64_t total, int last)
{
    uint64_t m[16];
    blake2b_load(m, bytes, count);
    if (count <= BLAKE2B_BLOCK_BYTES / 2 && total <= UINT32_MAX &&
        CM_ARCH_TRY(blake2b_short, h, m, (uint32_t)total, last ? UINT32_MAX : 0)) {
        return;
    }
    blake2b_compress(h, m, total, last);
}

#ifndef __AVR__ /* whose messages are all short */

/* Without a back-end's code for half blocks, which is large and of no use to long messages. */
static void blake2b_absorb_long(uint64_t h[8], const uint8_t *bytes, size_t count, uint64_t total, int last)
{
    uint64_t m[16];
    blake2b_load(m, bytes, count);
    blake2b_compress(h, m, total, last);
}

#endif

/* The fields of RFC 7693's parameter block that the uses of BLAKE2b here differ in. */
typedef struct blake2b_parameters {
    uint8_t digest_bytes;
    uint8_t key_bytes;
    uint8_t fanout_and_depth; /* 1: sequential hashing; 0: an output node of BLAKE2X (both fields) */
    uint8_t inner_bytes;      /* leaf length and inner length of an output node, else 0 */
    uint32_t node;
    uint32_t xof_length;
} blake2b_parameters;

/* The chaining value before the first block. */
static void blake2b_start(uint64_t h[8], const blake2b_parameters *p)
{
    memcpy(h, blake2b_iv, sizeof blake2b_iv);
    h[0] ^= p->digest_bytes | (uint32_t)p->key_bytes << 8 | (uint32_t)p->fanout_and_depth << 16 |
            (uint32_t)p->fanout_and_depth << 24 | (uint64_t)p->inner_bytes << 32;
    h[1] ^= p->node | (uint64_t)p->xof_length << 32;
    h[2] ^= (uint64_t)p->inner_bytes << 8;
}

/* The chaining value after the last block: the digest's words. */
static void blake2b_hash(uint64_t h[8], const blake2b_parameters *p, blake2b_absorber *absorb,
                         const uint8_t *key, const uint8_t *message, size_t message_bytes)
{
    uint64_t total = 0;
    size_t left = message_bytes;

    blake2b_start(h, p);
    if (p->key_bytes > 0) {
        total = BLAKE2B_BLOCK_BYTES;
        absorb(h, key, p->key_bytes, total, left == 0);
    }
    while (left > BLAKE2B_BLOCK_BYTES) {
        total += BLAKE2B_BLOCK_BYTES;
        absorb(h, message, BLAKE2B_BLOCK_BYTES, total, 0);
        message += BLAKE2B_BLOCK_BYTES;
        left -= BLAKE2B_BLOCK_BYTES;
    }
    if (left > 0 || p->key_bytes == 0) {
        absorb(h, message, left, total + left, 1);
    }
}

static void blake2b_bytes(uint8_t *bytes, const uint64_t h[8], size_t count)
{
    for (size_t i = 0; i < count; i += 8) {
        cmi_store64_first(bytes + i, h[i / 8], count - i);
    }
}

static inline void blake2b_digest(uint8_t *digest, size_t digest_bytes, blake2b_absorber *absorb,
                                  const uint8_t *key, size_t key_bytes, const uint8_t *message,
                                  size_t message_bytes)
{
    const blake2b_parameters p = {
        .digest_bytes = (uint8_t)digest_bytes, .key_bytes = (uint8_t)key_bytes, .fanout_and_depth = 1};
    uint64_t h[8];
    blake2b_hash(h, &p, absorb, key, message, message_bytes);
    blake2b_bytes(digest, h, digest_bytes);
}

void cmi_blake2b(uint8_t *digest, size_t digest_bytes, const uint8_t *key, size_t key_bytes,
                 const uint8_t *message, size_t message_bytes)
{
    blake2b_digest(digest, digest_bytes, blake2b_absorb, key, key_bytes, message, message_bytes);
}

#ifndef __AVR__

void cmi_blake2b_long(uint8_t *digest, size_t digest_bytes, const uint8_t *key, size_t key_bytes,
                      const uint8_t *message, size_t message_bytes)
{
    blake2b_digest(digest, digest_bytes, blake2b_absorb_long, key, key_bytes, message, message_bytes);
}

#endif

#if CM_CONFIG_SEAL_XOFS

static inline uint32_t blake2xb_node_bytes(uint32_t index, uint32_t length)
{
    uint32_t left = length - index * CM_BLAKE2XB_NODE_BYTES;
    return left < CM_BLAKE2XB_NODE_BYTES ? left : CM_BLAKE2XB_NODE_BYTES;
}

void cmi_blake2xb_root(uint64_t root[8], uint32_t length, const uint8_t *key, size_t key_bytes,
                       const uint8_t *message, size_t message_bytes)
{
    const blake2b_parameters p = {
        .digest_bytes = 64, .key_bytes = (uint8_t)key_bytes, .fanout_and_depth = 1, .xof_length = length};
    blake2b_hash(root, &p, blake2b_absorb, key, message, message_bytes);
}

void cmi_blake2xb_node(uint64_t node[8], uint32_t index, uint32_t length, const uint64_t root[8])
{
    const blake2b_parameters p = {
        .digest_bytes = (uint8_t)blake2xb_node_bytes(index, length),
        .inner_bytes = CM_BLAKE2XB_NODE_BYTES,
        .node = index,
        .xof_length = length,
    };
    blake2b_start(node, &p);
    if (!CM_ARCH_TRY(blake2b_short, node, root, 64, UINT32_MAX)) {
        uint64_t block[16] = {0};
        memcpy(block, root, 64);
        blake2b_compress(node, block, 64, 1);
    }
}

void cmi_blake2xb(uint8_t *out, uint32_t length, const uint8_t *key, size_t key_bytes, const uint8_t *message,
                  size_t message_bytes)
{
    uint64_t root[8], node[8];
    cmi_blake2xb_root(root, length, key, key_bytes, message, message_bytes);
    for (uint32_t done = 0; done < length; done += CM_BLAKE2XB_NODE_BYTES) {
        uint32_t index = done / CM_BLAKE2XB_NODE_BYTES;
        cmi_blake2xb_node(node, index, length, root);
        blake2b_bytes(out + done, node, blake2xb_node_bytes(index, length));
    }
}

#endif
