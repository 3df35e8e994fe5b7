/* SPDX-License-Identifier: Apache-2.0 */
/* The back-end for the hardware of rtl/: backends/accelerator.c. */
#ifndef CM_ARCH_ACCELERATOR_ARCH_H
#define CM_ARCH_ACCELERATOR_ARCH_H

#include "arch/api.h"

#if CM_CONFIG_ACCELERATOR && !defined(CM_ARCH_HEADER)

CMI_HIDDEN_BEGIN

int cmi_accelerator_ntt_forward(uint32_t *a, const cmi_ring *ring);
int cmi_accelerator_ntt_inverse(uint32_t *a, const cmi_ring *ring);
int cmi_accelerator_double_product(uint32_t *out0, uint32_t *out1, const uint8_t *u, const uint32_t *p0,
                                   const uint32_t *p1, const cmi_ring *ring);

CMI_HIDDEN_END

static const cmi_arch cmi_accelerator = {
    .ntt_forward = cmi_accelerator_ntt_forward,
    .ntt_inverse = cmi_accelerator_ntt_inverse,
    .double_product = cmi_accelerator_double_product,
};

#endif
#endif
