/* The ring's back-end for the hardware of rtl/: contracts in ring/arch/api.h. */
#ifndef CM_RING_ARCH_ACCELERATOR_ARCH_H
#define CM_RING_ARCH_ACCELERATOR_ARCH_H

#include "ring/ring.h"

int cm_accelerator_ntt_forward(uint32_t *a, const cm_ring *ring);
int cm_accelerator_ntt_inverse(uint32_t *a, const cm_ring *ring);
int cm_accelerator_double_product(uint32_t *out0, uint32_t *out1, const uint8_t *u, const uint32_t *p0,
                                  const uint32_t *p1, const cm_ring *ring);

#endif
