/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CKKS's arithmetic in fixed point, at two precisions: ckks_fixed31.c and ckks_fixed63.c compile
 * ckks_transform.h, ckks_embed.h and ckks_fold.h for each.
 */
#ifndef CM_ENCODE_CKKS_FIXED_H
#define CM_ENCODE_CKKS_FIXED_H

#include <stdbool.h>
#include <stdint.h>

#include "ciphermote/values.h"
#include "common/names.h"
#include "ring/ring.h"

CMI_HIDDEN_BEGIN

/* The guard bits below the binary point of an input to the transform. */
#define CM_GUARD_BITS_31 1
#define CM_GUARD_BITS_63 3

/*
 * The inverse of the canonical embedding. Input: n/2 real or complex numbers with guard bits, permuted by
 * cmi_slots_permute. Output: the rounded coefficients, guard bits gone.
 */
void cmi_transform_31(int32_t *data, unsigned log2_n, cm_slots slots);
void cmi_transform_63(int64_t *data, unsigned log2_n, cm_slots slots);

/*
 * The canonical embedding, which undoes it. Input: coefficients with guard bits, each below 2^27 or 2^57 in
 * magnitude, in the transform's order (real slots: m[k] - m[n-k] for m[k]). Output: n/2 real or complex
 * numbers with guard bits, as cmi_slots_permute left them. False if a number may have been too large at some
 * level: 2^28 or 2^60 and above.
 */
bool cmi_embed_31(int32_t *data, unsigned log2_n, cm_slots slots);
bool cmi_embed_63(int64_t *data, unsigned log2_n, cm_slots slots);

void cmi_fold_31(const int32_t *data, cm_slots slots, const cmi_ring *ring, uint32_t *out);
void cmi_fold_63(const int64_t *data, cm_slots slots, const cmi_ring *ring, uint32_t *out);

#if CM_CONFIG_STORE_NOISE
void cmi_fold_noisy_31(const int32_t *data, const int8_t *noise, cm_slots slots, const cmi_ring *ring,
                       uint32_t *out);
void cmi_fold_noisy_63(const int64_t *data, const int8_t *noise, cm_slots slots, const cmi_ring *ring,
                       uint32_t *out);
#endif

CMI_HIDDEN_END

#endif
