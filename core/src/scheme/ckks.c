/*
 * CKKS encryption, one prime at a time. A ciphertext is never held: each residue polynomial is emitted as it is made,
 * and noise is regenerated for each prime. The order of work is what lets the buffers serve twice.
 */
#include "ciphermote/ckks.h"

#include <string.h>

#include "encode/encode.h"
#include "random/sample.h"
#include "random/wipe.h"
#include "scheme/noise.h"
#include "scheme/seeds.h"

/* What an encryption needs beside polynomials; it lies in the arena, right behind the message. */
typedef struct workspace {
    cm_message message;
    cm_ring ring;
    cm_seeds seeds;
    cm_uniform uniform;
    cm_stream stream;
} workspace;

typedef char cm_workspace_fits[sizeof(workspace) <= CM_WORKSPACE_BYTES ? 1 : -1];

/* The arena's parts; b and u are there for asymmetric encryption alone. */
typedef struct layout {
    workspace *work;
    uint32_t *w; /* n words: the polynomial about to be emitted */
    uint32_t *a; /* n words: a s, or u pk0 */
    uint32_t *b; /* n words: u pk1 */
    uint8_t *u;  /* n/4 bytes */
} layout;

static bool params_usable(const cm_params *params)
{
    return params && params->log2_n >= 10 && params->log2_n <= CM_MAX_LOG2_N && params->data_primes >= 1 &&
           params->data_primes <= params->key_primes && params->key_primes <= CM_MAX_PRIMES;
}

static size_t message_bytes(const cm_ckks_values *values, uint32_t n)
{
    const cm_slots slots = values->slots;
    const cm_precision precision = values->precision;
    return CM_CKKS_MESSAGE_BYTES(n, slots, precision);
}

/* Check the arena for a message, `polynomials` of n words and `ternaries` of n/4 bytes, and divide it. */
static cm_status open_arena(const cm_params *params, const cm_ckks_values *values, unsigned polynomials,
                            unsigned ternaries, void *arena, size_t arena_bytes, layout *parts)
{
    if (!params_usable(params)) {
        return CM_ERR_PARAMS;
    }
    if (!values) {
        return CM_ERR_ARGUMENT;
    }
    const size_t n = (size_t)1 << params->log2_n;
    const size_t message = message_bytes(values, (uint32_t)n);
    const size_t needed =
        message + CM_WORKSPACE_BYTES + polynomials * n * sizeof(uint32_t) + ternaries * (n / 4u);
    if (!arena || (uintptr_t)arena % 8u != 0 || arena_bytes < needed) {
        return CM_ERR_ARENA;
    }
    uint8_t *base = arena;
    parts->work = (workspace *)(void *)(base + message);
    parts->w = (uint32_t *)(void *)(base + message + CM_WORKSPACE_BYTES);
    parts->a = parts->w + n;
    parts->b = parts->a + n;
    parts->u = (uint8_t *)(parts->a + (polynomials - 1u) * n);
    return CM_OK;
}

/* Common to both kinds of key: check the arena, encode, take the seeds, say what will come. */
static cm_status begin(cm_device *device, const cm_params *params, uint64_t key_id, cm_xof_kind xof,
                       const cm_ckks_values *values, void *arena, cm_emitter *emitter, layout *parts)
{
    workspace *work = parts->work;
    work->message.data = arena;
    cm_status status = cm_encode(params, values, &work->message, (uint8_t *)parts->w);
    if (status != CM_OK) {
        return status;
    }
    status = cm_seeds_draw(device, &work->seeds);
    if (status != CM_OK) {
        return status;
    }
    cm_ciphertext_info *info = &emitter->info;
    memset(info, 0, sizeof *info);
    info->params = params;
    info->scheme = CM_CKKS;
    info->ntt_form = true;
    info->components = 2;
    info->primes = params->data_primes;
    info->xof = xof;
    info->key_id = key_id;
    info->counter = work->seeds.counter;
    info->scale_or_t = (uint64_t)(1023 + values->log2_scale) << 52;
    memcpy(info->seed, work->seeds.public_seed, cm_public_seed_bytes(xof));
    return emitter->begin(emitter, info);
}

/* w = NTT(m + e) for component 0, NTT(e) for component 1; then the product is added and w leaves. */
static cm_status emit_component(const layout *parts, unsigned component, unsigned prime,
                                const uint32_t *product, cm_emitter *emitter)
{
    workspace *work = parts->work;
    if (component == 0) {
        cm_message_residues(&work->message, &work->ring, parts->w);
    } else {
        memset(parts->w, 0, sizeof(uint32_t) << work->ring.log2_n);
    }
    cm_add_noise(parts->w, work->seeds.secret_seed, component, &work->ring, &work->stream);
    cm_ntt_forward(parts->w, &work->ring);
    cm_add(parts->w, parts->w, product, &work->ring);
    return emitter->residues(emitter, component, prime, parts->w);
}

static bool xof_built(cm_xof_kind xof)
{
    return xof == CM_CHACHA20 || (xof == CM_SHAKE256 && CM_XOF_SHAKE256) ||
           (xof == CM_BLAKE2XB && CM_XOF_BLAKE2XB);
}

/* ---- symmetric ---- */

/* c0 = NTT(m + e) + a (-s): a is expanded into w, which is still free, and its product with -s kept in a. */
static cm_status emit_symmetric(const cm_secret_key *key, const layout *parts, cm_emitter *emitter)
{
    workspace *work = parts->work;
    const cm_params *params = key->params;
    const cm_xof_kind xof = emitter->info.xof;
    cm_status status = CM_OK;
    cm_uniform_init(&work->uniform, xof, work->seeds.public_seed, params->log2_n, params->data_primes);
    for (unsigned i = 0; i < params->data_primes && status == CM_OK; i++) {
        const cm_prime *prime = &params->primes[i];
        cm_ring_init(&work->ring, prime, params->log2_n);
        cm_ternary_expand(parts->a, key->ternary, prime->q - prime->r1, &work->ring);
        cm_ntt_forward(parts->a, &work->ring);
        cm_uniform_polynomial(&work->uniform, prime, i, parts->w);
        cm_multiply(parts->a, parts->a, parts->w, &work->ring);
        status = emit_component(parts, 0, i, parts->a, emitter);
    }
    if (!emitter->expands_seed) {
        return status;
    }
    cm_uniform_init(&work->uniform, xof, work->seeds.public_seed, params->log2_n, params->data_primes);
    for (unsigned i = 0; i < params->data_primes && status == CM_OK; i++) {
        cm_uniform_polynomial(&work->uniform, &params->primes[i], i, parts->w);
        status = emitter->residues(emitter, 1, i, parts->w);
    }
    return status;
}

cm_status cm_ckks_encrypt_symmetric(cm_device *device, const cm_secret_key *key, cm_xof_kind xof,
                                    const cm_ckks_values *values, void *arena, size_t arena_bytes,
                                    cm_emitter *emitter)
{
    if (!key || !key->ternary || !emitter) {
        return CM_ERR_ARGUMENT;
    }
    if (!xof_built(xof)) {
        return CM_ERR_UNSUPPORTED;
    }
    layout parts;
    cm_status status = open_arena(key->params, values, 2, 0, arena, arena_bytes, &parts);
    if (status != CM_OK) {
        return status;
    }
    status = begin(device, key->params, key->key_id, xof, values, arena, emitter, &parts);
    if (status == CM_OK) {
        status = emit_symmetric(key, &parts, emitter);
    }
    if (status == CM_OK) {
        status = emitter->end(emitter);
    }
    cm_wipe(arena, arena_bytes);
    return status;
}

/* ---- asymmetric ---- */

/* Both components at each prime in turn, so that u is transformed once for the two. */
static cm_status emit_prime(const cm_public_key *key, const layout *parts, unsigned index, cm_emitter *emitter)
{
    cm_ring *ring = &parts->work->ring;
    cm_ring_init(ring, &key->params->primes[index], key->params->log2_n);
    const uint32_t *pk0 = key->polynomial(key->context, 0, index);
    const uint32_t *pk1 = key->polynomial(key->context, 1, index);
    if (!pk0 || !pk1) {
        return CM_ERR_ARGUMENT;
    }
    cm_double_product(parts->a, parts->b, parts->u, pk0, pk1, ring);
    cm_status status = emit_component(parts, 0, index, parts->a, emitter);
    return status == CM_OK ? emit_component(parts, 1, index, parts->b, emitter) : status;
}

/* One component at one prime, for formats that want all of component 0 first. */
static cm_status emit_single(const cm_public_key *key, const layout *parts, unsigned component,
                             unsigned index, cm_emitter *emitter)
{
    cm_ring *ring = &parts->work->ring;
    const cm_prime *prime = &key->params->primes[index];
    const uint32_t *pk = key->polynomial(key->context, component, index);
    if (!pk) {
        return CM_ERR_ARGUMENT;
    }
    cm_ring_init(ring, prime, key->params->log2_n);
    cm_ternary_expand(parts->a, parts->u, prime->r1, ring);
    cm_ntt_forward(parts->a, ring);
    cm_multiply(parts->a, parts->a, pk, ring);
    return emit_component(parts, component, index, parts->a, emitter);
}

static cm_status emit_asymmetric(const cm_public_key *key, const layout *parts, cm_emitter *emitter)
{
    workspace *work = parts->work;
    const unsigned primes = key->params->data_primes;
    const uint32_t nonce[3] = {CM_LABEL_TERNARY, 0, 0};
    cm_stream_init(&work->stream, work->seeds.secret_seed, nonce);
    cm_sample_ternary(&work->stream, parts->u, (uint32_t)1 << key->params->log2_n);
    cm_status status = CM_OK;
    if (!emitter->component_major) {
        for (unsigned i = 0; i < primes && status == CM_OK; i++) {
            status = emit_prime(key, parts, i, emitter);
        }
        return status;
    }
    for (unsigned step = 0; step < 2u * primes && status == CM_OK; step++) {
        status = emit_single(key, parts, step / primes, step % primes, emitter);
    }
    return status;
}

cm_status cm_ckks_encrypt_asymmetric(cm_device *device, const cm_public_key *key, const cm_ckks_values *values,
                                     void *arena, size_t arena_bytes, cm_emitter *emitter)
{
    if (!key || !key->polynomial || !emitter) {
        return CM_ERR_ARGUMENT;
    }
    layout parts;
    cm_status status = open_arena(key->params, values, 3, 1, arena, arena_bytes, &parts);
    if (status != CM_OK) {
        return status;
    }
    status = begin(device, key->params, key->key_id, CM_XOF_NONE, values, arena, emitter, &parts);
    if (status == CM_OK) {
        status = emit_asymmetric(key, &parts, emitter);
    }
    if (status == CM_OK) {
        status = emitter->end(emitter);
    }
    cm_wipe(arena, arena_bytes);
    return status;
}
