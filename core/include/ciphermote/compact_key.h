/* SPDX-License-Identifier: Apache-2.0 */
/* The compact lane (ciphermote/compact.h): its parameter sets, and what a device is provisioned with. */
#ifndef CIPHERMOTE_COMPACT_KEY_H
#define CIPHERMOTE_COMPACT_KEY_H

#include <stdint.h>

#include "ciphermote/config.h"
#include "ciphermote/params.h"

#ifdef __cplusplus
extern "C" {
#endif

CM_REFUSE_PACKING(compact_key);

/* A compact set: a ring, a plain modulus t, and how many low bits are dropped. Q is the product of the
   primes. On AVR in RAM, 30 bytes each; a program has those that it names. */
typedef struct cm_compact_set {
    const cm_prime *primes;
    uint32_t plain_modulus; /* t, above the largest sum */
    uint32_t whole;         /* floor(Q / t) */
    uint32_t part;          /* Q mod t */
    uint32_t quotient;      /* floor(2^32 part / t) */
    uint32_t radix;         /* two primes: 1 / q_0 modulo q_1, in Montgomery form */
    uint16_t largest_value; /* the most that a device may be provisioned for */
    uint8_t id;             /* on the wire */
    uint8_t log2_n;
    uint8_t prime_count;  /* 1 or 2 */
    uint8_t dropped_bits; /* d */
    uint8_t wire_bits;    /* of floor((Q - 1) / 2^d) */
} cm_compact_set;

/* 128-bit security by the 2024 guidelines; all but B and L also against quantum attackers. */
extern const cm_compact_set cm_compact_a10; /* n = 1024, 16 bits: one device's 4090, or ten devices' 409 */
extern const cm_compact_set cm_compact_a16; /* n = 1024, 17 bits: sixteen devices' 255 */
extern const cm_compact_set cm_compact_b;   /* n = 1024, 22 bits: 64 devices' 1023 */
extern const cm_compact_set cm_compact_c;   /* n = 2048, 30 bits: 1000 devices' 4095 */
extern const cm_compact_set cm_compact_d;   /* n = 2048, 35 bits: 10,000 devices' 4095 */
extern const cm_compact_set cm_compact_l;   /* n = 1024, 24 bits: weights of 8 on sixteen values of 255 */

/* The set with this id, or null. */
const cm_compact_set *cm_compact_set_by_id(uint8_t id);

#define CM_COMPACT_MATERIAL_BYTES 144

/*
 * What the owner provisions a device with. The arrays are used where they lie; on AVR, in flash (PROGMEM).
 * The material has four keys, which the owner derives from the device's secret: the lane key (32 bytes,
 * public), the noise key (32), the random key (32) and the tag key (48). docs/wire-format.md says how.
 */
typedef struct cm_compact_key {
    const cm_compact_set *set;
    const uint8_t *ternary;  /* the secret key, CM_TERNARY_BYTES(n) */
    const uint8_t *material; /* CM_COMPACT_MATERIAL_BYTES */
    uint32_t device;         /* names the device on the wire */
    uint16_t epoch;          /* of its keys: each enrolment has another */
    uint16_t largest_value;  /* larger ones are refused; at most the set's */
} cm_compact_key;

/* What the arithmetic takes of an arena, and what transforms take besides. */
#ifndef __AVR__
#define CM_COMPACT_WORKSPACE_BYTES 640u
#elif !CM_CONFIG_SMALL
#define CM_COMPACT_WORKSPACE_BYTES 352u
#elif defined(__AVR_HAVE_MUL__)
#define CM_COMPACT_WORKSPACE_BYTES 248u
#else
#define CM_COMPACT_WORKSPACE_BYTES (CM_PRIME_BITS == 20 ? 157u : CM_PRIME_BITS == 26 ? 163u : 168u)
#endif
#define CM_COMPACT_RING_BYTES (64u + 8u * CM_CONFIG_MAX_LOG2_N)

#ifdef __cplusplus
}
#endif
#endif
