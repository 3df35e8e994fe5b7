/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CKKS encoding in fixed point: a vector becomes the coefficients of a polynomial, in place.
 *
 * Nothing here depends on a value's magnitude or sign in time; the roundings are specified in
 * docs/encoding.md, so that every back-end gives the same bits.
 */
#ifndef CM_ENCODE_CKKS_H
#define CM_ENCODE_CKKS_H

#include <stdint.h>

#include "ciphermote/ckks.h"
#include "common/names.h"
#include "ring/ring.h"

CMI_HIDDEN_BEGIN

/* The encoded polynomial m, in the transform's own order (real: half of an antisymmetric polynomial). */
typedef struct cmi_ckks_message {
    void *data; /* int32_t or int64_t, CM_CKKS_MESSAGE_BYTES */
    uint8_t log2_n;
    cm_slots slots;
    cm_precision precision;
} cmi_ckks_message;

/*
 * Encode values into message->data, which may be where the values lie.
 * CM_ERR_ARGUMENT, CM_ERR_UNSUPPORTED, CM_ERR_TOO_MANY before message is touched; CM_ERR_NOT_FINITE,
 * CM_ERR_VALUE_RANGE when message is zeroed.
 */
CM_MUST_CHECK cm_status cmi_ckks_encode(const cm_params *params, const cm_ckks_values *values,
                                        cmi_ckks_message *message);

/* Of the first count complex slots, the odd ones: where the transform has the conjugate. */
void cmi_ckks_conjugate_odd_slots(const cmi_ckks_message *message, uint32_t count);

/* m at one prime, folded into the ring or tile: n/T values below 4q, in coefficient order. */
void cmi_ckks_message_fold(const cmi_ckks_message *message, const cmi_ring *ring, uint32_t *out);

#if CM_CONFIG_STORE_NOISE
/*
 * Of n coefficients of noise, those from start on, CM_SAMPLE_BLOCK of them, to where the message wants them:
 * kept holds n bytes. start is a multiple of CM_SAMPLE_BLOCK.
 */
void cmi_ckks_message_keep_noise(const cmi_ckks_message *message, uint32_t start, const int8_t *block,
                                 int8_t *kept);

/* m + e, for noise so kept: folded together, below 4q. */
void cmi_ckks_message_fold_noisy(const cmi_ckks_message *message, const int8_t *noise, const cmi_ring *ring,
                                 uint32_t *out);
#endif

/* What comes out of a decoding. */
typedef struct cmi_ckks_decoding {
    uint64_t scale;   /* binary64 bits, at least 1 */
    cm_number number; /* CM_FLOAT32, or CM_INT32 in units of 2^exponent */
    int32_t exponent;
    uint32_t largest; /* each number is at most twice this in magnitude; 0: any is */
} cmi_ckks_decoding;

/*
 * From the numbers that cmi_embed_31 or cmi_embed_63 takes to n/2 slots, divided by the scale, in place at
 * the start of data. CM_ERR_VALUE_RANGE if a slot is larger than wanted, or too large for the precision or
 * the number; data is not wiped then.
 */
CM_MUST_CHECK cm_status cmi_ckks_decode(const cmi_ckks_message *message, const cmi_ckks_decoding *wanted);

CMI_HIDDEN_END

#endif
