/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every firmware of the bench encrypts, n/2 real binary32 values or n integers, and decrypts; with all
 * data primes of a set, except that CKKS decryption uses the first alone. And the platform that this runs on,
 * whose random source and counter cost next to nothing. This is a test load: none of it is random. By default
 * n = 4096, with ChaCha20 and at 31 bits.
 */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include <stdint.h>

#include "ciphermote/ciphermote.h"

#ifndef WORKLOAD_LOG2_N
#define WORKLOAD_LOG2_N 12
#endif
#if WORKLOAD_LOG2_N == 12
#define WORKLOAD_PARAMS cm_n4096_q26x3_p27
#define WORKLOAD_PRIMES 3u
#elif WORKLOAD_LOG2_N == 13
#define WORKLOAD_PARAMS cm_n8192_q26x7_p27
#define WORKLOAD_PRIMES 7u
#elif WORKLOAD_LOG2_N == 14
#define WORKLOAD_PARAMS cm_n16384_q26x15_p27
#define WORKLOAD_PRIMES 15u
#else
#error "WORKLOAD_LOG2_N is 12, 13 or 14: the bench has keys for no other degree."
#endif
/* The encryptor's. */
#ifndef WORKLOAD_LOG2_TILES
#define WORKLOAD_LOG2_TILES CM_LOG2_TILES
#endif
#ifndef WORKLOAD_XOF
#define WORKLOAD_XOF CM_XOF_CHACHA20
#endif
#ifndef WORKLOAD_PRECISION
#define WORKLOAD_PRECISION CM_FIXED_31
#endif
/* Decryption: in how many tiles ciphertexts come, how much at a time, and the bits of a coefficient's sum
   (cm_bfv_sums). */
#ifndef WORKLOAD_LOG2_FRAME_TILES
#define WORKLOAD_LOG2_FRAME_TILES 0
#endif
#ifndef WORKLOAD_PIECE_BYTES
#define WORKLOAD_PIECE_BYTES 1024u
#endif
#ifndef WORKLOAD_SUMS
#define WORKLOAD_SUMS CM_BFV_SUMS_32
#endif
#define WORKLOAD_N (1u << WORKLOAD_LOG2_N)
#define WORKLOAD_VALUES (WORKLOAD_N / 2u)
#define WORKLOAD_LARGEST 8     /* no |value| reaches it */
#define WORKLOAD_LOG2_SCALE 25 /* WORKLOAD_LARGEST times the scale is 2^28 */

/* Write WORKLOAD_VALUES values, |value| < 8 and of many magnitudes, to where no alignment is needed. */
void workload_values(uint8_t *out, uint32_t seed);

/* The values as an encoder takes them. */
cm_ckks_values workload_describe(const void *data);

/* The same of WORKLOAD_N unsigned integers of 16 bits, below WORKLOAD_T, a prime for batching. */
#define WORKLOAD_T 40961u
void workload_integers(uint8_t *out, uint32_t seed);
cm_bfv_values workload_describe_integers(const void *data);

/* A sink that copies what it gets to 64 bytes. */
#define WORKLOAD_SINK_BYTES 64u
typedef struct __attribute__((may_alias)) workload_piece {
    uint32_t words[WORKLOAD_SINK_BYTES / 4u];
} workload_piece;
typedef struct workload_sink {
    workload_piece piece;
    uint32_t received;
} workload_sink;
cm_sink workload_sink_open(workload_sink *sink);

/* Its counter is in RAM. There is only one. */
cm_platform workload_platform(void);

/* A device on that platform. */
cm_status workload_device(cm_device *device);

/* For frames with tags. */
#define WORKLOAD_DEVICE 77u
#define WORKLOAD_EPOCH 3u
extern const uint8_t workload_tag_key[CM_TAG_KEY_BYTES];

/* From the generated keys.c: the secret key, also transformed, and the public key, [data
   prime][component][n]. */
#define WORKLOAD_KEY_ID 0x62656E6368u
extern const uint8_t workload_ternary[CM_TERNARY_BYTES(WORKLOAD_N)];
extern const uint32_t workload_transformed[WORKLOAD_PRIMES][WORKLOAD_N];
extern const uint32_t workload_public_key[WORKLOAD_PRIMES][2][WORKLOAD_N];
#if CM_CONFIG_NTT_ROOTS
extern const cm_root_table *const workload_roots;
#else
#define workload_roots NULL
#endif
cm_secret_key workload_secret(void);
cm_public_key workload_public(void);

/* From the generated frames.c: ciphertexts under that key, as a decryption takes them. */
extern const uint8_t workload_bfv_frames[];
extern const uint32_t workload_bfv_frames_bytes;
extern const uint8_t workload_ckks_frames[];
extern const uint32_t workload_ckks_frames_bytes;

#endif
