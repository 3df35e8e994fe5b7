/*
 * Encryption, one tile of one prime at a time. A ciphertext is never held: residues are emitted as they are made. A tile of
 * the secret (or u) is transformed into U; then, for each component, a tile of m + e is folded and transformed into W,
 * the product of U and the public part is added to it, and W leaves.
 */
#include "scheme/encrypt.h"

#include <string.h>

#include "ciphermote/encryption.h"
#include "common/compiler.h"
#include "common/wipe.h"
#include "random/sample.h"
#include "scheme/noise.h"
#include "scheme/seeds.h"
#include "scheme/usable.h"

/* What an encryption needs beside polynomials; it lies in the arena, right behind the message. */
typedef struct workspace {
    cm_noise noise;
    cm_ring ring;
    cm_uniform uniform;
    cm_stream stream;
} workspace;

typedef char cm_workspace_fits[sizeof(workspace) <= CM_WORKSPACE_BYTES ? 1 : -1];

/* The arena's parts, in its order. */
typedef struct layout {
    const cm_message_source *source; /* knows where the message lies */
    workspace *work;
    uint32_t *w; /* n/T words: the residues about to leave */
    uint32_t *u; /* n/T words: the transformed secret, or u; absent if the secret lies transformed in flash */
    uint32_t *b; /* n words, with CM_CONFIG_ACCELERATOR and a public key: u pk1 */
    uint8_t *packed; /* n/4 bytes, with a public key: u */
    int8_t *noise;   /* n bytes a noisy component, with CM_CONFIG_STORE_NOISE; else CM_KEPT_NOISE */
} layout;

/*
 * Whether a symmetric encryption holds a second tile: for the transformed secret, or for the message where that is added in
 * coefficient form.
 */
static bool second_tile(const cm_message_source *source)
{
    return !CM_CONFIG_TRANSFORMED_SECRET || !source->ntt_form;
}

/* Divide the arena for this many noisy components, 1 (symmetric) or 2 (asymmetric); it must hold them. */
static cm_status open_arena(const cm_params *params, const cm_message_source *source, unsigned components,
                            void *arena, size_t arena_bytes, layout *parts)
{
    if (!cm_params_usable(params)) {
        return CM_ERR_PARAMS;
    }
    if (!source->data) {
        return CM_ERR_ARGUMENT;
    }
    const size_t n = (size_t)1 << params->log2_n;
    const size_t message = n * source->bytes_per_coefficient;
    const size_t missing = CM_CONFIG_TRANSFORMED_SECRET && second_tile(source) ? CM_TILE_BYTES(n) : 0;
    const size_t rest = components == 1 ? CM_SYMMETRIC_WORK_BYTES(n) + missing : CM_ASYMMETRIC_WORK_BYTES(n);
    if (!arena || (uintptr_t)arena % 8u != 0 || arena_bytes < message + rest) {
        return CM_ERR_ARENA;
    }
    const uintptr_t data = (uintptr_t)source->data;
    if (data > (uintptr_t)arena && data < (uintptr_t)arena + arena_bytes) {
        return CM_ERR_ARGUMENT;
    }
    uint8_t *at = (uint8_t *)arena + message;
    parts->source = source;
    parts->work = (workspace *)(void *)at;
    parts->w = (uint32_t *)(void *)(at + CM_WORKSPACE_BYTES);
    parts->u = parts->w + (n >> CM_CONFIG_LOG2_TILES);
    parts->b = parts->u + (n >> CM_CONFIG_LOG2_TILES);
    parts->packed = (uint8_t *)(parts->b + (CM_CONFIG_ACCELERATOR ? n : 0));
    uint8_t *behind_symmetric = (uint8_t *)(second_tile(source) ? parts->b : parts->u);
    parts->noise = (int8_t *)(components == 1 ? behind_symmetric : parts->packed + n / 4u);
    return CM_OK;
}

/* Common to both kinds of key: check the arena, encode, take the seeds, say what will come. */
CM_NOINLINE static cm_status begin(cm_device *device, const cm_params *params, uint64_t key_id,
                                   cm_xof_kind xof, cm_message_source *source, void *arena,
                                   cm_emitter *emitter, const layout *parts)
{
    workspace *work = parts->work;
    cm_status status = source->encode(source, params, arena, &work->ring);
    if (status != CM_OK) {
        return status;
    }
    cm_ciphertext_info *info = &emitter->info;
    memset(info, 0, sizeof *info);
    info->xof = xof;
    status = cm_seeds_draw_into(device, parts->w, info, &work->stream); /* the tile is idle */
    if (status != CM_OK) {
        return status;
    }
    work->noise.stream = &work->stream;
    work->noise.kept = NULL;
#if CM_KEPT_NOISE
    if (xof != CM_XOF_NONE) {
        cm_noise_keep_first(&work->stream, parts->noise);
        work->noise.kept = parts->noise;
    }
#endif
#if CM_CONFIG_STORE_NOISE
    const uint32_t n = (uint32_t)1 << params->log2_n;
    cm_noise_keep_for(&work->noise, source, parts->noise, n);
    if (xof == CM_XOF_NONE) {
        cm_noise_keep(&work->noise, parts->noise + n, n);
    }
#endif
    info->params = params;
    info->scheme = source->scheme;
    info->ntt_form = source->ntt_form;
    info->components = 2;
    info->primes = params->data_primes;
    info->log2_tiles = CM_CONFIG_LOG2_TILES;
    info->key_id = key_id;
    info->scale_or_t = source->scale_or_t;
    return emitter->begin(emitter, info);
}

/* Coefficients are asked for with whole polynomials alone: encode has seen to it. */
static bool leaves_as_coefficients(const layout *parts)
{
    return CM_CONFIG_LOG2_TILES == 0 && !parts->source->ntt_form;
}

static void open_ring(const layout *parts, const cm_prime *prime, unsigned log2_n)
{
    cm_ring_init(&parts->work->ring, prime, log2_n, parts->source->tables);
}

/* m + e for component 0, e for component 1, in the ring's tile: values below 4q. */
static void fold_component(const layout *parts, unsigned component, uint32_t *out)
{
    const cm_ring *ring = &parts->work->ring;
#if CM_CONFIG_STORE_NOISE
    if (component == 0) {
        parts->source->fold(parts->source, parts->noise, ring, out);
    } else {
        cm_noise_fold(parts->noise + ((size_t)1 << ring->log2_n), ring, out);
    }
#else
    if (component == 0) {
        parts->source->fold(parts->source, NULL, ring, out);
    } else {
        memset(out, 0, sizeof(uint32_t) * cm_ring_points(ring));
    }
    cm_noise_add(&parts->work->noise, component, out, ring);
#endif
}

/* w, transformed. */
static void transform_component(const layout *parts, unsigned component)
{
    const cm_ring *ring = &parts->work->ring;
#if CM_CONFIG_STORE_NOISE
    if (component == 1) {
        cm_noise_transform(parts->noise + ((size_t)1 << ring->log2_n), ring, parts->w);
        return;
    }
#endif
    fold_component(parts, component, parts->w);
    cm_ntt_forward(parts->w, ring);
}

/* Whatever the outcome, no secret stays in the arena or on the stack. */
static cm_status leave_clean(cm_status status, void *arena, size_t arena_bytes)
{
    if (arena) {
        cm_wipe(arena, arena_bytes);
    }
    cm_wipe_stack();
    return status;
}

/* ---- symmetric ---- */

/* The tile of -s, transformed, in Montgomery form: from flash, or made in u. */
static const uint32_t *secret_tile(const cm_secret_key *key, const layout *parts, unsigned index)
{
    const cm_ring *ring = &parts->work->ring;
#if CM_CONFIG_TRANSFORMED_SECRET
    return key->transformed + ((size_t)index << ring->log2_n) + (size_t)ring->tile * cm_ring_points(ring);
#else
    (void)index;
    cm_ternary_transform(parts->u, key->ternary, ring->prime->q - ring->prime->r1, ring);
    return parts->u;
#endif
}

/* How many residues are expanded at once, on the stack: more where time counts, few where RAM does. */
#ifdef __AVR__
#define EXPANSION_BLOCK 8u
#else
#define EXPANSION_BLOCK (CM_CONFIG_LOG2_TILES < 3 ? 512u : 32u)
#endif

/* w += u a, with a expanded from its seed a block at a time: it comes in the order of the tiles. */
CM_NOINLINE static void add_expansion(const layout *parts, const uint32_t *u)
{
    workspace *work = parts->work;
    const uint32_t points = cm_ring_points(&work->ring);
    uint32_t block[EXPANSION_BLOCK];
    for (uint32_t i = 0; i < points; i += EXPANSION_BLOCK) {
        const uint32_t count = points - i < EXPANSION_BLOCK ? points - i : EXPANSION_BLOCK;
        cm_uniform_values(&work->uniform, block, count);
#if CM_CONFIG_TRANSFORMED_SECRET
        cm_multiply_add_flash(parts->w + i, u + i, block, count, work->ring.prime);
#else
        cm_multiply_add(parts->w + i, u + i, block, count, work->ring.prime);
#endif
    }
}

/* One tile of c0 = NTT(m + e) + a (-s), in w. */
static const uint32_t *symmetric_tile(const layout *parts, const uint32_t *secret)
{
    transform_component(parts, 0);
    add_expansion(parts, secret);
    return parts->w;
}

/* c0 = m + e + a (-s) in coefficient form, where a is expanded in that form, in u: a product needs its transform. */
static const uint32_t *symmetric_coefficients(const layout *parts, const uint32_t *secret)
{
    workspace *work = parts->work;
    const cm_ring *ring = &work->ring;
    const cm_prime *prime = ring->prime;
    const uint32_t n = cm_ring_points(ring);
    cm_uniform_values(&work->uniform, parts->w, n);
    cm_ntt_forward(parts->w, ring);
    cm_reduce_all(parts->w, n, prime);
    cm_multiply(parts->w, secret, parts->w, n, prime);
    cm_ntt_inverse(parts->w, ring);
    fold_component(parts, 0, parts->u);
    cm_add(parts->u, parts->w, n, prime);
    return parts->u;
}

/* c0, a tile at a time. */
static cm_status emit_symmetric(const cm_secret_key *key, const layout *parts, cm_emitter *emitter)
{
    workspace *work = parts->work;
    const cm_params *params = key->params;
    cm_status status = CM_OK;
    cm_uniform_init(&work->uniform, emitter->info.xof, emitter->info.seed, params->log2_n,
                    params->data_primes);
    for (unsigned i = 0; i < params->data_primes; i++) {
        const cm_prime *prime = &params->primes[i];
        open_ring(parts, prime, params->log2_n);
        cm_uniform_begin_prime(&work->uniform, prime, i);
        for (unsigned tile = 0; tile < 1u << CM_CONFIG_LOG2_TILES && status == CM_OK; tile++) {
            cm_ring_select_tile(&work->ring, CM_CONFIG_LOG2_TILES, tile);
            const uint32_t *u = secret_tile(key, parts, i);
            const uint32_t *c0 =
                leaves_as_coefficients(parts) ? symmetric_coefficients(parts, u) : symmetric_tile(parts, u);
            status = emitter->residues(emitter, 0, i, tile, c0);
        }
    }
    return status;
}

/* c1 = a, for emitters that cannot send its seed. */
static cm_status emit_expansion(const cm_params *params, const layout *parts, cm_emitter *emitter)
{
    workspace *work = parts->work;
    cm_status status = CM_OK;
    cm_uniform_init(&work->uniform, emitter->info.xof, emitter->info.seed, params->log2_n,
                    params->data_primes);
    for (unsigned i = 0; i < params->data_primes; i++) {
        const uint32_t points = (uint32_t)1 << (params->log2_n - CM_CONFIG_LOG2_TILES);
        cm_uniform_begin_prime(&work->uniform, &params->primes[i], i);
        for (unsigned tile = 0; tile < 1u << CM_CONFIG_LOG2_TILES && status == CM_OK; tile++) {
            cm_uniform_values(&work->uniform, parts->w, points);
            status = emitter->residues(emitter, 1, i, tile, parts->w);
        }
    }
    return status;
}

/* CM_ERR_ARENA for an arena that is not ours to touch. */
static cm_status open_symmetric(const cm_secret_key *key, cm_xof_kind xof, cm_message_source *source,
                                void *arena, size_t arena_bytes, layout *parts)
{
    if (!cm_secret_key_usable(key)) {
        return CM_ERR_ARGUMENT;
    }
    source->tables = cm_roots_of(key);
    cm_status status = cm_check_xof(xof);
    if (status == CM_OK) {
        status = open_arena(key->params, source, 1, arena, arena_bytes, parts);
    }
    if (status == CM_OK && cm_key_in_arena(key, arena, arena_bytes)) {
        status = CM_ERR_ARENA;
    }
    return status;
}

cm_status cm_encrypt_symmetric(cm_device *device, const cm_secret_key *key, cm_xof_kind xof,
                               cm_message_source *source, void *arena, size_t arena_bytes, cm_emitter *emitter)
{
    layout parts;
    cm_status status = cm_emitter_usable(emitter)
                           ? open_symmetric(key, xof, source, arena, arena_bytes, &parts)
                           : CM_ERR_ARGUMENT;
    if (status == CM_ERR_ARENA) {
        return status;
    }
    if (status == CM_OK) {
        status = begin(device, key->params, key->key_id, xof, source, arena, emitter, &parts);
    }
    if (status == CM_OK) {
        status = emit_symmetric(key, &parts, emitter);
    }
    if (status == CM_OK && emitter->expands_seed) {
        status = emit_expansion(key->params, &parts, emitter);
    }
    if (status == CM_OK) {
        status = emitter->end(emitter);
    }
    return leave_clean(status, arena, arena_bytes);
}

/* ---- asymmetric ---- */

/* The key that lies in memory whole, or null if its polynomials come from elsewhere. */
static const cm_flat_public_key *flat_key(const cm_public_key *key)
{
    return key->polynomial == cm_flat_public_key_polynomial ? key->context : NULL;
}

static bool flat_key_in_arena(const cm_public_key *key, const void *arena, size_t arena_bytes)
{
    const cm_flat_public_key *flat = flat_key(key);
    const size_t polynomial = sizeof(uint32_t) << key->params->log2_n;
    return flat && cm_in_arena(flat->residues, 2u * polynomial * key->params->data_primes, arena, arena_bytes);
}

/* Null if the key cannot give it, never had one, or has those of another degree. */
static const uint32_t *polynomial_of(const cm_public_key *key, unsigned component, unsigned index)
{
    const cm_flat_public_key *flat = flat_key(key);
    if (flat && flat->n != (uint32_t)1 << key->params->log2_n) {
        return NULL;
    }
    const uint32_t *pk = key->polynomial(key->context, component, index);
    return pk && cm_filled_in(pk) ? pk : NULL;
}

/* w leaves, out of NTT form if that is asked for. */
static cm_status emit_in_form(const layout *parts, unsigned component, unsigned index, unsigned tile,
                              cm_emitter *emitter)
{
    if (leaves_as_coefficients(parts)) {
        cm_ntt_inverse(parts->w, &parts->work->ring);
    }
    return emitter->residues(emitter, component, index, tile, parts->w);
}

#if CM_CONFIG_ACCELERATOR

/* u pk0 and u pk1 at once, as a back-end would rather compute them; emit_tile then only adds. */
static cm_status prepare_prime(const cm_public_key *key, const layout *parts, unsigned index)
{
    const uint32_t *pk0 = polynomial_of(key, 0, index);
    const uint32_t *pk1 = polynomial_of(key, 1, index);
    if (!pk0 || !pk1) {
        return CM_ERR_ARGUMENT;
    }
    cm_double_product(parts->u, parts->b, parts->packed, pk0, pk1, &parts->work->ring);
    return CM_OK;
}

static void prepare_tile(const layout *parts)
{
    (void)parts;
}

static cm_status emit_tile(const cm_public_key *key, const layout *parts, unsigned component, unsigned index,
                           unsigned tile, cm_emitter *emitter)
{
    const cm_ring *ring = &parts->work->ring;
    (void)key;
    transform_component(parts, component);
    cm_add(parts->w, component == 0 ? parts->u : parts->b, cm_ring_points(ring), ring->prime);
    return emit_in_form(parts, component, index, tile, emitter);
}

#else

static cm_status prepare_prime(const cm_public_key *key, const layout *parts, unsigned index)
{
    (void)key;
    (void)parts;
    (void)index;
    return CM_OK;
}

static void prepare_tile(const layout *parts)
{
    const cm_ring *ring = &parts->work->ring;
    cm_ternary_transform(parts->u, parts->packed, ring->prime->r1, ring);
}

/* One tile of one component: c0 = u pk0 + e0 + m, or c1 = u pk1 + e1. */
static cm_status emit_tile(const cm_public_key *key, const layout *parts, unsigned component, unsigned index,
                           unsigned tile, cm_emitter *emitter)
{
    const cm_ring *ring = &parts->work->ring;
    const uint32_t points = cm_ring_points(ring);
    const uint32_t *pk = polynomial_of(key, component, index);
    if (!pk) {
        return CM_ERR_ARGUMENT;
    }
    transform_component(parts, component);
    cm_multiply_add(parts->w, parts->u, pk + (size_t)tile * points, points, ring->prime);
    return emit_in_form(parts, component, index, tile, emitter);
}

#endif

/* The components last .. first at one prime: 1 before 0, as decryption takes them. Together, they share the transforms of u. */
static cm_status emit_prime(const cm_public_key *key, const layout *parts, unsigned first, unsigned last,
                            unsigned index, cm_emitter *emitter)
{
    cm_ring *ring = &parts->work->ring;
    open_ring(parts, &key->params->primes[index], key->params->log2_n);
    cm_status status = prepare_prime(key, parts, index);
    for (unsigned tile = 0; tile < 1u << CM_CONFIG_LOG2_TILES; tile++) {
        cm_ring_select_tile(ring, CM_CONFIG_LOG2_TILES, tile);
        prepare_tile(parts);
        for (unsigned component = last + 1u; component-- > first && status == CM_OK;) {
            status = emit_tile(key, parts, component, index, tile, emitter);
        }
    }
    return status;
}

static cm_status emit_asymmetric(const cm_public_key *key, const layout *parts, cm_emitter *emitter)
{
    workspace *work = parts->work;
    const unsigned primes = key->params->data_primes;
    const unsigned passes = emitter->component_major ? 2u : 1u;
    const uint32_t nonce[3] = {CM_LABEL_TERNARY, 0, 0};
    cm_stream_restart(&work->stream, nonce, 0);
    cm_sample_ternary(&work->stream, parts->packed, (uint32_t)1 << key->params->log2_n);
    cm_status status = CM_OK;
    for (unsigned pass = 0; pass < passes; pass++) {
        const unsigned last = passes == 2u ? pass : 1u;
        for (unsigned i = 0; i < primes && status == CM_OK; i++) {
            status = emit_prime(key, parts, pass, last, i, emitter);
        }
    }
    return status;
}

/* CM_ERR_ARENA for an arena that is not ours to touch. */
static cm_status open_asymmetric(const cm_public_key *key, cm_message_source *source, void *arena,
                                 size_t arena_bytes, layout *parts)
{
    if (!key || key->key_id == 0 || !key->polynomial) {
        return CM_ERR_ARGUMENT;
    }
    source->tables = cm_roots_of(key);
    const cm_status status = open_arena(key->params, source, 2, arena, arena_bytes, parts);
    return status == CM_OK && flat_key_in_arena(key, arena, arena_bytes) ? CM_ERR_ARENA : status;
}

cm_status cm_encrypt_asymmetric(cm_device *device, const cm_public_key *key, cm_message_source *source,
                                void *arena, size_t arena_bytes, cm_emitter *emitter)
{
    layout parts;
    cm_status status = cm_emitter_usable(emitter) ? open_asymmetric(key, source, arena, arena_bytes, &parts)
                                                  : CM_ERR_ARGUMENT;
    if (status == CM_ERR_ARENA) {
        return status;
    }
    if (status == CM_OK) {
        status = begin(device, key->params, key->key_id, CM_XOF_NONE, source, arena, emitter, &parts);
    }
    if (status == CM_OK) {
        status = emit_asymmetric(key, &parts, emitter);
    }
    if (status == CM_OK) {
        status = emitter->end(emitter);
    }
    return leave_clean(status, arena, arena_bytes);
}
