/* SPDX-License-Identifier: Apache-2.0 */
/* What config.h leaves in the build: tests use this, and check that the rest is refused. */
#ifndef CM_TESTS_BUILD_H
#define CM_TESTS_BUILD_H

#include <stdbool.h>
#include <stddef.h>

#include "ciphermote/ciphermote.h"

/* A precision that the build has, where a test is not about precision. A constant. */
#define BUILD_PRECISION (CM_CONFIG_PRECISION_31 ? CM_FIXED_31 : CM_FIXED_63)

/* The tiles that tests encrypt in, log2; the vectors are tested with every number of tiles. */
#ifdef CM_TEST_LOG2_TILES
#define BUILD_LOG2_TILES CM_TEST_LOG2_TILES
#elif CM_CONFIG_ACCELERATOR
#define BUILD_LOG2_TILES 0
#else
#define BUILD_LOG2_TILES CM_LOG2_TILES
#endif

bool build_has_set(const cm_params *params);
/* The build's sets, in the order of cm_params_all, so that the last has the largest n; returns how many. */
unsigned build_sets(const cm_params *sets[CM_PARAMS_COUNT]);
bool build_has_xof(cm_xof_kind xof); /* CM_XOF_NONE: always */
bool build_has_slots(cm_slots slots);
bool build_has_precision(cm_precision precision);

/*
 * The arena that an encryption at n needs with these options: under a public key if xof is CM_XOF_NONE, else
 * under a secret key.
 */
size_t build_arena_bytes(unsigned log2_n, cm_xof_kind xof, cm_slots slots, cm_precision precision);
size_t build_bfv_arena_bytes(unsigned log2_n, cm_xof_kind xof, cm_bfv_width width, cm_domain domain);

/* The largest float that the scale leaves room for (cm_ckks_values.largest). */
float build_room(const cm_params *params, cm_precision precision, int log2_scale);

/* More than any build's arena takes: messages of 8n, eight tiles' worth, stored noise, whole products. */
#define BUILD_MOST_ARENA_BYTES(n) (27u * (size_t)(n) + CM_WORKSPACE_BYTES)

#endif
