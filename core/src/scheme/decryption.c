/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decryption, one tile of one prime at a time. A tile of the secret is transformed (or stored transformed in
 * flash); component 1 is multiplied into it and component 0 subtracted as they arrive; the tile is
 * transformed back, and its contribution to each coefficient is added up (sums.h).
 */
#include "scheme/decryption.h"

#include <string.h>

#include "arch/backends.h"
#include "common/bytes.h"
#include "common/compiler.h"
#include "common/declassify.h"
#include "common/wipe.h"
#include "ring/prime.h"
#include "scheme/decryption_parts.h"
#include "scheme/sums.h"
#include "scheme/usable.h"

#define ARENA_MARK 0x43694D6Fu

/* Another decryption in the same arena leaves another mark. */
static uint32_t mark_of(const cm_decryption *decryption)
{
    return ARENA_MARK ^ (uint32_t)(uintptr_t)decryption;
}

/*
 * The arena's first words are the mark and zeros until the first tile is added up, and sums after that: any
 * other use of the arena began there, or reached the workspace behind. Sixteen words, because a single sum is
 * often 0, as a wiped word is.
 */
#define FIRST_WORDS 16u

static uint32_t first_words(const cmi_decryption_layout *parts)
{
    uint32_t found = 0;
    for (unsigned i = 0; i < FIRST_WORDS; i++) {
        found = (found << 5 | found >> 27) ^ cmi_aligned_word(parts->sums + 4u * i);
    }
    return found;
}

static void keep_first(const cm_decryption *decryption, const cmi_decryption_layout *parts)
{
    parts->work->first = first_words(parts) ^ mark_of(decryption);
}

static bool arena_kept(const cm_decryption *decryption, const cmi_decryption_layout *parts)
{
    const uint32_t mark = mark_of(decryption);
    const uint32_t changed = (parts->work->mark ^ mark) | (parts->work->first ^ first_words(parts) ^ mark);
    return cmi_declassified(changed == 0); /* sums are secret; whether they were overwritten is not */
}

static size_t sums_bytes(const cm_decryption *decryption)
{
    if (cmi_decryption_is_of_noise(decryption)) {
        return 4u * cmi_decryption_degree(decryption) * decryption->key->params->data_primes;
    }
    if (decryption->scheme == CM_CKKS) {
        return CM_CKKS_MESSAGE_BYTES(cmi_decryption_degree(decryption), cmi_decryption_slots(decryption),
                                     cmi_decryption_precision(decryption));
    }
    return cmi_decryption_degree(decryption) / 8u * decryption->sum_bits;
}

/* ---- frames ---- */

static cm_decryption *decryption_of(cm_receiver *self)
{
    return (cm_decryption *)(void *)self;
}

/*
 * Whether scale times largest is below a quarter of the primes' product, which is below 2^54. The scale, from
 * 1 to below 2^512, is rounded up to 24 bits: 2^(e - 23) significand.
 */
static bool scale_fits(const cm_decryption *decryption, const cm_ciphertext_info *info)
{
    const cm_prime *primes = info->params->primes;
    const uint64_t q = cmi_decryption_primes_used(decryption, info->primes) == 1u
                           ? primes[0].q
                           : (uint64_t)primes[0].q * primes[1].q;
    const unsigned e = (unsigned)(info->scale_bits >> 52) - 1023u;
    const uint32_t rounded_up = (info->scale_bits & 0x1FFFFFFFu) != 0;
    const uint32_t significand = (uint32_t)(info->scale_bits >> 29 & 0x7FFFFFu) + 0x800000u + rounded_up;
    const uint64_t product = (uint64_t)significand * decryption->largest;
    if (e < 21u) {
        return product >> (21u - e) < q;
    }
    return e < 21u + 54u && product <= (q - 1u) >> (e - 21u);
}

/* The reader was given its own set, which may be another one with the same id. */
static bool same_set(const cm_params *a, const cm_params *b)
{
    if (a->id != b->id || a->log2_n != b->log2_n || a->data_primes != b->data_primes) {
        return false;
    }
    for (unsigned i = 0; a->primes != b->primes && i < a->data_primes; i++) {
        if (a->primes[i].q != b->primes[i].q) {
            return false;
        }
    }
    return true;
}

static bool of_this_kind(const cm_decryption *decryption, const cm_ciphertext_info *info)
{
    return same_set(info->params, decryption->key->params) && info->key_id == decryption->key->key_id &&
           (uint8_t)info->scheme == decryption->scheme && info->components == 2 &&
           (decryption->scheme == CM_CKKS || info->scale_bits == decryption->scale_bits);
}

static CM_NOINLINE cm_status check_kind(const cm_decryption *decryption, const cm_ciphertext_info *info)
{
    if (!of_this_kind(decryption, info)) {
        return CM_ERR_FRAME_FOREIGN;
    }
    if (info->xof != CM_XOF_NONE) {
        return CM_ERR_FRAME_SEED;
    }
    if (!info->ntt_form) {
        return CM_ERR_FRAME_DOMAIN;
    }
    if (info->log2_tiles != decryption->log2_tiles) {
        return CM_ERR_FRAME_FOREIGN;
    }
    return CM_OK;
}

/* The first frame settles which ciphertext this is; the others must match it. */
static CM_NOINLINE cm_status check_ciphertext(cm_decryption *decryption, const cm_ciphertext_info *info)
{
    if (decryption->primes != 0) {
        const bool same = info->primes == decryption->primes && info->counter == decryption->counter &&
                          info->scale_bits == decryption->scale_bits;
        return same ? CM_OK : CM_ERR_FRAME_FOREIGN;
    }
    if (decryption->scheme == CM_CKKS && !scale_fits(decryption, info)) {
        return CM_ERR_SCALE;
    }
    decryption->primes = info->primes;
    decryption->counter = info->counter;
    decryption->scale_bits = info->scale_bits;
    return CM_OK;
}

/* The frame's number in the order in which a decryption takes them. */
static uint32_t number_of(const cm_decryption *decryption, unsigned component, unsigned prime, unsigned tile)
{
    return (((uint32_t)prime << decryption->log2_tiles) + tile) * 2u + (1u - component);
}

static void open_decryption_ring(const cm_decryption *decryption, const cmi_decryption_layout *parts,
                                 unsigned prime, unsigned tile)
{
    cmi_ring *ring = &parts->work->ring;
    if (tile == 0) {
        cmi_ring_init(ring, &decryption->key->params->primes[prime], decryption->key->params->log2_n,
                      cmi_roots_of(decryption->key));
    }
    cmi_ring_select_tile(ring, decryption->log2_tiles, tile);
}

/* The tile of -s, transformed, in Montgomery form: from flash, or computed in the tile itself. */
static const uint32_t *decryption_secret(const cm_decryption *decryption, const cmi_decryption_layout *parts)
{
#if CM_CONFIG_TRANSFORMED_SECRET
    const cmi_ring *ring = &parts->work->ring;
    const size_t prime = (size_t)(ring->prime - decryption->key->params->primes);
    return decryption->key->transformed + (prime << ring->log2_n) +
           (size_t)ring->tile * cmi_ring_points(ring);
#else
    (void)decryption;
    return parts->tile;
#endif
}

static void prepare_secret(const cm_decryption *decryption, const cmi_decryption_layout *parts)
{
#if CM_CONFIG_TRANSFORMED_SECRET
    (void)decryption;
    (void)parts;
#else
    const cmi_ring *ring = &parts->work->ring;
    cmi_ternary_fold(parts->tile, decryption->key->ternary, ring->prime->q - ring->prime->r1, ring);
    cmi_ntt_forward(parts->tile, ring);
#endif
}

static cm_status decryption_begin(cm_receiver *self, const cm_ciphertext_info *info, unsigned component,
                                  unsigned prime, unsigned tile)
{
    cm_decryption *decryption = decryption_of(self);
    if (decryption->status != CM_OK) {
        return decryption->status;
    }
    cm_status status = check_kind(decryption, info);
    if (status == CM_OK && (decryption->position != CM_NO_FRAME_OPEN ||
                            number_of(decryption, component, prime, tile) != decryption->next)) {
        status = CM_ERR_FRAME_ORDER;
    }
    if (status == CM_OK) {
        status = check_ciphertext(decryption, info);
    }
    if (status != CM_OK) {
        return status;
    }
    if (prime >= cmi_decryption_primes_used(decryption, decryption->primes)) {
        decryption->position = CM_FRAME_LEFT_OUT;
        return CM_OK;
    }
    const cmi_decryption_layout parts = cmi_decryption_parts(decryption);
    if (!arena_kept(decryption, &parts)) {
        return CM_ERR_ARENA;
    }
    if (decryption->next == 0) {
        cmi_wipe(parts.sums + 4u * FIRST_WORDS, sums_bytes(decryption) - 4u * FIRST_WORDS);
    }
    if (component == 1) {
        open_decryption_ring(decryption, &parts, prime, tile);
        prepare_secret(decryption, &parts);
    }
    decryption->position = 0;
    return CM_OK;
}

static void take_off(uint32_t *tile, const uint32_t *residues, uint32_t count, uint32_t q)
{
    if (CM_ARCH_TRY(take_off, tile, residues, count, q)) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        tile[i] += q - residues[i];
    }
}

/*
 * Residues without an open frame: after the first fault, or from a reader left over from another decryption.
 */
static cm_status out_of_order(const cm_decryption *decryption)
{
    return decryption->status != CM_OK ? decryption->status : CM_ERR_FRAME_ORDER;
}

/*
 * Component 1: tile = c1 (-s), residues. Component 0: less c0, plus q. A decryption that ended in the middle
 * of a frame takes no more of it: the arena is the caller's again.
 */
static cm_status decryption_residues(cm_receiver *self, const uint32_t *residues, uint32_t count)
{
    cm_decryption *decryption = decryption_of(self);
    if (decryption->position == CM_FRAME_LEFT_OUT) {
        return CM_OK;
    }
    if (decryption->position == CM_NO_FRAME_OPEN) {
        return out_of_order(decryption);
    }
    const cmi_decryption_layout parts = cmi_decryption_parts(decryption);
    if (!arena_kept(decryption, &parts)) {
        return CM_ERR_ARENA;
    }
    const cm_prime *prime = parts.work->ring.prime;
    if (count > cmi_decryption_tile_points(decryption) - decryption->position) {
        return CM_ERR_FRAME_FIELD;
    }
    uint32_t *const tile = parts.tile + decryption->position;
    if (decryption->next % 2u == 0) {
        const uint32_t *secret = decryption_secret(decryption, &parts);
        cmi_multiply(tile, secret + decryption->position, residues, count, prime);
    } else {
        take_off(tile, residues, count, prime->q);
    }
    decryption->position = (uint16_t)(decryption->position + count);
    return CM_OK;
}

static void add_tile(const cm_decryption *decryption, const cmi_decryption_layout *parts)
{
    const cmi_ring *ring = &parts->work->ring;
    const cm_prime *primes = decryption->key->params->primes;
    if (decryption->next == 1u) {
        cmi_store32(parts->sums, 0);
    }
    if (cmi_decryption_is_of_noise(decryption)) {
        cmi_noise_sums_add((uint32_t *)(void *)parts->sums, (uint32_t)decryption->plain_modulus, parts->tile,
                           ring, (unsigned)(ring->prime - primes));
    } else if (decryption->scheme == CM_BFV) {
        cmi_bfv_sums_add(parts->sums, (cm_bfv_sums)decryption->sum_bits, parts->tile, ring, primes,
                         decryption->primes);
    } else {
        cmi_ckks_sums_add((uint32_t *)(void *)parts->sums, cmi_decryption_precision(decryption),
                          cmi_decryption_slots(decryption), parts->tile, ring,
                          (unsigned)(ring->prime - primes));
    }
    keep_first(decryption, parts);
}

static cm_status decryption_end(cm_receiver *self)
{
    cm_decryption *decryption = decryption_of(self);
    if (decryption->position == CM_NO_FRAME_OPEN) {
        return out_of_order(decryption);
    }
    if (decryption->position != CM_FRAME_LEFT_OUT) {
        const cmi_decryption_layout parts = cmi_decryption_parts(decryption);
        if (!arena_kept(decryption, &parts)) {
            return CM_ERR_ARENA;
        }
        if (decryption->position != cmi_decryption_tile_points(decryption)) {
            return CM_ERR_FRAME_SHORT;
        }
        if (decryption->next % 2u == 1u) {
            cmi_ntt_inverse_lazy(parts.tile, &parts.work->ring);
            add_tile(decryption, &parts);
        }
    }
    decryption->position = CM_NO_FRAME_OPEN;
    decryption->next++;
    return CM_OK;
}

static void wipe_arena(const cm_decryption *decryption)
{
    cmi_wipe(decryption->arena, decryption->arena_bytes);
    cmi_wipe_stack();
}

static void decryption_fail(cm_receiver *self, cm_status status)
{
    cm_decryption *decryption = decryption_of(self);
    if (decryption->status == CM_OK) {
        decryption->status = status;
        decryption->position = CM_NO_FRAME_OPEN;
        wipe_arena(decryption);
    }
}

void cmi_decryption_wipe(cm_decryption *decryption)
{
    decryption_fail(&decryption->receiver, CM_ERR_ARGUMENT);
}

/* ---- begin and end ---- */

static cm_status check_lent(const cm_decryption *decryption, const cm_secret_key *key, void *arena,
                            size_t arena_bytes)
{
    if (!cmi_secret_key_usable(key) && !cmi_secret_key_named(key)) {
        return CM_ERR_ARGUMENT;
    }
    if (!cmi_params_usable(key->params)) {
        return CM_ERR_PARAMS;
    }
    if (!arena || (uintptr_t)arena % 8u != 0 || cmi_key_in_arena(key, arena, arena_bytes) ||
        cmi_in_arena(decryption, sizeof *decryption, arena, arena_bytes)) {
        return CM_ERR_ARENA;
    }
    return CM_OK;
}

cm_status cmi_decryption_init(cm_decryption *decryption, const cm_secret_key *key, void *arena,
                              size_t arena_bytes)
{
    memset(decryption, 0, sizeof *decryption);
    decryption->receiver =
        (cm_receiver){decryption_begin, decryption_residues, decryption_end, decryption_fail};
    decryption->status = CM_ERR_ARGUMENT;
    decryption->position = CM_NO_FRAME_OPEN;
    const cm_status status = check_lent(decryption, key, arena, arena_bytes);
    cmi_wipe_stack();
    if (status == CM_OK) {
        decryption->key = key;
        decryption->arena = arena;
        decryption->arena_bytes = arena_bytes;
    }
    return status;
}

cm_status cmi_decryption_start(cm_decryption *decryption, cm_scheme scheme, unsigned log2_tiles)
{
    cmi_decryption_wipe(decryption);
    const cm_decryption lent = *decryption;
    memset(decryption, 0, sizeof *decryption);
    decryption->receiver = lent.receiver;
    decryption->key = lent.key;
    decryption->arena = lent.arena;
    decryption->arena_bytes = lent.arena_bytes;
    decryption->status = CM_ERR_ARGUMENT;
    decryption->position = CM_NO_FRAME_OPEN;
    decryption->scheme = (uint8_t)scheme;
    if (!lent.key || log2_tiles > CM_MAX_LOG2_TILES) {
        return CM_ERR_ARGUMENT;
    }
    decryption->log2_tiles = (uint8_t)log2_tiles;
    return CM_OK;
}

cm_status cmi_decryption_divide_arena(cm_decryption *decryption)
{
    const size_t tile = CM_DECRYPT_TILE_BYTES(cmi_decryption_degree(decryption), decryption->log2_tiles);
    if (decryption->arena_bytes < sums_bytes(decryption) + tile + CM_DECRYPT_WORKSPACE_BYTES) {
        return CM_ERR_ARENA;
    }
    decryption->tile = (uint32_t *)(void *)(decryption->arena + sums_bytes(decryption));
    return CM_OK;
}

/* The rest of the sums is wiped when the first frame has come: a back-end may not need it. */
static void mark_arena(const cm_decryption *decryption)
{
    const cmi_decryption_layout parts = cmi_decryption_parts(decryption);
    cmi_wipe(parts.sums, 4u * FIRST_WORDS);
    cmi_store32(parts.sums, mark_of(decryption));
    parts.work->mark = mark_of(decryption);
    keep_first(decryption, &parts);
}

cm_status cmi_decryption_complete(cm_decryption *decryption)
{
    cm_status status = decryption->status;
    if (status != CM_OK) {
        return status;
    }
    const cmi_decryption_layout parts = cmi_decryption_parts(decryption);
    if (decryption->position != CM_NO_FRAME_OPEN || decryption->primes == 0 ||
        decryption->next != (uint32_t)decryption->primes << (decryption->log2_tiles + 1u)) {
        status = CM_ERR_FRAME_SHORT;
    } else if (!arena_kept(decryption, &parts)) {
        status = CM_ERR_ARENA;
    }
    if (status != CM_OK) {
        decryption_fail(&decryption->receiver, status);
    }
    return status;
}

/* ---- for back-ends ---- */

bool cmi_decryption_untouched(const cm_decryption *decryption)
{
    const cmi_decryption_layout parts = cmi_decryption_parts(decryption);
    return decryption->status == CM_OK && decryption->primes == 0 && arena_kept(decryption, &parts);
}

size_t cmi_decryption_room(const cm_decryption *decryption)
{
    return (size_t)((uint8_t *)cmi_decryption_parts(decryption).work - decryption->arena);
}

void cmi_decryption_restore(cm_decryption *decryption)
{
    mark_arena(decryption);
}
