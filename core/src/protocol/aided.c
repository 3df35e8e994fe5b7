/*
 * A client-aided session: encryptions and decryptions in turn in one arena, each result held to the ciphertext that it answers.
 */
#include "ciphermote/aided.h"

#include <string.h>

#include "common/wipe.h"
#include "scheme/decrypt.h"

enum { OVER = 0, AT_START, AWAITING }; /* cm_aided.state */

static cm_aided *aided_of(cm_receiver *self)
{
    return (cm_aided *)(void *)self;
}

/* ---- the receiver in between ---- */

static cm_status begin_frame(cm_receiver *self, const cm_ciphertext_info *info, unsigned component,
                             unsigned prime, unsigned tile)
{
    cm_aided *aided = aided_of(self);
    if (info->counter != aided->awaited) {
        const bool stale = info->counter >= aided->first && info->counter < aided->awaited;
        return stale ? CM_ERR_FRAME_ORDER : CM_ERR_FRAME_FOREIGN;
    }
    cm_receiver *next = &aided->decryption.receiver;
    return next->begin(next, info, component, prime, tile);
}

static cm_status take_residues(cm_receiver *self, const uint32_t *residues, uint32_t count)
{
    cm_receiver *next = &aided_of(self)->decryption.receiver;
    return next->residues(next, residues, count);
}

static cm_status end_frame(cm_receiver *self)
{
    cm_receiver *next = &aided_of(self)->decryption.receiver;
    return next->end(next);
}

static void hand_on_fault(cm_receiver *self, cm_status status)
{
    cm_receiver *next = &aided_of(self)->decryption.receiver;
    next->fail(next, status);
}

/* What fed the session left secrets on the stack, too. */
static void end_session(cm_aided *aided)
{
    aided->state = OVER;
    cm_wipe(aided->arena, aided->arena_bytes);
    cm_wipe_stack();
}

/* ---- a round's halves ---- */

static cm_status encrypt_bfv(const cm_aided *aided, uint32_t count, cm_emitter *emitter)
{
    const cm_bfv_expected *expected = &aided->plan.bfv;
    const bool narrow = expected->number == CM_INT16 || expected->number == CM_UINT16;
    const cm_bfv_values values = {.data = aided->arena,
                                  .count = count,
                                  .number = expected->number,
                                  .encoding = expected->encoding,
                                  .width = narrow ? CM_BFV_16 : CM_BFV_32,
                                  .plain_modulus = expected->plain_modulus};
    return cm_bfv_encrypt_symmetric(aided->device, &aided->key, aided->plan.xof, &values, CM_DOMAIN_NTT,
                                    aided->arena, aided->arena_bytes, emitter);
}

static cm_status encrypt_ckks(const cm_aided *aided, uint32_t count, cm_emitter *emitter)
{
    const cm_ckks_expected *expected = &aided->plan.ckks;
    const cm_ckks_values values = {.data = aided->arena,
                                   .count = count,
                                   .number = expected->number,
                                   .slots = expected->slots,
                                   .exponent = expected->exponent,
                                   .log2_scale = aided->plan.log2_scale,
                                   .precision = aided->plan.precision};
    return cm_ckks_encrypt_symmetric(aided->device, &aided->key, aided->plan.xof, &values, aided->arena,
                                     aided->arena_bytes, emitter);
}

static cm_status await(cm_aided *aided, uint64_t counter)
{
    const cm_aided_plan *plan = &aided->plan;
    aided->awaited = counter;
    cm_frame_reader_init(&aided->reader, aided->key.params, &aided->receiver);
    return plan->scheme == CM_BFV ? cm_bfv_decrypt_begin(&aided->decryption, &aided->key, &plan->bfv,
                                                         aided->arena, aided->arena_bytes)
                                  : cm_ckks_decrypt_begin(&aided->decryption, &aided->key, &plan->ckks,
                                                          aided->arena, aided->arena_bytes);
}

static cm_status send_values(cm_aided *aided, uint32_t count, cm_emitter *emitter)
{
    cm_status status = aided->plan.scheme == CM_BFV ? encrypt_bfv(aided, count, emitter)
                                                    : encrypt_ckks(aided, count, emitter);
    if (status == CM_OK) {
        status = await(aided, emitter->info.counter);
    }
    aided->state = AWAITING;
    if (status != CM_OK) {
        cm_aided_wipe(aided);
    }
    return status;
}

static cm_status take_result(cm_aided *aided)
{
    const cm_status status = aided->plan.scheme == CM_BFV ? cm_bfv_decrypt_end(&aided->decryption)
                                                          : cm_ckks_decrypt_end(&aided->decryption);
    aided->round = (uint8_t)(aided->round + (status == CM_OK ? 1u : 0u));
    return status;
}

/* BFV has n values, CKKS n/2 slots. */
static uint32_t value_count(const cm_aided *aided)
{
    return (uint32_t)1 << (aided->key.params->log2_n - (aided->plan.scheme == CM_CKKS ? 1u : 0u));
}

static bool due(const cm_aided *aided, bool last)
{
    return aided && aided->state == AWAITING && (aided->round + 1u == aided->plan.rounds) == last;
}

/* ---- the calls ---- */

cm_status cm_aided_begin(cm_aided *aided, cm_device *device, const cm_secret_key *key,
                         const cm_aided_plan *plan, void *arena, size_t arena_bytes)
{
    if (!aided) {
        return CM_ERR_ARGUMENT;
    }
    memset(aided, 0, sizeof *aided);
    if (!device || !key || !key->params || !plan || !arena || plan->rounds == 0 ||
        (plan->scheme != CM_BFV && plan->scheme != CM_CKKS)) {
        return CM_ERR_ARGUMENT;
    }
    const cm_status status = plan->scheme == CM_BFV
                                 ? cm_bfv_decrypt_check(key, &plan->bfv, arena, arena_bytes)
                                 : cm_ckks_decrypt_check(key, &plan->ckks, arena, arena_bytes);
    if (status != CM_OK) {
        return status;
    }
    aided->receiver = (cm_receiver){begin_frame, take_residues, end_frame, hand_on_fault};
    aided->plan = *plan;
    aided->key = *key;
    aided->device = device;
    aided->arena = arena;
    aided->arena_bytes = arena_bytes;
    aided->state = AT_START;
    return CM_OK;
}

cm_status cm_aided_send(cm_aided *aided, uint32_t count, cm_emitter *emitter)
{
    if (!aided || aided->state != AT_START || !emitter) {
        return CM_ERR_ARGUMENT;
    }
    const cm_status status = send_values(aided, count, emitter);
    aided->first = aided->awaited;
    return status;
}

cm_status cm_aided_feed(cm_aided *aided, const uint8_t *bytes, size_t length)
{
    if (!aided || aided->state != AWAITING) {
        return CM_ERR_ARGUMENT;
    }
    const cm_status status = cm_frame_reader_feed(&aided->reader, bytes, length);
    if (status != CM_OK) {
        cm_aided_wipe(aided);
    }
    return status;
}

cm_status cm_aided_answer(cm_aided *aided, cm_aided_step step, void *context, cm_emitter *emitter)
{
    if (!due(aided, false) || !step || !emitter) {
        return CM_ERR_ARGUMENT;
    }
    const unsigned round = aided->round;
    cm_status status = take_result(aided);
    aided->state = OVER;
    if (status != CM_OK) {
        return status;
    }
    status = step(context, round, aided->arena, value_count(aided));
    if (status != CM_OK) {
        end_session(aided);
        return status;
    }
    return send_values(aided, value_count(aided), emitter);
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
