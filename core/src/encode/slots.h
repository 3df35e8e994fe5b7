/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of the slots: SEAL puts slot j at zeta^(3^j), the transforms need them in the order of the
 * exponents. Both schemes' encoders build on this; it knows neither of them.
 */
#ifndef CM_ENCODE_SLOTS_H
#define CM_ENCODE_SLOTS_H

#include <stdint.h>

#include "ciphermote/values.h"
#include "common/names.h"

CMI_HIDDEN_BEGIN

/*
 * CKKS: move slot j to where the transform expects it, in place, and back; a slot has `words` words of 4
 * bytes: 1, 2 or 4.
 */
void cmi_slots_permute(uint32_t *data, unsigned words, unsigned log2_n, cm_slots slots);
void cmi_slots_restore(uint32_t *data, unsigned words, unsigned log2_n, cm_slots slots);

/*
 * BFV: move the slots of two rows to the places of their roots of unity in the transform's order, in place,
 * and back.
 */
void cmi_slots_permute_columns(void *data, cm_bfv_width width, unsigned log2_n);
void cmi_slots_restore_columns(void *data, cm_bfv_width width, unsigned log2_n);

CMI_HIDDEN_END

#endif
