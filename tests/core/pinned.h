/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of pinned vectors share (vectors/README.md): the chained digest, and bytes in order. */
#ifndef CM_TESTS_PINNED_H
#define CM_TESTS_PINNED_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "random/xof.h"

enum { DIGEST_BYTES = 32, PIECE_BYTES = 96 };

typedef struct chained_digest {
    uint8_t input[DIGEST_BYTES + PIECE_BYTES]; /* the digest so far, then a piece */
    uint8_t filled;                            /* bytes of the piece */
} chained_digest;

static inline void digest_piece(chained_digest *digest)
{
    uint8_t next[DIGEST_BYTES];
    cmi_blake2b(next, sizeof next, NULL, 0, digest->input, (size_t)DIGEST_BYTES + digest->filled);
    memcpy(digest->input, next, sizeof next);
    digest->filled = 0;
}

static inline int digest_write(void *context, const uint8_t *bytes, size_t length)
{
    chained_digest *digest = (chained_digest *)context;
    for (size_t i = 0; i < length; i++) {
        digest->input[DIGEST_BYTES + digest->filled++] = bytes[i];
        if (digest->filled == PIECE_BYTES) {
            digest_piece(digest);
        }
    }
    return 0;
}

static inline const uint8_t *digest_end(chained_digest *digest)
{
    if (digest->filled > 0) {
        digest_piece(digest);
    }
    return digest->input;
}

static inline void consecutive_bytes(uint8_t *out, size_t length, unsigned first)
{
    for (size_t i = 0; i < length; i++) {
        out[i] = (uint8_t)(first + i);
    }
}

#endif
