/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client-aided session: encryptions and decryptions in turn in one arena, each result checked against the
 * ciphertext that it answers.
 */
#include "ciphermote/aided.h"

#include <string.h>

#include "arch/backends.h"
#include "common/wipe.h"
#include "scheme/decryption.h"
#include "scheme/usable.h"
#include "wire/frame.h"

enum { OVER = 0, AT_START, AWAITING }; /* cm_aided.state */

static cm_aided *aided_of(cm_receiver *self)
{
    return (cm_aided *)(void *)self;
}

static const cm_params *aided_params(const cm_aided *aided)
{
    return aided->decryptor.decryption.key->params;
}

/* ---- the receiver in between ---- */

/* A result that names another counter answers an earlier round, or another session. */
static cm_status answered(const cm_aided *aided, uint64_t counter)
{
    if (counter == aided->awaited) {
        return CM_OK;
    }
    const bool stale = counter >= aided->first && counter < aided->awaited;
    return stale ? CM_ERR_FRAME_ORDER : CM_ERR_FRAME_FOREIGN;
}

static cm_status aided_begin(cm_receiver *self, const cm_ciphertext_info *info, unsigned component,
                             unsigned prime, unsigned tile)
{
    cm_aided *aided = aided_of(self);
    const cm_status status = answered(aided, info->counter);
    if (status != CM_OK) {
        return status;
    }
    cm_receiver *next = &aided->decryptor.decryption.receiver;
    return next->begin(next, info, component, prime, tile);
}

static cm_status aided_residues(cm_receiver *self, const uint32_t *residues, uint32_t count)
{
    cm_receiver *next = &aided_of(self)->decryptor.decryption.receiver;
    return next->residues(next, residues, count);
}

static cm_status aided_end(cm_receiver *self)
{
    cm_receiver *next = &aided_of(self)->decryptor.decryption.receiver;
    return next->end(next);
}

static void aided_fail(cm_receiver *self, cm_status status)
{
    cm_receiver *next = &aided_of(self)->decryptor.decryption.receiver;
    next->fail(next, status);
}

/* The calls that fed the session left secrets on the stack, too. */
static void end_session(cm_aided *aided)
{
    aided->state = OVER;
    (void)CM_ARCH_TRY(decrypt_begin, &aided->decryptor, false);
    cmi_frame_reader_wipe(&aided->decryptor.reader);
    cmi_wipe(aided->encryptor.setup.arena, aided->encryptor.setup.arena_bytes);
    cmi_wipe_stack();
}

/* ---- a round's halves ---- */

static cm_status encrypt_bfv(const cm_aided *aided, uint32_t count)
{
    const cm_bfv_expected *expected = &aided->plan.bfv;
    const bool narrow = expected->number == CM_INT16 || expected->number == CM_UINT16;
    const cm_bfv_values values = {.data = aided->encryptor.setup.arena,
                                  .count = count,
                                  .number = expected->number,
                                  .encoding = expected->encoding,
                                  .width = narrow ? CM_BFV_16 : CM_BFV_32,
                                  .plain_modulus = expected->plain_modulus,
                                  .largest = expected->plain_modulus - 1u};
    return cm_bfv_encrypt(&aided->encryptor, &values);
}

static cm_status encrypt_ckks(const cm_aided *aided, uint32_t count)
{
    const cm_ckks_expected *expected = &aided->plan.ckks;
    const cm_ckks_values values = {.data = aided->encryptor.setup.arena,
                                   .count = count,
                                   .number = expected->number,
                                   .slots = expected->slots,
                                   .exponent = expected->exponent,
                                   .log2_scale = aided->plan.log2_scale,
                                   .precision = aided->plan.precision,
                                   .largest = aided->plan.largest};
    return cm_ckks_encrypt(&aided->encryptor, &values);
}

static cm_status await_result(cm_aided *aided, uint64_t counter)
{
    const cm_aided_plan *plan = &aided->plan;
    cm_frame_expected *results = aided->decryptor.reader.expected;
    aided->awaited = counter;
    if (results) {
        cm_frame_expect_answer(results, aided->sender, &aided->encryptor.setup.emitter->info);
    }
    const cm_status status = plan->scheme == CM_BFV ? cm_bfv_expect(&aided->decryptor, &plan->bfv)
                                                    : cm_ckks_expect(&aided->decryptor, &plan->ckks);
    cm_frame_reader_init(&aided->decryptor.reader, aided_params(aided), &aided->receiver);
    cm_frame_reader_expect(&aided->decryptor.reader, results);
    return status;
}

/* Each round sends values that no other has: a window of its own. */
static cm_status encrypt_values(cm_aided *aided, uint32_t count)
{
    if (aided->sender) {
        cm_frame_sender_begin_window(aided->sender);
    }
    const cm_status status =
        aided->plan.scheme == CM_BFV ? encrypt_bfv(aided, count) : encrypt_ckks(aided, count);
    if (status == CM_OK && aided->sender && aided->sender->window == CM_NEW_WINDOW) {
        return CM_ERR_ARGUMENT; /* it is not the emitter's */
    }
    return status;
}

static cm_status send_values(cm_aided *aided, uint32_t count)
{
    cm_status status = encrypt_values(aided, count);
    if (status == CM_OK) {
        status = await_result(aided, aided->encryptor.setup.emitter->info.counter);
    }
    aided->state = AWAITING;
    if (status != CM_OK) {
        cm_aided_wipe(aided);
    }
    return status;
}

static cm_status take_result(cm_aided *aided)
{
    cm_status status =
        aided->plan.scheme == CM_BFV ? cm_bfv_decrypt(&aided->decryptor) : cm_ckks_decrypt(&aided->decryptor);
    if (status == CM_OK) { /* a back-end has not asked the receiver */
        status = answered(aided, aided->decryptor.decryption.counter);
        if (status != CM_OK) {
            end_session(aided);
        }
    }
    aided->round = (uint8_t)(aided->round + (status == CM_OK ? 1u : 0u));
    return status;
}

/* BFV has n values, CKKS n/2 slots. */
static uint32_t value_count(const cm_aided *aided)
{
    return (uint32_t)1 << (aided_params(aided)->log2_n - (aided->plan.scheme == CM_CKKS ? 1u : 0u));
}

static bool due(const cm_aided *aided, bool last)
{
    return aided && aided->state == AWAITING && (aided->round + 1u == aided->plan.rounds) == last;
}

/* ---- the calls ---- */

cm_status cm_aided_begin(cm_aided *aided, const cm_secret_key *key, const cm_aided_plan *plan,
                         const cm_encryptor_setup *setup)
{
    if (!aided) {
        return CM_ERR_ARGUMENT;
    }
    memset(aided, 0, sizeof *aided);
    if (!plan || plan->rounds == 0 || (plan->scheme != CM_BFV && plan->scheme != CM_CKKS)) {
        return CM_ERR_ARGUMENT;
    }
    cm_status status = cm_encryptor_init_symmetric(&aided->encryptor, key, setup);
    if (status == CM_OK) {
        const cm_decryptor_setup results = {.arena = setup->arena, .arena_bytes = setup->arena_bytes};
        status = cm_decryptor_init(&aided->decryptor, key, &results);
    }
    if (status == CM_OK) {
        status = plan->scheme == CM_BFV
                     ? cmi_bfv_decryption_check(&aided->decryptor.decryption, &plan->bfv)
                     : cmi_ckks_decryption_check(&aided->decryptor.decryption, &plan->ckks);
    }
    if (status != CM_OK) {
        return status;
    }
    aided->receiver = (cm_receiver){aided_begin, aided_residues, aided_end, aided_fail};
    aided->plan = *plan;
    aided->state = AT_START;
    return CM_OK;
}

cm_status cm_aided_tag(cm_aided *aided, cm_frame_sender *sender, cm_frame_expected *results)
{
    if (!aided || aided->state != AT_START || !sender || !results || !results->begin) {
        return CM_ERR_ARGUMENT;
    }
    const cm_encryptor_setup *setup = &aided->encryptor.setup;
    if (cmi_in_arena(sender, sizeof *sender, setup->arena, setup->arena_bytes) ||
        cmi_in_arena(results, sizeof *results, setup->arena, setup->arena_bytes)) {
        return CM_ERR_ARENA;
    }
    aided->sender = sender;
    aided->decryptor.reader.expected = results;
    return CM_OK;
}

cm_status cm_aided_send(cm_aided *aided, uint32_t count)
{
    if (!aided || aided->state != AT_START) {
        return CM_ERR_ARGUMENT;
    }
    const cm_status status = send_values(aided, count);
    aided->first = aided->awaited;
    return status;
}

cm_status cm_aided_feed(cm_aided *aided, const uint8_t *bytes, size_t length)
{
    if (!aided || aided->state != AWAITING) {
        return CM_ERR_ARGUMENT;
    }
    const cm_status status = cm_decryptor_feed(&aided->decryptor, bytes, length);
    if (status != CM_OK) {
        cm_aided_wipe(aided);
    }
    return status;
}

cm_status cm_aided_answer(cm_aided *aided, cm_aided_step step, void *context)
{
    if (!due(aided, false) || !step) {
        return CM_ERR_ARGUMENT;
    }
    const unsigned round = aided->round;
    cm_status status = take_result(aided);
    aided->state = OVER;
    if (status != CM_OK) {
        return status;
    }
    status = step(context, round, aided->encryptor.setup.arena, value_count(aided));
    if (status != CM_OK) {
        end_session(aided);
        return status;
    }
    return send_values(aided, value_count(aided));
}

cm_status cm_aided_finish(cm_aided *aided)
{
    if (!due(aided, true)) {
        return CM_ERR_ARGUMENT;
    }
    aided->state = OVER;
    return take_result(aided);
}

void cm_aided_wipe(cm_aided *aided)
{
    if (aided && aided->state != OVER) {
        end_session(aided);
    }
}
