/* SPDX-License-Identifier: Apache-2.0 */
/* The client engine's registers, and the tables and keys that it holds. */
#include "client_engine.h"

#include <string.h>

#include "client_arch.h"
#include "client_driver.h"
#include "common/bytes.h"
#include "common/declassify.h"
#include "ring/prime.h"
#include "ring/ring.h"
#include "scheme/usable.h"

#define IDENTITY 0x434D4345u /* the value of the ID register */
#define PRIME_BITS_LEAST 22u
#define RESET ((uint32_t)1 << CM_CLIENT_CONTROL_RESET_LOW)
#define EVENTS_AWAITED ((uint32_t)1 << CM_CLIENT_EVENTS_IDLE_LOW | (uint32_t)1 << CM_CLIENT_EVENTS_FAULT_LOW)

static uint32_t field(uint32_t word, unsigned low, unsigned bits)
{
    return word >> low & (((uint32_t)1 << bits) - 1u);
}

#define SHAPE_OF(engine, name) \
    field((engine)->shape, CM_CLIENT_SHAPE_##name##_LOW, CM_CLIENT_SHAPE_##name##_BITS)

/* ---- registers and settings ---- */

static uint32_t read_register(const client_engine *self, uint32_t offset)
{
    return self->bus.read(self->bus.context, offset);
}

void client_write(const client_engine *self, uint32_t offset, uint32_t value)
{
    self->bus.write(self->bus.context, offset, value);
}

void client_command(client_engine *self, uint32_t code)
{
    self->fixed = true;
    client_write(self, CM_CLIENT_COMMAND_OFFSET, code);
}

static uint32_t setting_offset(uint32_t setting)
{
    return CM_CLIENT_SETTINGS_OFFSET + 4u * setting;
}

void client_set(const client_engine *self, uint32_t setting, uint32_t value)
{
    client_write(self, setting_offset(setting), value);
}

void client_set_two(const client_engine *self, uint32_t setting, uint64_t value)
{
    client_set(self, setting, (uint32_t)value);
    client_set(self, setting + 1u, (uint32_t)(value >> 32));
}

void client_set_prime(const client_engine *self, unsigned prime, uint32_t setting, uint32_t value)
{
    client_set(self, (CM_CLIENT_MAP_PRIMES << 8 | prime << 3) + setting, value);
}

void client_set_bytes(const client_engine *self, uint32_t setting, const uint8_t *bytes, unsigned words)
{
    for (unsigned i = 0; i < words; i++) {
        client_set(self, setting + i, cmi_load32(bytes + (size_t)4u * i));
    }
}

void client_set_shape(const client_engine *self, unsigned primes, uint32_t shape, uint32_t scale)
{
    client_set(self, CM_CLIENT_MAP_SHAPE, (primes - 1u) | shape);
    if (shape & CLIENT_IS_CKKS) {
        client_set(self, CM_CLIENT_MAP_CKKS, scale);
    } else {
        client_set_two(self, CM_CLIENT_MAP_SCALE, scale);
        client_set(self, CM_CLIENT_MAP_T, scale);
    }
}

uint32_t client_ckks_setting(int exponent, unsigned log2_scale, unsigned limit)
{
    return ((uint32_t)exponent & 0x3FFu) | log2_scale << 16 | limit << 24;
}

void client_set_tags(const client_engine *self, uint32_t device, uint16_t epoch, uint64_t window)
{
    client_set(self, CM_CLIENT_MAP_DEVICE, device);
    client_set(self, CM_CLIENT_MAP_EPOCH, epoch);
    client_set_two(self, CM_CLIENT_MAP_WINDOW, window);
}

uint32_t client_fault(const client_engine *self)
{
    return field(read_register(self, CM_CLIENT_STATUS_OFFSET), CM_CLIENT_STATUS_FAULT_LOW,
                 CM_CLIENT_STATUS_FAULT_BITS);
}

bool client_keeps_keys(uint32_t fault)
{
    return fault == CM_CLIENT_FAULT_NONE || fault == CM_CLIENT_FAULT_FRAME ||
           fault == CM_CLIENT_FAULT_RESULT || fault == CM_CLIENT_FAULT_RANGE ||
           fault == CM_CLIENT_FAULT_TOO_MANY;
}

bool client_settled(const client_engine *self)
{
    for (uint32_t polls = 0; polls < CLIENT_MOST_POLLS; polls++) {
        if (self->bus.wait) { /* for an event after the state that is read next */
            client_write(self, CM_CLIENT_EVENTS_OFFSET, EVENTS_AWAITED);
        }
        const uint32_t state = read_register(self, CM_CLIENT_STATUS_OFFSET);
        if (field(state, CM_CLIENT_STATUS_IDLE_LOW, CM_CLIENT_STATUS_IDLE_BITS)) {
            return client_keeps_keys(field(state, CM_CLIENT_STATUS_FAULT_LOW, CM_CLIENT_STATUS_FAULT_BITS));
        }
        if (self->bus.wait && !self->bus.wait(self->bus.context)) {
            return false;
        }
    }
    return false;
}

static void enable_interrupts(const client_engine *self)
{
    client_write(self, CM_CLIENT_INTERRUPTS_OFFSET, self->bus.wait ? EVENTS_AWAITED : 0u);
}

void client_reset(client_engine *self)
{
    self->params = NULL;
    self->secret = NULL;
    self->made = 0;
    self->public_key = NULL;
    self->encodes = 0;
    self->sums = 0;
    self->entered = false;
    self->fixed = false;
    client_write(self, CM_CLIENT_CONTROL_OFFSET, RESET);
    enable_interrupts(self);
}

uint32_t client_engine_failures(const client_engine *engine)
{
    return engine ? engine->failures : 0;
}

uint32_t client_engine_in_software(const client_engine *engine)
{
    return engine ? engine->in_software : 0;
}

int client_declined(client_engine *self)
{
    if (self) {
        self->in_software++;
    }
    return 0;
}

cm_status client_engine_gather(client_engine *engine, uint32_t *words, size_t count)
{
    if (!engine || !words) {
        return CM_ERR_ARGUMENT;
    }
    engine->copies = (uint8_t *)words;
    engine->room = count * sizeof *words;
    engine->pieces = &engine->copy;
    engine->most_pieces = 1;
    engine->decryptor = NULL;
    return CM_OK;
}

cm_status client_engine_gather_in_place(client_engine *engine, client_piece *pieces, size_t count)
{
    if (!engine || !pieces || count == 0) {
        return CM_ERR_ARGUMENT;
    }
    engine->copies = NULL;
    engine->pieces = pieces;
    engine->most_pieces = count;
    engine->decryptor = NULL;
    return CM_OK;
}

/* ---- frames ---- */

uint32_t client_frame_words(bool tagged)
{
    return CLIENT_CRC_WORDS +
           (tagged ? CLIENT_TAGGED_HEADER_WORDS + CLIENT_TAG_WORDS : (uint32_t)CLIENT_HEADER_WORDS);
}

uint32_t client_seed_words(uint32_t xof)
{
    return xof == CM_XOF_CHACHA20 ? 8u : 16u;
}

uint32_t client_residue_words(const client_engine *self, unsigned primes)
{
    return self->residue_words[primes];
}

/* ---- what the engine must hold ---- */

bool client_serves(client_engine *self, const cm_params *params)
{
    if (self->served == params) {
        return true;
    }
    if (SHAPE_OF(self, LOG2_N) != params->log2_n || SHAPE_OF(self, PRIMES) < params->data_primes) {
        return false;
    }
    unsigned primes = 0;
    for (; primes < params->key_primes && primes < SHAPE_OF(self, PRIMES); primes++) {
        const unsigned bits = cmi_bits_of(params->primes[primes].q);
        if (bits < PRIME_BITS_LEAST || bits > SHAPE_OF(self, WIDTH)) {
            break;
        }
        self->residue_words[primes + 1u] =
            self->residue_words[primes] + ((uint32_t)bits << (params->log2_n - 5u));
    }
    self->served_primes = (uint8_t)primes;
    self->served = primes < params->data_primes ? NULL : params;
    return self->served;
}

bool client_serves_keys(client_engine *self, const cm_params *params)
{
    return client_serves(self, params) && self->served_primes == params->key_primes;
}

unsigned client_log2_scale_r(const client_engine *self)
{
    return SHAPE_OF(self, LOG2_SCALE_R);
}

uint32_t client_power_of_two(unsigned exponent, const cm_prime *prime)
{
    return exponent < 32u ? cmi_montgomery_residue((uint32_t)1 << exponent, prime->r1, prime)
                          : cmi_montgomery_residue((uint32_t)1 << (exponent - 32u), prime->r2, prime);
}

/* Residues times R: 1, R and psi. */
typedef struct prime_words {
    uint32_t one, r, psi;
} prime_words;

static void compute_tables(const client_engine *self, const cm_params *params, unsigned primes,
                           prime_words *words)
{
    for (unsigned i = 0; i < primes; i++) {
        const cm_prime *prime = &params->primes[i];
        words[i].one = client_power_of_two(SHAPE_OF(self, LOG2_R), prime);
        words[i].r = client_power_of_two(2u * SHAPE_OF(self, LOG2_R), prime);
        words[i].psi =
            cmi_montgomery_residue(cmi_montgomery_residue(prime->psi, prime->r2, prime), words[i].one, prime);
    }
}

static void set_twiddle(const client_engine *self, unsigned prime, uint32_t index, uint32_t value)
{
    client_set(self, CM_CLIENT_MAP_TABLE_PLACE, prime << 16 | index);
    client_set(self, CM_CLIENT_MAP_TABLE_DATA, value);
}

/* Writes the first twiddle of each prime, and that whose number is n / 2: the engine makes the others. */
static void load_tables(client_engine *self, const cm_params *params, unsigned primes,
                        const prime_words *words)
{
    client_set(self, CM_CLIENT_MAP_PARAMS, params->id);
    client_set(self, CM_CLIENT_MAP_SHAPE, primes - 1u);
    for (unsigned i = 0; i < primes; i++) {
        const cm_prime *prime = &params->primes[i];
        client_set_prime(self, i, CM_CLIENT_MAP_PRIME_Q, prime->q);
        client_set_prime(self, i, CM_CLIENT_MAP_PRIME_KEY_FACTOR, prime->q - words[i].r);
        set_twiddle(self, i, 0, words[i].one);
        set_twiddle(self, i, (uint32_t)1 << (params->log2_n - 1u), words[i].psi);
    }
    client_write(self, CM_CLIENT_COMMAND_OFFSET, CM_CLIENT_COMMAND_TABLES); /* it fixes nothing */
    self->params = params;
    self->primes = (uint8_t)primes;
}

/* ---- opening ---- */

cm_status client_engine_open(client_engine *engine, const client_bus *bus, unsigned policy, uint32_t *words,
                             size_t count)
{
    return client_engine_open_for(engine, bus, policy, words, count, NULL);
}

cm_status client_engine_open_for(client_engine *engine, const client_bus *bus, unsigned policy,
                                 uint32_t *words, size_t count, const cm_params *params)
{
    const unsigned decrypts = CLIENT_DECRYPTS | CLIENT_DECRYPTS_TAGGED;
    if (!engine || !bus || !bus->read || !bus->write || !bus->send || !bus->receive || !bus->sending ||
        !bus->received || !words || (policy & decrypts) == decrypts ||
        (policy & ~(decrypts | CLIENT_ENCRYPTS)) != 0) {
        return CM_ERR_ARGUMENT;
    }
    const bool is_there = bus->read(bus->context, CM_CLIENT_ID_OFFSET) == IDENTITY;
    if (is_there) { /* first: what follows takes no longer than its wipe */
        bus->write(bus->context, CM_CLIENT_CONTROL_OFFSET, RESET);
    }
    memset(engine, 0, sizeof *engine);
    if (!is_there) {
        return CM_ERR_UNSUPPORTED;
    }
    cm_frame_writer writer;
    const cm_sink nowhere = {NULL, NULL};
    cm_frame_writer_init(&writer, nowhere);
    engine->bus = *bus;
    engine->words = words;
    engine->count = count;
    engine->policy = (uint8_t)policy;
    engine->frames_begin = writer.emitter.begin;
    enable_interrupts(engine);
    engine->shape = read_register(engine, CM_CLIENT_SHAPE_OFFSET);
    prime_words tables[CM_MAX_PRIMES];
    const bool makes_tables = params && client_serves(engine, params);
    if (makes_tables) {
        compute_tables(engine, params, params->data_primes, tables);
    }
    engine->open = client_settled(engine);
    if (engine->open && makes_tables) {
        load_tables(engine, params, params->data_primes, tables);
    }
    return engine->open ? CM_OK : CM_ERR_UNSUPPORTED;
}

/* ---- what it holds ---- */

static bool settled_by_reset(client_engine *self)
{
    client_reset(self);
    return client_settled(self);
}

/* By its first 128 bits: secrets are random, or derived as if they were. */
static bool is_known(const client_secret *secret, const uint8_t *bytes)
{
    uint32_t differ = 0;
    for (unsigned i = 0; i < 4u; i++) {
        differ |= secret->words[i] ^ cmi_load32(bytes + (size_t)4u * i);
    }
    return cmi_declassified(differ == 0) && secret->known;
}

static const struct {
    uint8_t setting, words;
} secret_places[CLIENT_SECRETS] = {{CM_CLIENT_MAP_DEVICE_SECRET, CM_DEVICE_SECRET_BYTES / 4u},
                                   {CM_CLIENT_MAP_TAG_KEY, CM_TAG_KEY_BYTES / 4u},
                                   {CM_CLIENT_MAP_RESULT_KEY, CM_TAG_KEY_BYTES / 4u}};

/* Keep those of a job that are not known, to be entered. */
static void learn_secrets(client_engine *self, const client_needs *needs)
{
    const uint8_t *const given[CLIENT_SECRETS] = {needs->device_secret, needs->tag_key, needs->result_key};
    for (unsigned i = 0; i < CLIENT_SECRETS; i++) {
        if (given[i] && !is_known(&self->secrets[i], given[i])) {
            for (unsigned j = 0; j < secret_places[i].words; j++) {
                self->secrets[i].words[j] = cmi_load32(given[i] + (size_t)4u * j);
            }
            self->secrets[i].known = true;
            self->entered = false;
        }
    }
}

/* The policy, and the secrets of a job besides those that are known. Others than the engine has need a
 * reset. */
static bool hold_secrets(client_engine *self, const client_needs *needs)
{
    learn_secrets(self, needs);
    if (self->entered) {
        return true;
    }
    if (self->fixed && !settled_by_reset(self)) {
        return false;
    }
    client_set(self, CM_CLIENT_MAP_POLICY, self->policy);
    for (unsigned i = 0; i < CLIENT_SECRETS; i++) {
        for (unsigned j = 0; self->secrets[i].known && j < secret_places[i].words; j++) {
            client_set(self, secret_places[i].setting + j, self->secrets[i].words[j]);
        }
    }
    self->entered = true;
    return true;
}

bool client_spares_key(const client_engine *self, const cm_params *params, const uint8_t *ternary,
                       const client_needs *needs)
{
    const uint64_t made = ternary ? client_named_key(ternary) : self->made;
    if (self->made == 0) {
        return made == 0;
    }
    const uint8_t *const given[CLIENT_SECRETS] = {needs->device_secret, needs->tag_key, needs->result_key};
    for (unsigned i = 0; i < CLIENT_SECRETS; i++) {
        if (given[i] && !is_known(&self->secrets[i], given[i])) {
            return false;
        }
    }
    return made == self->made && self->params == params;
}

bool client_hold_tables(client_engine *self, const cm_params *params, unsigned primes,
                        const client_needs *needs)
{
    if (!client_settled(self) && !settled_by_reset(self)) { /* a fault has wiped the keys */
        return false;
    }
    if (!hold_secrets(self, needs)) {
        return false;
    }
    if (self->params != params || self->primes < primes) {
        self->secret = NULL;
        self->public_key = NULL;
        self->encodes = 0;
        self->sums = 0;
        prime_words words[CM_MAX_PRIMES];
        compute_tables(self, params, primes, words);
        load_tables(self, params, primes, words);
    }
    return true;
}

/* The job before may have had fewer primes. */
static void load_secret(client_engine *self, unsigned log2_n, unsigned primes, const uint8_t *ternary)
{
    const uint32_t bytes = CM_TERNARY_BYTES((uint32_t)1 << log2_n);
    client_set(self, CM_CLIENT_MAP_SHAPE, primes - 1u);
    client_set(self, CM_CLIENT_MAP_TABLE_PLACE, 0);
    if (self->bus.write_all && (uintptr_t)ternary % 4u == 0) {
        self->bus.write_all(self->bus.context, setting_offset(CM_CLIENT_MAP_TRITS), ternary, bytes / 2u,
                            CM_UINT16);
    } else {
        for (uint32_t i = 0; i < bytes; i += 2u) {
            client_set(self, CM_CLIENT_MAP_TRITS, ternary[i] | (uint32_t)ternary[i + 1u] << 8);
        }
    }
    client_command(self, CM_CLIENT_COMMAND_LOAD_KEY);
}

bool client_hold_secret(client_engine *self, const cm_params *params, unsigned primes, const uint8_t *ternary)
{
    if (self->made != 0 || (self->secret == ternary && self->secret_primes >= primes)) {
        return true;
    }
    if (!client_settled(self)) {
        return false;
    }
    load_secret(self, params->log2_n, primes, ternary);
    self->secret = ternary;
    self->secret_primes = (uint8_t)primes;
    return true;
}

/* ---- keys that it draws ---- */

/* What stands for such a key: no polynomial begins with digits of 3, and erased memory has no zeros. */
enum { NAME_MARK_BYTES = 16, NAME_ZEROS = 8, NAME_ID_AT = NAME_MARK_BYTES + NAME_ZEROS };

uint64_t client_named_key(const uint8_t *ternary)
{
    if (cmi_declassified(ternary[0] != 0xFFu)) { /* as of every key, so that this says nothing of it */
        return 0;
    }
    uint8_t any = 0;
    for (unsigned i = 1; i < NAME_ID_AT; i++) {
        any |= ternary[i] ^ (i < NAME_MARK_BYTES ? 0xFFu : 0u);
    }
    return any == 0 ? cmi_load64(ternary + NAME_ID_AT) : 0;
}

int client_names_key(const uint8_t *ternary)
{
    return client_named_key(ternary) != 0;
}

static void write_name(uint8_t *ternary, uint64_t key_id)
{
    memset(ternary, 0xFF, NAME_MARK_BYTES); /* the rest is zeros */
    cmi_store64(ternary + NAME_ID_AT, key_id);
}

cm_status client_engine_make_keys(client_engine *engine, const uint8_t *tag_key, const uint8_t *result_key)
{
    if (!engine) {
        return CM_ERR_ARGUMENT;
    }
    if (!engine->open) {
        return CM_ERR_UNSUPPORTED;
    }
    const client_needs needs = {.tag_key = tag_key, .result_key = result_key};
    learn_secrets(engine, &needs);
    engine->makes_keys = true;
    return CM_OK;
}

static cm_status draw_key(client_engine *self, cm_device *device, const cm_params *params, uint64_t *key_id)
{
    const client_needs needs = {.device_secret = device->secret};
    const cm_platform *platform = &device->counter.platform;
    uint8_t id[8] = {0};
    self->made = 0;
    if (!client_hold_tables(self, params, params->key_primes, &needs) || !client_settled(self)) {
        return CM_ERR_UNSUPPORTED;
    }
    self->secret = NULL;
    client_set(self, CM_CLIENT_MAP_SHAPE, params->key_primes - 1u);
    client_command(self, CM_CLIENT_COMMAND_GENERATE);
    if (!client_settled(self) || client_fault(self) != CM_CLIENT_FAULT_NONE) {
        return client_fault(self) == CM_CLIENT_FAULT_ENTROPY ? CM_ERR_RANDOM : CM_ERR_UNSUPPORTED;
    }
    if (platform->random(platform->context, id, sizeof id) != 0 || cmi_load64(id) == 0) {
        return CM_ERR_RANDOM;
    }
    self->made = *key_id = cmi_load64(id);
    return CM_OK;
}

int client_make_secret_key(cm_status *status, cm_device *device, const cm_params *params, uint8_t *ternary,
                           uint64_t *key_id)
{
    client_engine *self = client_engine_for(params);
    if (self && self->secret == ternary) { /* which is written again */
        self->secret = NULL;
    }
    if (!self || !self->makes_keys || !device || !device->ready) {
        return client_declined(self);
    }
    *status = client_serves_keys(self, params) ? draw_key(self, device, params, key_id) : CM_ERR_UNSUPPORTED;
    if (*status == CM_OK) {
        write_name(ternary, *key_id);
    } else if (self->made == 0) { /* a key without an id is no use */
        client_reset(self);
        self->failures += *status == CM_ERR_UNSUPPORTED;
    }
    return 1;
}

/* All to one setting. */
static void write_words(const client_engine *self, uint32_t setting, const uint32_t *words, uint32_t count)
{
    if (self->bus.write_all) {
        self->bus.write_all(self->bus.context, setting_offset(setting), words, count, CM_UINT32);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        client_set(self, setting, words[i]);
    }
}

/* Residues times a factor; the memory for frames, which hold nothing yet, is lent to a transfer. */
static void load_residues(const client_engine *self, const uint32_t *residues, uint32_t count,
                          uint32_t factor, const cm_prime *prime)
{
    uint32_t *words = self->words;
    const bool transfers = self->bus.write_all && count <= self->count;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t word = cmi_montgomery_residue(residues[i], factor, prime);
        if (transfers) {
            words[i] = word;
        } else {
            client_set(self, CM_CLIENT_MAP_PUBLIC_KEY_DATA, word);
        }
    }
    if (transfers) {
        write_words(self, CM_CLIENT_MAP_PUBLIC_KEY_DATA, words, count);
    }
}

/* None that the library could use. */
const uint32_t *client_public_key_polynomial(void *context, unsigned component, unsigned prime)
{
    (void)context;
    (void)component;
    (void)prime;
    return NULL;
}

static void set_place(const client_engine *self, unsigned prime, unsigned component)
{
    client_set(self, CM_CLIENT_MAP_TABLE_PLACE, prime << 16 | component << 24);
}

/* A key in the engine's form. False, and nothing is loaded, if it is in another one. */
static bool load_converted(const client_engine *self, const client_public_key *key)
{
    const cm_params *params = key->params;
    const uint32_t n = (uint32_t)1 << params->log2_n;
    const unsigned polynomials = 2u * params->data_primes;
    if (key->log2_r != SHAPE_OF(self, LOG2_R)) {
        return false;
    }
    for (unsigned i = 0; i < polynomials; i++) {
        const cm_prime *prime = &params->primes[i / 2u];
        const uint32_t factor = client_power_of_two(32u + key->log2_r, prime);
        if (key->residues[(size_t)i * n] != cmi_montgomery_residue(key->first[i], factor, prime)) {
            return false;
        }
    }
    for (unsigned i = 0; i < polynomials; i++) {
        set_place(self, i / 2u, i % 2u);
        write_words(self, CM_CLIENT_MAP_PUBLIC_KEY_DATA, key->residues + (size_t)i * n, n);
    }
    return true;
}

/* False if the key does not provide all of it. */
static bool load_public(const client_engine *self, const cm_public_key *key)
{
    const cm_params *params = key->params;
    const cm_flat_public_key *flat = key->context;
    if (key->polynomial == cm_flat_public_key_polynomial && flat->n != (uint32_t)1 << params->log2_n) {
        return false;
    }
    client_set(self, CM_CLIENT_MAP_SHAPE, params->data_primes - 1u);
    if (key->polynomial == client_public_key_polynomial) {
        const client_public_key *converted = key->context;
        return converted && converted->params == params && load_converted(self, converted);
    }
    for (unsigned i = 0; i < params->data_primes; i++) {
        const cm_prime *prime = &params->primes[i];
        const uint32_t factor = client_power_of_two(32u + SHAPE_OF(self, LOG2_R), prime);
        for (unsigned component = 0; component < 2u; component++) {
            const uint32_t *residues = key->polynomial(key->context, component, i);
            if (!residues || !cmi_filled_in(residues)) {
                return false;
            }
            set_place(self, i, component);
            load_residues(self, residues, (uint32_t)1 << params->log2_n, factor, prime);
        }
    }
    return true;
}

bool client_hold_public(client_engine *self, const cm_public_key *key)
{
    if (self->public_key != key && client_settled(self) && load_public(self, key)) {
        self->public_key = key;
    }
    return self->public_key == key;
}
