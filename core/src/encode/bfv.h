/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BFV encoding: integers modulo t become the coefficients of a polynomial, in place, and that is scaled to q
 * / t.
 *
 * Nothing here depends on a value in time; docs/encoding.md has the specification.
 */
#ifndef CM_ENCODE_BFV_H
#define CM_ENCODE_BFV_H

#include <stdint.h>

#include "ciphermote/bfv.h"
#include "common/names.h"
#include "ring/ring.h"

CMI_HIDDEN_BEGIN

/*
 * A polynomial modulo t, n coefficients. As encoded: in 16 bits, signed and at most t/2 + 2 in magnitude; in
 * 32 bits, below t. As scaled: signed and at most t/2 in magnitude.
 */
typedef struct cmi_plain {
    void *data;
    uint32_t modulus; /* t */
    cm_bfv_width width;
    uint8_t log2_n;
} cmi_plain;

/*
 * Encode values into plain->data, which may be where the values lie. ring is for the transform modulo t, of
 * whose roots tables may have some; tables may be null.
 * CM_ERR_ARGUMENT, CM_ERR_UNSUPPORTED, CM_ERR_TOO_MANY, CM_ERR_PLAIN_MODULUS,
 * CM_ERR_VALUE_RANGE; the polynomial is zeroed then.
 */
CM_MUST_CHECK cm_status cmi_plain_encode(const cm_params *params, const cm_bfv_values *values,
                                         const cm_root_table *tables, cmi_plain *plain, cmi_ring *ring);

/* t must be below every data prime: modulo one that it is a multiple of, values would vanish. */
bool cmi_below_every_prime(uint32_t t, const cm_params *params);

/*
 * From m to what is left over when q m is divided by t and rounded, halves up: w = q m - t round(q m / t), q
 * being the product of the data primes. Modulo each of them, round(q m / t) is then -w / t.
 */
void cmi_plain_scale(const cm_params *params, cmi_plain *plain);

/*
 * round(q m / t) of a scaled polynomial, folded into the ring or tile: n/T values below 2q, in coefficient
 * order.
 */
void cmi_plain_fold(const cmi_plain *plain, const cmi_ring *ring, uint32_t *out);

#if CM_CONFIG_STORE_NOISE
/* The same plus n coefficients of noise. */
void cmi_plain_fold_noisy(const cmi_plain *plain, const int8_t *noise, const cmi_ring *ring, uint32_t *out);
#endif

/* What takes m to the left-over w. */
typedef struct cmi_plain_scaling {
    uint32_t t;
    uint32_t factor;   /* q mod t */
    uint32_t quotient; /* 2^32 factor / t, rounded down */
    uint32_t half;     /* (t + 1) / 2 */
} cmi_plain_scaling;

void cmi_plain_scaling_init(cmi_plain_scaling *scaling, const cm_params *params, uint32_t t);

/* w + half, below t, for a number below 2t that is w modulo t. */
static inline uint32_t cmi_plain_shift(uint32_t left, const cmi_plain_scaling *scaling)
{
    const uint32_t t = scaling->t;
    return cmi_subtract_once(cmi_subtract_once(left, t) + scaling->half, t);
}

/* -1/t in Montgomery form. */
uint32_t cmi_plain_factor(uint32_t t, const cm_prime *prime);

/*
 * The same of values that are read: check them once, CM_ERR_ARGUMENT, CM_ERR_TOO_MANY, CM_ERR_PLAIN_MODULUS
 * or CM_ERR_VALUE_RANGE; then fold them into any ring or tile, with n coefficients of noise unless
 * that is null.
 */
CM_MUST_CHECK cm_status cmi_bfv_reader_check(const cm_params *params, const cm_bfv_reader *reader);
void cmi_bfv_reader_scaling_init(cmi_read_scaling *scaling, const cm_params *params, uint32_t t);
void cmi_bfv_reader_fold(const cm_bfv_reader *reader, const cmi_read_scaling *scaling, const int8_t *noise,
                         const cmi_ring *ring, uint32_t *out);

/*
 * Batching in place: n slots in their order become coefficients, both as encoded. ring is the whole one
 * modulo t.
 */
void cmi_bfv_batch(void *data, cm_bfv_width width, const cmi_ring *ring);

/*
 * The way back: n coefficients below t, as numbers of one width, become n slots below t of another, no wider,
 * in place.
 */
void cmi_bfv_unbatch(void *data, cm_bfv_width from, cm_bfv_width to, const cmi_ring *ring);

CMI_HIDDEN_END

#endif
