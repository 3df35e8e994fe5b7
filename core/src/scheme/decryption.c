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
#include "encode/bfv.h"
#include "encode/bfv_numbers.h"
#include "encode/ckks.h"
#include "random/sample.h"
#include "ring/prime.h"
#include "scheme/seeds.h"
#include "scheme/sums.h"
#include "scheme/usable.h"

/* What a decryption needs besides numbers, after them in the arena. */
typedef struct decryption_workspace {
    uint32_t first; /* what the arena's first words amount to, xor the mark: no match if all are wiped */
    cmi_ring ring;
    cm_prime plain; /* BFV, batching: t */
    uint32_t mark;
} decryption_workspace;
#define ARENA_MARK 0x43694D6Fu

_Static_assert(sizeof(decryption_workspace) <= CM_DECRYPT_WORKSPACE_BYTES,
               "CM_DECRYPT_WORKSPACE_BYTES has room for the workspace");

/* The arena's parts. */
typedef struct decryption_layout {
    uint8_t *sums;
    uint32_t *tile;
    decryption_workspace *work;
} decryption_layout;

static size_t ring_degree(const cm_decryption *decryption)
{
    return (size_t)1 << decryption->key->params->log2_n;
}

static cm_precision precision_of(const cm_decryption *decryption)
{
    return (cm_precision)decryption->precision;
}

static cm_slots slots_of(const cm_decryption *decryption)
{
    return (cm_slots)decryption->slots;
}

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

static uint32_t first_words(const decryption_layout *parts)
{
    uint32_t found = 0;
    for (unsigned i = 0; i < FIRST_WORDS; i++) {
        found = (found << 5 | found >> 27) ^ cmi_load32(parts->sums + 4u * i);
    }
    return found;
}

static void keep_first(const cm_decryption *decryption, const decryption_layout *parts)
{
    parts->work->first = first_words(parts) ^ mark_of(decryption);
}

static bool arena_kept(const cm_decryption *decryption, const decryption_layout *parts)
{
    const uint32_t mark = mark_of(decryption);
    const uint32_t changed = (parts->work->mark ^ mark) | (parts->work->first ^ first_words(parts) ^ mark);
    return cmi_declassified(changed == 0); /* sums are secret; whether they were overwritten is not */
}

/* A decryption that measures noise has this in place of the bits of its sums. */
enum { NOISE_ALONE = 1 };

static bool noise_alone(const cm_decryption *decryption)
{
    return decryption->scheme == CM_BFV && decryption->sum_bits == NOISE_ALONE;
}

static size_t sums_bytes(const cm_decryption *decryption)
{
    if (noise_alone(decryption)) {
        return 4u * ring_degree(decryption) * decryption->key->params->data_primes;
    }
    if (decryption->scheme == CM_CKKS) {
        return CM_CKKS_MESSAGE_BYTES(ring_degree(decryption), slots_of(decryption), precision_of(decryption));
    }
    return ring_degree(decryption) / 8u * decryption->sum_bits;
}

static uint32_t tile_points(const cm_decryption *decryption)
{
    return (uint32_t)(ring_degree(decryption) >> decryption->log2_tiles);
}

static decryption_layout layout_of(const cm_decryption *decryption)
{
    uint32_t *const end = decryption->tile + tile_points(decryption);
    return (decryption_layout){decryption->arena, decryption->tile, (decryption_workspace *)(void *)end};
}

/* ---- frames ---- */

static cm_decryption *decryption_of(cm_receiver *self)
{
    return (cm_decryption *)(void *)self;
}

/* At how many primes a ciphertext is decrypted: for BFV at all, for CKKS at as many as the sums hold. */
static unsigned primes_used(const cm_decryption *decryption, unsigned primes)
{
    const unsigned most = decryption->precision == CM_FIXED_31 ? 1u : 2u;
    return decryption->scheme == CM_CKKS && primes > most ? most : primes;
}

/*
 * Whether scale times largest is below a quarter of the primes' product, which is below 2^54. The scale, from
 * 1 to below 2^512, is rounded up to 24 bits: 2^(e - 23) significand.
 */
static bool scale_fits(const cm_decryption *decryption, const cm_ciphertext_info *info)
{
    const cm_prime *primes = info->params->primes;
    const uint64_t q =
        primes_used(decryption, info->primes) == 1u ? primes[0].q : (uint64_t)primes[0].q * primes[1].q;
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

static void open_decryption_ring(const cm_decryption *decryption, const decryption_layout *parts,
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
static const uint32_t *decryption_secret(const cm_decryption *decryption, const decryption_layout *parts)
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

static void prepare_secret(const cm_decryption *decryption, const decryption_layout *parts)
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
    if (prime >= primes_used(decryption, decryption->primes)) {
        decryption->position = CM_FRAME_LEFT_OUT;
        return CM_OK;
    }
    const decryption_layout parts = layout_of(decryption);
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
    const decryption_layout parts = layout_of(decryption);
    if (!arena_kept(decryption, &parts)) {
        return CM_ERR_ARENA;
    }
    const cm_prime *prime = parts.work->ring.prime;
    if (count > tile_points(decryption) - decryption->position) {
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

static void add_tile(const cm_decryption *decryption, const decryption_layout *parts)
{
    const cmi_ring *ring = &parts->work->ring;
    const cm_prime *primes = decryption->key->params->primes;
    if (decryption->next == 1u) {
        cmi_store32(parts->sums, 0);
    }
    if (noise_alone(decryption)) {
        cmi_noise_sums_add((uint32_t *)(void *)parts->sums, (uint32_t)decryption->plain_modulus, parts->tile,
                           ring, (unsigned)(ring->prime - primes));
    } else if (decryption->scheme == CM_BFV) {
        cmi_bfv_sums_add(parts->sums, (cm_bfv_sums)decryption->sum_bits, parts->tile, ring, primes,
                         decryption->primes);
    } else {
        cmi_ckks_sums_add((uint32_t *)(void *)parts->sums, precision_of(decryption), slots_of(decryption),
                          parts->tile, ring, (unsigned)(ring->prime - primes));
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
        const decryption_layout parts = layout_of(decryption);
        if (!arena_kept(decryption, &parts)) {
            return CM_ERR_ARENA;
        }
        if (decryption->position != tile_points(decryption)) {
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

cm_status cmi_decryption_init(cm_decryption *decryption, const cm_secret_key *key, void *arena,
                              size_t arena_bytes)
{
    memset(decryption, 0, sizeof *decryption);
    decryption->receiver =
        (cm_receiver){decryption_begin, decryption_residues, decryption_end, decryption_fail};
    decryption->status = CM_ERR_ARGUMENT;
    decryption->position = CM_NO_FRAME_OPEN;
    if (!cmi_secret_key_usable(key)) {
        return CM_ERR_ARGUMENT;
    }
    if (!cmi_params_usable(key->params)) {
        return CM_ERR_PARAMS;
    }
    if (!arena || (uintptr_t)arena % 8u != 0 || cmi_key_in_arena(key, arena, arena_bytes) ||
        cmi_in_arena(decryption, sizeof *decryption, arena, arena_bytes)) {
        return CM_ERR_ARENA;
    }
    decryption->key = key;
    decryption->arena = arena;
    decryption->arena_bytes = arena_bytes;
    return CM_OK;
}

/* Whatever fails in begin, the decryption then accepts nothing. */
static cm_status start(cm_decryption *decryption, cm_scheme scheme, unsigned log2_tiles)
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

static cm_status divide_decryption_arena(cm_decryption *decryption)
{
    const size_t tile = CM_DECRYPT_TILE_BYTES(ring_degree(decryption), decryption->log2_tiles);
    if (decryption->arena_bytes < sums_bytes(decryption) + tile + CM_DECRYPT_WORKSPACE_BYTES) {
        return CM_ERR_ARENA;
    }
    decryption->tile = (uint32_t *)(void *)(decryption->arena + sums_bytes(decryption));
    return CM_OK;
}

/* The rest of the sums is wiped when the first frame has come: a back-end may not need it. */
static void mark_arena(const cm_decryption *decryption)
{
    const decryption_layout parts = layout_of(decryption);
    cmi_wipe(parts.sums, 4u * FIRST_WORDS);
    cmi_store32(parts.sums, mark_of(decryption));
    parts.work->mark = mark_of(decryption);
    keep_first(decryption, &parts);
}

/*
 * The last step of begin: from here on the arena is ours, or every frame is refused with the status that says
 * why not.
 */
static cm_status take_arena(cm_decryption *decryption, cm_status status)
{
    decryption->status = status;
    if (status == CM_OK) {
        mark_arena(decryption);
    }
    return status;
}

/* The first fault, or that frames are missing. In either case, nothing is left in the arena. */
static cm_status completeness(cm_decryption *decryption)
{
    if (decryption->status != CM_OK) {
        return decryption->status;
    }
    if (decryption->position != CM_NO_FRAME_OPEN || decryption->primes == 0 ||
        decryption->next != (uint32_t)decryption->primes << (decryption->log2_tiles + 1u)) {
        decryption_fail(&decryption->receiver, CM_ERR_FRAME_SHORT);
        return CM_ERR_FRAME_SHORT;
    }
    const decryption_layout parts = layout_of(decryption);
    if (!arena_kept(decryption, &parts)) {
        decryption_fail(&decryption->receiver, CM_ERR_ARENA);
        return CM_ERR_ARENA;
    }
    return CM_OK;
}

/* Only the values remain, and a decryption returns them once. */
static cm_status leave_values(cm_decryption *decryption, size_t values_bytes)
{
    cmi_wipe(decryption->arena + values_bytes, decryption->arena_bytes - values_bytes);
    cmi_wipe_stack();
    decryption->status = CM_ERR_ARGUMENT;
    return CM_OK;
}

/* ---- for back-ends ---- */

bool cmi_decryption_untouched(const cm_decryption *decryption)
{
    const decryption_layout parts = layout_of(decryption);
    return decryption->status == CM_OK && decryption->primes == 0 && arena_kept(decryption, &parts);
}

size_t cmi_decryption_room(const cm_decryption *decryption)
{
    return (size_t)((uint8_t *)layout_of(decryption).work - decryption->arena);
}

void cmi_decryption_restore(cm_decryption *decryption)
{
    mark_arena(decryption);
}

/* Sums and tile were the back-end's; the workspace goes with the decryption. */
static cm_status leave_given(cm_decryption *decryption, uint64_t counter)
{
    uint8_t *const work = (uint8_t *)layout_of(decryption).work;
    cmi_wipe(work, (size_t)(decryption->arena + decryption->arena_bytes - work));
    decryption->counter = counter;
    decryption->status = CM_ERR_ARGUMENT;
    return CM_OK;
}

/* ---- BFV ---- */

static cm_bfv_width width_of(uint8_t type)
{
    return type == CM_UINT16 || type == CM_INT16 ? CM_BFV_16 : CM_BFV_32;
}

static cm_status check_bfv(const cm_params *params, const cm_bfv_expected *expected)
{
    const uint32_t t = expected->plain_modulus;
    if ((expected->encoding != CM_BFV_BATCH && expected->encoding != CM_BFV_COEFFICIENTS) ||
        expected->number < CM_INT16 || expected->number > CM_UINT32 ||
        (expected->sums != CM_BFV_SUMS_24 && expected->sums != CM_BFV_SUMS_32)) {
        return CM_ERR_ARGUMENT;
    }
    const bool narrow = width_of((uint8_t)expected->number) == CM_BFV_16;
    if (expected->sums == CM_BFV_SUMS_24 && !narrow) {
        return CM_ERR_ARGUMENT;
    }
    const uint32_t limit = expected->number == CM_UINT16 ? 0x10000u : 0xFFFFu;
    const uint64_t additions = (uint64_t)params->data_primes << expected->log2_tiles;
    if (t < 2u || (narrow && t > limit) || additions * t > (uint64_t)1 << ((unsigned)expected->sums - 2u)) {
        return CM_ERR_PLAIN_MODULUS;
    }
    return CM_OK;
}

/* All of begin except taking the arena; plain receives batching's modulus. */
static cm_status prepare_bfv(cm_decryption *decryption, const cm_bfv_expected *expected, cm_prime *plain)
{
    const cm_secret_key *key = decryption->key;
    memset(plain, 0, sizeof *plain);
    cm_status status = start(decryption, CM_BFV, expected ? expected->log2_tiles : 0u);
    if (status == CM_OK) {
        status = expected ? check_bfv(key->params, expected) : CM_ERR_ARGUMENT;
    }
    if (status == CM_OK && expected->encoding == CM_BFV_BATCH &&
        !cmi_prime_init(plain, expected->plain_modulus, key->params->log2_n, cmi_roots_of(key))) {
        status = CM_ERR_PLAIN_MODULUS;
    }
    if (status != CM_OK) {
        return status;
    }
    decryption->encoding = (uint8_t)expected->encoding;
    decryption->number = (uint8_t)expected->number;
    decryption->sum_bits = (uint8_t)expected->sums;
    decryption->plain_modulus = expected->plain_modulus;
    return divide_decryption_arena(decryption);
}

cm_status cmi_bfv_decryption_check(cm_decryption *decryption, const cm_bfv_expected *expected)
{
    cm_prime plain;
    return prepare_bfv(decryption, expected, &plain);
}

cm_status cmi_bfv_decryption_begin(cm_decryption *decryption, const cm_bfv_expected *expected)
{
    cm_prime plain;
    const cm_status status = prepare_bfv(decryption, expected, &plain);
    if (take_arena(decryption, status) == CM_OK) {
        layout_of(decryption).work->plain = plain;
    }
    return status;
}

/* Numbers above t/2 stand for negative ones. */
static void centre(void *values, cm_bfv_width width, uint32_t n, uint32_t t)
{
    for (uint32_t i = 0; i < n; i++) {
        const int32_t centred = cmi_centred(cmi_plain_get(values, width, i), t);
        cmi_plain_put(values, width, i, (uint32_t)centred);
    }
}

static bool wants_signed(const cm_decryption *decryption)
{
    return decryption->number == CM_INT16 || decryption->number == CM_INT32;
}

/* From n coefficients below t at the arena's start to the numbers that are expected. Returns their bytes. */
static size_t make_numbers(const cm_decryption *decryption, cm_bfv_width inner)
{
    const decryption_layout parts = layout_of(decryption);
    const uint32_t n = (uint32_t)ring_degree(decryption);
    const cm_bfv_width width = width_of(decryption->number);
    if (decryption->encoding == CM_BFV_BATCH) {
        cmi_ring_init(&parts.work->ring, &parts.work->plain, decryption->key->params->log2_n,
                      cmi_roots_of(decryption->key));
        cmi_bfv_unbatch(parts.sums, inner, width, &parts.work->ring);
    }
    if (wants_signed(decryption)) {
        centre(parts.sums, width, n, (uint32_t)decryption->plain_modulus);
    }
    return (size_t)n * (width == CM_BFV_16 ? 2u : 4u);
}

cm_status cmi_bfv_decryption_end(cm_decryption *decryption)
{
    if (decryption->scheme != CM_BFV || noise_alone(decryption)) {
        return CM_ERR_ARGUMENT;
    }
    const cm_status status = completeness(decryption);
    if (status != CM_OK) {
        return status;
    }
    const decryption_layout parts = layout_of(decryption);
    const bool batch = decryption->encoding == CM_BFV_BATCH;
    /* Sums of 32 bits have room for the faster transform. */
    const cm_bfv_width inner =
        batch && decryption->sum_bits == CM_BFV_SUMS_32 ? CM_BFV_32 : width_of(decryption->number);
    cmi_bfv_sums_round(parts.sums, (cm_bfv_sums)decryption->sum_bits, inner,
                       (uint32_t)ring_degree(decryption), (uint32_t)decryption->plain_modulus);
    return leave_values(decryption, make_numbers(decryption, inner));
}

/* Backwards: numbers become wider, in place. */
static void widen(cm_decryption *decryption, bool with_sign)
{
    for (size_t i = ring_degree(decryption); i-- > 0;) {
        const uint32_t x = cmi_plain_get(decryption->arena, CM_BFV_16, i);
        cmi_plain_put(decryption->arena, CM_BFV_32, i, with_sign ? (uint32_t)(int32_t)(int16_t)x : x);
    }
}

cm_status cmi_bfv_decryption_given(cm_decryption *decryption, uint64_t counter, bool finished)
{
    const cm_bfv_width width = width_of(decryption->number);
    const bool widens = width == CM_BFV_32 && decryption->plain_modulus <= 0x10000u;
    if (widens) {
        widen(decryption, finished && wants_signed(decryption));
    }
    if (!finished) {
        (void)make_numbers(decryption, width);
    }
    if (widens || !finished) {
        cmi_wipe_stack();
    }
    return leave_given(decryption, counter);
}

cm_status cmi_noise_begin(cm_decryption *decryption, uint32_t plain_modulus, unsigned log2_tiles)
{
    cm_status status = start(decryption, CM_BFV, log2_tiles);
    decryption->sum_bits = NOISE_ALONE;
    decryption->plain_modulus = plain_modulus;
    if (status == CM_OK && plain_modulus < 2u) {
        status = CM_ERR_PLAIN_MODULUS;
    }
    if (status == CM_OK) {
        status = divide_decryption_arena(decryption);
    }
    return take_arena(decryption, status);
}

cm_status cmi_noise_budget(cm_decryption *decryption, unsigned *bits)
{
    if (bits) {
        *bits = 0;
    }
    if (!bits || !noise_alone(decryption)) {
        return CM_ERR_ARGUMENT;
    }
    const cm_status status = completeness(decryption);
    if (status != CM_OK) {
        return status;
    }
    *bits = cmi_noise_sums_budget((const uint32_t *)(const void *)decryption->arena,
                                  (uint32_t)ring_degree(decryption), decryption->key->params->primes,
                                  decryption->primes);
    return leave_values(decryption, 0);
}

/* ---- CKKS ---- */

static cm_status check_ckks(const cm_ckks_expected *expected)
{
    if ((expected->slots != CM_SLOTS_REAL && expected->slots != CM_SLOTS_COMPLEX) ||
        (expected->precision != CM_FIXED_31 && expected->precision != CM_FIXED_63) ||
        (expected->number != CM_FLOAT32 && expected->number != CM_INT32) || expected->exponent < -128 ||
        expected->exponent > 127 || expected->largest == 0) {
        return CM_ERR_ARGUMENT;
    }
    const bool built = (expected->slots == CM_SLOTS_REAL || CM_CONFIG_COMPLEX) &&
                       (expected->precision == CM_FIXED_31 ? CM_CONFIG_PRECISION_31 : CM_CONFIG_PRECISION_63);
    return built ? CM_OK : CM_ERR_UNSUPPORTED;
}

static cm_status prepare_ckks(cm_decryption *decryption, const cm_ckks_expected *expected)
{
    cm_status status = start(decryption, CM_CKKS, expected ? expected->log2_tiles : 0u);
    if (status == CM_OK) {
        status = expected ? check_ckks(expected) : CM_ERR_ARGUMENT;
    }
    if (status != CM_OK) {
        return status;
    }
    decryption->slots = (uint8_t)expected->slots;
    decryption->precision = (uint8_t)expected->precision;
    decryption->number = (uint8_t)expected->number;
    decryption->exponent = (int8_t)expected->exponent;
    decryption->largest = expected->largest;
    return divide_decryption_arena(decryption);
}

cm_status cmi_ckks_decryption_check(cm_decryption *decryption, const cm_ckks_expected *expected)
{
    return prepare_ckks(decryption, expected);
}

cm_status cmi_ckks_decryption_begin(cm_decryption *decryption, const cm_ckks_expected *expected)
{
    return take_arena(decryption, prepare_ckks(decryption, expected));
}

/* Everything except opening the stream of flooding noise, which is null for none. */
static cm_status end_ckks(cm_decryption *decryption, cmi_stream *stream, unsigned log2_noise)
{
    const decryption_layout parts = layout_of(decryption);
    const cm_precision precision = precision_of(decryption);
    const cm_slots slots = slots_of(decryption);
    const size_t count = ring_degree(decryption) >> (slots == CM_SLOTS_COMPLEX ? 0u : 1u);
    uint32_t *const sums = (uint32_t *)(void *)parts.sums;
    cmi_ckks_sums_join(sums, precision, (uint32_t)count, decryption->key->params->primes,
                       primes_used(decryption, decryption->primes));
    if (stream) {
        cmi_ckks_sums_flood((uint64_t *)(void *)sums, (uint32_t)count, stream, log2_noise);
    }
    const cmi_ckks_message message = {sums, decryption->key->params->log2_n, slots, precision};
    /* Flooding noise may be larger than the value. */
    const cmi_ckks_decoding wanted = {.scale = decryption->scale_bits,
                                      .number = (cm_number)decryption->number,
                                      .exponent = decryption->exponent,
                                      .largest = stream ? 0 : decryption->largest};
    const cm_status status = cmi_ckks_decode(&message, &wanted);
    if (status != CM_OK) {
        decryption_fail(&decryption->receiver, status);
        return status;
    }
    return leave_values(decryption, 4u * count);
}

cm_status cmi_ckks_decryption_end(cm_decryption *decryption)
{
    if (decryption->scheme != CM_CKKS) {
        return CM_ERR_ARGUMENT;
    }
    const cm_status status = completeness(decryption);
    return status == CM_OK ? end_ckks(decryption, NULL, 0) : status;
}

cm_status cmi_ckks_decryption_given(cm_decryption *decryption, uint64_t counter, uint64_t scale)
{
    decryption->scale_bits = scale;
    return leave_given(decryption, counter);
}

/*
 * Each part of a slot is a sum of coefficients times cosines whose squares add up to n/2 at most, so that at
 * n = 2^14 noise of 2^49 moves it by 2^54.8 rms. cmi_embed_63 has room for 2^58, of which a message takes q/4
 * < 2^52: 9.6 times the rms are left, and because uniform numbers are strictly sub-Gaussian, fewer than one
 * decryption in 2^50 is refused. With 2^50, one in fifty is.
 */
static bool floods(const cm_decryption *decryption, unsigned log2_noise)
{
    return precision_of(decryption) == CM_FIXED_63 && log2_noise >= 1u &&
           log2_noise <= CM_CKKS_SHARED_MAX_LOG2_NOISE;
}

static cm_status end_flooded(cm_decryption *decryption, cm_device *device, unsigned log2_noise)
{
    const uint32_t nonce[3] = {CM_LABEL_FLOOD, 0, 0};
    cmi_seeds seeds;
    cmi_stream stream;
    cm_status status = floods(decryption, log2_noise) ? cmi_seeds_draw(device, &seeds) : CM_ERR_SHARED_NOISE;
    if (status == CM_OK) {
        cmi_stream_init(&stream, seeds.secret_seed, nonce);
        cmi_wipe(&seeds, sizeof seeds);
        status = end_ckks(decryption, &stream, log2_noise);
        cmi_wipe(&stream, sizeof stream);
        cmi_wipe_stack();
    }
    return status;
}

cm_status cmi_ckks_decryption_end_shared(cm_decryption *decryption, cm_device *device, unsigned log2_noise)
{
    cm_status status = decryption->scheme == CM_CKKS ? completeness(decryption) : CM_ERR_ARGUMENT;
    if (status == CM_OK) {
        status = end_flooded(decryption, device, log2_noise);
    }
    if (status != CM_OK) {
        decryption_fail(&decryption->receiver, status);
    }
    return status;
}
