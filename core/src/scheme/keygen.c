/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Key generation on the device, in one tile: the product of the secret's tile and the public part is
 * transformed back, the folded noise is added, and the sum is transformed again before it leaves.
 */
#include "ciphermote/keygen.h"

#include <string.h>

#include "arch/backends.h"
#include "common/bytes.h"
#include "common/compiler.h"
#include "common/declassify.h"
#include "common/wipe.h"
#include "random/sample.h"
#include "scheme/encrypt.h"
#include "scheme/noise.h"
#include "scheme/seeds.h"
#include "scheme/usable.h"

typedef struct keygen_workspace {
    cmi_ring ring;
    cmi_uniform uniform;
    cmi_noise noise;
} keygen_workspace;

_Static_assert(sizeof(keygen_workspace) <= CM_WORKSPACE_BYTES,
               "CM_WORKSPACE_BYTES has room for the workspace");

cm_status cm_device_make_secret_key(cm_device *device, const cm_params *params, uint8_t *ternary,
                                    uint64_t *key_id)
{
    if (!ternary || !key_id) {
        return CM_ERR_ARGUMENT;
    }
    *key_id = 0;
    if (!cmi_params_usable(params)) {
        return CM_ERR_PARAMS;
    }
    memset(ternary, 0, CM_TERNARY_BYTES((size_t)1 << params->log2_n));
    cm_status status;
    if (CM_ARCH_TRY(make_secret_key, &status, device, params, ternary, key_id)) {
        return status;
    }
    cmi_seeds seeds;
    status = cmi_seeds_draw(device, &seeds);
    if (status == CM_OK) {
        status = cm_secret_key_generate(params, seeds.secret_seed, ternary);
        *key_id = cmi_load64(seeds.public_seed);
        cmi_declassify(key_id, sizeof *key_id); /* the key pair's public name */
    }
    cmi_wipe(&seeds, sizeof seeds);
    cmi_wipe_stack();
    return status;
}

/* tile = (-s) a, with a expanded a block at a time, in the order of the tiles. */
CM_NOINLINE static void multiply_expansion(keygen_workspace *work, uint32_t *tile)
{
    const uint32_t points = cmi_ring_points(&work->ring);
    uint32_t block[CM_SAMPLE_BLOCK];
    for (uint32_t i = 0; i < points; i += CM_SAMPLE_BLOCK) {
        cmi_uniform_read(&work->uniform, block);
        cmi_multiply(tile + i, tile + i, block, CM_SAMPLE_BLOCK, work->ring.prime);
    }
}

static cm_status emit_key_tile(keygen_workspace *work, uint32_t *tile, const uint8_t *ternary, unsigned index,
                               cm_emitter *emitter)
{
    const cmi_ring *ring = &work->ring;
    const cm_prime *prime = ring->prime;
    cmi_ternary_fold(tile, ternary, prime->q - prime->r1, ring);
    cmi_ntt_forward(tile, ring);
    multiply_expansion(work, tile);
    cmi_ntt_inverse(tile, ring);
    cmi_noise_add(&work->noise, 0, tile, ring);
    cmi_ntt_forward(tile, ring);
    cmi_reduce_all(tile, cmi_ring_points(ring), prime);
    return cmi_unless_taken(ring, prime, emitter->residues(emitter, 0, index, ring->tile, tile));
}

/* The call in progress. */
typedef struct key_call {
    const cm_encryptor_setup *setup;
    const cm_params *params;
    const uint8_t *ternary;
    keygen_workspace *work;
    uint32_t *tile;
} key_call;

static cm_status begin_key(const key_call *call, uint64_t key_id)
{
    cm_emitter *emitter = call->setup->emitter;
    cm_ciphertext_info *info = &emitter->info;
    memset(info, 0, sizeof *info);
    info->xof = call->setup->xof;
    call->work->noise.kept = NULL;
    const cm_status status = cmi_seeds_draw_into(call->setup->device, call->tile, info,
                                                 &call->work->noise.stream); /* the tile is idle */
    if (status != CM_OK) {
        return status;
    }
    info->params = call->params;
    info->scheme = CM_PUBLIC_KEY;
    info->ntt_form = true;
    info->components = 2;
    info->primes = call->params->key_primes;
    info->log2_tiles = cmi_log2_tiles(call->setup);
    info->key_id = key_id;
    call->work->ring.prime = call->params->primes;
    return cmi_unless_taken(&call->work->ring, call->params->primes, emitter->begin(emitter, info));
}

static cm_status emit_key(const key_call *call)
{
    const cm_params *params = call->params;
    keygen_workspace *work = call->work;
    cm_emitter *emitter = call->setup->emitter;
    const unsigned log2_tiles = cmi_log2_tiles(call->setup);
    cm_status status = CM_OK;
    cmi_uniform_init(&work->uniform, emitter->info.xof, emitter->info.seed, params->log2_n,
                     params->key_primes);
    for (unsigned i = 0; i < params->key_primes; i++) {
        cmi_ring_init(&work->ring, &params->primes[i], params->log2_n, NULL);
        cmi_uniform_begin_prime(&work->uniform, &params->primes[i], i);
        for (unsigned t = 0; t < 1u << log2_tiles && status == CM_OK; t++) {
            cmi_ring_select_tile(&work->ring, log2_tiles, t);
            status = emit_key_tile(work, call->tile, call->ternary, i, emitter);
        }
    }
    return status;
}

cm_status cm_device_emit_public_key(const cm_encryptor_setup *setup, const cm_params *params,
                                    const uint8_t *ternary, uint64_t key_id)
{
    const bool is_named = ternary && CM_ARCH_TRY(names_key, ternary);
    if (!setup || !setup->device || !ternary || key_id == 0 || !cmi_emitter_usable(setup->emitter) ||
        !(cmi_filled_in_ternary(ternary) || is_named)) {
        return CM_ERR_ARGUMENT;
    }
    if (!cmi_params_usable(params)) {
        return CM_ERR_PARAMS;
    }
    if (!cmi_tiles_supported(setup)) {
        return CM_ERR_UNSUPPORTED;
    }
    const cm_status expands = cmi_check_xof(setup->xof);
    if (expands != CM_OK) {
        return expands;
    }
    const size_t n = (size_t)1 << params->log2_n;
    uint8_t *arena = setup->arena;
    if (!arena || (uintptr_t)arena % 8u != 0 ||
        setup->arena_bytes < CM_PUBLIC_KEY_ARENA_BYTES(n, cmi_log2_tiles(setup)) ||
        cmi_in_arena(ternary, CM_TERNARY_BYTES(n), arena, setup->arena_bytes) || cmi_setup_in_arena(setup)) {
        return CM_ERR_ARENA;
    }
    cm_status status;
    if (CM_ARCH_TRY(emit_public_key, &status, setup, params, ternary, key_id)) {
        return status;
    }
    if (is_named) {
        return CM_ERR_UNSUPPORTED;
    }
    const key_call call = {setup, params, ternary, (keygen_workspace *)(void *)arena,
                           (uint32_t *)(void *)(arena + CM_WORKSPACE_BYTES)};
    status = begin_key(&call, key_id);
    if (status == CM_OK) {
        status = emit_key(&call);
    }
    if (status == CM_OK) {
        status = setup->emitter->end(setup->emitter);
    }
    cmi_wipe(arena, setup->arena_bytes);
    cmi_wipe_stack();
    return status;
}
