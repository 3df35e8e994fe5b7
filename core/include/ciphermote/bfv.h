/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BFV on the device: exact integers modulo t, encoded and encrypted one prime at a time into an emitter
 * (frame.h, seal.h).
 *
 * As with CKKS (ckks.h), nothing is allocated, and each residue polynomial is emitted as soon as it is
 * computed. Rounding is SEAL's own, so SEAL adds, multiplies and decrypts these ciphertexts exactly
 * (docs/encoding.md). Sources: BFV (Fan, Vercauteren, ePrint 2012/144); batching (Smart, Vercauteren, ePrint
 * 2011/133).
 */
#ifndef CIPHERMOTE_BFV_H
#define CIPHERMOTE_BFV_H

#include <stddef.h>
#include <stdint.h>

#include "ciphermote/config.h"
#include "ciphermote/encryptor.h"
#include "ciphermote/params.h"
#include "ciphermote/status.h"

#ifdef __cplusplus
extern "C" {
#endif

CM_REFUSE_PACKING(bfv);

typedef enum cm_bfv_encoding {
    CM_BFV_BATCH = 1,       /* n slots, added and multiplied slot by slot; t must be a prime, 1 mod 2n */
    CM_BFV_COEFFICIENTS = 2 /* the n coefficients of the polynomial; any t */
} cm_bfv_encoding;

typedef enum cm_bfv_width {
    CM_BFV_16 = 16, /* t <= 2^16; 2 bytes per value in the arena */
    CM_BFV_32 = 32  /* any t; 4 bytes per value in the arena */
} cm_bfv_width;

/*
 * The form of a ciphertext's residues. In NTT form SEAL can add them as they are; for everything else it
 * needs transform_from_ntt first. Coefficient form is SEAL's own form for BFV; it takes one more inverse
 * transform, and an encryptor with log2_tiles 0.
 */
typedef enum cm_domain { CM_DOMAIN_NTT = 0, CM_DOMAIN_COEFFICIENTS = 1 } cm_domain;

/*
 * The values to encode. With batching they form two rows of n/2, as in SEAL's BatchEncoder. Values from index
 * count on are zero. Signed values must be above -t/2 and at most t/2, unsigned ones below t. data needs no
 * alignment. If a number has no more bits than width, data may point at the arena's first byte (and nowhere
 * else in the arena): the values are then encoded in place.
 *
 * largest is declared, never computed from the values: it is public, and whoever adds ciphertexts up takes
 * the bound of the sum from it. Values with one beyond it are refused, in a time that depends on none.
 */
typedef struct cm_bfv_values {
    const void *data;
    uint32_t count;   /* 1 .. n */
    cm_number number; /* CM_INT16, CM_INT32, CM_UINT16 or CM_UINT32 */
    cm_bfv_encoding encoding;
    cm_bfv_width width;
    uint32_t plain_modulus; /* t: at least 2, below the smallest data prime */
    cm_domain domain;       /* of the ciphertext; 0, if left out: NTT form */
    uint32_t largest;       /* 1 .. t - 1: no |value| is larger */
} cm_bfv_values;

/*
 * Coefficients that are read when needed, so that a device need not hold them. read is called several times
 * for each index below count, in no fixed order. It must return the same value for the same index throughout
 * an encryption, in a time that does not depend on the value. Coefficients from index count on are zero.
 */
typedef struct cm_bfv_reader {
    uint16_t (*read)(void *context, uint16_t index); /* returns a value up to largest */
    void *context;
    uint16_t count;         /* 1 .. n */
    uint32_t plain_modulus; /* t: 2 .. 2^16 - 1 */
    uint16_t largest;       /* 1 .. t - 1: no value is larger; declared, as in cm_bfv_values */
} cm_bfv_reader;

/*
 * Decryption is exact while the noise is below q / 2t, where q is the product of the data primes. So t must
 * satisfy 44 t <= q under the secret key, where fresh noise is at most 21, and 45 t 2^ceil(log2(n) / 2) <= q
 * under the public key, which allows for six standard deviations (CM_ERR_PLAIN_MODULUS). In sets with several
 * data primes every valid t does.
 */

/* Bytes of an encryptor's arena: integer constant expressions. n is the ring degree, width a cm_bfv_width. */
#define CM_BFV_MESSAGE_BYTES(n, width) ((size_t)(n) * ((width) == CM_BFV_16 ? 2u : 4u))
#define CM_BFV_SYMMETRIC_ARENA_BYTES(n, width, log2_tiles) \
    (CM_BFV_MESSAGE_BYTES(n, width) + CM_SYMMETRIC_WORK_BYTES(n, log2_tiles))
#define CM_BFV_ASYMMETRIC_ARENA_BYTES(n, width, log2_tiles) \
    (CM_BFV_MESSAGE_BYTES(n, width) + CM_ASYMMETRIC_WORK_BYTES(n, log2_tiles))
/* Under the secret key, in coefficient form, which takes whole polynomials. */
#define CM_BFV_COEFFICIENT_ARENA_BYTES(n, width) \
    (CM_BFV_SYMMETRIC_ARENA_BYTES(n, width, 0) + (CM_CONFIG_TRANSFORMED_SECRET ? CM_TILE_BYTES(n, 0) : 0u))
/* For cm_bfv_encrypt_read: the arena holds no message. */
#define CM_BFV_READ_ARENA_BYTES(n, log2_tiles) CM_SYMMETRIC_WORK_BYTES(n, log2_tiles)

/*
 * Encrypt integers; the plaintext polynomial m becomes round(q m / t) in the ciphertext. Under the secret
 * key, the public seed expands directly to residues in the ciphertext's domain.
 *
 * Errors before the first byte is emitted: CM_ERR_ARGUMENT, CM_ERR_ARENA if there is no room for the
 * message, CM_ERR_TOO_MANY, CM_ERR_PLAIN_MODULUS, CM_ERR_VALUE_RANGE, CM_ERR_RANDOM, CM_ERR_COUNTER,
 * CM_ERR_UNSUPPORTED (coefficient form with log2_tiles above 0). Errors at any time: CM_ERR_SINK and any
 * other status of the emitter, and CM_ERR_ARGUMENT for a public key that returns no polynomial. The
 * encryptor's arena is wiped in every case, and with it the values, if they are there.
 */
CM_MUST_CHECK cm_status cm_bfv_encrypt(const cm_encryptor *encryptor, const cm_bfv_values *values);

/*
 * The same for coefficients that are read on demand, under the secret key and in NTT form, without an
 * encryptor: for devices without RAM for the values. They are read once beforehand, to be checked
 * (CM_ERR_VALUE_RANGE if one is above largest), and once for each tile of each prime. Errors are also those
 * of cm_encryptor_init_symmetric, after which the arena is untouched.
 */
CM_MUST_CHECK cm_status cm_bfv_encrypt_read(const cm_secret_key *key, const cm_encryptor_setup *setup,
                                            const cm_bfv_reader *reader);

#ifdef __cplusplus
}
#endif
#endif
