/*
 * Key generation on the device, in one tile: the product of the secret's tile and the public part is transformed back, the
 * folded noise is added, and the sum is transformed again before it leaves.
 */
#include "ciphermote/keygen.h"

#include <string.h>

#include "common/bytes.h"
#include "common/compiler.h"
#include "common/declassify.h"
#include "common/wipe.h"
#include "random/sample.h"
#include "scheme/encrypt.h"
#include "scheme/noise.h"
#include "scheme/seeds.h"
#include "scheme/usable.h"

typedef struct workspace {
    cm_ring ring;
    cm_uniform uniform;
    cm_stream stream;
} workspace;

typedef char cm_keygen_workspace_fits[sizeof(workspace) <= CM_WORKSPACE_BYTES ? 1 : -1];

cm_status cm_device_make_secret_key(cm_device *device, const cm_params *params, uint8_t *ternary,
                                    uint64_t *key_id)
{
    if (!ternary || !key_id) {
        return CM_ERR_ARGUMENT;
    }
    *key_id = 0;
    if (!cm_params_usable(params)) {
        return CM_ERR_PARAMS;
    }
    memset(ternary, 0, CM_TERNARY_BYTES((size_t)1 << params->log2_n));
    cm_seeds seeds;
    cm_status status = cm_seeds_draw(device, &seeds);
    if (status == CM_OK) {
        status = cm_secret_key_generate(params, seeds.secret_seed, ternary);
        *key_id = cm_load64(seeds.public_seed);
        cm_declassify(key_id, sizeof *key_id); /* it names the pair to everyone */
    }
    cm_wipe(&seeds, sizeof seeds);
    cm_wipe_stack();
    return status;
}

/* tile = (-s) a, with a expanded a block at a time: it comes in the order of the tiles. */
CM_NOINLINE static void multiply_expansion(workspace *work, uint32_t *tile)
{
    const uint32_t points = cm_ring_points(&work->ring);
    uint32_t block[CM_SAMPLE_BLOCK];
    for (uint32_t i = 0; i < points; i += CM_SAMPLE_BLOCK) {
        cm_uniform_read(&work->uniform, block);
        cm_multiply(tile + i, tile + i, block, CM_SAMPLE_BLOCK, work->ring.prime);
    }
}

static cm_status emit_tile(workspace *work, uint32_t *tile, const uint8_t *ternary, unsigned index,
                           cm_emitter *emitter)
{
    const cm_ring *ring = &work->ring;
    const cm_prime *prime = ring->prime;
    const cm_noise noise = {&work->stream, NULL};
    cm_ternary_fold(tile, ternary, prime->q - prime->r1, ring);
    cm_ntt_forward(tile, ring);
    multiply_expansion(work, tile);
    cm_ntt_inverse(tile, ring);
    cm_noise_add(&noise, 0, tile, ring);
    cm_ntt_forward(tile, ring);
    cm_reduce_all(tile, cm_ring_points(ring), prime);
    return emitter->residues(emitter, 0, index, ring->tile, tile);
}

static cm_status begin_key(cm_device *device, const cm_params *params, uint64_t key_id, cm_xof_kind xof,
                           workspace *work, uint32_t *tile, cm_emitter *emitter)
{
    cm_ciphertext_info *info = &emitter->info;
    memset(info, 0, sizeof *info);
    info->xof = xof;
    const cm_status status = cm_seeds_draw_into(device, tile, info, &work->stream); /* the tile is idle */
    if (status != CM_OK) {
        return status;
    }
    info->params = params;
    info->scheme = CM_PUBLIC_KEY;
    info->ntt_form = true;
    info->components = 2;
    info->primes = params->key_primes;
    info->log2_tiles = CM_CONFIG_LOG2_TILES;
    info->key_id = key_id;
    return emitter->begin(emitter, info);
}

static cm_status emit(const cm_params *params, const uint8_t *ternary, workspace *work, uint32_t *tile,
                      cm_emitter *emitter)
{
    cm_status status = CM_OK;
    cm_uniform_init(&work->uniform, emitter->info.xof, emitter->info.seed, params->log2_n, params->key_primes);
    for (unsigned i = 0; i < params->key_primes; i++) {
        cm_ring_init(&work->ring, &params->primes[i], params->log2_n, NULL);
        cm_uniform_begin_prime(&work->uniform, &params->primes[i], i);
        for (unsigned t = 0; t < 1u << CM_CONFIG_LOG2_TILES && status == CM_OK; t++) {
            cm_ring_select_tile(&work->ring, CM_CONFIG_LOG2_TILES, t);
            status = emit_tile(work, tile, ternary, i, emitter);
        }
    }
    return status;
}

cm_status cm_device_emit_public_key(cm_device *device, const cm_params *params, const uint8_t *ternary,
                                    uint64_t key_id, cm_xof_kind xof, void *arena, size_t arena_bytes,
                                    cm_emitter *emitter)
{
    if (!ternary || key_id == 0 || !cm_emitter_usable(emitter)) {
        return CM_ERR_ARGUMENT;
    }
    if (!cm_params_usable(params)) {
        return CM_ERR_PARAMS;
    }
    cm_status status = cm_check_xof(xof);
    if (status != CM_OK) {
        return status;
    }
    const size_t n = (size_t)1 << params->log2_n;
    if (!arena || (uintptr_t)arena % 8u != 0 || arena_bytes < CM_PUBLIC_KEY_ARENA_BYTES(n) ||
        cm_in_arena(ternary, CM_TERNARY_BYTES(n), arena, arena_bytes)) {
        return CM_ERR_ARENA;
    }
    workspace *work = arena;
    uint32_t *const tile = (uint32_t *)(void *)((uint8_t *)arena + CM_WORKSPACE_BYTES);
    status = begin_key(device, params, key_id, xof, work, tile, emitter);
    if (status == CM_OK) {
        status = emit(params, ternary, work, tile, emitter);
    }
    if (status == CM_OK) {
        status = emitter->end(emitter);
    }
    cm_wipe(arena, arena_bytes);
    cm_wipe_stack();
    return status;
}
