/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts a seed's expansion where a decryption needs it: each tile of component 1 comes before that of
 * component 0.
 */
#include "ciphermote/expander.h"

#include <string.h>

#include "common/bytes.h"
#include "random/sample.h"

_Static_assert(sizeof(cmi_uniform) <= CM_EXPANDER_STATE_BYTES,
               "CM_EXPANDER_STATE_BYTES has room for an expansion");

enum { NO_SEED, IN_SEED, EXPANDING }; /* cm_seed_expander.stage */

static cm_seed_expander *expander_of(cm_receiver *self)
{
    return (cm_seed_expander *)(void *)self;
}

static cmi_uniform *uniform_of(cm_seed_expander *expander)
{
    return (cmi_uniform *)(void *)expander->state;
}

static bool same_ciphertext(const cm_ciphertext_info *a, const cm_ciphertext_info *b)
{
    return a->params->id == b->params->id && a->scheme == b->scheme && a->ntt_form == b->ntt_form &&
           a->components == b->components && a->primes == b->primes && a->xof == b->xof &&
           a->key_id == b->key_id && a->counter == b->counter && a->scale_bits == b->scale_bits;
}

static cm_status begin_seed(cm_seed_expander *expander, const cm_ciphertext_info *info)
{
    if (expander->stage != NO_SEED) {
        return CM_ERR_FRAME_ORDER;
    }
    expander->info = *info;
    expander->stage = IN_SEED;
    return CM_OK;
}

/* Component 1's whole tile, as its own frame would deliver it. */
static cm_status send_expansion(cm_seed_expander *expander, const cm_ciphertext_info *info, unsigned prime,
                                unsigned tile)
{
    cm_receiver *next = expander->next;
    cmi_uniform *uniform = uniform_of(expander);
    cm_status status = next->begin(next, info, 1, prime, tile);
    if (status == CM_OK && tile == 0) {
        cmi_uniform_begin_prime(uniform, &info->params->primes[prime], prime);
    }
    const uint32_t points = (uint32_t)1 << (info->params->log2_n - info->log2_tiles);
    for (uint32_t i = 0; i < points && status == CM_OK; i += CM_SAMPLE_BLOCK) {
        uint32_t residues[CM_SAMPLE_BLOCK];
        cmi_uniform_read(uniform, residues);
        status = next->residues(next, residues, CM_SAMPLE_BLOCK);
    }
    return status == CM_OK ? next->end(next) : status;
}

static cm_status expander_begin(cm_receiver *self, const cm_ciphertext_info *info, unsigned component,
                                unsigned prime, unsigned tile)
{
    cm_seed_expander *expander = expander_of(self);
    cm_receiver *next = expander->next;
    if (info->xof == CM_XOF_NONE) {
        return next->begin(next, info, component, prime, tile);
    }
    if (component == 1) {
        return begin_seed(expander, info);
    }
    if (expander->stage != EXPANDING) {
        return CM_ERR_FRAME_ORDER;
    }
    if (!same_ciphertext(info, &expander->info)) {
        return CM_ERR_FRAME_FOREIGN;
    }
    cm_ciphertext_info expanded = *info;
    expanded.xof = CM_XOF_NONE;
    const cm_status status = send_expansion(expander, &expanded, prime, tile);
    return status == CM_OK ? next->begin(next, &expanded, component, prime, tile) : status;
}

static cm_status expander_residues(cm_receiver *self, const uint32_t *residues, uint32_t count)
{
    cm_seed_expander *expander = expander_of(self);
    if (expander->stage != IN_SEED) {
        return expander->next->residues(expander->next, residues, count);
    }
    if (count * 4u != cm_public_seed_bytes(expander->info.xof)) {
        return CM_ERR_ARGUMENT;
    }
    for (uint32_t i = 0; i < count; i++) {
        cmi_store32(expander->info.seed + 4u * i, residues[i]);
    }
    return CM_OK;
}

/* A seed is used once its frame is known to be undamaged. */
static cm_status expander_end(cm_receiver *self)
{
    cm_seed_expander *expander = expander_of(self);
    if (expander->stage != IN_SEED) {
        return expander->next->end(expander->next);
    }
    const cm_ciphertext_info *info = &expander->info;
    cmi_uniform_init(uniform_of(expander), info->xof, info->seed, info->params->log2_n, info->primes);
    expander->stage = EXPANDING;
    return CM_OK;
}

static void expander_fail(cm_receiver *self, cm_status status)
{
    cm_receiver *next = expander_of(self)->next;
    next->fail(next, status);
}

void cm_seed_expander_init(cm_seed_expander *expander)
{
    memset(expander, 0, sizeof *expander);
    expander->begin = cm_seed_expander_begin;
    expander->self = expander;
}

cm_receiver *cm_seed_expander_begin(cm_seed_expander *expander, cm_receiver *next)
{
    cm_seed_expander_init(expander);
    if (next && next->begin) { /* else a frame reader refuses the receiver */
        expander->receiver = (cm_receiver){expander_begin, expander_residues, expander_end, expander_fail};
        expander->next = next;
    }
    return &expander->receiver;
}
