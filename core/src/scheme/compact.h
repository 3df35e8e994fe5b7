/* SPDX-License-Identifier: Apache-2.0 */
/* The compact lane's arithmetic: a few coefficients of c0 (ciphermote/compact.h). */
#ifndef CM_SCHEME_COMPACT_H
#define CM_SCHEME_COMPACT_H

#include <stdint.h>

#include "ciphermote/compact_key.h"
#include "common/names.h"
#include "params/compact_only.h"
#include "random/sample.h"

CMI_HIDDEN_BEGIN

/* The keys in a cm_compact_key's material. */
#define CM_LANE_KEY 0
#define CM_NOISE_KEY 32
#define CM_RANDOM_KEY 64
#define CM_TAG_KEY 96

/* Residues that are multiplied at once and those that are read at once, and sums that share their trits. */
#if defined(__AVR__) && !defined(__AVR_HAVE_MUL__)
#define CM_COMPACT_BLOCK 4
#define CM_COMPACT_READ 4
#elif defined(__AVR__)
#define CM_COMPACT_BLOCK 8
#define CM_COMPACT_READ 8
#else
#define CM_COMPACT_BLOCK 16
#define CM_COMPACT_READ 64
#endif
#define CM_COMPACT_GROUP 16
/* So many coefficients take longer one by one than by transforms. */
#define CM_COMPACT_FROM_TRANSFORMS 48u
/* The trits of a group, from one on whose index is a multiple of 4, in whole fours. */
#define CM_COMPACT_TRITS ((3 + CM_COMPACT_READ + CM_COMPACT_GROUP - 1 + 3) / 4 * 4)

/* What a back-end takes for terms of its own (arch/api.h). */
#if defined(__AVR__) && !defined(__AVR_HAVE_MUL__)
#define CM_COMPACT_ROOM (CM_PRIME_BITS == 20 ? 30 : 38)
#else
#define CM_COMPACT_ROOM 108
#endif

/* What portable C takes for them: where a back-end always does, one residue's worth for the compiler. */
#if CM_AVR && (CM_PRIME_BITS == 20 || (CM_PRIME_BITS == 26 && !CM_AVR_MUL))
#define CM_COMPACT_BLOCKS 0
#else
#define CM_COMPACT_BLOCKS 1
#endif
typedef struct cmi_compact_block {
    uint32_t residues[CM_COMPACT_BLOCKS ? CM_COMPACT_READ : 1];
    int8_t trits[CM_COMPACT_BLOCKS ? CM_COMPACT_TRITS : 1];
} cmi_compact_block;

/* What it takes besides the coefficients; idle between calls. */
typedef struct cmi_compact_work {
    union {
        cmi_uniform uniform;
        cmi_stream stream;
    } of;
    union {
        cmi_compact_block block;
        uint8_t room[CM_COMPACT_ROOM];
        int8_t noise[CM_SAMPLE_BLOCK];
    } step;
} cmi_compact_work;

/*
 * Sums that begin as residues and take 2^(30 - bits) terms, each at most q in magnitude, to residues: once as
 * much is added to them, they are below (2^(31 - bits) + 1) q, which is below 2^31 + q.
 */
void cmi_compact_reduce(uint32_t *sums, uint16_t count, uint32_t q, unsigned bits);

/*
 * -a s + e at coefficients first .. first + count - 1, as residues [prime][count]. position: the window's
 * counter and random bytes. work_bytes: sizeof(cmi_compact_work) or more; with room for two polynomials, many
 * coefficients are computed by transforms. It is left with secrets.
 */
void cmi_compact_residues(const cm_compact_key *key, const uint32_t position[4], uint16_t first,
                          uint16_t count, uint32_t *residues, void *work, size_t work_bytes);

/*
 * What is sent of a coefficient: the residues at i of [prime][count], composed modulo Q, plus round(Q value /
 * t), without the low bits.
 */
uint64_t cmi_compact_coefficient(const cm_compact_set *set, const uint32_t *residues, uint16_t count,
                                 uint16_t i, uint16_t value);

CMI_HIDDEN_END

#endif
