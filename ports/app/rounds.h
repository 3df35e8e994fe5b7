/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A neural network in client-aided rounds: the server computes its layers under encryption, and this is what
 * happens between them. Many vectors share a ciphertext, each in a block of slots. Neither a branch nor an
 * address depends on a value.
 */
#ifndef APP_ROUNDS_H
#define APP_ROUNDS_H

#include <stdbool.h>
#include <stdint.h>

#include "ciphermote/aided.h"

/* A layer, and how its outputs become the next one's inputs (unused after the last). */
typedef struct rounds_layer {
    uint16_t inputs;
    uint16_t first_input; /* the slot of a block that input 0 is in; outputs begin with the block */
    uint16_t outputs;
    uint32_t multiplier; /* BFV: z becomes min(limit, (max(0, z) multiplier + 2^15) >> 16); at most 2^16 */
} rounds_layer;

typedef struct rounds_model {
    const rounds_layer *layers;
    uint8_t count;
    uint8_t log2_stride;    /* of the number of slots in a block */
    uint32_t plain_modulus; /* BFV: t, at most 2^16 - 1 */
    uint16_t limit;         /* BFV */
    uint32_t cap_bits;      /* CKKS: z becomes min(cap, max(0, z)); the cap as IEEE 754 binary32 bits */
    uint8_t log2_scale;     /* CKKS */
    uint32_t largest;       /* CKKS: no value that the server returns is larger in magnitude */
} rounds_model;

/* Values are int16 modulo t, or float32 at two primes. */
#define ROUNDS_BFV_ARENA_BYTES(n) CM_AIDED_BFV_ARENA_BYTES(n, CM_BFV_16, CM_BFV_SUMS_24, 0)
#define ROUNDS_CKKS_ARENA_BYTES(n) CM_AIDED_CKKS_ARENA_BYTES(n, CM_SLOTS_REAL, CM_FIXED_31, CM_FIXED_63, 0)
#define ROUNDS_ARENA_BYTES(n) CM_AIDED_LARGER(ROUNDS_BFV_ARENA_BYTES(n), ROUNDS_CKKS_ARENA_BYTES(n))
#define ROUNDS_MAX_VECTORS 256u

typedef struct rounds {
    cm_aided aided;
    const rounds_model *model;
    uint32_t slots; /* of a ciphertext */
    uint16_t vectors;
    bool awaiting;                       /* a result is awaited: the arena is in use */
    uint8_t classes[ROUNDS_MAX_VECTORS]; /* valid after the last round */
} rounds;

/*
 * Open a session on the vectors at the start of the setup's arena, length bytes of int16 (scheme CM_BFV) or
 * float32 (CM_CKKS). CM_ERR_FRAME_FIELD if length is not a whole number of vectors; CM_ERR_TOO_MANY if there
 * are too few blocks.
 */
CM_MUST_CHECK cm_status rounds_open(rounds *self, const rounds_model *model, cm_scheme scheme,
                                    uint32_t length, const cm_secret_key *key,
                                    const cm_encryptor_setup *setup);

/* Spread the vectors over the blocks, encrypt them and send. */
CM_MUST_CHECK cm_status rounds_send(rounds *self);

CM_MUST_CHECK cm_status rounds_feed(rounds *self, const uint8_t *bytes, size_t length);

/* After a result's last byte: the next ciphertext, or at the end the classes, one byte per vector. */
CM_MUST_CHECK cm_status rounds_answer(rounds *self);

/* Drop the session, if there is one. */
void rounds_stop(rounds *self);

#endif
