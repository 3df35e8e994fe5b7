/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Client-aided computing, the device's side: a server computes the linear part on ciphertexts and returns the
 * result; the device decrypts it, applies the non-linear step, encrypts the values again and sends them back,
 * for an agreed number of rounds.
 *
 *     ... the first values lie at the arena's start ...
 *     status = cm_aided_begin(&aided, &key, &plan, &setup);
 *     status = cm_aided_send(&aided, count);
 *     for (every round but the last) {
 *         ... status = cm_aided_feed(&aided, bytes, length); ...
 *         status = cm_aided_answer(&aided, step, context);
 *     }
 *     ... status = cm_aided_feed(&aided, bytes, length); ...
 *     status = cm_aided_finish(&aided); // the last result lies at the arena's start
 *
 * A result carries the counter of the ciphertext that it answers, and the device accepts only the answer to
 * its latest one. Any fault in a round ends the session and wipes the arena. Encryption and decryption take
 * constant time; the step is the caller's responsibility.
 *
 * THE SERVER IS TRUSTED TO COMPUTE WHAT WAS AGREED. A server that returns ciphertexts of its own choice has
 * them decrypted: it can extract the whole key from results that it gets to see, however little of each, and
 * a bit or two per session from which round was refused. So results are for the owner only, never for the
 * server or the link, and an application must give each key a budget of sessions that survives resets:
 * docs/client-aided.md; ports/app/application.c has one.
 */
#ifndef CIPHERMOTE_AIDED_H
#define CIPHERMOTE_AIDED_H

#include <stddef.h>
#include <stdint.h>

#include "ciphermote/bfv.h"
#include "ciphermote/ckks.h"
#include "ciphermote/decryptor.h"
#include "ciphermote/device.h"
#include "ciphermote/emitter.h"
#include "ciphermote/frame.h"
#include "ciphermote/keys.h"
#include "ciphermote/status.h"

#ifdef __cplusplus
extern "C" {
#endif

CM_REFUSE_PACKING(aided);

/*
 * What all rounds have in common. Values are encrypted with the number type and encoding they are decrypted
 * to. BFV is encrypted in NTT form, with 2 bytes per value in the arena for 16-bit numbers, else with 4.
 */
typedef struct cm_aided_plan {
    cm_scheme scheme;       /* CM_BFV or CM_CKKS */
    uint8_t rounds;         /* number of results that the server returns: 1 .. 255 */
    cm_bfv_expected bfv;    /* BFV */
    cm_ckks_expected ckks;  /* CKKS */
    cm_precision precision; /* CKKS: for encryption; ckks.precision is for decryption */
    int16_t log2_scale;     /* CKKS: for encryption */
    float largest; /* CKKS: of the values that are sent (ckks.h); ckks.largest: of those that return */
} cm_aided_plan;

/* Treat as opaque except round: the number of results decrypted so far. */
typedef struct cm_aided {
    cm_receiver receiver; /* between reader and decryption: passes this round's result only */
    cm_decryptor decryptor;
    cm_encryptor encryptor;
    cm_frame_sender *sender; /* null: frames of version 1 */
    cm_aided_plan plan;
    uint64_t first;   /* counter of the session's first ciphertext */
    uint64_t awaited; /* counter of the ciphertext whose answer is due */
    uint8_t round;
    uint8_t state;
} cm_aided;

#define CM_AIDED_LARGER(a, b) ((a) > (b) ? (a) : (b))
/* Bytes of the arena, for encryption and decryption by turns: integer constant expressions. width is the
   cm_bfv_width of the number (16 or 32 bits); see bfv.h, ckks.h and decryptor.h for the rest. */
#define CM_AIDED_BFV_ARENA_BYTES(n, width, sums, log2_tiles) \
    CM_AIDED_LARGER(CM_BFV_SYMMETRIC_ARENA_BYTES(n, width, log2_tiles), \
                    CM_BFV_DECRYPT_ARENA_BYTES(n, sums, log2_tiles))
#define CM_AIDED_CKKS_ARENA_BYTES(n, slots, encrypt_precision, decrypt_precision, log2_tiles) \
    CM_AIDED_LARGER(CM_CKKS_SYMMETRIC_ARENA_BYTES(n, slots, encrypt_precision, log2_tiles), \
                    CM_CKKS_DECRYPT_ARENA_BYTES(n, slots, decrypt_precision, log2_tiles))

/*
 * The non-linear step, in place, between round `round` and the next; rounds count from 0. count is n for BFV,
 * n/2 slots for CKKS (a complex slot is two numbers). Any return value other than CM_OK ends the session. Its
 * time must not depend on the values.
 */
typedef cm_status (*cm_aided_step)(void *context, unsigned round, void *values, uint32_t count);

/*
 * Open a session. setup is as for an encryptor; its arena is lent until the session ends, and this call does
 * not change it. Errors: CM_ERR_ARGUMENT, and those of cm_bfv_expect or cm_ckks_expect, so that a plan whose
 * results could not be decrypted fails before anything is sent.
 */
CM_MUST_CHECK cm_status cm_aided_begin(cm_aided *aided, const cm_secret_key *key, const cm_aided_plan *plan,
                                       const cm_encryptor_setup *setup);

/*
 * After cm_aided_begin: the session's frames are tagged both ways. sender is that of the writer which the
 * setup's emitter belongs to (cm_frame_writer_tag); each round begins a window of its own. results was set up
 * with cm_frame_expected_init; the session sets the attempt that it expects an answer to. Both must outlive
 * the session. Errors: CM_ERR_ARGUMENT, also for results that were not set up, or after cm_aided_send;
 * CM_ERR_ARENA if one of them is in the arena.
 *
 * Tags keep everybody else out. The server holds the result key, and can still send what it likes.
 */
CM_MUST_CHECK cm_status cm_aided_tag(cm_aided *aided, cm_frame_sender *sender, cm_frame_expected *results);

/*
 * Encrypt and send the first count values at the arena's start, and await the first result. Errors: those of
 * encryption, and CM_ERR_ARGUMENT if the session has already sent something or is over, or the sender that
 * cm_aided_tag was given is not the emitter's.
 */
CM_MUST_CHECK cm_status cm_aided_send(cm_aided *aided, uint32_t count);

/*
 * Take the next bytes of a result's frames, in pieces of any size. Errors: those of cm_decryptor_feed;
 * CM_ERR_FRAME_ORDER also for the answer to an earlier round, or to anything else that the device has
 * encrypted since the session's first ciphertext; CM_ERR_FRAME_FOREIGN also for the answer to any other
 * ciphertext, and for both where results are tagged; CM_ERR_ARGUMENT if no result is due.
 */
CM_MUST_CHECK cm_status cm_aided_feed(cm_aided *aided, const uint8_t *bytes, size_t length);

/*
 * After a result's last frame, in every round but the last (CM_ERR_ARGUMENT there): decrypt, apply the step,
 * encrypt all values and send them. Errors: those of decryption, of the step and of encryption.
 */
CM_MUST_CHECK cm_status cm_aided_answer(cm_aided *aided, cm_aided_step step, void *context);

/*
 * After the last frame of the last round (CM_ERR_ARGUMENT in earlier rounds): decrypt. The values are at the
 * arena's start, for the owner only: CKKS values carry noise that leaks information about the key (IND-CPA-D,
 * docs/security.md).
 */
CM_MUST_CHECK cm_status cm_aided_finish(cm_aided *aided);

/* End the session. Safe at any time after begin; wipes the arena unless the session is already over. */
void cm_aided_wipe(cm_aided *aided);

#ifdef __cplusplus
}
#endif
#endif
