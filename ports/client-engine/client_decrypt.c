/* SPDX-License-Identifier: Apache-2.0 */
/* Decryptions that the client engine does: of frames that are gathered, and that it then reads as a whole. */
#include <string.h>

#include "client_arch.h"
#include "client_driver.h"
#include "common/bytes.h"
#include "common/declassify.h"
#include "common/masks.h"
#include "common/wipe.h"
#include "encode/bfv.h"
#include "protocol/decryptor.h"
#include "ring/prime.h"
#include "ring/ring.h"
#include "scheme/decryption.h"
#include "scheme/sums.h"

enum {
    AT_PAYLOAD = 3, /* in the first frame's header (docs/wire-format.md) */
    AT_PRIMES = 7,
    AT_COUNTER = 20,
    AT_SCALE = 28,
    AT_XOF = 36,
    EXPONENT_OF_ONE = 1023
};

static bool decrypts_ckks(const cm_decryption *decryption)
{
    return decryption->scheme == CM_CKKS;
}

/* ---- the bound on CKKS's values ---- */

#define ALL_SMALL ((uint32_t)1 << 31) /* no integer is larger */

/* Twice largest, rounded down to a binary32 or to a multiple of 2^exponent. */
static uint32_t float_bound(uint64_t most)
{
    uint32_t power = 127 + 23;
    for (; most >> 24 != 0; most >>= 1) {
        power++;
    }
    for (; most >> 23 == 0; most <<= 1) {
        power--;
    }
    return ((power - 1u) << 23) + (uint32_t)most;
}

static uint32_t integer_bound(uint64_t most, int exponent)
{
    if (exponent >= 0) {
        const uint64_t bound = exponent < 64 ? most >> exponent : 0;
        return bound >> 31 ? ALL_SMALL : (uint32_t)bound;
    }
    return exponent < -31 || most >> (31 + exponent) ? ALL_SMALL : (uint32_t)(most << -exponent);
}

/*
 * Whether all values are below twice largest in magnitude, rounded as they are; where one is at that bound,
 * portable C decides from what was rounded. Nothing branches on a value.
 */
static bool values_below(const cm_decryption *decryption, uint32_t count)
{
    const uint32_t *values = (const uint32_t *)(const void *)decryption->arena;
    const uint64_t limit = (uint64_t)decryption->largest * 2u;
    /* In a complex slot beyond the limit, one part is beyond 0.707 of it: from 11/16, portable C decides. */
    const uint64_t twice = decryption->slots == CM_SLOTS_COMPLEX ? limit * 11u / 16u : limit;
    uint32_t past = 0;
    if (decryption->number == CM_FLOAT32) { /* magnitudes compare as their bits do */
        const uint32_t most = float_bound(twice) - 1u;
        for (uint32_t i = 0; i < count; i += 4u) {
            past |= most - (values[i] & 0x7FFFFFFFu);
            past |= most - (values[i + 1u] & 0x7FFFFFFFu);
            past |= most - (values[i + 2u] & 0x7FFFFFFFu);
            past |= most - (values[i + 3u] & 0x7FFFFFFFu);
        }
    } else {
        const uint32_t most = integer_bound(twice, decryption->exponent) - 1u;
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t negative = cmi_mask_of_top(values[i]);
            past |= most - cmi_negated(values[i], negative);
        }
    }
    return cmi_declassified(past >> 31 == 0);
}

/* ---- gathering ---- */

/* The engine that gathers, or null. */
static client_engine *gathering;

/* The decryptor may be one that has not been set up. */
static client_engine *gathering_for(const cm_decryptor *decryptor)
{
    return gathering && gathering->decryptor == decryptor ? gathering : NULL;
}

/* Whether the engine gives what is expected, of whatever ciphertext. */
static bool serves_expected(const cm_decryptor *decryptor)
{
    const cm_decryption *decryption = &decryptor->decryption;
    const cm_frame_expected *tagged = decryptor->reader.expected;
    if (decryption->log2_tiles != 0 ||
        (tagged && (!tagged->begin || !tagged->result_key || tagged->window == CM_NEW_WINDOW))) {
        return false;
    }
    return decrypts_ckks(decryption)
               ? decryption->precision == CM_FIXED_31
               : cmi_below_every_prime((uint32_t)decryption->plain_modulus, decryption->key->params);
}

/* By its policy. */
static bool allowed(const client_engine *self, const cm_decryptor *decryptor)
{
    return self->policy & CLIENT_DECRYPTS ||
           (self->policy & CLIENT_DECRYPTS_TAGGED && decryptor->reader.expected);
}

int client_decrypt_begin(cm_decryptor *decryptor, bool expected)
{
    if (gathering_for(decryptor)) {
        gathering->decryptor = NULL;
    }
    if (!expected) {
        return 0;
    }
    const cm_secret_key *key = decryptor->decryption.key;
    client_engine *self = client_engine_for(key->params);
    if (!self || (gathering && gathering->decryptor) || !self->open || !allowed(self, decryptor) ||
        self->most_pieces == 0 || !self->bus.send_frames || !client_serves(self, key->params) ||
        !key->ternary || !serves_expected(decryptor)) {
        return client_declined(self);
    }
    gathering = self;
    self->decryptor = decryptor;
    self->used = 1;
    self->pieces[0] = (client_piece){self->copies, 0};
    return 1;
}

/* Portable C goes on with what has come so far, and says what is wrong with it. */
static int hand_back(client_engine *self, cm_decryptor *decryptor)
{
    self->decryptor = NULL;
    for (size_t i = 0; i < self->used; i++) {
        (void)!cmi_decryptor_feed(decryptor, self->pieces[i].bytes, self->pieces[i].length);
    }
    return client_declined(self);
}

/* Bytes that follow those before them in memory are of the same piece. */
int client_decrypt_feed(cm_decryptor *decryptor, const uint8_t *bytes, size_t length)
{
    client_engine *self = gathering_for(decryptor);
    if (!self) {
        return 0;
    }
    client_piece *last = &self->pieces[self->used - 1u];
    if (!bytes || (self->copies && length > self->room - last->length)) {
        return hand_back(self, decryptor);
    }
    if (self->copies) {
        memcpy(self->copies + last->length, bytes, length);
    } else if (last->bytes + last->length != bytes && length > 0) {
        if (last->length > 0 && self->used == self->most_pieces) {
            return hand_back(self, decryptor);
        }
        self->used += last->length > 0;
        last = &self->pieces[self->used - 1u];
        *last = (client_piece){bytes, 0};
    }
    last->length += (uint32_t)length;
    return 1;
}

/* ---- a decryption ---- */

/* The ciphertext that has gathered; the engine checks all the rest of its frames. */
typedef struct gathered {
    client_engine *engine;
    cm_decryption *decryption;
    const cm_frame_expected *tagged; /* or null: version 1 */
    unsigned primes;
    uint64_t counter;
    union {
        uint64_t scale_bits;    /* CKKS */
        uint64_t plain_modulus; /* BFV */
    };
} gathered;

/* False if fewer bytes have come. */
static bool first_header(const client_engine *self, uint8_t header[CM_FRAME_HEADER_BYTES])
{
    size_t filled = 0;
    for (size_t i = 0; i < self->used && filled < CM_FRAME_HEADER_BYTES; i++) {
        const size_t room = CM_FRAME_HEADER_BYTES - filled;
        const size_t step = self->pieces[i].length < room ? self->pieces[i].length : room;
        memcpy(header + filled, self->pieces[i].bytes, step);
        filled += step;
    }
    return filled == CM_FRAME_HEADER_BYTES;
}

static size_t bytes_gathered(const client_engine *self)
{
    size_t length = 0;
    for (size_t i = 0; i < self->used; i++) {
        length += self->pieces[i].length;
    }
    return length;
}

/* They are read as words. */
static bool whole_words(const client_engine *self)
{
    uintptr_t any = 0;
    for (size_t i = 0; i < self->used; i++) {
        any |= (uintptr_t)self->pieces[i].bytes | self->pieces[i].length;
    }
    return any % 4u == 0;
}

/* log2 of a scale that is a power of two, from a binary64; 0: any other. */
static unsigned log2_of_scale(uint64_t scale)
{
    const uint32_t exponent = (uint32_t)(scale >> 52);
    const bool exact = scale << 12 == 0 && exponent > EXPONENT_OF_ONE && exponent <= EXPONENT_OF_ONE + 60;
    return exact ? exponent - EXPONENT_OF_ONE : 0u;
}

/* Whether the engine, and portable C, take the scale: largest times it is below a quarter of the prime. */
static bool scale_serves(const cm_decryption *decryption, uint64_t scale)
{
    const uint32_t q = decryption->key->params->primes[0].q;
    const unsigned log2_scale = log2_of_scale(scale);
    return log2_scale > 0 && log2_scale + 2u <= cmi_bits_of(q) - 1u &&
           (uint64_t)decryption->largest << (log2_scale + 2u) < q;
}

static bool describe_gathered(gathered *of, const cm_decryptor *decryptor)
{
    const client_engine *self = of->engine;
    const cm_params *params = of->decryption->key->params;
    uint8_t header[CM_FRAME_HEADER_BYTES];
    if (!first_header(self, header) || !whole_words(self)) {
        return false;
    }
    const bool seeded = header[AT_PAYLOAD] != 0;
    const uint8_t xof = header[AT_XOF];
    of->tagged = decryptor->reader.expected;
    of->primes = header[AT_PRIMES];
    of->counter = cmi_load64(header + AT_COUNTER);
    of->scale_bits = cmi_load64(header + AT_SCALE);
    if (of->primes == 0 || of->primes > params->data_primes ||
        (seeded && (!decryptor->expander || (xof != CM_XOF_CHACHA20 && xof != CM_XOF_SHAKE256)))) {
        return false;
    }
    if (!decrypts_ckks(of->decryption)) {
        of->plain_modulus = of->decryption->plain_modulus; /* that is expected */
    } else if (!scale_serves(of->decryption, of->scale_bits)) {
        return false;
    }
    const uint32_t frame = client_frame_words(of->tagged);
    const uint32_t residues = of->primes * frame + client_residue_words(self, of->primes);
    const uint32_t words = seeded ? frame + client_seed_words(xof) + residues : 2u * residues;
    return bytes_gathered(self) == words * sizeof(uint32_t);
}

/* x w / q for the primes of the ciphertext, w being the inverse of the others' product (scheme/sums.h). */
static void hold_sums(const gathered *of)
{
    client_engine *self = of->engine;
    const cm_prime *primes = of->decryption->key->params->primes;
    for (unsigned i = 0; i < of->primes && self->sums != of->primes; i++) {
        const cm_prime *prime = &primes[i];
        const uint32_t w = cmi_bfv_sums_weight(prime, primes, of->primes); /* times 2^32 */
        const uint32_t below = cmi_montgomery_residue(w, prime->r2, prime);
        client_set_prime(self, i, CM_CLIENT_MAP_PRIME_FRACTION, below * prime->neg_q_inv);
        client_set_prime(self, i, CM_CLIENT_MAP_PRIME_FRACTION + 1u, w * prime->neg_q_inv);
    }
    self->sums = of->primes;
}

static void set_expected(const gathered *of)
{
    const client_engine *self = of->engine;
    const cm_decryption *decryption = of->decryption;
    const cm_frame_expected *tagged = of->tagged;
    uint32_t shape = tagged ? CLIENT_HAS_TAGS : 0u;
    uint32_t scale = (uint32_t)of->scale_bits;
    if (decrypts_ckks(decryption)) {
        shape |= CLIENT_IS_CKKS | (decryption->slots == CM_SLOTS_COMPLEX ? CLIENT_IS_COMPLEX : 0u) |
                 (decryption->number == CM_FLOAT32 ? CLIENT_IS_FLOAT : 0u);
        scale = client_ckks_setting(decryption->exponent, log2_of_scale(of->scale_bits), 0);
    }
    client_set_shape(self, of->primes, shape, scale);
    client_set_two(self, CM_CLIENT_MAP_KEY_ID, decryption->key->key_id);
    if (tagged) {
        client_set_tags(self, tagged->device, tagged->epoch, tagged->window);
        client_set_two(self, CM_CLIENT_MAP_ANSWER_COUNTER, tagged->counter);
        client_set_bytes(self, CM_CLIENT_MAP_ANSWER_RANDOM, tagged->random, 2);
    }
}

/* Words of what the engine gives. */
static uint32_t result_words(const cm_decryption *decryption)
{
    const unsigned log2_n = decryption->key->params->log2_n;
    const bool halves = decrypts_ckks(decryption) ? decryption->slots == CM_SLOTS_REAL
                                                  : decryption->plain_modulus <= 0x10000u;
    return (uint32_t)1 << (log2_n - (halves ? 1u : 0u));
}

/* The modulus of numbers that can be centred on their way; or 0. */
static uint32_t centres_by(const gathered *of)
{
    const cm_decryption *decryption = of->decryption;
    const bool wanted = of->engine->bus.centres && !decrypts_ckks(decryption) &&
                        decryption->encoding == CM_BFV_COEFFICIENTS && of->plain_modulus <= 0xFFFFu &&
                        (decryption->number == CM_INT16 || decryption->number == CM_INT32);
    return wanted ? (uint32_t)of->plain_modulus : 0u;
}

/* Wipe what the hardware does not fill, while it works. */
static void clear(const client_engine *self, uint32_t *words, size_t count)
{
    if (self->bus.clear) {
        self->bus.clear(self->bus.context, words, (uint32_t)count);
    } else {
        cmi_wipe(words, count * sizeof *words);
    }
}

static bool cleared(const client_engine *self)
{
    for (uint32_t polls = 0; polls < CLIENT_MOST_POLLS; polls++) {
        if (!self->bus.clear || !self->bus.clearing(self->bus.context)) {
            return true;
        }
    }
    return false;
}

/* False if a frame or a value is wrong, or the engine fails. Else the values are at the arena's start. */
static bool decrypt_gathered(const gathered *of)
{
    client_engine *self = of->engine;
    const cm_decryption *decryption = of->decryption;
    const uint32_t results = result_words(decryption);
    uint32_t *arena = (uint32_t *)(void *)decryption->arena;
    const client_needs needs = {.result_key = of->tagged ? of->tagged->result_key : NULL};
    const cm_params *params = decryption->key->params;
    const bool needs_sums = !decrypts_ckks(decryption) && self->sums != of->primes;
    const bool needs_reset = needs_sums && self->fixed && self->policy & CLIENT_DECRYPTS_TAGGED;
    if (!client_spares_key(self, params, decryption->key->ternary, &needs) ||
        (needs_reset && self->made != 0)) {
        return false;
    }
    if (needs_reset) {
        client_reset(self); /* fractions are fixed as well */
    }
    if (!client_hold_tables(self, params, params->data_primes, &needs) || !client_settled(self)) {
        self->failures++;
        return false;
    }
    if (!decrypts_ckks(decryption)) {
        hold_sums(of);
    }
    if (!client_hold_secret(self, params, params->data_primes, decryption->key->ternary) ||
        !client_settled(self)) {
        self->failures++;
        return false;
    }
    set_expected(of);
    self->bus.receive(self->bus.context, arena, results, centres_by(of));
    self->bus.send_frames(self->bus.context, self->pieces, self->used);
    client_command(self, CM_CLIENT_COMMAND_DECRYPT);
    clear(self, arena + results, cmi_decryption_room(decryption) / sizeof *arena - results);
    const bool ended = client_settled(self);
    const bool wiped = cleared(self); /* nothing is written behind portable C */
    if (ended && client_fault(self) == CM_CLIENT_FAULT_NONE &&
        self->bus.received(self->bus.context) == results && wiped &&
        (!decrypts_ckks(decryption) || values_below(decryption, results))) {
        return true;
    }
    self->bus.receive(self->bus.context, self->words, 0, 0); /* the arena is portable C's again */
    if (!ended) {
        self->failures++;
        client_reset(self);
    }
    return false;
}

static cm_status complete(const gathered *of)
{
    cm_decryption *decryption = of->decryption;
    if (decrypts_ckks(decryption)) {
        return cmi_ckks_decryption_given(decryption, of->counter, of->scale_bits);
    }
    const bool finished =
        decryption->encoding == CM_BFV_COEFFICIENTS &&
        (decryption->number == CM_UINT16 || decryption->number == CM_UINT32 || centres_by(of) != 0);
    return cmi_bfv_decryption_given(decryption, of->counter, finished);
}

int client_decrypt_end(cm_status *status, cm_decryptor *decryptor)
{
    gathered of = {.engine = gathering_for(decryptor), .decryption = &decryptor->decryption};
    if (!of.engine) {
        return 0;
    }
    if (!status || !cmi_decryption_untouched(of.decryption) || !describe_gathered(&of, decryptor)) {
        return hand_back(of.engine, decryptor);
    }
    if (!decrypt_gathered(&of)) {
        cmi_decryption_restore(of.decryption);
        return hand_back(of.engine, decryptor);
    }
    of.engine->decryptor = NULL;
    *status = complete(&of);
    return 1;
}
