/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What public seeds are expanded with besides ChaCha20 (random/chacha20.h), and the hashes under it.
 *
 * Each public expansion is a function of (seed, absolute position), so that it can start at any prime.
 */
#ifndef CM_RANDOM_XOF_H
#define CM_RANDOM_XOF_H

#include <stddef.h>
#include <stdint.h>

#include "ciphermote/config.h"
#include "ciphermote/emitter.h"
#include "common/names.h"
#include "random/chacha20.h"

CMI_HIDDEN_BEGIN

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
#ifndef __AVR__
/* The same digest, with less code where a back-end has code of its own for short messages. */
void cmi_blake2b_long(uint8_t *digest, size_t digest_bytes, const uint8_t *key, size_t key_bytes,
                      const uint8_t *message, size_t message_bytes);
#endif
/* SHAKE256 of a short message (at most 135 bytes): out of any length. */
void cmi_shake256(uint8_t *out, size_t length, const uint8_t *message, size_t message_bytes);
void cmi_keccak_f1600(uint64_t state[25]);
/* BLAKE2Xb: out of 1 .. 2^32-2 bytes. */
void cmi_blake2xb(uint8_t *out, uint32_t length, const uint8_t *key, size_t key_bytes, const uint8_t *message,
                  size_t message_bytes);

CMI_HIDDEN_END

#endif
