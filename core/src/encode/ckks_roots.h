/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The encoder's roots, correctly rounded: by symmetry, sines of the first quadrant give the roots for every
 * ring degree. They are public, and never indexed by data.
 *
 * In a table (CM_CONFIG_ENCODER_ROOTS_FLASH), entry i is round(sin(pi i / 2^CM_CONFIG_MAX_LOG2_N) * 2^31), or
 * * 2^63, for i = 0 .. 2^(CM_CONFIG_MAX_LOG2_N - 1): the last one is exactly 2^31, or 2^63. Written by
 * tools/generate_tables.py.
 */
#ifndef CM_ENCODE_CKKS_ROOTS_H
#define CM_ENCODE_CKKS_ROOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "ciphermote/config.h"
#include "common/names.h"

CMI_HIDDEN_BEGIN

/* pi/2 in the unit of angles, pi / 2^CM_CONFIG_MAX_LOG2_N. */
#define CM_QUARTER_TURN ((uint32_t)1 << (CM_CONFIG_MAX_LOG2_N - 1))

#if CM_CONFIG_ENCODER_ROOTS == CM_CONFIG_ENCODER_ROOTS_FLASH

#define CM_ROOTS ((1u << (CM_CONFIG_MAX_LOG2_N - 1)) + 1u)

#if CM_CONFIG_PRECISION_31
extern const uint32_t cmi_sine_31[CM_ROOTS];
#endif
#if CM_CONFIG_PRECISION_63
extern const uint64_t cmi_sine_63[CM_ROOTS];
#endif

#else

/* cos(pi angle / 2^CM_CONFIG_MAX_LOG2_N) and the sine, as in the table, for angles between 0 and pi/2. */
#if CM_CONFIG_PRECISION_31
void cmi_computed_root_31(uint32_t angle, int32_t *cosine, int32_t *sine);
#endif
#if CM_CONFIG_PRECISION_63
void cmi_computed_root_63(uint32_t angle, int64_t *cosine, int64_t *sine);
#endif

/*
 * The tables they are computed from: sines of the multiples of pi/64 up to pi/2, sines and cosines of the
 * multiples of pi / 2^CM_CONFIG_MAX_LOG2_N up to pi/128; times 2^62, and at 63 bits the remainder times 2^94.
 * These are generated too.
 */
#define CM_COARSE_ROOTS 33u
#define CM_COARSE_STEP \
    ((uint32_t)1 << (CM_CONFIG_MAX_LOG2_N - 6)) /* in units of pi / 2^CM_CONFIG_MAX_LOG2_N */
#define CM_FINE_ROOTS ((1u << (CM_CONFIG_MAX_LOG2_N - 7)) + 1u)

extern const int64_t cmi_coarse_sine[CM_COARSE_ROOTS];
extern const int64_t cmi_fine_sine[CM_FINE_ROOTS];
extern const int64_t cmi_fine_cosine[CM_FINE_ROOTS];
#if CM_CONFIG_PRECISION_63
extern const int32_t cmi_coarse_sine_low[CM_COARSE_ROOTS];
extern const int32_t cmi_fine_sine_low[CM_FINE_ROOTS];
extern const int32_t cmi_fine_cosine_low[CM_FINE_ROOTS];
#endif

#endif

CMI_HIDDEN_END

#endif
