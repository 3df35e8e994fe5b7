/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Keccak permutation on a state in the form that suits it best: portable C keeps lanes as they are,
 * assembly for 32-bit machines bit-interleaves and rotates them. A sponge enters and leaves only the lanes of
 * its rate.
 */
#ifndef CM_RANDOM_KECCAK_H
#define CM_RANDOM_KECCAK_H

#include <stdint.h>

#include "arch/backends.h"
#include "common/names.h"

CMI_HIDDEN_BEGIN

/* Keccak-f[1600] on 25 entered lanes. 0 enters as 0. */
#if CM_ARMV7EM

static inline void cmi_keccak_permute(uint64_t state[25])
{
    cmi_armv7em_keccak_permute(state);
}

static inline uint64_t cmi_keccak_enter(uint64_t lane, unsigned index)
{
    return armv7em_keccak_enter(lane, index);
}

static inline uint64_t cmi_keccak_leave(uint64_t entered, unsigned index)
{
    return armv7em_keccak_leave(entered, index);
}

#else

void cmi_keccak_permute(uint64_t state[25]);

static inline uint64_t cmi_keccak_enter(uint64_t lane, unsigned index)
{
    (void)index;
    return lane;
}

static inline uint64_t cmi_keccak_leave(uint64_t entered, unsigned index)
{
    (void)index;
    return entered;
}

#endif

CMI_HIDDEN_END

#endif
