/* SPDX-License-Identifier: Apache-2.0 */
/* Encryptions by the client engine: it is given the values, and its frames are handed on as they come. */
#include <string.h>

#include "ciphermote/bfv.h"
#include "ciphermote/ckks.h"
#include "client_arch.h"
#include "client_driver.h"
#include "common/bytes.h"
#include "common/masks.h"
#include "common/wipe.h"
#include "encode/bfv.h"
#include "encode/bfv_numbers.h"
#include "encode/ckks.h"
#include "ring/prime.h"
#include "ring/ring.h"
#include "scheme/encrypt.h"
#include "scheme/seeds.h"
#include "scheme/usable.h"

#define CKKS_CONSTANTS 1u /* in place of t, which is at least 2 */

enum {
    MOST_LIMIT = 29, /* log2 of what CKKS's values times the scale may be */
    EXPONENT_OF_ONE = 127,
    ROUNDED_UP = 32,  /* of a binary32's last places, which is more than fixed point rounds by */
    PIECE_WORDS = 512 /* that the sink is given at once, or more */
};

/* An encryption that the engine can do. */
typedef struct job {
    client_engine *engine;
    const cm_params *params;
    unsigned primes;
    const uint8_t *secret; /* packed, or the name of one that the engine has drawn; or null */
    const cm_public_key *public_key;
    const cm_encryptor_setup *setup;
    const cm_message_source *source; /* null: a public key is made, which is an encryption of zero */
    cm_frame_sender *sender;         /* of version 2, or null */
    cm_xof_kind xof;
    uint64_t key_id;
    uint64_t counter;
    const cm_root_table *roots; /* the key's */
    bool in_slots;              /* BFV's, which become coefficients in the arena */
    /* What enters. */
    const void *data;
    uint32_t count;
    cm_number number;
} job;

/* ---- what it can do ---- */

static const cm_ckks_values *ckks_values(const job *of)
{
    return of->source && of->source->scheme == CM_CKKS ? of->source->of.ckks.values : NULL;
}

static const cm_bfv_values *bfv_values(const job *of)
{
    return of->source->of.bfv.values;
}

static size_t number_bytes(cm_number number)
{
    return number == CM_INT16 || number == CM_UINT16 ? 2u : 4u;
}

/* Portable C takes the counter before it says what is wrong with a window. */
static bool window_reaches(const cm_frame_sender *sender, uint64_t counter)
{
    return sender->window == CM_NEW_WINDOW ||
           (counter >= sender->window && (counter - sender->window) >> 32 == 0);
}

/* Whether the ciphertext leaves as the engine makes it: in frames, of whole polynomials. */
static bool serves_setup(job *of)
{
    const cm_encryptor_setup *setup = of->setup;
    const cm_emitter *emitter = setup->emitter;
    if (!cmi_emitter_usable(emitter) || emitter->begin != of->engine->frames_begin ||
        setup->log2_tiles != 0 || !setup->device->ready) {
        return false;
    }
    const cm_frame_writer *writer = (const cm_frame_writer *)(const void *)emitter;
    of->sender = writer->sender;
    of->xof = setup->xof;
    return writer->sink.write && of->xof != CM_XOF_BLAKE2XB &&
           (!of->sender || (of->sender->turn && window_reaches(of->sender, setup->device->counter.next)));
}

/* Slots are encoded in the arena, where numbers of another size could not be put back. */
static bool serves_slots(const job *of)
{
    const cm_bfv_values *values = bfv_values(of);
    const size_t size = values->width == CM_BFV_16 ? 2u : 4u;
    return values->data != of->setup->arena || number_bytes(values->number) == size;
}

/* Whether portable C would take the values, up to their range. */
static bool serves_bfv(const job *of)
{
    const cm_bfv_values *values = bfv_values(of);
    const uint32_t n = (uint32_t)1 << of->params->log2_n;
    const size_t arena = of->public_key         ? CM_BFV_ASYMMETRIC_ARENA_BYTES(n, values->width, 0)
                         : of->source->ntt_form ? CM_BFV_SYMMETRIC_ARENA_BYTES(n, values->width, 0)
                                                : CM_BFV_COEFFICIENT_ARENA_BYTES(n, values->width);
    const bool widens_in_place =
        values->data == of->setup->arena && number_bytes(values->number) == 4u && values->width == CM_BFV_16;
    return cmi_plain_check(of->params, values) == CM_OK &&
           (values->encoding == CM_BFV_COEFFICIENTS || serves_slots(of)) &&
           cmi_leaves_room(of->params, values->plain_modulus, of->public_key != NULL) &&
           of->setup->arena_bytes >= arena && !widens_in_place;
}

/* log2 of the engine's limit on values times the scale. */
static unsigned limit_of(const job *of)
{
    const unsigned limit = of->params->log2_q_data - 2u;
    return limit < MOST_LIMIT ? limit : MOST_LIMIT;
}

/* Whether the largest value times the scale stays below it, rounded. Portable C goes to a quarter of the
 * modulus. */
static bool below_limit(const job *of, const cm_ckks_values *values)
{
    uint32_t bits;
    memcpy(&bits, &values->largest, sizeof bits);
    return bits < ((uint32_t)(EXPONENT_OF_ONE + (int)limit_of(of) - values->log2_scale) << 23) - ROUNDED_UP;
}

/* The engine compares real and imaginary parts. */
static bool within_circle(const cm_ckks_values *values)
{
    (void)values;
#if CM_CONFIG_COMPLEX && CM_CONFIG_PRECISION_31
    return values->slots != CM_SLOTS_COMPLEX || !cmi_ckks_beyond_circle(values);
#else
    return true;
#endif
}

static bool serves_ckks(const job *of)
{
    const cm_ckks_values *values = ckks_values(of);
    const uint32_t n = (uint32_t)1 << of->params->log2_n;
    const size_t arena = of->public_key ? CM_CKKS_ASYMMETRIC_ARENA_BYTES(n, values->slots, CM_FIXED_31, 0)
                                        : CM_CKKS_SYMMETRIC_ARENA_BYTES(n, values->slots, CM_FIXED_31, 0);
    return values->precision == CM_FIXED_31 && cmi_ckks_check(of->params, values) == CM_OK &&
           below_limit(of, values) && cmi_ckks_largest(values) != 0 && of->setup->arena_bytes >= arena &&
           within_circle(values);
}

/* What enters, and whether portable C would take it from there. */
static bool describe_values(job *of)
{
    const cm_encryptor_setup *setup = of->setup;
    const cm_ckks_values *ckks = ckks_values(of);
    if (ckks ? !serves_ckks(of) : !serves_bfv(of)) {
        return false;
    }
    of->data = of->source->data;
    of->number = ckks ? ckks->number : bfv_values(of)->number;
    of->count = !ckks                             ? bfv_values(of)->count
                : ckks->slots == CM_SLOTS_COMPLEX ? 2u * ckks->count
                                                  : ckks->count;
    const size_t size = number_bytes(of->number);
    const bool taken = (uintptr_t)of->data % size == 0 &&
                       (of->data == setup->arena ||
                        !cmi_in_arena(of->data, size * of->count, setup->arena, setup->arena_bytes));
    of->in_slots = !ckks && bfv_values(of)->encoding == CM_BFV_BATCH;
    if (of->in_slots) {
        of->data = setup->arena;
        of->number = bfv_values(of)->width == CM_BFV_16 ? CM_UINT16 : CM_UINT32;
        of->count = (uint32_t)1 << of->params->log2_n;
    }
    return taken;
}

/* Words of all frames. */
static uint32_t words_of(const job *of)
{
    const uint32_t frame = client_frame_words(of->sender);
    const uint32_t residues = of->primes * frame + client_residue_words(of->engine, of->primes);
    return of->secret ? frame + client_seed_words(of->xof) + residues : 2u * residues;
}

static client_needs needs_of(const job *of)
{
    return (client_needs){.device_secret = of->setup->device->secret,
                          .tag_key = of->sender ? of->sender->tag_key : NULL};
}

/* Whether the engine is there, and has room for the frames. */
static bool takes_job(job *of)
{
    if (!serves_setup(of) || words_of(of) > of->engine->count) {
        return false;
    }
    const client_needs needs = needs_of(of);
    return client_spares_key(of->engine, of->params, of->secret, &needs);
}

static bool describe_job(job *of, const void *key, bool public_key)
{
    if (public_key) {
        of->public_key = key;
        of->params = of->public_key->params;
        of->key_id = of->public_key->key_id;
        of->roots = cmi_roots_of(of->public_key);
    } else {
        const cm_secret_key *secret = key;
        of->params = secret->params;
        of->key_id = secret->key_id;
        of->roots = cmi_roots_of(secret);
        of->secret = secret->ternary;
        of->engine = client_engine_for(of->params);
        if (!(cmi_secret_key_usable(secret) || cmi_secret_key_named(secret)) || !of->secret) {
            return false;
        }
    }
    of->engine = client_engine_for(of->params);
    of->primes = of->params->data_primes;
    /* Values that are read on demand have no bytes. */
    if (of->source->bytes_per_coefficient == 0 || !of->source->data) {
        return false;
    }
    return of->engine && of->engine->open && (public_key || of->engine->policy & CLIENT_ENCRYPTS) &&
           client_serves(of->engine, of->params) && takes_job(of) && describe_values(of);
}

/* ---- what the engine must hold ---- */

/* Constants of a message space. */
typedef struct space {
    uint32_t t_factor, t_ratio, t_half;
    struct {
        uint32_t factor, offset;
    } primes[CM_MAX_PRIMES];
} space;

/* -1/t modulo q, by Euclid's algorithm: a fifth of the time of cmi_plain_factor's power, and all of it is
 * public. rest is t factor modulo q up to sign, as is last. */
static uint32_t negated_inverse(uint32_t t, uint32_t q)
{
    uint32_t last = q;
    uint32_t rest = t;
    uint32_t last_factor = 0;
    uint32_t factor = 1;
    bool negative = false;
    while (rest > 1u) {
        const uint32_t quotient = last / rest;
        const uint32_t next = last - quotient * rest;
        const uint32_t next_factor = last_factor + quotient * factor;
        last = rest;
        rest = next;
        last_factor = factor;
        factor = next_factor;
        negative = !negative;
    }
    return negative ? factor : q - factor;
}

/* As cmi_plain_scaling_init, but by the processor's division, where it has one. */
static void compute_bfv_space(const client_engine *self, const cm_params *params, uint32_t t, space *of)
{
    uint32_t factor = 1u % t;
    for (unsigned i = 0; i < params->data_primes; i++) {
        factor = (uint32_t)((uint64_t)factor * (params->primes[i].q % t) % t);
    }
    of->t_factor = factor;
    of->t_ratio = (uint32_t)(((uint64_t)factor << 32) / t);
    of->t_half = (t + 1u) / 2u;
    for (unsigned i = 0; i < params->data_primes; i++) {
        const cm_prime *prime = &params->primes[i];
        /* -1/t, in Montgomery form */
        const uint32_t inverse = cmi_montgomery_residue(negated_inverse(t, prime->q), prime->r2, prime);
        const uint32_t r = client_power_of_two(client_log2_scale_r(self), prime);
        of->primes[i].factor = cmi_montgomery_residue(inverse, r, prime);
        of->primes[i].offset = prime->q - cmi_montgomery_residue(of->t_half, inverse, prime);
    }
}

/* Coefficients enter as unsigned numbers, 2^31 more than they are. */
static void compute_ckks_space(const client_engine *self, const cm_params *params, space *of)
{
    for (unsigned i = 0; i < params->data_primes; i++) {
        const cm_prime *prime = &params->primes[i];
        of->primes[i].factor = client_power_of_two(client_log2_scale_r(self), prime);
        of->primes[i].offset = prime->q - client_power_of_two(31, prime);
    }
}

static void compute_space(const client_engine *self, const cm_params *params, uint32_t encodes, space *of)
{
    if (encodes == CKKS_CONSTANTS) {
        compute_ckks_space(self, params, of);
    } else {
        compute_bfv_space(self, params, encodes, of);
    }
}

/*
 * Give the engine the secrets of a job, the tables of a set, and constants for BFV with t = encodes or, if
 * that is CKKS_CONSTANTS, for CKKS. They are computed while it may still make tables. False if it does not
 * become idle.
 */
static bool hold_space(client_engine *self, const cm_params *params, const client_needs *needs,
                       uint32_t encodes)
{
    space of;
    bool computed = false;
    if (self->params != params || self->encodes != encodes) {
        compute_space(self, params, encodes, &of);
        computed = true;
    }
    if (!client_hold_tables(self, params, params->data_primes, needs)) {
        return false;
    }
    if (self->encodes == encodes) {
        return true;
    }
    if (!computed) { /* a fault has made the engine forget them */
        compute_space(self, params, encodes, &of);
    }
    if (!client_settled(self)) {
        return false;
    }
    if (encodes != CKKS_CONSTANTS) {
        client_set(self, CM_CLIENT_MAP_T_FACTOR, of.t_factor);
        client_set(self, CM_CLIENT_MAP_T_RATIO, of.t_ratio);
        client_set(self, CM_CLIENT_MAP_T_HALF, of.t_half);
    }
    for (unsigned i = 0; i < params->data_primes; i++) {
        client_set_prime(self, i, CM_CLIENT_MAP_PRIME_FACTOR, of.primes[i].factor);
        client_set_prime(self, i, CM_CLIENT_MAP_PRIME_OFFSET, of.primes[i].offset);
    }
    self->encodes = encodes;
    return true;
}

static uint32_t shape_of(const job *of)
{
    const cm_ckks_values *ckks = ckks_values(of);
    uint32_t shape = of->xof == CM_XOF_SHAKE256 ? CLIENT_IS_SHAKE256 : 0u;
    shape |= of->sender ? CLIENT_HAS_TAGS : 0u;
    if (!of->source) {
        return shape;
    }
    shape |= of->source->ntt_form ? 0 : CLIENT_IN_COEFFICIENTS;
    if (!ckks) {
        return shape | (of->number == CM_INT16 || of->number == CM_INT32 ? CLIENT_IS_SIGNED : 0u);
    }
    return shape | CLIENT_IS_CKKS | (ckks->slots == CM_SLOTS_COMPLEX ? CLIENT_IS_COMPLEX : 0u) |
           (ckks->number == CM_FLOAT32 ? CLIENT_IS_FLOAT : 0u);
}

static uint32_t scale_of(const job *of)
{
    const cm_ckks_values *ckks = ckks_values(of);
    if (!ckks) {
        return bfv_values(of)->plain_modulus;
    }
    return client_ckks_setting(ckks->exponent, (unsigned)ckks->log2_scale, limit_of(of));
}

static uint32_t largest_of(const job *of)
{
    return ckks_values(of) ? cmi_ckks_largest(ckks_values(of))
           : of->in_slots  ? bfv_values(of)->plain_modulus - 1u
                           : bfv_values(of)->largest;
}

/* Whether the engine holds, or is given now, all that the job needs. */
static bool prepare_engine(const job *of)
{
    client_engine *self = of->engine;
    const client_needs needs = needs_of(of);
    if (!of->source) {
        if (!client_hold_tables(self, of->params, of->primes, &needs) ||
            !client_hold_secret(self, of->params, of->primes, of->secret) || !client_settled(self)) {
            return false;
        }
        client_set(self, CM_CLIENT_MAP_SHAPE, (of->primes - 1u) | shape_of(of));
        return true;
    }
    const uint32_t constants = ckks_values(of) ? CKKS_CONSTANTS : bfv_values(of)->plain_modulus;
    if (!hold_space(self, of->params, &needs, constants) ||
        !(of->secret ? client_hold_secret(self, of->params, of->primes, of->secret)
                     : client_hold_public(self, of->public_key)) ||
        !client_settled(self)) {
        return false;
    }
    client_set_shape(self, of->primes, shape_of(of), scale_of(of));
    client_set(self, CM_CLIENT_MAP_LARGEST, largest_of(of));
    return true;
}

static bool serves_modulus(const cm_params *params, uint32_t t)
{
    for (unsigned i = 0; i < params->data_primes; i++) {
        if (t >= params->primes[i].q) {
            return false;
        }
    }
    return t != 1u;
}

cm_status client_engine_hold(client_engine *engine, const uint8_t *device_secret, const cm_secret_key *key,
                             uint32_t plain_modulus)
{
    if (!engine || !device_secret || !key) {
        return CM_ERR_ARGUMENT;
    }
    const client_needs needs = {.device_secret = device_secret};
    if (!engine->open || !key->params || !cmi_secret_key_usable(key) || !key->ternary ||
        !client_serves(engine, key->params) || !serves_modulus(key->params, plain_modulus) ||
        !client_spares_key(engine, key->params, key->ternary, &needs) ||
        !hold_space(engine, key->params, &needs, plain_modulus ? plain_modulus : CKKS_CONSTANTS) ||
        !client_hold_secret(engine, key->params, key->params->data_primes, key->ternary)) {
        return CM_ERR_UNSUPPORTED;
    }
    return CM_OK;
}

/* ---- BFV's slots ---- */

/* Encode them, while the engine may still work on a key: coefficients from 0 to t - 1. */
static cm_status encode_slots(const job *of)
{
    const cm_bfv_values *values = bfv_values(of);
    cmi_plain plain = {.data = of->setup->arena};
    cmi_ring ring;
    const cm_status status = cmi_plain_encode(of->params, values, of->roots, &plain, &ring);
    if (status != CM_OK || values->width == CM_BFV_32) {
        return status;
    }
    uint16_t *numbers = of->setup->arena;
    for (uint32_t i = 0; i < of->count; i++) { /* as encoded, they have a sign */
        numbers[i] = (uint16_t)(numbers[i] + (values->plain_modulus & (0u - (uint32_t)(numbers[i] >> 15))));
    }
    return CM_OK;
}

/* Put values that were in the arena back there, for portable C. */
static void restore_slots(const job *of)
{
    const cm_bfv_values *values = bfv_values(of);
    const uint32_t t = values->plain_modulus;
    const bool is_signed = values->number == CM_INT16 || values->number == CM_INT32;
    cm_prime prime;
    cmi_ring ring;
    if (values->data != of->setup->arena || !cmi_prime_init(&prime, t, of->params->log2_n, of->roots)) {
        return;
    }
    cmi_ring_init(&ring, &prime, of->params->log2_n, of->roots);
    cmi_bfv_unbatch(of->setup->arena, values->width, values->width, &ring);
    for (uint32_t i = 0; is_signed && i < of->count; i++) {
        const uint32_t number = cmi_plain_get(of->setup->arena, values->width, i);
        cmi_plain_put(of->setup->arena, values->width, i, number - (t & cmi_mask_of_top(t / 2u - number)));
    }
}

/* ---- an encryption ---- */

static void start(const job *of)
{
    client_engine *self = of->engine;
    const cm_frame_sender *sender = of->sender;
    client_set_two(self, CM_CLIENT_MAP_KEY_ID, of->key_id);
    client_set_two(self, CM_CLIENT_MAP_COUNTER, of->counter);
    client_set_two(self, CM_CLIENT_MAP_COUNTER_END, of->counter + 1u);
    if (sender) {
        client_set_tags(self, sender->device, sender->epoch, sender->window);
    }
    self->bus.receive(self->bus.context, self->words, words_of(of), 0);
    if (of->source) {
        self->bus.send(self->bus.context, of->data, of->count, of->number);
    }
    client_command(self, !of->source  ? CM_CLIENT_COMMAND_PUBLISH
                         : of->secret ? CM_CLIENT_COMMAND_SYMMETRIC
                                      : CM_CLIENT_COMMAND_PUBLIC);
}

static uint32_t bytes_of(uint32_t words)
{
    return words * (uint32_t)sizeof(uint32_t);
}

/*
 * Hand the frames on as they come, but none before all values are known to be in range. Returns how many
 * words have left; all of them, unless the engine fails. A sink that fails gets no more. From the first words
 * on, a fault matters only if no more come.
 */
static uint32_t hand_on(const job *of, cm_status *status)
{
    const client_engine *self = of->engine;
    const cm_sink *sink = &((cm_frame_writer *)(void *)of->setup->emitter)->sink;
    const uint32_t total = words_of(of);
    /* The seed needs no value. */
    const uint32_t first = of->secret ? client_frame_words(of->sender) + client_seed_words(of->xof) : 0u;
    uint32_t left = 0;
    for (uint32_t polls = 0; left < total && polls < CLIENT_MOST_POLLS; polls++) {
        const uint32_t there = self->bus.received(self->bus.context);
        const bool enough = there > first && (there == total || there - left >= PIECE_WORDS);
        if (left == 0 || !enough) {
            const bool entered = !self->bus.sending(self->bus.context);
            if (client_fault(self) != CM_CLIENT_FAULT_NONE) { /* of any value that has entered */
                break;
            }
            if (!enough || !entered) {
                continue;
            }
        }
        const uint8_t *bytes = (const uint8_t *)(self->words + left);
        if (*status == CM_OK && sink->write(sink->context, bytes, bytes_of(there - left)) != 0) {
            *status = CM_ERR_SINK;
        }
        left = there;
        polls = 0;
    }
    return left;
}

/* The sum of the tags of all frames (ciphermote/frame.h). */
static uint64_t sum_of_tags(const job *of)
{
    const uint32_t frame = client_frame_words(true);
    const unsigned components = of->secret ? 1u : 2u;
    const uint32_t *end = of->engine->words;
    uint64_t sum = 0;
    if (of->secret) {
        end += frame + client_seed_words(of->xof);
        sum = cmi_load64((const uint8_t *)(end - CLIENT_CRC_WORDS - CLIENT_TAG_WORDS));
    }
    for (unsigned i = 0; i < of->primes * components; i++) {
        const unsigned before = i / components;
        end +=
            frame + client_residue_words(of->engine, before + 1u) - client_residue_words(of->engine, before);
        sum += cmi_load64((const uint8_t *)(end - CLIENT_CRC_WORDS - CLIENT_TAG_WORDS));
    }
    return sum;
}

/* What portable C leaves in the emitter and in the sender. */
static void describe_ciphertext(const job *of)
{
    cm_ciphertext_info *info = &of->setup->emitter->info;
    const cm_ckks_values *ckks = ckks_values(of);
    const uint32_t *words = of->engine->words;
    memset(info, 0, sizeof *info);
    info->params = of->params;
    info->xof = of->xof;
    info->counter = of->counter;
    info->key_id = of->key_id;
    if (!of->source) {
        info->scheme = CM_PUBLIC_KEY;
        info->ntt_form = true;
        info->components = 2;
        info->primes = (uint8_t)of->primes;
    } else if (ckks) {
        info->scale_bits = (uint64_t)(1023 + (int32_t)ckks->log2_scale) << 52;
    } else {
        info->plain_modulus = bfv_values(of)->plain_modulus;
    }
    if (of->source) {
        cmi_describe(info, of->source, of->params);
    }
    if (of->secret) {
        words += of->sender ? CLIENT_TAGGED_HEADER_WORDS : CLIENT_HEADER_WORDS;
        memcpy(info->seed, words, client_seed_words(of->xof) * sizeof *words);
    } else if (of->sender) {
        memcpy(info->seed, words + CLIENT_TAGGED_HEADER_WORDS - 2, 8);
    }
    if (of->sender) {
        of->sender->window = of->sender->window == CM_NEW_WINDOW ? of->counter : of->sender->window;
        of->sender->tags = sum_of_tags(of);
    }
}

/* Whether a binary32 is an infinity or no number, without a branch on any. */
static bool all_finite(const job *of)
{
    const uint32_t *bits = of->data;
    uint32_t exponents = 0;
    for (uint32_t i = 0; of->number == CM_FLOAT32 && i < of->count; i++) {
        exponents |= (bits[i] >> 23 & 0xFFu) + 1u;
    }
    return exponents >> 8 == 0;
}

/* What a fault says of the caller's part; CM_OK if it is the engine's own. */
static cm_status status_of(const job *of, uint32_t fault)
{
    return fault == CM_CLIENT_FAULT_RANGE     ? (all_finite(of) ? CM_ERR_VALUE_RANGE : CM_ERR_NOT_FINITE)
           : fault == CM_CLIENT_FAULT_ENTROPY ? CM_ERR_RANDOM
                                              : CM_OK;
}

/* Values in the arena must not stay there. */
static int ended(const job *of)
{
    if (of->data == of->setup->arena) {
        cmi_wipe(of->setup->arena, number_bytes(of->number) * of->count);
    }
    return 1;
}

/* All of a job that has been described. */
static int do_job(job *of, cm_status *status)
{
    client_engine *self = of->engine;
    if (!prepare_engine(of)) {
        client_reset(self);
        self->failures++;
        return client_declined(self);
    }
    if (of->in_slots) {
        *status = encode_slots(of);
        if (*status != CM_OK) {
            return ended(of);
        }
    }
    of->counter = of->setup->device->counter.next;
    *status = cmi_counter_take(&of->setup->device->counter);
    if (*status != CM_OK) {
        return ended(of);
    }
    start(of);
    const uint32_t left = hand_on(of, status);
    if (left == words_of(of)) {
        describe_ciphertext(of);
        return ended(of);
    }
    const uint32_t raised = client_fault(self);
    const cm_status fault = status_of(of, raised);
    if (raised == CM_CLIENT_FAULT_NONE || !client_keeps_keys(raised)) {
        client_reset(self);
    }
    if (left == 0 && fault == CM_OK) {
        if (of->in_slots) {
            restore_slots(of);
        }
        self->failures++;
        return client_declined(self);
    }
    *status = fault == CM_OK ? CM_ERR_SINK : fault;
    return ended(of);
}

int client_encrypt(cm_status *status, const void *key, bool public_key, const cm_encryptor_setup *setup,
                   const cm_message_source *source)
{
    job of = {.setup = setup, .source = source};
    return describe_job(&of, key, public_key) ? do_job(&of, status) : client_declined(of.engine);
}

int client_emit_public_key(cm_status *status, const cm_encryptor_setup *setup, const cm_params *params,
                           const uint8_t *ternary, uint64_t key_id)
{
    job of = {.engine = client_engine_for(params),
              .setup = setup,
              .params = params,
              .primes = params->key_primes,
              .secret = ternary,
              .key_id = key_id};
    if (!of.engine || !of.engine->open || !client_serves_keys(of.engine, params) || !takes_job(&of)) {
        return client_declined(of.engine);
    }
    of.engine->secret = NULL; /* other keys may have been at this address */
    const int done = do_job(&of, status);
    of.engine->secret = NULL;
    return done;
}
