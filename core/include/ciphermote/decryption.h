/* SPDX-License-Identifier: Apache-2.0 */
/* What a decryptor (ciphermote/decryptor.h) is told to expect of a ciphertext, the arena that this takes, and
   what it stores of the ciphertext between frames. */
#ifndef CIPHERMOTE_DECRYPTION_H
#define CIPHERMOTE_DECRYPTION_H

#include <stddef.h>
#include <stdint.h>

#include "ciphermote/config.h"
#include "ciphermote/keys.h"
#include "ciphermote/receiver.h"
#include "ciphermote/status.h"
#include "ciphermote/values.h"

#ifdef __cplusplus
extern "C" {
#endif

CM_REFUSE_PACKING(decryption);

/* The current ciphertext. Treat as opaque except counter, scale_bits and plain_modulus, which are valid once
   it has been decrypted. */
typedef struct cm_decryption {
    cm_receiver receiver; /* first: what a frame reader hands residues to */
    uint64_t counter;
    union {
        uint64_t scale_bits;    /* CKKS: the scale as IEEE 754 binary64 */
        uint64_t plain_modulus; /* BFV */
    };
    const cm_secret_key *key;
    uint8_t *arena;
    uint32_t *tile; /* in the arena, after the sums */
    size_t arena_bytes;
    uint32_t largest;  /* CKKS: as expected */
    uint16_t position; /* of the next residue in the current frame; CM_FRAME_LEFT_OUT while a frame is
                          skipped, CM_NO_FRAME_OPEN between frames */
    uint16_t next;     /* number of the next frame */
    uint8_t primes;    /* of the ciphertext; 0 before it begins */
    uint8_t log2_tiles;
    uint8_t scheme;
    union {
        uint8_t encoding; /* BFV: a cm_bfv_encoding */
        uint8_t slots;    /* CKKS: a cm_slots */
    };
    int8_t exponent; /* CKKS: for integers */
    uint8_t number;  /* a cm_number */
    union {
        uint8_t sum_bits;  /* BFV: of each coefficient's sum, 24 or 32 */
        uint8_t precision; /* CKKS: a cm_precision */
    };
    cm_status status;
} cm_decryption;
#define CM_NO_FRAME_OPEN 0xFFFFu
#define CM_FRAME_LEFT_OUT 0xFFFEu

/* ---- BFV ---- */

/*
 * How many bits each coefficient's sum keeps of the fraction x / q. 24 bits take a quarter less memory for
 * the sums, and require t * primes * 2^log2_tiles <= 2^22; 32 bits require at most 2^30. Then every
 * ciphertext whose noise is below q / 3t decrypts exactly. With two bits of noise budget left, the noise
 * always is; with one bit, it is if q is at least 3/4 of the next power of two, as in all built-in sets up
 * to n = 8192.
 */
typedef enum cm_bfv_sums { CM_BFV_SUMS_24 = 24, CM_BFV_SUMS_32 = 32 } cm_bfv_sums;

/* What is expected, and the form of the result. */
typedef struct cm_bfv_expected {
    cm_bfv_encoding
        encoding;       /* the sender's: a ciphertext does not say, and the wrong one gives wrong numbers */
    cm_number number;   /* CM_UINT16 (t <= 2^16), CM_UINT32, CM_INT16 (t < 2^16) or CM_INT32; signed ones are
                   above -t/2 and at most t/2 */
    cm_bfv_sums sums;   /* CM_BFV_SUMS_24 is for 16-bit numbers only */
    uint8_t log2_tiles; /* log2 of the number of tiles that each polynomial arrives in: 0 .. 4 */
    uint32_t plain_modulus; /* t */
} cm_bfv_expected;

/* Bytes of the arena: integer constant expressions. n is the ring degree, sums a cm_bfv_sums. */
#define CM_DECRYPT_WORKSPACE_BYTES (64u + 8u * CM_CONFIG_MAX_LOG2_N)
#define CM_DECRYPT_TILE_BYTES(n, log2_tiles) (4u * (size_t)(n) >> (log2_tiles))
#define CM_BFV_DECRYPT_ARENA_BYTES(n, sums, log2_tiles) \
    ((size_t)(n) / 8u * (sums) + CM_DECRYPT_TILE_BYTES(n, log2_tiles) + CM_DECRYPT_WORKSPACE_BYTES)

/* ---- CKKS ---- */

/*
 * What is expected, and the form of the result. A device decrypts at the first prime with 31 bits, and at the
 * first two with 63. Residues at further primes are checked and ignored, which changes no value as long as
 * largest times the ciphertext's scale is below a quarter of the product of the primes in use. A ciphertext
 * that does not satisfy this is refused (CM_ERR_SCALE).
 *
 * A slot larger than twice largest, in absolute value, is refused too (CM_ERR_VALUE_RANGE), as results under
 * a wrong key usually are. Values in the ciphertext beyond half the product of the primes in use, divided by
 * the scale, wrap around, and may then look small enough: choose largest for the result, not for the values
 * first encrypted.
 */
typedef struct cm_ckks_expected {
    cm_slots slots; /* the sender's: a ciphertext does not say, and CM_SLOTS_REAL ignores imaginary
                       parts */
    cm_precision precision;
    cm_number number;   /* CM_FLOAT32 or CM_INT32 */
    int16_t exponent;   /* an integer i stands for i * 2^exponent, -128 .. 127; ignored for floats */
    uint8_t log2_tiles; /* as in cm_bfv_expected */
    uint32_t largest;   /* bound on the magnitude of every slot, |z| if complex; at least 1 */
} cm_ckks_expected;

#define CM_CKKS_DECRYPT_ARENA_BYTES(n, slots, precision, log2_tiles) \
    (CM_CKKS_MESSAGE_BYTES(n, slots, precision) + CM_DECRYPT_TILE_BYTES(n, log2_tiles) + \
     CM_DECRYPT_WORKSPACE_BYTES)

/* The most noise that cm_ckks_decrypt_shared adds. */
#define CM_CKKS_SHARED_MAX_LOG2_NOISE 49

#ifdef __cplusplus
}
#endif
#endif
