/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The byte streams that SEAL expands public seeds with, a word at a time.
 *
 * A 4096-byte block is never held: SHAKE256 keeps its sponge, BLAKE2Xb its root and one node of 64 bytes.
 * Output is computed on demand, so a stream that starts at a block boundary costs nothing until it is read.
 */
#include <string.h>

#include "common/bytes.h"
#include "common/compiler.h"
#include "random/blake2xb.h"
#include "random/keccak.h"
#include "random/xof.h"

#if CM_CONFIG_SEAL_XOFS

#define SEAL_SEED_BYTES 64

#define SEAL_KECCAK_LANES \
    17 /* SHAKE256's rate, 136 bytes: a whole number of words, so none straddles two squeezes */

/* The state before the first permutation: seed and block number absorbed. */
static void seal_keccak_absorb(cmi_seal_stream *stream)
{
    uint64_t *lanes = stream->words;
    memset(lanes, 0, sizeof stream->words);
    for (unsigned i = 0; i < SEAL_SEED_BYTES / 8; i++) {
        lanes[i] = cmi_keccak_enter(cmi_load64(stream->seed + 8 * i), i);
    }
    unsigned i = SEAL_SEED_BYTES / 8;
    lanes[i] = cmi_keccak_enter(stream->block, i);
    lanes[i + 1] = cmi_keccak_enter(0x1F, i + 1);
    lanes[SEAL_KECCAK_LANES - 1] = cmi_keccak_enter((uint64_t)1 << 63, SEAL_KECCAK_LANES - 1);
}

/* Compute the next words, and return how many. */
static unsigned seal_keccak_refill(cmi_seal_stream *stream)
{
    if (stream->made == 0) {
        seal_keccak_absorb(stream);
    }
    cmi_keccak_permute(stream->words);
    uint32_t left = (CM_SEAL_BLOCK_BYTES - stream->made) / 8;
    return left < SEAL_KECCAK_LANES ? (unsigned)left : SEAL_KECCAK_LANES;
}

static unsigned seal_blake_refill(cmi_seal_stream *stream)
{
    uint64_t *node = stream->words;
    uint64_t *root = stream->words + CM_BLAKE2XB_NODE_BYTES / 8;
    if (stream->made == 0) {
        uint8_t counter[8];
        cmi_store64(counter, stream->block);
        cmi_blake2xb_root(root, CM_SEAL_BLOCK_BYTES, stream->seed, SEAL_SEED_BYTES, counter, sizeof counter);
    }
    cmi_blake2xb_node(node, stream->made / CM_BLAKE2XB_NODE_BYTES, CM_SEAL_BLOCK_BYTES, root);
    return CM_BLAKE2XB_NODE_BYTES / 8;
}

static inline uint64_t seal_take(cmi_seal_stream *stream)
{
    unsigned i = stream->next++;
    uint64_t word = stream->words[i];
    return stream->kind == CM_XOF_SHAKE256 ? cmi_keccak_leave(word, i) : word;
}

/* Out of line, so that the caller needs no stack frame for the words that are at hand. */
static CM_NOINLINE uint64_t seal_refill_and_take(cmi_seal_stream *stream)
{
    if (stream->made == CM_SEAL_BLOCK_BYTES) {
        stream->made = 0;
        stream->block++;
    }
    const unsigned words =
        stream->kind == CM_XOF_SHAKE256 ? seal_keccak_refill(stream) : seal_blake_refill(stream);
    stream->made += 8 * words;
    stream->next = 0;
    stream->end = (uint8_t)words;
    return seal_take(stream);
}

void cmi_seal_stream_init(cmi_seal_stream *stream, cm_xof_kind kind, const uint8_t seed[64],
                          uint64_t position)
{
    stream->kind = kind;
    stream->next = 0;
    stream->end = 0;
    stream->seed = seed;
    stream->block = position / CM_SEAL_BLOCK_BYTES;
    stream->made = 0;
    /* Both kinds are read from the start of a block: only replacements (random/sample.c) begin within one. */
    for (uint64_t skipped = position % CM_SEAL_BLOCK_BYTES; skipped > 0; skipped -= 8) {
        (void)cmi_seal_stream_next(stream);
    }
}

uint64_t cmi_seal_stream_next(cmi_seal_stream *stream)
{
    return stream->next < stream->end ? seal_take(stream) : seal_refill_and_take(stream);
}

#endif
