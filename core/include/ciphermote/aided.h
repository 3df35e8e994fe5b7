/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Client-aided computing, the device's side: a server computes what is linear on ciphertexts and returns it;
 * the device decrypts, applies what is not linear, and sends the values back encrypted anew, as often as
 * agreed.
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
 * A result says which ciphertext it answers, by that one's counter, and the device takes the answer to its
 * latest alone. Whatever goes wrong in a round ends the session, with a wiped arena. Constant time as
 * encryption and decryption are; the step is the caller's.
 *
 * THE SERVER IS TRUSTED TO COMPUTE WHAT WAS AGREED. One that returns ciphertexts of its own choice has them
 * decrypted: it takes the whole key from results that it gets to see, however little of each, and a bit or
 * two a session from which round was refused. So results are for the owner alone, never for the server or its
 * line, and an application gives a key a budget of sessions that survives resets: docs/client-aided.md;
 * ports/app/application.c has one.
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
 * What all rounds have in common. Values go out as they come in: of one number type, in one encoding. BFV is
 * encrypted in NTT form, with 2 bytes a value in the arena if the number has 16 bits, else with 4.
 */
typedef struct cm_aided_plan {
    cm_scheme scheme;       /* CM_BFV or CM_CKKS */
    uint8_t rounds;         /* results that the server may return: 1 .. 255 */
    cm_bfv_expected bfv;    /* BFV */
    cm_ckks_expected ckks;  /* CKKS */
    cm_precision precision; /* CKKS: of encryption; ckks.precision is of decryption */
    int16_t log2_scale;     /* CKKS: of encryption */
} cm_aided_plan;

/* Treat as opaque but round: the results taken so far. */
typedef struct cm_aided {
    cm_receiver receiver; /* between the reader and the decryption: lets no other round's result pass */
    cm_decryptor decryptor;
    cm_encryptor encryptor;
    cm_aided_plan plan;
    uint64_t first;   /* counter of the session's first ciphertext */
    uint64_t awaited; /* of the one whose answer is due */
    uint8_t round;
    uint8_t state;
} cm_aided;

#define CM_AIDED_LARGER(a, b) ((a) > (b) ? (a) : (b))
/* Bytes of the arena, for encryption and decryption in turn; width is the cm_bfv_width that the number
   takes. */
#define CM_AIDED_BFV_ARENA_BYTES(n, width, sums, log2_tiles) \
    CM_AIDED_LARGER(CM_BFV_SYMMETRIC_ARENA_BYTES(n, width, log2_tiles), \
                    CM_BFV_DECRYPT_ARENA_BYTES(n, sums, log2_tiles))
#define CM_AIDED_CKKS_ARENA_BYTES(n, slots, encrypt_precision, decrypt_precision, log2_tiles) \
    CM_AIDED_LARGER(CM_CKKS_SYMMETRIC_ARENA_BYTES(n, slots, encrypt_precision, log2_tiles), \
                    CM_CKKS_DECRYPT_ARENA_BYTES(n, slots, decrypt_precision, log2_tiles))

/*
 * What is not linear: count values in place, n of them (BFV) or n/2 slots (CKKS), between round and round +
 * 1; rounds count from 0. Anything but CM_OK ends the session. Its time must not depend on values.
 */
typedef cm_status (*cm_aided_step)(void *context, unsigned round, void *values, uint32_t count);

/*
 * Open a session. setup is as an encryptor's; its arena is lent until the session is over, and nothing of it
 * is touched. CM_ERR_ARGUMENT, and the errors of expecting a ciphertext, so that a plan whose results could
 * not be taken ends before anything is sent.
 */
CM_MUST_CHECK cm_status cm_aided_begin(cm_aided *aided, const cm_secret_key *key, const cm_aided_plan *plan,
                                       const cm_encryptor_setup *setup);

/*
 * Encrypt the first count values, at the arena's start, and await the first result. Errors are those of
 * encryption; CM_ERR_ARGUMENT if the session is not at its start.
 */
CM_MUST_CHECK cm_status cm_aided_send(cm_aided *aided, uint32_t count);

/*
 * Take the next bytes of a result's frames, in pieces of any size. CM_ERR_FRAME_ORDER also for a result of an
 * earlier round, or of anything else that the device encrypted since the first; CM_ERR_FRAME_FOREIGN for one
 * of any other ciphertext; else as cm_frame_reader_feed. CM_ERR_ARGUMENT if none is due.
 */
CM_MUST_CHECK cm_status cm_aided_feed(cm_aided *aided, const uint8_t *bytes, size_t length);

/*
 * After a result's last frame, in every round but the last (CM_ERR_ARGUMENT there): decrypt, step, encrypt
 * all values anew. Errors are those of decryption, of the step and of encryption.
 */
CM_MUST_CHECK cm_status cm_aided_answer(cm_aided *aided, cm_aided_step step, void *context);

/*
 * After the last round's last frame (CM_ERR_ARGUMENT before that round): decrypt. The values lie at the
 * arena's start, for the owner alone: CKKS's carry noise that tells of the key (IND-CPA-D, docs/security.md).
 */
CM_MUST_CHECK cm_status cm_aided_finish(cm_aided *aided);

/* Give up. Safe at any time after begin; wipes the arena if the session is not over. */
void cm_aided_wipe(cm_aided *aided);

#ifdef __cplusplus
}
#endif
#endif
