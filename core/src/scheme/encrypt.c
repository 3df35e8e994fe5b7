/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encryption, one tile of one prime at a time. A ciphertext is never held: residues are emitted as they are
 * made. A tile of the secret (or u) is transformed into U; then, for each component, a tile of m + e is
 * folded and transformed into W, the product of U and the public part is added to it, and W leaves.
 */
#include "scheme/encrypt.h"

#include <string.h>

#include "common/compiler.h"
#include "common/wipe.h"
#include "random/sample.h"
#include "scheme/noise.h"
#include "scheme/seeds.h"
#include "scheme/usable.h"

/*
 * What an encryption needs besides polynomials; in the arena, it follows the message directly. The ring comes
 * first: whatever wipes the arena from its start on to the noise's key takes the ring's prime, which is
 * checked (cmi_unless_taken).
 */
typedef struct encryption_workspace {
    cmi_ring ring;
    cmi_noise noise;
    cmi_uniform uniform;
} encryption_workspace;

_Static_assert(sizeof(encryption_workspace) <= CM_WORKSPACE_BYTES,
               "CM_WORKSPACE_BYTES has room for the workspace");

/* An encryption in progress: its setup and message, and the arena's parts in order. */
typedef struct encryption_layout {
    const cm_encryptor_setup *setup;
    const cm_message_source *source; /* knows where the message is */
    encryption_workspace *work;
    uint32_t *w; /* n/T words: the residues about to leave */
    uint32_t *u; /* n/T words: the transformed secret, or u; absent if the secret is transformed in flash */
#if CM_CONFIG_ACCELERATOR
    uint32_t *b; /* n words, with a public key: u pk1 */
#endif
    uint8_t *packed; /* n/4 bytes, with a public key: u */
    int8_t *noise;   /* n bytes a noisy component, with CM_CONFIG_STORE_NOISE; else CM_KEPT_NOISE */
} encryption_layout;

/* The parameters of the ciphertext that has begun. */
static const cm_params *params_of(const encryption_layout *parts)
{
    return parts->setup->emitter->info.params;
}

/* Coefficient form needs whole polynomials, which AVR builds do not have: encode has refused it. */
static bool leaves_as_coefficients(const cm_message_source *source)
{
#ifdef __AVR__
    (void)source;
    return false;
#else
    return !source->ntt_form;
#endif
}

/*
 * Whether a symmetric encryption needs a second tile: for the transformed secret, or for a message that is
 * added in coefficient form.
 */
static bool second_tile(const cm_message_source *source)
{
    return !CM_CONFIG_TRANSFORMED_SECRET || leaves_as_coefficients(source);
}

/* Bytes behind the message, for this many noisy components: 1 (symmetric) or 2 (asymmetric). */
static size_t work_bytes(const cm_encryptor_setup *setup, size_t n, unsigned components)
{
    return components == 1 ? CM_SYMMETRIC_WORK_BYTES(n, cmi_log2_tiles(setup))
                           : CM_ASYMMETRIC_WORK_BYTES(n, cmi_log2_tiles(setup));
}

/*
 * Divide the arena. CM_ERR_ARENA if it is too small for the message, CM_ERR_ARGUMENT for values inside it but
 * not at its start.
 */
static cm_status divide_encryption_arena(const cm_encryptor_setup *setup, const cm_params *params,
                                         const cm_message_source *source, unsigned components,
                                         encryption_layout *parts)
{
    const size_t n = (size_t)1 << params->log2_n;
    const size_t tile = CM_TILE_BYTES(n, cmi_log2_tiles(setup));
    const size_t message = n * source->bytes_per_coefficient;
    const size_t missing = components == 1 && CM_CONFIG_TRANSFORMED_SECRET && second_tile(source) ? tile : 0;
    if (!source->data) {
        return CM_ERR_ARGUMENT;
    }
    if (setup->arena_bytes < message + work_bytes(setup, n, components) + missing) {
        return CM_ERR_ARENA;
    }
    const uintptr_t data = (uintptr_t)source->data;
    if (data > (uintptr_t)setup->arena && data < (uintptr_t)setup->arena + setup->arena_bytes) {
        return CM_ERR_ARGUMENT;
    }
    uint8_t *at = (uint8_t *)setup->arena + message;
    parts->setup = setup;
    parts->source = source;
    parts->work = (encryption_workspace *)(void *)at;
    parts->w = (uint32_t *)(void *)(at + CM_WORKSPACE_BYTES);
    parts->u = parts->w + tile / sizeof(uint32_t);
    uint32_t *const behind_tiles = parts->u + tile / sizeof(uint32_t);
#if CM_CONFIG_ACCELERATOR
    parts->b = behind_tiles;
#endif
    parts->packed = (uint8_t *)(behind_tiles + (CM_CONFIG_ACCELERATOR ? n : 0));
    uint8_t *behind_symmetric = (uint8_t *)(second_tile(source) ? behind_tiles : parts->u);
    parts->noise = (int8_t *)(components == 1 ? behind_symmetric : parts->packed + n / 4u);
    return CM_OK;
}

/* Encode, and draw the seeds. */
CM_NOINLINE static cm_status prepare(const encryption_layout *parts, cm_message_source *source,
                                     const cm_params *params, uint64_t key_id)
{
    const cm_xof_kind xof = parts->setup->xof; /* CM_XOF_NONE under a public key */
    encryption_workspace *work = parts->work;
    cm_ciphertext_info *info = &parts->setup->emitter->info;
    memset(info, 0, sizeof *info);
    info->params = params;
    cm_status status = source->encode(source, params, parts->setup, &work->ring);
    if (status != CM_OK) {
        return status;
    }
    info->xof = xof;
    status = cmi_seeds_draw_into(parts->setup->device, parts->w, info, &work->noise.stream); /* the tile is
                                                                                                idle */
    if (status != CM_OK) {
        return status;
    }
    work->noise.kept = NULL;
#if CM_KEPT_NOISE
    if (xof != CM_XOF_NONE) {
        cmi_noise_keep_first(&work->noise.stream, parts->noise);
        work->noise.kept = parts->noise;
    }
#endif
#if CM_CONFIG_STORE_NOISE
    const uint32_t n = (uint32_t)1 << params->log2_n;
    cmi_noise_keep_for(&work->noise, source, parts->noise, n);
    if (xof == CM_XOF_NONE) {
        cmi_noise_keep(&work->noise, parts->noise + n, n);
    }
#endif
    cmi_describe(info, source, params);
    info->log2_tiles = cmi_log2_tiles(parts->setup);
    info->key_id = key_id;
    work->ring.prime = params->primes;
    return CM_OK;
}

/* Out of line, where nothing of what prepare needed is on the stack. */
CM_NOINLINE static cm_status announce(const encryption_layout *parts, const cm_prime *first)
{
    cm_emitter *emitter = parts->setup->emitter;
    return cmi_unless_taken(&parts->work->ring, first, emitter->begin(emitter, &emitter->info));
}

/* Common to both kinds of key. */
static cm_status begin(const encryption_layout *parts, cm_message_source *source, const cm_params *params,
                       uint64_t key_id)
{
    const cm_status status = prepare(parts, source, params, key_id);
    return status == CM_OK ? announce(parts, params->primes) : status;
}

static void open_encryption_ring(const encryption_layout *parts, const cm_prime *prime)
{
    cmi_ring_init(&parts->work->ring, prime, params_of(parts)->log2_n, cmi_source_tables(parts->source));
}

/* m + e for component 0, e for component 1, in the ring's tile: values below 4q. */
static void fold_component(const encryption_layout *parts, unsigned component, uint32_t *out)
{
    const cmi_ring *ring = &parts->work->ring;
#if CM_CONFIG_STORE_NOISE
    if (component == 0) {
        parts->source->fold(parts->source, parts->noise, ring, out);
    } else {
        cmi_noise_fold(parts->noise + ((size_t)1 << ring->log2_n), ring, out);
    }
#else
    if (component == 0) {
        parts->source->fold(parts->source, NULL, ring, out);
    } else {
        memset(out, 0, sizeof(uint32_t) * cmi_ring_points(ring));
    }
    cmi_noise_add(&parts->work->noise, component, out, ring);
#endif
}

/* w, transformed. */
static void transform_component(const encryption_layout *parts, unsigned component)
{
    const cmi_ring *ring = &parts->work->ring;
#if CM_CONFIG_STORE_NOISE
    if (component == 1) {
        cmi_noise_transform(parts->noise + ((size_t)1 << ring->log2_n), ring, parts->w);
        return;
    }
    if (parts->source->transform) {
        parts->source->transform(parts->source, parts->noise, ring, parts->w);
        return;
    }
#endif
    fold_component(parts, component, parts->w);
    cmi_ntt_forward(parts->w, ring);
}

/* ---- symmetric ---- */

/* The tile of -s, transformed, in Montgomery form: from flash, or made in u. */
static const uint32_t *encryption_secret(const cm_secret_key *key, const encryption_layout *parts,
                                         unsigned index)
{
    const cmi_ring *ring = &parts->work->ring;
#if CM_CONFIG_TRANSFORMED_SECRET
    return key->transformed + ((size_t)index << ring->log2_n) + (size_t)ring->tile * cmi_ring_points(ring);
#else
    (void)index;
    cmi_ternary_transform(parts->u, key->ternary, ring->prime->q - ring->prime->r1, ring);
    return parts->u;
#endif
}

/* How many residues are expanded at once, on the stack: many where time matters, few where RAM does. They are
   public, as their seed is, and so what is left of them is no secret: CM_TEST_FEW_RESIDUES leaves them out
   where tests search the stack for secrets. */
#ifdef CM_TEST_FEW_RESIDUES
#define MANY_RESIDUES 32u
#else
#define MANY_RESIDUES 512u
#endif
#ifdef __AVR__
#define FEW_RESIDUES 8u
#else
#define FEW_RESIDUES 32u
#endif

/* w += u a, with a expanded from its seed a block at a time, in the order of the tiles. */
static inline void add_blocks(const encryption_layout *parts, const uint32_t *u, uint32_t *block,
                              uint32_t most)
{
    encryption_workspace *work = parts->work;
    const uint32_t points = cmi_ring_points(&work->ring);
    for (uint32_t i = 0; i < points; i += most) {
        const uint32_t count = points - i < most ? points - i : most;
        cmi_uniform_values(&work->uniform, block, count);
#if CM_CONFIG_TRANSFORMED_SECRET
        cmi_multiply_add_flash(parts->w + i, u + i, block, count, work->ring.prime);
#else
        cmi_multiply_add(parts->w + i, u + i, block, count, work->ring.prime);
#endif
    }
}

CM_NOINLINE static void add_expansion_by_few(const encryption_layout *parts, const uint32_t *u)
{
    uint32_t block[FEW_RESIDUES];
    add_blocks(parts, u, block, FEW_RESIDUES);
}

#if CM_CONFIG_SMALL

static void add_expansion(const encryption_layout *parts, const uint32_t *u)
{
    add_expansion_by_few(parts, u);
}

#else

CM_NOINLINE static void add_expansion_by_many(const encryption_layout *parts, const uint32_t *u)
{
    uint32_t block[MANY_RESIDUES];
    add_blocks(parts, u, block, MANY_RESIDUES);
}

/* A caller that asks for eighths of a polynomial or less is short of RAM. */
static void add_expansion(const encryption_layout *parts, const uint32_t *u)
{
    if (cmi_log2_tiles(parts->setup) < 3) {
        add_expansion_by_many(parts, u);
    } else {
        add_expansion_by_few(parts, u);
    }
}

#endif

/* One tile of c0 = NTT(m + e) + a (-s), in w. */
static const uint32_t *symmetric_tile(const encryption_layout *parts, const uint32_t *secret)
{
    transform_component(parts, 0);
    add_expansion(parts, secret);
    return parts->w;
}

/*
 * c0 = m + e + a (-s) in coefficient form, where a is expanded in that form: its product needs its transform.
 */
static const uint32_t *symmetric_coefficients(const encryption_layout *parts, const uint32_t *secret)
{
    encryption_workspace *work = parts->work;
    const cmi_ring *ring = &work->ring;
    const cm_prime *prime = ring->prime;
    const uint32_t n = cmi_ring_points(ring);
    cmi_uniform_values(&work->uniform, parts->w, n);
    cmi_ntt_forward(parts->w, ring);
    cmi_reduce_all(parts->w, n, prime);
    cmi_multiply(parts->w, secret, parts->w, n, prime);
    cmi_ntt_inverse(parts->w, ring);
    fold_component(parts, 0, parts->u);
    cmi_add(parts->u, parts->w, n, prime);
    return parts->u;
}

/* Hand residues to the emitter. */
static cm_status emit_residues(const encryption_layout *parts, unsigned component, unsigned index,
                               unsigned tile, const uint32_t *residues)
{
    cm_emitter *emitter = parts->setup->emitter;
    const cm_prime *const prime = parts->work->ring.prime;
    return cmi_unless_taken(&parts->work->ring, prime,
                            emitter->residues(emitter, component, index, tile, residues));
}

static unsigned tile_count(const encryption_layout *parts)
{
    return 1u << cmi_log2_tiles(parts->setup);
}

/* c0, a tile at a time. */
static cm_status emit_symmetric(const encryption_layout *parts, const cm_secret_key *key)
{
    encryption_workspace *work = parts->work;
    const cm_params *params = params_of(parts);
    const cm_ciphertext_info *info = &parts->setup->emitter->info;
    cm_status status = CM_OK;
    cmi_uniform_init(&work->uniform, info->xof, info->seed, params->log2_n, params->data_primes);
    for (unsigned i = 0; i < params->data_primes; i++) {
        const cm_prime *prime = &params->primes[i];
        open_encryption_ring(parts, prime);
        cmi_uniform_begin_prime(&work->uniform, prime, i);
        for (unsigned tile = 0; tile < tile_count(parts) && status == CM_OK; tile++) {
            cmi_ring_select_tile(&work->ring, cmi_log2_tiles(parts->setup), tile);
            const uint32_t *u = encryption_secret(key, parts, i);
            const uint32_t *c0 = leaves_as_coefficients(parts->source) ? symmetric_coefficients(parts, u)
                                                                       : symmetric_tile(parts, u);
            status = emit_residues(parts, 0, i, tile, c0);
        }
    }
    return status;
}

/* c1 = a, for emitters that cannot send its seed. */
static cm_status emit_expansion(const encryption_layout *parts)
{
    encryption_workspace *work = parts->work;
    const cm_params *params = params_of(parts);
    cm_emitter *emitter = parts->setup->emitter;
    const uint32_t points = (uint32_t)1 << (params->log2_n - cmi_log2_tiles(parts->setup));
    cm_status status = CM_OK;
    cmi_uniform_init(&work->uniform, emitter->info.xof, emitter->info.seed, params->log2_n,
                     params->data_primes);
    for (unsigned i = 0; i < params->data_primes; i++) {
        cmi_uniform_begin_prime(&work->uniform, &params->primes[i], i);
        for (unsigned tile = 0; tile < tile_count(parts) && status == CM_OK; tile++) {
            cmi_uniform_values(&work->uniform, parts->w, points);
            status = emit_residues(parts, 1, i, tile, parts->w);
        }
    }
    return status;
}

static cm_status encrypt_symmetric(const void *with, const cm_encryptor_setup *setup,
                                   cm_message_source *source)
{
    const cm_secret_key *key = with;
    encryption_layout parts;
    if (!cmi_secret_key_usable(key)) { /* any more */
        return cmi_secret_key_named(key) ? CM_ERR_UNSUPPORTED : CM_ERR_ARGUMENT;
    }
    cmi_source_set_tables(source, cmi_roots_of(key));
    cm_status status = divide_encryption_arena(setup, key->params, source, 1, &parts);
    if (status == CM_OK) {
        status = begin(&parts, source, key->params, key->key_id);
    }
    if (status == CM_OK) {
        status = emit_symmetric(&parts, key);
    }
    if (status == CM_OK && setup->emitter->expands_seed) {
        status = emit_expansion(&parts);
    }
    return status;
}

/* ---- asymmetric ---- */

/* The key that is in memory as a whole, or null if its polynomials come from elsewhere. */
static const cm_flat_public_key *flat_key(const cm_public_key *key)
{
    return key->polynomial == cm_flat_public_key_polynomial ? key->context : NULL;
}

static bool public_key_in_arena(const cm_public_key *key, const void *arena, size_t arena_bytes)
{
    const cm_flat_public_key *flat = flat_key(key);
    const size_t polynomial = sizeof(uint32_t) << key->params->log2_n;
    return cmi_in_arena(key, sizeof *key, arena, arena_bytes) ||
           (flat &&
            cmi_in_arena(flat->residues, 2u * polynomial * key->params->data_primes, arena, arena_bytes));
}

/* CM_ERR_ARGUMENT if the key cannot provide it, was never filled in, or is of another degree. */
static cm_status find_polynomial(const cm_public_key *key, unsigned component, unsigned index,
                                 const uint32_t **found)
{
    const cm_flat_public_key *flat = flat_key(key);
    if (flat && flat->n != (uint32_t)1 << key->params->log2_n) {
        return CM_ERR_ARGUMENT;
    }
    const uint32_t *pk = key->polynomial(key->context, component, index);
#ifndef __AVR__
    if (pk == cm_refused_polynomial) {
        return CM_ERR_PUBLIC_KEY;
    }
#endif
    *found = pk;
    return pk && cmi_filled_in(pk) ? CM_OK : CM_ERR_ARGUMENT;
}

/* Emit w, in coefficient form if that is asked for. */
static cm_status emit_in_form(const encryption_layout *parts, unsigned component, unsigned index)
{
    if (leaves_as_coefficients(parts->source)) {
        cmi_ntt_inverse(parts->w, &parts->work->ring);
    }
    return emit_residues(parts, component, index, parts->work->ring.tile, parts->w);
}

#if CM_CONFIG_ACCELERATOR

/* u pk0 and u pk1 at once, as a back-end prefers to compute them; emit_tile then only adds. */
static cm_status prepare_prime(const encryption_layout *parts, const cm_public_key *key, unsigned index)
{
    const uint32_t *pk0;
    const uint32_t *pk1;
    cm_status status = find_polynomial(key, 0, index, &pk0);
    if (status == CM_OK) {
        status = find_polynomial(key, 1, index, &pk1);
    }
    if (status == CM_OK) {
        cmi_double_product(parts->u, parts->b, parts->packed, pk0, pk1, &parts->work->ring);
    }
    return status;
}

static void prepare_tile(const encryption_layout *parts)
{
    (void)parts;
}

static cm_status emit_tile(const encryption_layout *parts, const cm_public_key *key, unsigned component,
                           unsigned index)
{
    const cmi_ring *ring = &parts->work->ring;
    (void)key;
    transform_component(parts, component);
    cmi_add(parts->w, component == 0 ? parts->u : parts->b, cmi_ring_points(ring), ring->prime);
    return emit_in_form(parts, component, index);
}

#else

static cm_status prepare_prime(const encryption_layout *parts, const cm_public_key *key, unsigned index)
{
    (void)parts;
    (void)key;
    (void)index;
    return CM_OK;
}

static void prepare_tile(const encryption_layout *parts)
{
    const cmi_ring *ring = &parts->work->ring;
    cmi_ternary_transform(parts->u, parts->packed, ring->prime->r1, ring);
}

/* One tile of one component: c0 = u pk0 + e0 + m, or c1 = u pk1 + e1. */
static cm_status emit_tile(const encryption_layout *parts, const cm_public_key *key, unsigned component,
                           unsigned index)
{
    const cmi_ring *ring = &parts->work->ring;
    const uint32_t points = cmi_ring_points(ring);
    const uint32_t *pk;
    const cm_status status = find_polynomial(key, component, index, &pk);
    if (status != CM_OK) {
        return status;
    }
    transform_component(parts, component);
    cmi_multiply_add(parts->w, parts->u, pk + (size_t)ring->tile * points, points, ring->prime);
    return emit_in_form(parts, component, index);
}

#endif

/*
 * The components last .. first at one prime: 1 before 0, in the order of decryption. Together, they share the
 * transforms of u.
 */
static cm_status emit_prime(const encryption_layout *parts, const cm_public_key *key, unsigned index,
                            const unsigned range[2])
{
    cmi_ring *ring = &parts->work->ring;
    open_encryption_ring(parts, &params_of(parts)->primes[index]);
    cm_status status = prepare_prime(parts, key, index);
    for (unsigned tile = 0; tile < tile_count(parts) && status == CM_OK; tile++) {
        cmi_ring_select_tile(ring, cmi_log2_tiles(parts->setup), tile);
        prepare_tile(parts);
        for (unsigned component = range[1] + 1u; component-- > range[0] && status == CM_OK;) {
            status = emit_tile(parts, key, component, index);
        }
    }
    return status;
}

/* Out of line, so that the nonce is off the stack before the transforms need it. */
CM_NOINLINE static void sample_u(const encryption_layout *parts)
{
    cmi_stream *stream = &parts->work->noise.stream;
    const uint32_t nonce[3] = {CM_LABEL_TERNARY, 0, 0};
    cmi_stream_restart(stream, nonce, 0);
    cmi_sample_ternary(stream, parts->packed, (uint32_t)1 << params_of(parts)->log2_n);
}

static cm_status emit_asymmetric(const encryption_layout *parts, const cm_public_key *key)
{
    const bool component_major = parts->setup->emitter->component_major;
    sample_u(parts);
    cm_status status = CM_OK;
    for (unsigned pass = 0; pass < (component_major ? 2u : 1u); pass++) {
        const unsigned range[2] = {pass, component_major ? pass : 1u};
        for (unsigned i = 0; i < params_of(parts)->data_primes && status == CM_OK; i++) {
            status = emit_prime(parts, key, i, range);
        }
    }
    return status;
}

static cm_status encrypt_asymmetric(const void *with, const cm_encryptor_setup *setup,
                                    cm_message_source *source)
{
    const cm_public_key *key = with;
    encryption_layout parts;
    source->under_public_key = true;
    cmi_source_set_tables(source, cmi_roots_of(key));
    cm_status status = divide_encryption_arena(setup, key->params, source, 2, &parts);
    if (status == CM_OK) {
        status = begin(&parts, source, key->params, key->key_id);
    }
    if (status == CM_OK) {
        status = emit_asymmetric(&parts, key);
    }
    return status;
}

/* ---- the calls ---- */

/* What both kinds of key require of a setup. */
static cm_status check_setup(const cm_encryptor_setup *setup, const cm_params *params, unsigned components)
{
    if (!setup->device || !cmi_emitter_usable(setup->emitter) || setup->log2_tiles > CM_MAX_LOG2_TILES) {
        return CM_ERR_ARGUMENT;
    }
    if (!cmi_params_usable(params)) {
        return CM_ERR_PARAMS;
    }
    if (!cmi_tiles_supported(setup)) {
        return CM_ERR_UNSUPPORTED;
    }
    if (!setup->arena || (uintptr_t)setup->arena % 8u != 0 ||
        setup->arena_bytes < work_bytes(setup, (size_t)1 << params->log2_n, components) ||
        cmi_setup_in_arena(setup)) {
        return CM_ERR_ARENA;
    }
    return CM_OK;
}

static cm_status check_symmetric(const cm_secret_key *key, const cm_encryptor_setup *setup)
{
    if (!setup || !(cmi_secret_key_usable(key) || cmi_secret_key_named(key))) {
        return CM_ERR_ARGUMENT;
    }
    cm_status status = cmi_check_xof(setup->xof);
    if (status == CM_OK) {
        status = check_setup(setup, key->params, 1);
    }
    if (status == CM_OK && !cmi_secret_key_named(key) && !cmi_secret_key_whole(key)) {
        status = CM_ERR_ARGUMENT;
    }
    if (status == CM_OK && cmi_key_in_arena(key, setup->arena, setup->arena_bytes)) {
        status = CM_ERR_ARENA;
    }
    return status;
}

static cm_status check_asymmetric(const cm_public_key *key, const cm_encryptor_setup *setup)
{
    if (!setup || !key || key->key_id == 0 || !key->polynomial || setup->xof != CM_XOF_NONE) {
        return CM_ERR_ARGUMENT;
    }
    const cm_status status = check_setup(setup, key->params, 2);
    return status == CM_OK && public_key_in_arena(key, setup->arena, setup->arena_bytes) ? CM_ERR_ARENA
                                                                                         : status;
}

typedef cm_status encrypt_function(const void *key, const cm_encryptor_setup *setup,
                                   cm_message_source *source);

/* If the setup is refused, the encryptor refuses every encryption. */
static cm_status open(cm_encryptor *encryptor, cm_status status, encrypt_function *encrypt, const void *key,
                      const cm_encryptor_setup *setup)
{
    memset(encryptor, 0, sizeof *encryptor);
    if (status == CM_OK) {
        encryptor->encrypt = encrypt;
        encryptor->key = key;
        encryptor->setup = *setup;
    }
    return status;
}

cm_status cm_encryptor_init_symmetric(cm_encryptor *encryptor, const cm_secret_key *key,
                                      const cm_encryptor_setup *setup)
{
    if (!encryptor) {
        return CM_ERR_ARGUMENT;
    }
    const cm_status status = check_symmetric(key, setup);
    cmi_wipe_stack();
    return open(encryptor, status, encrypt_symmetric, key, setup);
}

cm_status cm_encryptor_init_asymmetric(cm_encryptor *encryptor, const cm_public_key *key,
                                       const cm_encryptor_setup *setup)
{
    return encryptor ? open(encryptor, check_asymmetric(key, setup), encrypt_asymmetric, key, setup)
                     : CM_ERR_ARGUMENT;
}

/* Inlined with encrypt as a constant, which link-time optimisation can resolve. */
static inline cm_status run(encrypt_function *encrypt, const void *key, const cm_encryptor_setup *setup,
                            cm_message_source *source)
{
    cm_status status;
    if (CM_ARCH_TRY(encrypt, &status, key, encrypt == encrypt_asymmetric, setup, source)) {
        return status;
    }
    status = cmi_emitter_usable(setup->emitter) ? encrypt(key, setup, source) : CM_ERR_ARGUMENT;
    if (status == CM_OK) {
        status = setup->emitter->end(setup->emitter);
    }
    cmi_wipe(setup->arena, setup->arena_bytes);
    cmi_wipe_stack();
    return status;
}

cm_status cmi_encrypt(const cm_encryptor *encryptor, cm_message_source *source)
{
    return encryptor && encryptor->encrypt
               ? run(encryptor->encrypt, encryptor->key, &encryptor->setup, source)
               : CM_ERR_ARGUMENT;
}

cm_status cmi_encrypt_symmetric(const cm_secret_key *key, const cm_encryptor_setup *setup,
                                cm_message_source *source)
{
    const cm_status status = check_symmetric(key, setup);
    return status == CM_OK ? run(encrypt_symmetric, key, setup, source) : status;
}
