/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams of pseudo-random bytes. Secret streams (noise, u, keys) are always ChaCha20; public seeds are
 * expanded with any of the three.
 *
 * Each public expansion is a function of (seed, absolute position), so that it can start at any prime.
 */
#ifndef CM_RANDOM_XOF_H
#define CM_RANDOM_XOF_H

#include <stddef.h>
#include <stdint.h>

#include "arch/backends.h"
#include "ciphermote/config.h"
#include "ciphermote/emitter.h"
#include "common/names.h"

CMI_HIDDEN_BEGIN

/* ---- ChaCha20 (RFC 8439): key of 32 bytes, nonce of 12, 32-bit block counter ---- */

#define CM_CHACHA20_BLOCK_BYTES 64

/* One key-stream block. nonce is three little-endian words. Constant-time. */
void cmi_chacha20_block(uint8_t out[CM_CHACHA20_BLOCK_BYTES], const uint8_t key[32], const uint32_t nonce[3],
                        uint32_t counter);

/* The input of a block besides constants: the key, the block counter, the nonce. */
#define CM_CHACHA20_INPUT_WORDS 12
#define CM_CHACHA20_COUNTER 8

/* The same for an input that has its block counter and nonce, and gets a key that is stored with the
   constants (common/flash.h). Both then hold secrets. */
void cmi_chacha20_derive(uint8_t out[CM_CHACHA20_BLOCK_BYTES], uint32_t input[CM_CHACHA20_INPUT_WORDS],
                         const uint8_t *key);

/* A buffered ChaCha20 stream. Holds secrets: wipe with cmi_wipe. */
struct cmi_stream {
    uint8_t block[CM_CHACHA20_BLOCK_BYTES];
    uint32_t input[CM_CHACHA20_INPUT_WORDS]; /* of the next block */
    uint8_t used;                            /* bytes of block already handed out */
};

void cmi_stream_init(cmi_stream *stream, const uint8_t key[32], const uint32_t nonce[3]);
/* Set a stream's key only. cmi_stream_restart then begins any of that key's streams, at any byte. */
void cmi_stream_set_key(cmi_stream *stream, const uint8_t key[32]);
void cmi_stream_restart(cmi_stream *stream, const uint32_t nonce[3], uint32_t position);
/* One block of its key stream, left in stream->block: a function of its key and of 16 bytes, as the block
   counter and the nonce, where they may be already. */
void cmi_stream_at(cmi_stream *stream, const uint32_t position[4]);
/* The same under a key that is stored with the constants (common/flash.h). */
void cmi_stream_derive(cmi_stream *stream, const uint8_t *key, const uint32_t position[4]);
/* The next bytes; whole blocks go straight to out. */
void cmi_stream_read(cmi_stream *stream, uint8_t *out, size_t length);

/*
 * The next bytes in place, or in buffer if they come from two blocks; at most a block. Valid until the next
 * read.
 */
const uint8_t *cmi_stream_view(cmi_stream *stream, uint8_t *buffer, size_t length);

/* ---- SHAKE256 (FIPS 202) and BLAKE2Xb, as SEAL's generators use them ---- */

#define CM_SEAL_BLOCK_BYTES 4096

/*
 * The byte stream of SEAL's generators: blocks of 4096 bytes with counter 0, 1, 2 ...
 *   SHAKE256: SHAKE256(seed || u64 counter);  BLAKE2Xb: key = seed, message = u64 counter, output length
 *   4096.
 * The state holds one permutation's (or one hash's) worth of output, never the 4096 bytes.
 */
typedef struct cmi_seal_stream {
    cm_xof_kind kind;    /* CM_XOF_SHAKE256 or CM_XOF_BLAKE2XB */
    uint8_t next;        /* word of the state to hand out */
    uint8_t end;         /* words in the state */
    const uint8_t *seed; /* 64 bytes; the caller keeps them alive */
    uint64_t block;      /* which 4096-byte block */
    uint32_t made;       /* bytes of it, those in the state included */
    uint64_t words[25];  /* SHAKE256: its sponge; BLAKE2Xb: the current output node, then the root */
} cmi_seal_stream;

/* Start at byte position (any multiple of 8). */
void cmi_seal_stream_init(cmi_seal_stream *stream, cm_xof_kind kind, const uint8_t seed[64],
                          uint64_t position);
/* The next 8 bytes as a little-endian word. */
uint64_t cmi_seal_stream_next(cmi_seal_stream *stream);

/* ---- hashes used elsewhere ---- */

/* BLAKE2b (RFC 7693) with digests of 1 to 64 bytes, optional key of up to 64 bytes (null and 0 for none). */
void cmi_blake2b(uint8_t *digest, size_t digest_bytes, const uint8_t *key, size_t key_bytes,
                 const uint8_t *message, size_t message_bytes);
/* SHAKE256 of a short message (at most 135 bytes): out of any length. */
void cmi_shake256(uint8_t *out, size_t length, const uint8_t *message, size_t message_bytes);
void cmi_keccak_f1600(uint64_t state[25]);
/* BLAKE2Xb: out of 1 .. 2^32-2 bytes. */
void cmi_blake2xb(uint8_t *out, uint32_t length, const uint8_t *key, size_t key_bytes, const uint8_t *message,
                  size_t message_bytes);

CMI_HIDDEN_END

#endif
