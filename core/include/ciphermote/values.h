/* SPDX-License-Identifier: Apache-2.0 */
/* The values that are encoded, and what they are encoded as: integers for BFV, numbers for CKKS. */
#ifndef CIPHERMOTE_VALUES_H
#define CIPHERMOTE_VALUES_H

#include <stddef.h>
#include <stdint.h>

#include "ciphermote/config.h"
#include "ciphermote/status.h"

#ifdef __cplusplus
extern "C" {
#endif

CM_REFUSE_PACKING(values);

/* The type of the caller's numbers. No type is 0, so that a forgotten one is refused. */
typedef enum cm_number {
    CM_FLOAT32 = 1, /* IEEE 754 binary32; CKKS only */
    CM_INT16 = 2,
    CM_INT32 = 3,
    CM_UINT16 = 4, /* BFV only */
    CM_UINT32 = 5, /* BFV only */
    CM_INT64 = 6   /* CKKS with CM_FIXED_63 only, below 2^62 in magnitude; not on AVR (CM_ERR_UNSUPPORTED) */
} cm_number;

/* ---- BFV ---- */

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

/* Bytes of an encoded message: an integer constant expression. n is the ring degree, width a cm_bfv_width. */
#define CM_BFV_MESSAGE_BYTES(n, width) ((size_t)(n) * ((width) == CM_BFV_16 ? 2u : 4u))

/* ---- CKKS ---- */

typedef enum cm_slots {
    CM_SLOTS_REAL = 1,   /* a slot is one number */
    CM_SLOTS_COMPLEX = 2 /* a slot is two numbers: real part, imaginary part */
} cm_slots;

typedef enum cm_precision {
    CM_FIXED_31 = 31, /* largest * scale < 2^29; 4 bytes per number in the arena */
    CM_FIXED_63 = 63  /* largest * scale < 2^58; 8 bytes per number in the arena */
} cm_precision;

/*
 * The vector to encode. Slots from index count on are zero. data needs no alignment. It may point at the
 * arena's first byte (and nowhere else in the arena): the values are then encoded in place.
 *
 * largest is declared, never computed from the values: it is public, and whoever adds ciphertexts up takes
 * the bound of the sum from it. A vector with a value beyond it is refused, in a time that depends on no
 * value. It is also what the scale must have room for: largest * scale is at most a quarter of the product of
 * the data primes (CM_ERR_SCALE).
 */
typedef struct cm_ckks_values {
    const void *data;
    uint32_t count;   /* slots in data: 1 .. n/2 */
    cm_number number; /* CM_FLOAT32, CM_INT16, CM_INT32 or CM_INT64; an integer i stands for i * 2^exponent */
    cm_slots slots;
    int16_t exponent;   /* for integers, -128 .. 127; floats ignore it, but it must be in range */
    int16_t log2_scale; /* the scale is 2^log2_scale; 1 .. 60, and at most the set's log2_q_data: SEAL
                           decodes no larger one */
    cm_precision precision;
    float largest; /* above 0 and finite: no |value| is larger, for instance CM_PROVISIONED_LARGEST. Of a
                      complex slot this is the absolute value, up to the precision's rounding */
} cm_ckks_values;

/* The same for CKKS: slots a cm_slots, precision a cm_precision. */
#define CM_CKKS_MESSAGE_BYTES(n, slots, precision) \
    ((size_t)(n) / 2u * ((slots) == CM_SLOTS_COMPLEX ? 2u : 1u) * ((precision) == CM_FIXED_31 ? 4u : 8u))

#ifdef __cplusplus
}
#endif
#endif
