/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CKKS on the device: encode a vector and encrypt it, one prime at a time, into an emitter (frame.h, seal.h).
 *
 * Nothing is allocated: the caller lends an arena whose size is a compile-time constant, and gets it back
 * wiped. No ciphertext is ever held: each residue polynomial is emitted as soon as it is computed.
 * Sources: CKKS (Cheon, Kim, Kim, Song 2017), full RNS (ePrint 2018/931); the encoder's fixed-point transform
 * and its exact rounding are specified in docs/encoding.md.
 */
#ifndef CIPHERMOTE_CKKS_H
#define CIPHERMOTE_CKKS_H

#include <stddef.h>
#include <stdint.h>

#include "ciphermote/config.h"
#include "ciphermote/encryptor.h"
#include "ciphermote/params.h"
#include "ciphermote/status.h"

#ifdef __cplusplus
extern "C" {
#endif

CM_REFUSE_PACKING(ckks);

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

/* Bytes of an encryptor's arena: integer constant expressions. n is the ring degree, slots a cm_slots,
   precision a cm_precision. */
#define CM_CKKS_MESSAGE_BYTES(n, slots, precision) \
    ((size_t)(n) / 2u * ((slots) == CM_SLOTS_COMPLEX ? 2u : 1u) * ((precision) == CM_FIXED_31 ? 4u : 8u))
#define CM_CKKS_SYMMETRIC_ARENA_BYTES(n, slots, precision, log2_tiles) \
    (CM_CKKS_MESSAGE_BYTES(n, slots, precision) + CM_SYMMETRIC_WORK_BYTES(n, log2_tiles))
#define CM_CKKS_ASYMMETRIC_ARENA_BYTES(n, slots, precision, log2_tiles) \
    (CM_CKKS_MESSAGE_BYTES(n, slots, precision) + CM_ASYMMETRIC_WORK_BYTES(n, log2_tiles))

/*
 * Encrypt a vector.
 *
 * Errors before the first byte is emitted: CM_ERR_ARGUMENT, CM_ERR_ARENA if there is no room for the
 * message, CM_ERR_SCALE, CM_ERR_TOO_MANY, CM_ERR_NOT_FINITE, CM_ERR_VALUE_RANGE, CM_ERR_RANDOM,
 * CM_ERR_COUNTER, CM_ERR_UNSUPPORTED (a precision or slots that the build leaves out). Errors at any time:
 * CM_ERR_SINK and any other status of the emitter, and CM_ERR_ARGUMENT for a public key that returns no
 * polynomial. The encryptor's arena is wiped in every case, and with it the values, if they are there.
 */
CM_MUST_CHECK cm_status cm_ckks_encrypt(const cm_encryptor *encryptor, const cm_ckks_values *values);

#ifdef __cplusplus
}
#endif
#endif
