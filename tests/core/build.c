/* SPDX-License-Identifier: Apache-2.0 */
#include "build.h"

#include <string.h>

bool build_has_set(const cm_params *params)
{
    return params->log2_n <= CM_CONFIG_MAX_LOG2_N;
}

unsigned build_sets(const cm_params *sets[CM_PARAMS_COUNT])
{
    unsigned count = 0;
    for (unsigned i = 0; i < CM_PARAMS_COUNT; i++) {
        if (build_has_set(cm_params_all[i])) {
            sets[count++] = cm_params_all[i];
        }
    }
    return count;
}

bool build_has_xof(cm_xof_kind xof)
{
    return xof == CM_XOF_NONE || xof == CM_XOF_CHACHA20 || CM_CONFIG_SEAL_XOFS;
}

bool build_has_slots(cm_slots slots)
{
    return slots == CM_SLOTS_REAL || CM_CONFIG_COMPLEX;
}

bool build_has_precision(cm_precision precision)
{
    return precision == CM_FIXED_31 ? CM_CONFIG_PRECISION_31 : CM_CONFIG_PRECISION_63;
}

size_t build_arena_bytes(unsigned log2_n, cm_xof_kind xof, cm_slots slots, cm_precision precision)
{
    const size_t n = (size_t)1 << log2_n;
    return xof == CM_XOF_NONE ? CM_CKKS_ASYMMETRIC_ARENA_BYTES(n, slots, precision, BUILD_LOG2_TILES)
                              : CM_CKKS_SYMMETRIC_ARENA_BYTES(n, slots, precision, BUILD_LOG2_TILES);
}

size_t build_bfv_arena_bytes(unsigned log2_n, cm_xof_kind xof, cm_bfv_width width, cm_domain domain)
{
    const size_t n = (size_t)1 << log2_n;
    const unsigned log2_tiles = domain == CM_DOMAIN_NTT ? BUILD_LOG2_TILES : 0;
    if (xof == CM_XOF_NONE) {
        return CM_BFV_ASYMMETRIC_ARENA_BYTES(n, width, log2_tiles);
    }
    return domain == CM_DOMAIN_NTT ? CM_BFV_SYMMETRIC_ARENA_BYTES(n, width, log2_tiles)
                                   : CM_BFV_COEFFICIENT_ARENA_BYTES(n, width);
}

float build_room(const cm_params *params, cm_precision precision, int log2_scale)
{
    double most = precision == CM_FIXED_31 ? 536870912.0 : 288230376151711744.0; /* 2^29, 2^58 */
    double quarter = 0.25;
    for (unsigned i = 0; i < params->data_primes; i++) {
        quarter *= (double)params->primes[i].q;
    }
    most = quarter < most ? quarter : most;
    for (; log2_scale > 0; log2_scale--) {
        most /= 2;
    }
    const float rounded = (float)most;
    uint32_t bits;
    memcpy(&bits, &rounded, sizeof bits);
    bits--; /* the float before */
    float before;
    memcpy(&before, &bits, sizeof before);
    return before;
}
