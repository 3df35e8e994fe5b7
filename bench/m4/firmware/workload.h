/*
 * What every firmware of the bench encrypts: 2048 real binary32 values at n = 4096 with three data primes;
 * and the platform it runs on, whose random source and counter cost next to nothing. A test load: none of
 * it is random.
 */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include <stdint.h>

#include "ciphermote/ciphermote.h"

#define WORKLOAD_N 4096u
#define WORKLOAD_PARAMS cm_n4096_q26x3_p27
#define WORKLOAD_PRIMES 3u
#define WORKLOAD_VALUES (WORKLOAD_N / 2u)
#define WORKLOAD_LOG2_SCALE 25 /* values below 8, so |value * scale| < 2^28 */

/* Write WORKLOAD_VALUES values, |value| < 8 and of many magnitudes, to where no alignment is needed. */
void workload_values(uint8_t *out, uint32_t seed);

/* The values as an encoder wants them. */
cm_ckks_values workload_describe(const void *data);

/* A sink that copies what it gets to 64 bytes. */
#define WORKLOAD_SINK_BYTES 64u
typedef struct workload_sink {
    uint8_t bytes[WORKLOAD_SINK_BYTES];
    uint32_t received;
} workload_sink;
cm_sink workload_sink_open(workload_sink *sink);

/* A device on a platform whose counter lies in RAM. */
cm_status workload_device(cm_device *device);

/* From the generated keys.c: the secret key, also transformed, and the public key, [data prime][component][n]. */
extern const uint8_t workload_ternary[CM_TERNARY_BYTES(WORKLOAD_N)];
extern const uint32_t workload_transformed[WORKLOAD_PRIMES][WORKLOAD_N];
extern const uint32_t workload_public_key[WORKLOAD_PRIMES][2][WORKLOAD_N];
cm_public_key workload_public(void);

#endif
