/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ChaCha20 (RFC 8439) as a source of bytes: single key-stream blocks, and a buffered stream over them.
 *
 * Only additions, exclusive ors and rotations by constants: no time here depends on the key's value. No byte
 * of key stream is ever handed out twice.
 */
#include <string.h>

#include "arch/backends.h"
#include "common/bytes.h"
#include "common/wipe.h"
#include "random/chacha20.h"

#define CHACHA20_DOUBLE_ROUNDS 10

static inline uint32_t chacha20_rotate(uint32_t word, unsigned bits)
{
    return word << bits | word >> (32 - bits);
}

static inline void chacha20_quarter_round(uint32_t x[16], unsigned a, unsigned b, unsigned c, unsigned d)
{
    x[a] += x[b];
    x[d] = chacha20_rotate(x[d] ^ x[a], 16);
    x[c] += x[d];
    x[b] = chacha20_rotate(x[b] ^ x[c], 12);
    x[a] += x[b];
    x[d] = chacha20_rotate(x[d] ^ x[a], 8);
    x[c] += x[d];
    x[b] = chacha20_rotate(x[b] ^ x[c], 7);
}

static void chacha20_next_block(uint8_t *out, uint32_t input[CM_CHACHA20_INPUT_WORDS])
{
    /* "expand 32-byte k" */
    static const uint32_t constants[4] = {0x61707865u, 0x3320646Eu, 0x79622D32u, 0x6B206574u};
    uint32_t x[16];
    memcpy(x, constants, sizeof constants);
    memcpy(x + 4, input, CM_CHACHA20_INPUT_WORDS * sizeof *input);
    for (unsigned i = 0; i < CHACHA20_DOUBLE_ROUNDS; i++) {
        chacha20_quarter_round(x, 0, 4, 8, 12);
        chacha20_quarter_round(x, 1, 5, 9, 13);
        chacha20_quarter_round(x, 2, 6, 10, 14);
        chacha20_quarter_round(x, 3, 7, 11, 15);
        chacha20_quarter_round(x, 0, 5, 10, 15);
        chacha20_quarter_round(x, 1, 6, 11, 12);
        chacha20_quarter_round(x, 2, 7, 8, 13);
        chacha20_quarter_round(x, 3, 4, 9, 14);
    }
    /* The initial state is added from its sources, so that no second copy of it is kept. */
    for (unsigned i = 0; i < 16; i++) {
        cmi_store32(out + 4 * i, x[i] + (i < 4 ? constants[i] : input[i - 4]));
    }
    input[CM_CHACHA20_COUNTER]++;
}

/* Write blocks of key stream, at least one, to any address; the counter in input is advanced. */
static void chacha20_blocks(uint8_t *out, uint32_t input[CM_CHACHA20_INPUT_WORDS], size_t blocks)
{
    if (CM_ARCH_TRY(chacha20_blocks, out, input, blocks)) {
        return;
    }
    for (; blocks > 0; blocks--) {
        chacha20_next_block(out, input);
        out += CM_CHACHA20_BLOCK_BYTES;
    }
}

static void set_key(uint32_t input[CM_CHACHA20_INPUT_WORDS], const uint8_t key[32])
{
    cmi_load_words(input, key, CM_CHACHA20_COUNTER);
}

static void set_position(uint32_t input[CM_CHACHA20_INPUT_WORDS], const uint32_t nonce[3], uint32_t counter)
{
    input[CM_CHACHA20_COUNTER] = counter;
    if (nonce != input + CM_CHACHA20_COUNTER + 1) {
        memcpy(input + CM_CHACHA20_COUNTER + 1, nonce, 3 * sizeof *nonce);
    }
}

void cmi_chacha20_block(uint8_t out[CM_CHACHA20_BLOCK_BYTES], const uint8_t key[32], const uint32_t nonce[3],
                        uint32_t counter)
{
    uint32_t input[CM_CHACHA20_INPUT_WORDS];
    set_key(input, key);
    set_position(input, nonce, counter);
    chacha20_blocks(out, input, 1);
    cmi_wipe(input, sizeof input);
}

void cmi_chacha20_derive(uint8_t out[CM_CHACHA20_BLOCK_BYTES], uint32_t input[CM_CHACHA20_INPUT_WORDS],
                         const uint8_t *key)
{
    cmi_flash_copy(out, key, 32);
    set_key(input, out);
    chacha20_blocks(out, input, 1);
}

void cmi_stream_init(cmi_stream *stream, const uint8_t key[32], const uint32_t nonce[3])
{
    cmi_stream_set_key(stream, key);
    cmi_stream_restart(stream, nonce, 0);
}

void cmi_stream_set_key(cmi_stream *stream, const uint8_t key[32])
{
    set_key(stream->input, key);
}

void cmi_stream_restart(cmi_stream *stream, const uint32_t nonce[3], uint32_t position)
{
    set_position(stream->input, nonce, position / CM_CHACHA20_BLOCK_BYTES);
    stream->used = CM_CHACHA20_BLOCK_BYTES;
    if (position % CM_CHACHA20_BLOCK_BYTES != 0) {
        chacha20_blocks(stream->block, stream->input, 1);
        stream->used = (uint8_t)(position % CM_CHACHA20_BLOCK_BYTES);
    }
}

void cmi_stream_at(cmi_stream *stream, const uint32_t position[4])
{
    set_position(stream->input, position + 1, position[0]);
    chacha20_blocks(stream->block, stream->input, 1);
    stream->used = CM_CHACHA20_BLOCK_BYTES;
}

void cmi_stream_derive(cmi_stream *stream, const uint8_t *key, const uint32_t position[4])
{
    cmi_flash_copy(stream->block, key, 32);
    cmi_stream_set_key(stream, stream->block);
    cmi_stream_at(stream, position);
}

#if defined(__AVR__) && !defined(__AVR_HAVE_MUL__)

/* Byte by byte: these cores have little flash. */
void cmi_stream_read(cmi_stream *stream, uint8_t *out, size_t length)
{
    for (; length > 0; length--) {
        if (stream->used == CM_CHACHA20_BLOCK_BYTES) {
            chacha20_blocks(stream->block, stream->input, 1);
            stream->used = 0;
        }
        *out++ = stream->block[stream->used++];
    }
}

#else

/* At most what is left of the block. */
static uint8_t *stream_take(cmi_stream *stream, uint8_t *out, size_t length)
{
    memcpy(out, stream->block + stream->used, length);
    stream->used = (uint8_t)(stream->used + length);
    return out + length;
}

void cmi_stream_read(cmi_stream *stream, uint8_t *out, size_t length)
{
    const size_t left = (size_t)CM_CHACHA20_BLOCK_BYTES - stream->used;
    if (length <= left) {
        stream_take(stream, out, length);
        return;
    }
    if (left > 0) {
        out = stream_take(stream, out, left);
        length -= left;
    }
    const size_t blocks = length / CM_CHACHA20_BLOCK_BYTES;
    if (blocks > 0) {
        chacha20_blocks(out, stream->input, blocks);
        out += blocks * CM_CHACHA20_BLOCK_BYTES;
        length -= blocks * CM_CHACHA20_BLOCK_BYTES;
    }
    if (length > 0) {
        chacha20_blocks(stream->block, stream->input, 1);
        stream->used = 0;
        stream_take(stream, out, length);
    }
}

#endif

const uint8_t *cmi_stream_view(cmi_stream *stream, uint8_t *buffer, size_t length)
{
    const size_t used = stream->used;
    if (used + length <= CM_CHACHA20_BLOCK_BYTES) {
        stream->used = (uint8_t)(used + length);
        return stream->block + used;
    }
    cmi_stream_read(stream, buffer, length);
    return buffer;
}
