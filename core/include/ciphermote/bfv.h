/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BFV on the device: exact integers modulo t, encoded and encrypted one prime at a time into an emitter
 * (frame.h, seal.h).
 *
 * As for CKKS (ckks.h), nothing is allocated, and each residue polynomial leaves as soon as it is made.
 * Roundings are SEAL's own, so that SEAL adds, multiplies and decrypts these ciphertexts exactly
 * (docs/encoding.md). Sources: BFV (Fan, Vercauteren 2012/144); batching (Smart, Vercauteren 2011/133).
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
    CM_BFV_BATCH = 1,       /* n slots, added and multiplied each for itself; t is a prime and 1 mod 2n */
    CM_BFV_COEFFICIENTS = 2 /* the n coefficients themselves; any t */
} cm_bfv_encoding;

typedef enum cm_bfv_width {
    CM_BFV_16 = 16, /* t <= 2^16; 2 bytes a value in the arena */
    CM_BFV_32 = 32  /* any t; 4 bytes a value in the arena */
} cm_bfv_width;

/*
 * What a ciphertext's residues are. NTT form: SEAL adds it as it is, and transform_from_ntt readies it for
 * all else. Coefficient form is SEAL's own for BFV; it takes an inverse transform more, and an encryptor of
 * whole polynomials.
 */
typedef enum cm_domain { CM_DOMAIN_NTT = 0, CM_DOMAIN_COEFFICIENTS = 1 } cm_domain;

/*
 * The values to encode, of which batching has two rows of n/2, as SEAL's BatchEncoder. Values from count on
 * are zero. Signed ones are above -t/2 and at most t/2, unsigned ones below t. data needs no alignment. It
 * may point at the arena's first byte, nowhere else in it, if a number has no more bits than width: then the
 * values are encoded where they lie.
 */
typedef struct cm_bfv_values {
    const void *data;
    uint32_t count;   /* 1 .. n */
    cm_number number; /* CM_INT16, CM_INT32, CM_UINT16 or CM_UINT32 */
    cm_bfv_encoding encoding;
    cm_bfv_width width;
    uint32_t plain_modulus; /* t: from 2 to below the smallest data prime */
    cm_domain domain;       /* of the ciphertext; NTT form if it is left out */
} cm_bfv_values;

/*
 * Coefficients that are read when they are needed, several times each and in no fixed order, so that a device
 * need not hold them: read is pure (the same index gives the same value as long as the encryption lasts) and
 * takes the same time for all values. Those from count on are zero.
 */
typedef struct cm_bfv_reader {
    uint16_t (*read)(void *context, uint16_t index); /* below t */
    void *context;
    uint16_t count;         /* 1 .. n */
    uint32_t plain_modulus; /* t: from 2 to 2^16 - 1 */
} cm_bfv_reader;

/*
 * Decryption is exact while noise is below q / 2t, q being the product of the data primes, so t has a limit
 * in sets of one prime: 44 t <= q under the secret key, whose noise is never above 21, and 45 t
 * 2^ceil(log2(n) / 2) <= q under the public key, which leaves room for six standard deviations.
 */

/* Bytes of an encryptor's arena; n is the ring degree, width a cm_bfv_width: integer constant expressions. */
#define CM_BFV_MESSAGE_BYTES(n, width) ((size_t)(n) * ((width) == CM_BFV_16 ? 2u : 4u))
#define CM_BFV_SYMMETRIC_ARENA_BYTES(n, width, log2_tiles) \
    (CM_BFV_MESSAGE_BYTES(n, width) + CM_SYMMETRIC_WORK_BYTES(n, log2_tiles))
#define CM_BFV_ASYMMETRIC_ARENA_BYTES(n, width, log2_tiles) \
    (CM_BFV_MESSAGE_BYTES(n, width) + CM_ASYMMETRIC_WORK_BYTES(n, log2_tiles))
/* Under the secret key into coefficient form, in whole polynomials. */
#define CM_BFV_COEFFICIENT_ARENA_BYTES(n, width) \
    (CM_BFV_SYMMETRIC_ARENA_BYTES(n, width, 0) + (CM_CONFIG_TRANSFORMED_SECRET ? CM_TILE_BYTES(n, 0) : 0u))
/* Under the secret key, values that are read: no message lies there. */
#define CM_BFV_READ_ARENA_BYTES(n, log2_tiles) CM_SYMMETRIC_WORK_BYTES(n, log2_tiles)

/*
 * Encrypt integers: m is round(q m / t) in a ciphertext. Under the secret key, the seed's expansion is in the
 * ciphertext's domain. Errors: CM_ERR_ARGUMENT (also a public key that has no polynomial to give, which may
 * come to light midway), CM_ERR_ARENA if there is no room for the message, CM_ERR_TOO_MANY,
 * CM_ERR_PLAIN_MODULUS, CM_ERR_VALUE_RANGE, CM_ERR_RANDOM, CM_ERR_COUNTER, CM_ERR_UNSUPPORTED (coefficient
 * form from tiles), CM_ERR_SINK and whatever else the emitter returns. All but these two come before the
 * first byte is emitted. The arena is wiped in every case, the values with it if they lie there.
 */
CM_MUST_CHECK cm_status cm_bfv_encrypt(const cm_encryptor *encryptor, const cm_bfv_values *values);

/*
 * The same for coefficients that are read, under the secret key and into NTT form, without an encryptor: for
 * devices that have no RAM for values. Values are read once for each tile, and once before to be checked;
 * CM_ERR_VALUE_RANGE if one is not below t. Errors are also those of cm_encryptor_init_symmetric, and leave
 * the arena alone.
 */
CM_MUST_CHECK cm_status cm_bfv_encrypt_read(const cm_secret_key *key, const cm_encryptor_setup *setup,
                                            const cm_bfv_reader *reader);

#ifdef __cplusplus
}
#endif
#endif
