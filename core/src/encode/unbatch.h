/* SPDX-License-Identifier: Apache-2.0 */
/* From coefficients modulo t to slots; encode/plain.h has the way there. */
#ifndef CM_ENCODE_UNBATCH_H
#define CM_ENCODE_UNBATCH_H

#include <stdint.h>

#include "ciphermote/bfv.h"
#include "ciphermote/ckks.h"
#include "common/names.h"
#include "ring/ring.h"

CMI_HIDDEN_BEGIN

/*
 * n coefficients below t, as numbers of one width, become n slots below t of another, no wider, in place.
 * ring is the whole one modulo t.
 */
void cmi_unbatch(void *data, cm_bfv_width from, cm_bfv_width to, const cmi_ring *ring);

/* From the places of their roots of unity in the transform's order to slots of two rows: undoes
   cmi_slots_permute_columns. */
void cmi_slots_restore_columns(void *data, cm_bfv_width width, unsigned log2_n);

/* Undoes cmi_slots_permute. */
void cmi_slots_restore(uint32_t *data, unsigned words, unsigned log2_n, cm_slots slots);

CMI_HIDDEN_END

#endif
