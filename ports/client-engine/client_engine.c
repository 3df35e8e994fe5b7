/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The back-end for the client engine: it writes keys, tables and settings, lets the engine encrypt, and hands
 * the frames on as they come; or gathers frames, and lets the engine decrypt them.
 */
#include "client_engine.h"

#include <string.h>

#include "client_registers.h"
#include "common/bytes.h"
#include "common/wipe.h"
#include "encode/bfv.h"
#include "protocol/decryptor.h"
#include "ring/prime.h"
#include "ring/ring.h"
#include "scheme/decryption.h"
#include "scheme/encrypt.h"
#include "scheme/seeds.h"
#include "scheme/sums.h"
#include "scheme/usable.h"

#define IDENTITY 0x434D4345u /* the value of the ID register */
#define PRIME_BITS_LEAST 22u

enum {
    MOST_POLLS = 1000000,
    HEADER_WORDS = CM_FRAME_HEADER_BYTES / 4,
    SEED_WORDS = 8,
    FRAME_WORDS = HEADER_WORDS + CM_FRAME_CRC_BYTES / 4, /* besides the payload */
    PIECE_WORDS = 512                                    /* that the sink is given at once, or more */
};

static uint32_t field(uint32_t word, unsigned low, unsigned bits)
{
    return word >> low & (((uint32_t)1 << bits) - 1u);
}

#define SHAPE_OF(engine, name) \
    field((engine)->shape, CM_CLIENT_SHAPE_##name##_LOW, CM_CLIENT_SHAPE_##name##_BITS)

static uint32_t read_register(const client_engine *self, uint32_t offset)
{
    return self->bus.read(self->bus.context, offset);
}

static void write_register(const client_engine *self, uint32_t offset, uint32_t value)
{
    self->bus.write(self->bus.context, offset, value);
}

static void set(const client_engine *self, uint32_t setting, uint32_t value)
{
    write_register(self, CM_CLIENT_SETTINGS_OFFSET + 4u * setting, value);
}

static void set_two(const client_engine *self, uint32_t setting, uint64_t value)
{
    set(self, setting, (uint32_t)value);
    set(self, setting + 1u, (uint32_t)(value >> 32));
}

static void set_prime(const client_engine *self, unsigned prime, uint32_t setting, uint32_t value)
{
    set(self, (CM_CLIENT_MAP_PRIMES << 8 | prime << 3) + setting, value);
}

static uint32_t fault_of(const client_engine *self)
{
    return field(read_register(self, CM_CLIENT_STATUS_OFFSET), CM_CLIENT_STATUS_FAULT_LOW,
                 CM_CLIENT_STATUS_FAULT_BITS);
}

/* Whether all that was asked for is done, without a fault that has wiped the keys. */
static bool settled(const client_engine *self)
{
    for (uint32_t polls = 0; polls < MOST_POLLS; polls++) {
        const uint32_t state = read_register(self, CM_CLIENT_STATUS_OFFSET);
        if (field(state, CM_CLIENT_STATUS_IDLE_LOW, CM_CLIENT_STATUS_IDLE_BITS)) {
            const uint32_t fault = field(state, CM_CLIENT_STATUS_FAULT_LOW, CM_CLIENT_STATUS_FAULT_BITS);
            return fault == CM_CLIENT_FAULT_NONE || fault == CM_CLIENT_FAULT_FRAME;
        }
    }
    return false;
}

/* The engine starts afresh, and holds nothing. */
static void reset(client_engine *self)
{
    self->params = NULL;
    self->secret = NULL;
    self->public_key = NULL;
    self->t = 0;
    write_register(self, CM_CLIENT_CONTROL_OFFSET, (uint32_t)1 << CM_CLIENT_CONTROL_RESET_LOW);
}

cm_status client_engine_open(client_engine *engine, const client_bus *bus, uint32_t *words, size_t count)
{
    if (!engine || !bus || !bus->read || !bus->write || !bus->send || !bus->receive || !bus->sending ||
        !bus->received || !words) {
        return CM_ERR_ARGUMENT;
    }
    cm_frame_writer writer;
    const cm_sink nowhere = {NULL, NULL};
    cm_frame_writer_init(&writer, nowhere);
    memset(engine, 0, sizeof *engine);
    engine->bus = *bus;
    engine->words = words;
    engine->count = count;
    engine->frames_begin = writer.emitter.begin;
    if (read_register(engine, CM_CLIENT_ID_OFFSET) != IDENTITY) {
        return CM_ERR_UNSUPPORTED;
    }
    engine->shape = read_register(engine, CM_CLIENT_SHAPE_OFFSET);
    reset(engine);
    engine->open = settled(engine);
    return engine->open ? CM_OK : CM_ERR_UNSUPPORTED;
}

cm_status client_engine_gather(client_engine *engine, uint32_t *words, size_t count)
{
    if (!engine || !words) {
        return CM_ERR_ARGUMENT;
    }
    engine->gathered = (uint8_t *)words;
    engine->room = count * sizeof *words;
    engine->decryptor = NULL;
    return CM_OK;
}

/* ---- what the engine must hold ---- */

static uint32_t power_of_two(unsigned exponent, const cm_prime *prime)
{
    uint32_t power = 1;
    for (unsigned i = 0; i < exponent; i++) {
        power = cmi_subtract_once(2u * power, prime->q);
    }
    return power;
}

/* The twiddles of a prime times R: word i is psi^bitrev(i). */
static void load_twiddles(const client_engine *self, unsigned index, const cmi_ring *ring)
{
    const cm_prime *prime = ring->prime;
    const uint32_t r = power_of_two(SHAPE_OF(self, LOG2_R), prime);
    set(self, CM_CLIENT_MAP_TABLE_PLACE, index << 16);
    set(self, CM_CLIENT_MAP_TABLE_DATA, r);
    for (unsigned level = 0; level < ring->log2_n; level++) {
        uint32_t twiddle = ring->first[level];
        for (uint32_t i = 0; i < (uint32_t)1 << level; i++) {
            set(self, CM_CLIENT_MAP_TABLE_DATA, cmi_montgomery_residue(twiddle, r, prime));
            twiddle = cmi_montgomery_residue(twiddle, ring->step[cmi_trailing_ones(i)], prime);
        }
    }
}

static void load_tables(const client_engine *self, const cm_params *params)
{
    set(self, CM_CLIENT_MAP_PARAMS, params->id);
    set(self, CM_CLIENT_MAP_SHAPE, params->data_primes - 1u);
    for (unsigned i = 0; i < params->data_primes; i++) {
        const cm_prime *prime = &params->primes[i];
        cmi_ring ring;
        set_prime(self, i, CM_CLIENT_MAP_PRIME_Q, prime->q);
        set_prime(self, i, CM_CLIENT_MAP_PRIME_KEY_FACTOR,
                  prime->q - power_of_two(2u * SHAPE_OF(self, LOG2_R), prime));
        cmi_ring_init(&ring, prime, params->log2_n, NULL);
        load_twiddles(self, i, &ring);
    }
}

static void load_secret(const client_engine *self, const cm_secret_key *key)
{
    set(self, CM_CLIENT_MAP_TABLE_PLACE, 0);
    for (uint32_t i = 0; i < CM_TERNARY_BYTES((uint32_t)1 << key->params->log2_n); i += 2u) {
        set(self, CM_CLIENT_MAP_TRITS, key->ternary[i] | (uint32_t)key->ternary[i + 1u] << 8);
    }
    write_register(self, CM_CLIENT_COMMAND_OFFSET, CM_CLIENT_COMMAND_LOAD_KEY);
}

/* False if the key does not provide all of it. */
static bool load_public(const client_engine *self, const cm_public_key *key)
{
    const cm_params *params = key->params;
    const cm_flat_public_key *flat = key->context;
    if (key->polynomial == cm_flat_public_key_polynomial && flat->n != (uint32_t)1 << params->log2_n) {
        return false;
    }
    for (unsigned i = 0; i < params->data_primes; i++) {
        const cm_prime *prime = &params->primes[i];
        const uint32_t factor = power_of_two(32u + SHAPE_OF(self, LOG2_R), prime);
        for (unsigned component = 0; component < 2u; component++) {
            const uint32_t *residues = key->polynomial(key->context, component, i);
            if (!residues || !cmi_filled_in(residues)) {
                return false;
            }
            set(self, CM_CLIENT_MAP_TABLE_PLACE, i << 16 | component << 24);
            for (uint32_t j = 0; j < (uint32_t)1 << params->log2_n; j++) {
                set(self, CM_CLIENT_MAP_PUBLIC_KEY_DATA, cmi_montgomery_residue(residues[j], factor, prime));
            }
        }
    }
    return true;
}

static void load_space(const client_engine *self, const cm_params *params, uint32_t t, uint32_t form)
{
    cmi_plain_scaling scaling;
    cmi_plain_scaling_init(&scaling, params, t);
    set(self, CM_CLIENT_MAP_SHAPE, (params->data_primes - 1u) | form);
    set_two(self, CM_CLIENT_MAP_SCALE, t);
    set(self, CM_CLIENT_MAP_T, t);
    set(self, CM_CLIENT_MAP_T_FACTOR, scaling.factor);
    set(self, CM_CLIENT_MAP_T_RATIO, scaling.quotient);
    set(self, CM_CLIENT_MAP_T_HALF, scaling.half);
    for (unsigned i = 0; i < params->data_primes; i++) {
        const cm_prime *prime = &params->primes[i];
        const uint32_t factor = cmi_plain_factor(t, prime); /* -1/t in Montgomery form */
        const uint32_t r = power_of_two(SHAPE_OF(self, LOG2_SCALE_R), prime);
        set_prime(self, i, CM_CLIENT_MAP_PRIME_FACTOR, cmi_montgomery_residue(factor, r, prime));
        set_prime(self, i, CM_CLIENT_MAP_PRIME_OFFSET,
                  prime->q - cmi_montgomery_residue(scaling.half, factor, prime));
    }
}

/* False if the engine does not come to rest. */
static bool hold_tables(client_engine *self, const cm_params *params)
{
    if (!settled(self)) { /* a fault has wiped the keys */
        reset(self);
        if (!settled(self)) {
            return false;
        }
    }
    if (self->params != params) {
        self->secret = NULL;
        self->public_key = NULL;
        self->t = 0;
        load_tables(self, params);
        self->params = params;
    }
    return true;
}

static void hold_secret(client_engine *self, const cm_secret_key *key)
{
    if (self->secret != key) {
        load_secret(self, key);
        self->secret = key;
    }
}

/* An encryption that the engine can do. */
typedef struct job {
    client_engine *engine;
    const cm_params *params;
    const cm_secret_key *secret; /* or null */
    const cm_public_key *public_key;
    const cm_encryptor_setup *setup;
    const cm_message_source *source;
    const cm_bfv_values *values;
    uint64_t key_id;
    uint64_t counter;
} job;

static bool is_wide(const cm_bfv_values *values)
{
    return values->number == CM_INT32 || values->number == CM_UINT32;
}

/* Whether the engine holds, or is given now, all that the job needs. */
static bool prepare_engine(const job *of)
{
    client_engine *self = of->engine;
    const cm_bfv_values *values = of->values;
    const uint32_t is_signed = values->number == CM_INT16 || values->number == CM_INT32;
    const uint32_t form = is_signed << 8 | (of->source->ntt_form ? 0u : (uint32_t)1 << 9);
    if (!hold_tables(self, of->params)) {
        return false;
    }
    if (of->secret) {
        hold_secret(self, of->secret);
    }
    if (of->public_key && self->public_key != of->public_key) {
        if (!load_public(self, of->public_key)) {
            return false;
        }
        self->public_key = of->public_key;
    }
    if (!settled(self)) {
        return false;
    }
    if (self->t != values->plain_modulus || self->form != form) {
        load_space(self, of->params, values->plain_modulus, form);
        self->t = values->plain_modulus;
        self->form = form;
    }
    return true;
}

/* ---- what it can do ---- */

/* Found out once for a set, because it takes as long as a good part of an encryption. */
static bool serves_set(client_engine *self, const cm_params *params)
{
    uint32_t words = 0;
    if (self->served == params) {
        return true;
    }
    if (SHAPE_OF(self, LOG2_N) != params->log2_n || SHAPE_OF(self, PRIMES) < params->data_primes) {
        return false;
    }
    for (unsigned i = 0; i < params->data_primes; i++) {
        const unsigned bits = cmi_bits_of(params->primes[i].q);
        if (bits < PRIME_BITS_LEAST || bits > SHAPE_OF(self, WIDTH)) {
            return false;
        }
        words += FRAME_WORDS + ((uint32_t)bits << (params->log2_n - 5u));
    }
    self->served = params;
    self->component_words = words;
    return true;
}

/* Whether the ciphertext leaves as the engine makes it: frames of version 1, of whole polynomials. */
static bool serves_setup(const client_engine *self, const cm_encryptor_setup *setup)
{
    const cm_emitter *emitter = setup->emitter;
    if (!cmi_emitter_usable(emitter) || emitter->begin != self->frames_begin || setup->log2_tiles != 0 ||
        (setup->xof != CM_XOF_NONE && setup->xof != CM_XOF_CHACHA20)) {
        return false;
    }
    const cm_frame_writer *writer = (const cm_frame_writer *)(const void *)emitter;
    return writer->sink.write && !writer->sender && setup->device->ready;
}

/* Whether portable C would take the values, up to their range. */
static bool serves_values(const job *of)
{
    const cm_bfv_values *values = of->values;
    const cm_encryptor_setup *setup = of->setup;
    const uint32_t n = (uint32_t)1 << of->params->log2_n;
    const uint32_t t = values->plain_modulus;
    const bool wide = is_wide(values);
    const size_t size = wide ? 4u : 2u;
    const size_t tiles = of->public_key         ? CM_BFV_ASYMMETRIC_ARENA_BYTES(n, values->width, 0)
                         : of->source->ntt_form ? CM_BFV_SYMMETRIC_ARENA_BYTES(n, values->width, 0)
                                                : CM_BFV_COEFFICIENT_ARENA_BYTES(n, values->width);
    const bool in_place = values->data == setup->arena && !(wide && values->width == CM_BFV_16);
    return values->encoding == CM_BFV_COEFFICIENTS && values->number >= CM_INT16 &&
           values->number <= CM_UINT32 && (values->width == CM_BFV_16 || values->width == CM_BFV_32) &&
           values->count >= 1u && values->count <= n && (uintptr_t)values->data % size == 0 && t >= 2u &&
           (values->width == CM_BFV_32 || t <= 0x10000u) && cmi_below_every_prime(t, of->params) &&
           cmi_leaves_room(of->params, t, of->public_key != NULL) && setup->arena_bytes >= tiles &&
           (in_place || !cmi_in_arena(values->data, size * values->count, setup->arena, setup->arena_bytes));
}

/* Words of all frames, of a set that is served. */
static uint32_t frame_words(const job *of)
{
    const uint32_t component = of->engine->component_words;
    return of->secret ? FRAME_WORDS + SEED_WORDS + component : 2u * component;
}

static bool describe_job(job *of, const void *key, bool public_key)
{
    if (public_key) {
        of->public_key = key;
        of->params = of->public_key->params;
        of->key_id = of->public_key->key_id;
    } else {
        of->secret = key;
        if (!cmi_secret_key_usable(of->secret) || !of->secret->ternary) {
            return false;
        }
        of->params = of->secret->params;
        of->key_id = of->secret->key_id;
    }
    /* Values that are read on demand have no bytes. */
    if (of->source->scheme != CM_BFV || of->source->bytes_per_coefficient == 0 || !of->source->data) {
        return false;
    }
    of->values = of->source->of.bfv.values;
    of->engine = client_engine_for(of->params);
    return of->engine && of->engine->open && serves_set(of->engine, of->params) &&
           serves_setup(of->engine, of->setup) && serves_values(of) && frame_words(of) <= of->engine->count;
}

/* ---- an encryption ---- */

static void start(const job *of)
{
    const client_engine *self = of->engine;
    const uint8_t *secret = of->setup->device->secret;
    for (unsigned i = 0; i < CM_DEVICE_SECRET_BYTES / 4u; i++) {
        set(self, CM_CLIENT_MAP_DEVICE_SECRET + i, cmi_load32(secret + (size_t)4u * i));
    }
    set_two(self, CM_CLIENT_MAP_KEY_ID, of->key_id);
    set_two(self, CM_CLIENT_MAP_COUNTER, of->counter);
    set_two(self, CM_CLIENT_MAP_COUNTER_END, of->counter + 1u);
    self->bus.receive(self->bus.context, self->words, frame_words(of));
    self->bus.send(self->bus.context, of->values->data, of->values->count, of->values->number);
    write_register(self, CM_CLIENT_COMMAND_OFFSET,
                   of->secret ? CM_CLIENT_COMMAND_SYMMETRIC : CM_CLIENT_COMMAND_PUBLIC);
}

static void describe_ciphertext(const job *of)
{
    cm_ciphertext_info *info = &of->setup->emitter->info;
    memset(info, 0, sizeof *info);
    info->params = of->params;
    info->xof = of->secret ? CM_XOF_CHACHA20 : CM_XOF_NONE;
    info->counter = of->counter;
    info->scale_or_t = of->values->plain_modulus;
    info->key_id = of->key_id;
    cmi_describe(info, of->source, of->params);
    if (of->secret) {
        memcpy(info->seed, of->engine->words + HEADER_WORDS, SEED_WORDS * sizeof(uint32_t));
    }
}

static uint32_t bytes_of(uint32_t words)
{
    return words * (uint32_t)sizeof(uint32_t);
}

/*
 * Hand the frames on as they come, but none before all values are known to be in range. Returns how many
 * words have left; all of them, unless the engine fails. A sink that fails gets no more.
 */
static uint32_t hand_on(const job *of, cm_status *status)
{
    const client_engine *self = of->engine;
    const cm_sink *sink = &((cm_frame_writer *)(void *)of->setup->emitter)->sink;
    const uint32_t total = frame_words(of);
    const uint32_t first = of->secret ? FRAME_WORDS + SEED_WORDS : 0u; /* the seed needs no value */
    uint32_t left = 0;
    for (uint32_t polls = 0; left < total && polls < MOST_POLLS; polls++) {
        const uint32_t there = self->bus.received(self->bus.context);
        const bool enough = there == total || there - left >= PIECE_WORDS;
        if (fault_of(self) != 0) {
            break;
        }
        if (!enough || there <= first || self->bus.sending(self->bus.context)) {
            continue;
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

/* What a fault says of the caller's part; CM_OK if it is the engine's own. */
static cm_status status_of(uint32_t fault)
{
    return fault == CM_CLIENT_FAULT_RANGE     ? CM_ERR_VALUE_RANGE
           : fault == CM_CLIENT_FAULT_ENTROPY ? CM_ERR_RANDOM
                                              : CM_OK;
}

/* Values in the arena must not stay there. */
static int ended(const job *of)
{
    const cm_bfv_values *values = of->values;
    if (values->data == of->setup->arena) {
        cmi_wipe(of->setup->arena, (is_wide(values) ? 4u : 2u) * (size_t)values->count);
    }
    return 1;
}

int client_encrypt(cm_status *status, const void *key, bool public_key, const cm_encryptor_setup *setup,
                   const cm_message_source *source)
{
    job of = {.setup = setup, .source = source};
    if (!describe_job(&of, key, public_key)) {
        return 0;
    }
    if (!prepare_engine(&of)) {
        reset(of.engine);
        return 0;
    }
    of.counter = setup->device->counter.next;
    *status = cmi_counter_take(&setup->device->counter);
    if (*status != CM_OK) {
        return ended(&of);
    }
    start(&of);
    const uint32_t left = hand_on(&of, status);
    if (left == frame_words(&of)) {
        describe_ciphertext(&of);
        return ended(&of);
    }
    const cm_status fault = status_of(fault_of(of.engine));
    reset(of.engine);
    if (left == 0 && fault == CM_OK) {
        return 0;
    }
    *status = fault == CM_OK ? CM_ERR_SINK : fault;
    return ended(&of);
}

/* ---- a decryption ---- */

/* The engine that gathers, or null. */
static client_engine *gathering;

/* The decryptor may be one that has not been set up. */
static client_engine *gathering_for(const cm_decryptor *decryptor)
{
    return gathering && gathering->decryptor == decryptor ? gathering : NULL;
}

int client_decrypt_begin(cm_decryptor *decryptor, const cm_bfv_expected *expected)
{
    if (gathering_for(decryptor)) {
        gathering->decryptor = NULL;
    }
    if (!expected || (gathering && gathering->decryptor)) {
        return 0;
    }
    const cm_secret_key *key = decryptor->decryption.key;
    client_engine *self = client_engine_for(key->params);
    if (!self || !self->open || !self->gathered || !self->bus.send_frames || !serves_set(self, key->params) ||
        !key->ternary || expected->log2_tiles != 0 || decryptor->reader.expected) {
        return 0;
    }
    gathering = self;
    self->decryptor = decryptor;
    self->length = 0;
    return 1;
}

/* Portable C goes on with what has come so far, and says what is wrong with it. */
static int hand_back(client_engine *self, cm_decryptor *decryptor)
{
    self->decryptor = NULL;
    (void)!cmi_decryptor_feed(decryptor, self->gathered, self->length);
    return 0;
}

/* memcpy, which goes byte by byte in small C libraries. */
static void copy(uint8_t *to, const uint8_t *from, size_t length)
{
    size_t words = ((uintptr_t)to | (uintptr_t)from) % 4u == 0 ? length / 4u : 0u;
    uint32_t *to_word = (uint32_t *)(void *)to;
    const uint32_t *from_word = (const uint32_t *)(const void *)from;
    for (; words >= 4u; words -= 4u, to_word += 4, from_word += 4) {
        const uint32_t a = from_word[0];
        const uint32_t b = from_word[1];
        const uint32_t c = from_word[2];
        const uint32_t d = from_word[3];
        to_word[0] = a;
        to_word[1] = b;
        to_word[2] = c;
        to_word[3] = d;
    }
    const size_t copied = (size_t)((uint8_t *)to_word - to);
    memcpy(to + copied, from + copied, length - copied);
}

int client_decrypt_feed(cm_decryptor *decryptor, const uint8_t *bytes, size_t length)
{
    client_engine *self = gathering_for(decryptor);
    if (!self) {
        return 0;
    }
    if (!bytes || length > self->room - self->length) {
        return hand_back(self, decryptor);
    }
    copy(self->gathered + self->length, bytes, length);
    self->length += length;
    return 1;
}

/* What is expected of the ciphertext that has gathered; the engine checks all the rest of its frames. */
typedef struct gathered {
    client_engine *engine;
    cm_decryption *decryption;
    uint32_t t;
    uint32_t words;
    unsigned primes;
    uint64_t counter;
} gathered;

static bool describe_gathered(gathered *of, const cm_decryptor *decryptor)
{
    const client_engine *self = of->engine;
    const cm_params *params = of->decryption->key->params;
    const bool seeded = self->length > 3u && self->gathered[3] != 0;
    if (self->length < CM_FRAME_HEADER_BYTES || (seeded && !decryptor->expander)) {
        return false;
    }
    of->t = (uint32_t)of->decryption->scale_or_t;
    of->primes = self->gathered[7];
    of->counter = cmi_load32(self->gathered + 20) | (uint64_t)cmi_load32(self->gathered + 24) << 32;
    if (of->primes == 0 || of->primes > params->data_primes || !cmi_below_every_prime(of->t, params)) {
        return false;
    }
    of->words = seeded ? FRAME_WORDS + SEED_WORDS : 0u;
    for (unsigned i = 0; i < of->primes; i++) {
        const uint32_t residues = cmi_bits_of(params->primes[i].q) << (params->log2_n - 5u);
        of->words += (seeded ? 1u : 2u) * (FRAME_WORDS + residues);
    }
    return self->length == bytes_of(of->words);
}

/* x w / q for the primes of the ciphertext, w being the inverse of the others' product (scheme/sums.h). */
static void load_sums(const gathered *of)
{
    const client_engine *self = of->engine;
    const cm_prime *primes = of->decryption->key->params->primes;
    set(self, CM_CLIENT_MAP_SHAPE, of->primes - 1u);
    set_two(self, CM_CLIENT_MAP_SCALE, of->t);
    set(self, CM_CLIENT_MAP_T, of->t);
    for (unsigned i = 0; i < of->primes; i++) {
        const cm_prime *prime = &primes[i];
        const uint32_t w = cmi_bfv_sums_weight(prime, primes, of->primes); /* times 2^32 */
        const uint32_t below = cmi_montgomery_residue(w, prime->r2, prime);
        set_prime(self, i, CM_CLIENT_MAP_PRIME_FRACTION, below * prime->neg_q_inv);
        set_prime(self, i, CM_CLIENT_MAP_PRIME_FRACTION + 1u, w * prime->neg_q_inv);
    }
}

/* False if a frame is wrong, or the engine fails. The values are then at the arena's start, or nothing is. */
static bool decrypt_gathered(const gathered *of)
{
    client_engine *self = of->engine;
    const cm_secret_key *key = of->decryption->key;
    if (!hold_tables(self, key->params)) {
        return false;
    }
    hold_secret(self, key);
    if (!settled(self)) {
        return false;
    }
    self->t = 0; /* no longer that of an encryption */
    load_sums(of);
    set_two(self, CM_CLIENT_MAP_KEY_ID, key->key_id);
    const uint32_t results = (uint32_t)1 << (key->params->log2_n - (of->t <= 0x10000u ? 1u : 0u));
    self->bus.receive(self->bus.context, (uint32_t *)(void *)of->decryption->arena, results);
    self->bus.send_frames(self->bus.context, (const uint32_t *)(const void *)self->gathered, of->words);
    write_register(self, CM_CLIENT_COMMAND_OFFSET, CM_CLIENT_COMMAND_DECRYPT);
    const bool ended = settled(self);
    if (ended && fault_of(self) == 0 && self->bus.received(self->bus.context) == results) {
        return true;
    }
    self->bus.receive(self->bus.context, self->words, 0); /* the arena is portable C's again */
    if (!ended) {
        reset(self);
    }
    return false;
}

int client_decrypt_end(cm_status *status, cm_decryptor *decryptor)
{
    gathered of = {.engine = gathering_for(decryptor), .decryption = &decryptor->decryption};
    if (!of.engine) {
        return 0;
    }
    if (!cmi_bfv_decryption_untouched(of.decryption) || !describe_gathered(&of, decryptor) ||
        !decrypt_gathered(&of)) {
        return hand_back(of.engine, decryptor);
    }
    of.engine->decryptor = NULL;
    *status = cmi_bfv_decryption_given(of.decryption, of.counter);
    return 1;
}
