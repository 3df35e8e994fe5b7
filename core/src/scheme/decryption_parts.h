/* SPDX-License-Identifier: Apache-2.0 */
/* What the decryption of either scheme is made of: the arena's parts, and the steps that both take. */
#ifndef CM_SCHEME_DECRYPTION_PARTS_H
#define CM_SCHEME_DECRYPTION_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ciphermote/decryption.h"
#include "common/names.h"
#include "common/wipe.h"
#include "ring/ring.h"
#include "scheme/decryption.h"

/* What a decryption needs besides numbers, after them in the arena. */
typedef struct cmi_decryption_workspace {
    uint32_t first; /* what the arena's first words amount to, xor the mark: no match if all are wiped */
    cmi_ring ring;
    cm_prime plain; /* BFV, batching: t */
    uint32_t mark;
} cmi_decryption_workspace;

_Static_assert(sizeof(cmi_decryption_workspace) <= CM_DECRYPT_WORKSPACE_BYTES,
               "CM_DECRYPT_WORKSPACE_BYTES has room for the workspace");

/* The arena's parts. */
typedef struct cmi_decryption_layout {
    uint8_t *sums;
    uint32_t *tile;
    cmi_decryption_workspace *work;
} cmi_decryption_layout;

static inline size_t cmi_decryption_degree(const cm_decryption *decryption)
{
    return (size_t)1 << decryption->key->params->log2_n;
}

static inline cm_precision cmi_decryption_precision(const cm_decryption *decryption)
{
    return (cm_precision)decryption->precision;
}

static inline cm_slots cmi_decryption_slots(const cm_decryption *decryption)
{
    return (cm_slots)decryption->slots;
}

/* At how many primes a ciphertext is decrypted: for BFV at all, for CKKS at as many as the sums hold. */
static inline unsigned cmi_decryption_primes_used(const cm_decryption *decryption, unsigned primes)
{
    const unsigned most = decryption->precision == CM_FIXED_31 ? 1u : 2u;
    return decryption->scheme == CM_CKKS && primes > most ? most : primes;
}

/* A decryption that measures noise has this in place of the bits of its sums. */
enum { CM_SUMS_OF_NOISE = 1 };

static inline bool cmi_decryption_is_of_noise(const cm_decryption *decryption)
{
    return decryption->scheme == CM_BFV && decryption->sum_bits == CM_SUMS_OF_NOISE;
}

static inline uint32_t cmi_decryption_tile_points(const cm_decryption *decryption)
{
    return (uint32_t)(cmi_decryption_degree(decryption) >> decryption->log2_tiles);
}

static inline cmi_decryption_layout cmi_decryption_parts(const cm_decryption *decryption)
{
    uint32_t *const end = decryption->tile + cmi_decryption_tile_points(decryption);
    return (cmi_decryption_layout){decryption->arena, decryption->tile,
                                   (cmi_decryption_workspace *)(void *)end};
}

CMI_HIDDEN_BEGIN

/* The first step of begin: forgets what was expected. Whatever fails in begin, the decryption then accepts
   nothing. */
CM_MUST_CHECK cm_status cmi_decryption_start(cm_decryption *decryption, cm_scheme scheme,
                                             unsigned log2_tiles);
/* Finds a place for the parts, whose sizes the scheme's fields tell. */
CM_MUST_CHECK cm_status cmi_decryption_divide_arena(cm_decryption *decryption);
/* The first fault, or that frames are missing. In either case, nothing is left in the arena. */
CM_MUST_CHECK cm_status cmi_decryption_complete(cm_decryption *decryption);

CMI_HIDDEN_END

/* The last step of begin: from here on the arena is ours, or every frame is refused with the status that says
   why not. Returns that status. */
static inline cm_status cmi_decryption_take_arena(cm_decryption *decryption, cm_status status)
{
    decryption->status = status;
    if (status == CM_OK) {
        cmi_decryption_restore(decryption);
    }
    return status;
}

/* Only the values remain, and a decryption returns them once. */
static inline cm_status cmi_decryption_leave_values(cm_decryption *decryption, size_t values_bytes)
{
    cmi_wipe(decryption->arena + values_bytes, decryption->arena_bytes - values_bytes);
    cmi_wipe_stack();
    decryption->status = CM_ERR_ARGUMENT;
    return CM_OK;
}

/* The same after a back-end, whose sums and tile were: the workspace goes with the decryption. */
static inline cm_status cmi_decryption_leave_given(cm_decryption *decryption, uint64_t counter)
{
    uint8_t *const work = (uint8_t *)cmi_decryption_parts(decryption).work;
    cmi_wipe(work, (size_t)(decryption->arena + decryption->arena_bytes - work));
    decryption->counter = counter;
    decryption->status = CM_ERR_ARGUMENT;
    return CM_OK;
}

#endif
