/* From coefficients modulo t to slots; encode/plain.h has the way there. */
#ifndef CM_ENCODE_UNBATCH_H
#define CM_ENCODE_UNBATCH_H

#include <stdint.h>

#include "ciphermote/bfv.h"
#include "ciphermote/ckks.h"
#include "ring/ring.h"

/* The names carry the options: objects that were compiled with others do not link (ciphermote/symbols.h). */
#define cm_unbatch CM_SYMBOL(cm_unbatch)
#define cm_slots_restore_columns CM_SYMBOL(cm_slots_restore_columns)
#define cm_slots_restore CM_SYMBOL(cm_slots_restore)

/*
 * n coefficients below t, as numbers of one width, become n slots below t of another, no wider, in place.
 * ring is the whole one modulo t.
 */
void cm_unbatch(void *data, cm_bfv_width from, cm_bfv_width to, const cm_ring *ring);

/* From the places of their roots of unity in the transform's order to slots of two rows: undoes cm_slots_permute_columns. */
void cm_slots_restore_columns(void *data, cm_bfv_width width, unsigned log2_n);

/* Undoes cm_slots_permute. */
void cm_slots_restore(uint32_t *data, unsigned words, unsigned log2_n, cm_slots slots);

#endif
