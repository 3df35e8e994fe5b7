/* From coefficients modulo t to slots; encode/plain.h has the way there. */
#ifndef CM_ENCODE_UNBATCH_H
#define CM_ENCODE_UNBATCH_H

#include <stdint.h>

#include "ciphermote/bfv.h"
#include "ciphermote/ckks.h"
#include "ring/ring.h"

/*
 * n coefficients below t, as numbers of one width, become n slots below t of another, no wider, in place. ring is the whole one modulo t; scratch, aligned to 2 bytes,
 * holds CM_ENCODE_SCRATCH_BYTES(n).
 */
void cm_unbatch(void *data, cm_bfv_width from, cm_bfv_width to, const cm_ring *ring, uint8_t *scratch);

/* From the places of their roots of unity in the transform's order to slots of two rows: undoes cm_slots_permute_columns. */
void cm_slots_restore_columns(void *data, cm_bfv_width width, unsigned log2_n, uint16_t *scratch);

/* Undoes cm_slots_permute. */
void cm_slots_restore(uint32_t *data, unsigned words, unsigned log2_n, cm_slots slots, uint16_t *scratch);

#endif
