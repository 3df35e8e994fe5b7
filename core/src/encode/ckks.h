/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CKKS encoding in fixed point: a vector becomes the coefficients of a polynomial, in place.
 *
 * No time here depends on a value's magnitude or sign; the roundings are specified in docs/encoding.md, so
 * that every back-end gives the same bits.
 */
#ifndef CM_ENCODE_CKKS_H
#define CM_ENCODE_CKKS_H

#include <stdbool.h>
#include <stdint.h>

#include "ciphermote/values.h"
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
 * What is refused before any value is looked at: CM_ERR_ARGUMENT, CM_ERR_UNSUPPORTED, CM_ERR_SCALE,
 * CM_ERR_TOO_MANY.
 */
CM_MUST_CHECK cm_status cmi_ckks_check(const cm_params *params, const cm_ckks_values *values);

/*
 * The largest magnitude of a number as values has it: the bits of a binary32, or else an integer in units of
 * 2^exponent, at most 2^31. Values must have passed cmi_ckks_check.
 */
uint32_t cmi_ckks_largest(const cm_ckks_values *values);

/*
 * Whether a complex number is beyond the largest in absolute value, as encoding at 31 bits finds it: for
 * hardware that compares real and imaginary parts alone. Values must have passed cmi_ckks_check.
 */
bool cmi_ckks_beyond_circle(const cm_ckks_values *values);

/*
 * Encode values into message->data, which may be where the values are stored.
 * The errors of cmi_ckks_check before message is touched; CM_ERR_NOT_FINITE, CM_ERR_VALUE_RANGE once it has
 * been zeroed.
 */
CM_MUST_CHECK cm_status cmi_ckks_encode(const cm_params *params, const cm_ckks_values *values,
                                        cmi_ckks_message *message);

/*
 * Nonzero if any of the first count complex slots, with guard bits as the message's own, is beyond largest in
 * absolute value; neither part of one is more than sqrt(2) times as large. Without a branch on any.
 */
uint32_t cmi_ckks_any_beyond(const cmi_ckks_message *message, uint32_t count, uint64_t largest);

/* Conjugate the odd ones of the first count complex slots: there the transform has the conjugate. */
void cmi_ckks_conjugate_odd_slots(const cmi_ckks_message *message, uint32_t count);

/* m at one prime, folded into the ring or tile: n/T values below 4q, in coefficient order. */
void cmi_ckks_message_fold(const cmi_ckks_message *message, const cmi_ring *ring, uint32_t *out);

#if CM_CONFIG_STORE_NOISE
/*
 * Store CM_SAMPLE_BLOCK of n noise coefficients, those from start on, where the message needs them; kept
 * holds n bytes. start is a multiple of CM_SAMPLE_BLOCK.
 */
void cmi_ckks_message_keep_noise(const cmi_ckks_message *message, uint32_t start, const int8_t *block,
                                 int8_t *kept);

/* m + e for noise kept in this way: folded together, below 4q. */
void cmi_ckks_message_fold_noisy(const cmi_ckks_message *message, const int8_t *noise, const cmi_ring *ring,
                                 uint32_t *out);

/* The same, and transformed: lazy values. */
void cmi_ckks_message_transform_noisy(const cmi_ckks_message *message, const int8_t *noise,
                                      const cmi_ring *ring, uint32_t *out);
#endif

/* The output wanted of a decoding. */
typedef struct cmi_ckks_decoding {
    uint64_t scale;   /* binary64 bits, at least 1 */
    cm_number number; /* CM_FLOAT32, or CM_INT32 in units of 2^exponent */
    int32_t exponent;
    uint32_t largest; /* slots may be at most twice this in absolute value; 0: no limit */
} cmi_ckks_decoding;

/*
 * Decode the numbers that cmi_embed_31 or cmi_embed_63 takes into n/2 slots, divided by the scale, in place
 * from the start of data. CM_ERR_VALUE_RANGE if a slot exceeds the limit, or is too large for the precision
 * or the number type; data is then not wiped.
 */
CM_MUST_CHECK cm_status cmi_ckks_decode(const cmi_ckks_message *message, const cmi_ckks_decoding *wanted);

CMI_HIDDEN_END

#endif
