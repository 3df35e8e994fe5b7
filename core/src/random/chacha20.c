/*
 * ChaCha20 (RFC 8439) as a source of bytes: single key-stream blocks, and a buffered stream over them.
 *
 * Only additions, exclusive ors and rotations by constants: nothing here depends on the key's value in time,
 * and no byte of key stream is ever handed out twice.
 */
#include <string.h>

#include "random/bytes.h"
#include "random/xof.h"

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

void cm_chacha20_block(uint8_t out[CM_CHACHA20_BLOCK_BYTES], const uint8_t key[32], const uint32_t nonce[3],
                       uint32_t counter)
{
    /* "expand 32-byte k" */
    static const uint32_t constants[4] = {0x61707865u, 0x3320646Eu, 0x79622D32u, 0x6B206574u};
    uint32_t x[16];

    for (unsigned i = 0; i < 4; i++) {
        x[i] = constants[i];
        x[4 + i] = cm_load32(key + 4 * i);
        x[8 + i] = cm_load32(key + 16 + 4 * i);
    }
    x[12] = counter;
    x[13] = nonce[0];
    x[14] = nonce[1];
    x[15] = nonce[2];

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

    /* The input state is added from its sources, so that no second copy of it is held. */
    x[12] += counter;
    x[13] += nonce[0];
    x[14] += nonce[1];
    x[15] += nonce[2];
    for (unsigned i = 0; i < 4; i++) {
        x[i] += constants[i];
        x[4 + i] += cm_load32(key + 4 * i);
        x[8 + i] += cm_load32(key + 16 + 4 * i);
    }
    for (unsigned i = 0; i < 16; i++) {
        cm_store32(out + 4 * i, x[i]);
    }
}

void cm_stream_init(cm_stream *stream, const uint8_t key[32], const uint32_t nonce[3])
{
    memcpy(stream->key, key, sizeof stream->key);
    memcpy(stream->nonce, nonce, sizeof stream->nonce);
    stream->counter = 0;
    stream->used = CM_CHACHA20_BLOCK_BYTES;
}

void cm_stream_read(cm_stream *stream, uint8_t *out, size_t length)
{
    while (length > 0) {
        if (stream->used == CM_CHACHA20_BLOCK_BYTES && length >= CM_CHACHA20_BLOCK_BYTES) {
            cm_chacha20_block(out, stream->key, stream->nonce, stream->counter++);
            out += CM_CHACHA20_BLOCK_BYTES;
            length -= CM_CHACHA20_BLOCK_BYTES;
            continue;
        }
        if (stream->used == CM_CHACHA20_BLOCK_BYTES) {
            cm_chacha20_block(stream->block, stream->key, stream->nonce, stream->counter++);
            stream->used = 0;
        }
        size_t take = CM_CHACHA20_BLOCK_BYTES - (size_t)stream->used;
        if (take > length) {
            take = length;
        }
        memcpy(out, stream->block + stream->used, take);
        stream->used += (uint32_t)take;
        out += take;
        length -= take;
    }
}
