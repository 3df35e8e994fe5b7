/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BFV encoding: integers modulo t become the coefficients of a polynomial, in place, which is then scaled by
 * q / t.
 *
 * No time here depends on a value; docs/encoding.md is the specification.
 */
#ifndef CM_ENCODE_BFV_H
#define CM_ENCODE_BFV_H

#include <stdbool.h>
#include <stdint.h>

#include "ciphermote/values.h"
#include "common/names.h"
#include "ring/ring.h"

CMI_HIDDEN_BEGIN

/*
 * A polynomial modulo t with n coefficients. As encoded: in 16 bits, signed and at most t/2 + 2 in magnitude;
 * in 32 bits, below t. As scaled: signed and at most t/2 in magnitude.
 */
typedef struct cmi_plain {
    void *data;
    uint32_t modulus; /* t */
    cm_bfv_width width;
    uint8_t log2_n;
} cmi_plain;

/*
 * What is refused before any value is looked at: CM_ERR_ARGUMENT, CM_ERR_TOO_MANY, CM_ERR_PLAIN_MODULUS.
 */
CM_MUST_CHECK cm_status cmi_plain_check(const cm_params *params, const cm_bfv_values *values);

/*
 * Encode values into plain->data, which may be where the values are stored. ring is workspace for the
 * transform modulo t, whose roots tables may hold; tables may be null.
 * The errors of cmi_plain_check before the polynomial is touched, or CM_ERR_PLAIN_MODULUS for a t without
 * slots; CM_ERR_VALUE_RANGE once it has been zeroed.
 */
CM_MUST_CHECK cm_status cmi_plain_encode(const cm_params *params, const cm_bfv_values *values,
                                         const cm_root_table *tables, cmi_plain *plain, cmi_ring *ring);

/* t must be below every data prime: modulo a prime that divides t, values would vanish. */
bool cmi_below_every_prime(uint32_t t, const cm_params *params);

/*
 * Whether q holds twice t times the largest noise: see ciphermote/bfv.h. Two primes always suffice: t must be
 * below the one, and the noise is below 2n, and so below the other.
 */
static inline bool cmi_leaves_room(const cm_params *params, uint32_t t, bool public_key)
{
    const uint32_t noise = public_key ? (uint32_t)45 << (params->log2_n + 1u) / 2u : 44u;
    uint64_t q = params->primes[0].q;
    if (params->data_primes > 1) {
        q *= params->primes[1].q;
    }
    return (uint64_t)noise * t <= q;
}

/*
 * Replace m by the remainder w = q m - t round(q m / t), where halves are rounded up and q is the product of
 * the data primes. Modulo each of them, round(q m / t) is then -w / t.
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

/* The constants that take m to the remainder w. */
typedef struct cmi_plain_scaling {
    uint32_t t;
    uint32_t factor;   /* q mod t */
    uint32_t quotient; /* 2^32 factor / t, rounded down */
    uint32_t half;     /* (t + 1) / 2 */
} cmi_plain_scaling;

void cmi_plain_scaling_init(cmi_plain_scaling *scaling, const cm_params *params, uint32_t t);

/* w + half, below t, from a number below 2t that is congruent to w modulo t. */
static inline uint32_t cmi_plain_shift(uint32_t left, const cmi_plain_scaling *scaling)
{
    const uint32_t t = scaling->t;
    return cmi_subtract_once(cmi_subtract_once(left, t) + scaling->half, t);
}

/* -1/t in Montgomery form. */
uint32_t cmi_plain_factor(uint32_t t, const cm_prime *prime);

/*
 * The same for values read through a callback: check them once (CM_ERR_ARGUMENT, CM_ERR_TOO_MANY,
 * CM_ERR_PLAIN_MODULUS or CM_ERR_VALUE_RANGE), then fold them into any ring or tile, with n coefficients of
 * noise unless noise is null.
 */
CM_MUST_CHECK cm_status cmi_bfv_reader_check(const cm_params *params, const cm_bfv_reader *reader);
void cmi_bfv_reader_scaling_init(cmi_read_scaling *scaling, const cm_params *params, uint32_t t);
void cmi_bfv_reader_fold(const cm_bfv_reader *reader, const cmi_read_scaling *scaling, const int8_t *noise,
                         const cmi_ring *ring, uint32_t *out);

/*
 * Batching in place: n slots in order become coefficients, both as encoded. ring is the whole ring modulo t.
 */
void cmi_bfv_batch(void *data, cm_bfv_width width, const cmi_ring *ring);

/*
 * The inverse, in place: n coefficients below t, of width from, become n slots below t, of width to, which is
 * no wider.
 */
void cmi_bfv_unbatch(void *data, cm_bfv_width from, cm_bfv_width to, const cmi_ring *ring);

CMI_HIDDEN_END

#endif
