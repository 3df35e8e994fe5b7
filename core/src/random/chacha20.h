/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ChaCha20 (RFC 8439): a key of 32 bytes, a nonce of 12, a block counter of 32 bits. Secret streams (noise,
 * u, keys) always come from it; public seeds may.
 */
#ifndef CM_RANDOM_CHACHA20_H
#define CM_RANDOM_CHACHA20_H

#include <stddef.h>
#include <stdint.h>

#include "common/names.h"

CMI_HIDDEN_BEGIN

#define CM_CHACHA20_BLOCK_BYTES 64

/* One key-stream block. nonce is three little-endian words. Constant-time. */
void cmi_chacha20_block(uint8_t out[CM_CHACHA20_BLOCK_BYTES], const uint8_t key[32], const uint32_t nonce[3],
                        uint32_t counter);

/* The input of a block besides constants: the key, the block counter, the nonce. */
#define CM_CHACHA20_INPUT_WORDS 12
#define CM_CHACHA20_COUNTER 8

/* The same for an input that has its block counter and nonce, and gets a key that is stored with the
   constants (common/bytes.h). Both then hold secrets. */
void cmi_chacha20_derive(uint8_t out[CM_CHACHA20_BLOCK_BYTES], uint32_t input[CM_CHACHA20_INPUT_WORDS],
                         const uint8_t *key);

/* A buffered ChaCha20 stream. Holds secrets: wipe with cmi_wipe. */
typedef struct cmi_stream {
    uint8_t block[CM_CHACHA20_BLOCK_BYTES];
    uint32_t input[CM_CHACHA20_INPUT_WORDS]; /* of the next block */
    uint8_t used;                            /* bytes of block already handed out */
} cmi_stream;

void cmi_stream_init(cmi_stream *stream, const uint8_t key[32], const uint32_t nonce[3]);
/* Set a stream's key only. cmi_stream_restart then begins any of that key's streams, at any byte. */
void cmi_stream_set_key(cmi_stream *stream, const uint8_t key[32]);
void cmi_stream_restart(cmi_stream *stream, const uint32_t nonce[3], uint32_t position);
/* One block of its key stream, left in stream->block: a function of its key and of 16 bytes, as the block
   counter and the nonce, where they may be already. */
void cmi_stream_at(cmi_stream *stream, const uint32_t position[4]);
/* The same under a key that is stored with the constants (common/bytes.h). */
void cmi_stream_derive(cmi_stream *stream, const uint8_t *key, const uint32_t position[4]);
/* The next bytes; whole blocks go straight to out. */
void cmi_stream_read(cmi_stream *stream, uint8_t *out, size_t length);

/*
 * The next bytes in place, or in buffer if they come from two blocks; at most a block. Valid until the next
 * read.
 */
const uint8_t *cmi_stream_view(cmi_stream *stream, uint8_t *buffer, size_t length);

CMI_HIDDEN_END

#endif
