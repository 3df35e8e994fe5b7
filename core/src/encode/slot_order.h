/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The permutation of the slots, as tables: written to slot_order.c by tools/generate_tables.py. Positions are
 * public: they depend on the ring degree alone.
 */
#ifndef CM_ENCODE_SLOT_ORDER_H
#define CM_ENCODE_SLOT_ORDER_H

#include <stdint.h>

#include "ciphermote/config.h"
#include "common/names.h"

CMI_HIDDEN_BEGIN

/*
 * For n = 2^10 .. 2^CM_CONFIG_MAX_LOG2_N, first for real, then for complex slots: the least slot of every
 * cycle longer than one, then 0 (slot 0 stays where it is).
 */
extern const uint16_t cmi_slot_cycles[];

#if CM_SLOT_ORDER_TABLE
/* Where slot j of 2^(CM_CONFIG_MAX_LOG2_N - 1) real ones goes. */
extern const uint16_t cmi_slot_positions[(uint32_t)1 << (CM_CONFIG_MAX_LOG2_N - 1)];
#endif

CMI_HIDDEN_END

#endif
