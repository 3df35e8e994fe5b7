/*
 * The encoder's table of roots: a quarter wave of the sine, correctly rounded. Twiddles of every size are read from
 * it by symmetry; it is public and never indexed by data.
 *
 * Entry i is round(sin(pi i / 2^CM_MAX_LOG2_N) * 2^31), or * 2^63, for i = 0 .. 2^(CM_MAX_LOG2_N - 1): the last
 * one is exactly 2^31, or 2^63. Written by tools/generate_tables.py.
 */
#ifndef CM_ENCODE_ROOTS_H
#define CM_ENCODE_ROOTS_H

#include <stdint.h>

#include "ciphermote/config.h"

#define CM_ROOTS ((1u << (CM_MAX_LOG2_N - 1)) + 1u)

#if CM_PRECISION_31
extern const uint32_t cm_sine_31[CM_ROOTS];
#endif
#if CM_PRECISION_63
extern const uint64_t cm_sine_63[CM_ROOTS];
#endif

#endif
