/*
 * The byte streams that SEAL expands public seeds with, a word at a time.
 *
 * A 4096-byte block is never held: SHAKE256 keeps its sponge, BLAKE2Xb its root and one node of 64 bytes.
 * Output is made when it is asked for, so a stream that starts at a block's edge costs nothing until it is
 * read.
 */
#include <string.h>

#include "random/blake2xb.h"
#include "random/bytes.h"
#include "random/xof.h"

#if CM_XOF_SHAKE256 || CM_XOF_BLAKE2XB

#define SEAL_SEED_BYTES 64

#if CM_XOF_SHAKE256

#define SEAL_KECCAK_LANES \
    17 /* SHAKE256's rate, 136 bytes: a whole number of words, so none straddles two squeezes */

/* SHAKE256 has absorbed seed and block number, and its first 136 bytes are ready. */
static void seal_keccak_start(cm_seal_stream *stream)
{
    uint64_t *lanes = stream->state.keccak;
    memset(lanes, 0, sizeof stream->state.keccak);
    for (unsigned i = 0; i < SEAL_SEED_BYTES / 8; i++) {
        lanes[i] = cm_load64(stream->seed + 8 * i);
    }
    lanes[SEAL_SEED_BYTES / 8] = stream->block;
    lanes[SEAL_SEED_BYTES / 8 + 1] = 0x1F;
    lanes[SEAL_KECCAK_LANES - 1] = (uint64_t)1 << 63;
    cm_keccak_f1600(lanes);
}

static uint64_t seal_keccak_word(cm_seal_stream *stream)
{
    uint32_t lane = stream->offset / 8 % SEAL_KECCAK_LANES;
    if (stream->offset == 0) {
        seal_keccak_start(stream);
    } else if (lane == 0) {
        cm_keccak_f1600(stream->state.keccak);
    }
    return stream->state.keccak[lane];
}

#endif

#if CM_XOF_BLAKE2XB

static void seal_blake_start(cm_seal_stream *stream)
{
    uint8_t counter[8];
    cm_store64(counter, stream->block);
    cm_blake2xb_root(stream->state.blake.root, CM_SEAL_BLOCK_BYTES, stream->seed, SEAL_SEED_BYTES, counter,
                     sizeof counter);
}

static uint64_t seal_blake_word(cm_seal_stream *stream)
{
    if (stream->offset == 0) {
        seal_blake_start(stream);
    }
    uint32_t within = stream->offset % CM_BLAKE2XB_NODE_BYTES;
    if (within == 0) {
        cm_blake2xb_node(stream->state.blake.out, stream->offset / CM_BLAKE2XB_NODE_BYTES,
                         CM_SEAL_BLOCK_BYTES, stream->state.blake.root);
    }
    return cm_load64(stream->state.blake.out + within);
}

#endif

/* Callers refuse a kind that config.h leaves out, so a build with one kind has nothing to choose. */
static inline uint64_t seal_stream_word(cm_seal_stream *stream)
{
#if CM_XOF_SHAKE256 && CM_XOF_BLAKE2XB
    return stream->kind == CM_SHAKE256 ? seal_keccak_word(stream) : seal_blake_word(stream);
#elif CM_XOF_SHAKE256
    return seal_keccak_word(stream);
#else
    return seal_blake_word(stream);
#endif
}

void cm_seal_stream_init(cm_seal_stream *stream, cm_xof_kind kind, const uint8_t seed[64], uint64_t position)
{
    stream->kind = kind;
    stream->seed = seed;
    stream->block = position / CM_SEAL_BLOCK_BYTES;
    stream->offset = 0;
    /* Within a block both kinds are read from its start: only replacements (random/sample.c) begin there. */
    for (uint64_t skipped = position % CM_SEAL_BLOCK_BYTES; skipped > 0; skipped -= 8) {
        (void)cm_seal_stream_next(stream);
    }
}

uint64_t cm_seal_stream_next(cm_seal_stream *stream)
{
    uint64_t word = seal_stream_word(stream);
    stream->offset += 8;
    if (stream->offset == CM_SEAL_BLOCK_BYTES) {
        stream->offset = 0;
        stream->block++;
    }
    return word;
}

#endif
