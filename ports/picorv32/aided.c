/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client-aided session on the chip of rtl/soc, with the steps of the reference application (app/rounds.c):
 * vectors come in through the sensor's port, then the server's results, each behind its length in bytes; the
 * frames leave, and at the end the classes. Nothing here knows whether the client engine does it. The UART
 * says how many cycles each round took, from a result's first byte to the next ciphertext's last one, and
 * each of the phases that the Cortex-M4's cycles are counted in.
 */
#include <stdint.h>
#include <string.h>

#include "aided_model.h"
#include "board.h"
#include "ciphermote/ciphermote.h"
#include "console.h"
#include "phase.h"
#include "platform.h"
#include "provisioned_keys.h"
#include "rounds.h"

#define N CM_PROVISIONED_N
#define PIECE 1000u /* bytes, as a radio might bring them */

static uint8_t arena[ROUNDS_BFV_ARENA_BYTES(N)] __attribute__((aligned(8)));
static uint8_t result[APP_RESULT_BYTES] __attribute__((aligned(4)));
static cm_device device;
static cm_frame_writer frames;
static rounds session;

/* ---- the phases of app/phase.h ---- */

static phase current = PHASE_NONE;
static uint32_t entered;
static uint32_t cycles_in[PHASE_NONE + 1];

phase phase_enter(phase next)
{
    const phase before = current;
    const uint32_t now = board_cycles();
    cycles_in[before] += now - entered;
    entered = now;
    current = next;
    return before;
}

/* ---- the session ---- */

/* 0 if there are more than fit. */
static uint32_t receive(uint8_t *bytes, uint32_t most)
{
    uint32_t length = BOARD_SENSOR & 0xFFFFu;
    length |= BOARD_SENSOR << 16;
    for (uint32_t i = 0; i < length && length <= most; i += 2u) {
        const uint32_t two = BOARD_SENSOR;
        bytes[i] = (uint8_t)two;
        bytes[i + 1u] = (uint8_t)(two >> 8);
    }
    return length <= most ? length : 0;
}

static cm_status answer(uint32_t length)
{
    cm_status status = CM_OK;
    for (uint32_t at = 0; at < length && status == CM_OK; at += PIECE) {
        status = rounds_feed(&session, result + at, length - at < PIECE ? length - at : PIECE);
    }
    return status == CM_OK ? rounds_answer(&session) : status;
}

static cm_status open_session(void)
{
    const cm_sink port = {console_leave, NULL};
    const cm_encryptor_setup setup = {.device = &device,
                                      .emitter = &frames.emitter,
                                      .arena = arena,
                                      .arena_bytes = sizeof arena,
                                      .xof = CM_XOF_CHACHA20};
    board_hold(cm_provisioned_device_secret, &cm_provisioned_secret_key, aided_model.plain_modulus);
    cm_frame_writer_init(&frames, port);
    const cm_status status = cm_device_init(&device, cm_provisioned_device_secret, &picorv32_platform);
    return status == CM_OK ? rounds_open(&session, &aided_model, CM_BFV, receive(arena, sizeof arena),
                                         &cm_provisioned_secret_key, &setup)
                           : status;
}

int main(void)
{
    cm_status status = board_start(cm_provisioned_secret_key.params) ? open_session() : CM_ERR_UNSUPPORTED;
    uint32_t began = board_cycles();
    if (status == CM_OK) {
        status = rounds_send(&session);
    }
    console_say("encryption", board_cycles() - began);
    for (unsigned i = 0; i < aided_model.count && status == CM_OK; i++) {
        const uint32_t length = receive(result, sizeof result);
        began = board_cycles();
        status = answer(length);
        console_say("round", board_cycles() - began);
    }
    console_say("status", (uint32_t)status);
    console_say("encrypt", cycles_in[PHASE_ENCRYPT]);
    console_say("decrypt", cycles_in[PHASE_DECRYPT]);
    console_say("between", cycles_in[PHASE_STEP]);
    board_report();
    static uint32_t words[ROUNDS_MAX_VECTORS / 4u]; /* as they must be to leave */
    memcpy(words, session.classes, sizeof words);
    return status == CM_OK && console_leave(NULL, (const uint8_t *)words, sizeof words) == 0 ? 0 : 1;
}
