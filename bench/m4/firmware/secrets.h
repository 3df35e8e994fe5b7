/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets for runs that differ in every secret and in nothing public. The public seed determines the uniform
 * sampler's rejections, which are public, so it has to stay the same while the noise changes. The linker
 * wraps cmi_seeds_draw (--wrap) for that: the derivation still takes place, from each run's own secrets, and
 * then the public seed is set.
 */
#ifndef SECRETS_H
#define SECRETS_H

#include "mark.h"
#include "workload.h"

#define RUNS 104u

/* Switch to this run's secrets: what ciphertexts and keys are derived from, and its own secret key. */
cm_status secrets_draw(uint32_t run);

/* The run's secret key, its seed, and its tag key. */
cm_secret_key secrets_key(void);
const uint8_t *secrets_key_seed(void);
const uint8_t *secrets_tag_key(void);

/* WORKLOAD_VALUES values: the first runs have the ends of the range; the others values of any sign and size,
   subnormal too. */
void secrets_values(uint8_t *out, uint32_t run);

/* WORKLOAD_N integers below WORKLOAD_T: the first runs have 0 and t - 1 everywhere. */
void secrets_integers(uint8_t *out, uint32_t run);

/* preparation and call: each returns a cm_status */
#define MEASURE(region, preparation, call) \
    do { \
        if ((preparation) != CM_OK) { \
            return 1; \
        } \
        MARK_BEGIN(region); \
        const cm_status status_of_call = (call); \
        MARK_END(region); \
        if (status_of_call != CM_OK) { \
            return 1; \
        } \
    } while (0)

#endif
