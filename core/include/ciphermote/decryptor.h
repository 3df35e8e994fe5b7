/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A decryptor is set up once with a key and memory. Then it takes one ciphertext at a time, as frames in
 * pieces of any size, and leaves the values in the arena.
 *
 *     cm_decryptor decryptor;
 *     const cm_decryptor_setup setup = {.arena = arena, .arena_bytes = sizeof arena};
 *     status = cm_decryptor_init(&decryptor, &cm_provisioned_secret_key, &setup);
 *     ... status = cm_bfv_expect(&decryptor, &expected); ...
 *     ... status = cm_decryptor_feed(&decryptor, bytes, length); ...
 *     ... status = cm_bfv_decrypt(&decryptor); ... // the values are at the arena's start
 *
 * No ciphertext is ever held. For each prime, and each of its tiles, component 1 arrives and then component
 * 0, both in NTT form (ciphermote.formats.device_results on the gateway orders them so). Residues are
 * multiplied with the secret as they arrive, and each finished tile is added to sums of a few bytes per
 * coefficient. Every field of a frame is checked before it is used. Any fault ends the decryption with a
 * status and a wiped arena; there is no partial result. The arena is lent from cm_..._expect until the
 * ciphertext is decrypted: if anything else writes to it from its start meanwhile, the decryption ends in
 * CM_ERR_ARENA.
 *
 * Time depends on the parameters and on what is expected, never on keys, values or noise. Results are for the
 * owner only: in either scheme, they leak information about the key to whoever chose the ciphertext.
 * docs/security.md says who else may see them, and what to do before sharing CKKS results.
 */
#ifndef CIPHERMOTE_DECRYPTOR_H
#define CIPHERMOTE_DECRYPTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ciphermote/decryption.h"
#include "ciphermote/device.h"
#include "ciphermote/expander.h"
#include "ciphermote/frame.h"
#include "ciphermote/keys.h"
#include "ciphermote/status.h"

#ifdef __cplusplus
extern "C" {
#endif

CM_REFUSE_PACKING(decryptor);

/* What a decryptor works with. The objects pointed at must outlive it. */
typedef struct cm_decryptor_setup {
    void *arena;                /* aligned to 8 bytes */
    size_t arena_bytes;         /* CM_BFV_DECRYPT_ARENA_BYTES or CM_CKKS_DECRYPT_ARENA_BYTES */
    cm_seed_expander *expander; /* set up with cm_seed_expander_init, for ciphertexts that hold a seed, as
                                   devices send them, and for this decryptor alone; null: these are
                                   refused, and no code that expands seeds is linked */
    cm_frame_expected *results; /* set up with cm_frame_expected_init, and with the attempt before each
                                   ciphertext: only frames with its tags are taken; null: only frames of
                                   version 1, and no code that checks tags is linked */
} cm_decryptor_setup;

/* Treat as opaque, except the two fields of decryption named above. */
typedef struct cm_decryptor {
    cm_decryption decryption;
    cm_frame_reader reader;
    cm_seed_expander *expander;
} cm_decryptor;

/*
 * Set up. Errors: CM_ERR_ARGUMENT for null pointers, an incomplete key or results that were not set up,
 * CM_ERR_PARAMS, CM_ERR_ARENA for an arena that is null, not aligned or overlaps the decryptor, the key, the
 * expander or the results, CM_ERR_EXPANDER for a seed expander that was not set up. After an error the
 * decryptor refuses all ciphertexts. The arena's size is checked when a ciphertext is expected.
 */
CM_MUST_CHECK cm_status cm_decryptor_init(cm_decryptor *decryptor, const cm_secret_key *key,
                                          const cm_decryptor_setup *setup);

/*
 * Take the next bytes of the expected ciphertext's frames. Errors: those of cm_frame_reader_feed (frame.h),
 * and of cm_frame_reader_expect where results are tagged;
 * CM_ERR_FRAME_FOREIGN if a frame's key or kind is not the expected one, or it belongs to another ciphertext
 * than the first frame; CM_ERR_FRAME_ORDER if it is not the next one in order; CM_ERR_FRAME_SEED for a seed
 * without an expander; CM_ERR_EXPANDER if another decryptor has begun with the same expander, or it was
 * overwritten; CM_ERR_FRAME_DOMAIN for coefficient form; CM_ERR_SCALE as below; CM_ERR_ARGUMENT if no
 * ciphertext is expected.
 */
CM_MUST_CHECK cm_status cm_decryptor_feed(cm_decryptor *decryptor, const uint8_t *bytes, size_t length);

/*
 * Abandon the current ciphertext and wipe the whole arena, the values of a finished decryption included. Safe
 * at any time after cm_decryptor_init, unless an encryption in the same arena is under way.
 */
void cm_decryptor_wipe(cm_decryptor *decryptor);

/* ---- BFV ---- */

/*
 * Expect a BFV ciphertext; one in progress is abandoned. Errors: CM_ERR_ARGUMENT, CM_ERR_PLAIN_MODULUS,
 * CM_ERR_ARENA. After an error nothing is accepted, and later calls return the same status.
 */
CM_MUST_CHECK cm_status cm_bfv_expect(cm_decryptor *decryptor, const cm_bfv_expected *expected);

/*
 * After the last frame: leaves n values of the expected number type at the arena's start (batching: two rows
 * of n/2) and wipes the rest of the arena. Errors: the status of the first fault, if there was one;
 * CM_ERR_FRAME_SHORT if frames are missing.
 *
 * A ciphertext of another key that carries this key's id, or one whose noise budget is used up, gives
 * meaningless numbers and CM_OK, because every number below t is a possible result. (The owner's toolkit,
 * which has all primes, measures the noise and refuses them.)
 */
CM_MUST_CHECK cm_status cm_bfv_decrypt(cm_decryptor *decryptor);

/*
 * How much noise a ciphertext holds, FOR TESTS ONLY: whoever learns it for ciphertexts of their own making
 * learns the secret key, so it is as SECRET as the key. It must not leave the device, and nothing that leaves
 * may depend on it (docs/security.md).
 *
 * As cm_bfv_expect, for any t from 2. The arena must hold all residues: CM_BFV_NOISE_ARENA_BYTES.
 */
#define CM_BFV_NOISE_ARENA_BYTES(n, data_primes, log2_tiles) \
    (4u * (size_t)(n) * (data_primes) + CM_DECRYPT_TILE_BYTES(n, log2_tiles) + CM_DECRYPT_WORKSPACE_BYTES)
CM_MUST_CHECK cm_status cm_bfv_expect_noise(cm_decryptor *decryptor, uint32_t plain_modulus,
                                            unsigned log2_tiles);

/*
 * After the last frame, in place of cm_bfv_decrypt: *bits is how many bits the noise may still grow before
 * decryption fails, SEAL's invariant noise budget. The arena is wiped. Errors are those of cm_bfv_decrypt,
 * and set *bits to 0.
 */
CM_MUST_CHECK cm_status cm_bfv_noise_budget(cm_decryptor *decryptor, unsigned *bits);

/* ---- CKKS ---- */

/* As cm_bfv_expect, without CM_ERR_PLAIN_MODULUS; CM_ERR_UNSUPPORTED for what the build leaves out. */
CM_MUST_CHECK cm_status cm_ckks_expect(cm_decryptor *decryptor, const cm_ckks_expected *expected);

/*
 * As cm_bfv_decrypt, for n/2 slots; a complex slot is two numbers. CM_ERR_VALUE_RANGE, and a wiped arena, if
 * a slot is larger than twice largest, or too large for the precision or the number type. For the owner of
 * the key only: these values carry the ciphertext's noise, which leaks information about the key.
 */
CM_MUST_CHECK cm_status cm_ckks_decrypt(cm_decryptor *decryptor);

/*
 * The same, for values that others will see, even in part: uniform noise of up to 2^log2_noise units of a
 * coefficient drowns the ciphertext's own noise, which leaks information about the secret key
 * (docs/security.md says how to choose log2_noise). It changes a real slot by sqrt(n / 12) 2^log2_noise /
 * scale (rms), and each part of a complex slot by sqrt(2) times as much. Slots are therefore not compared
 * with largest.
 *
 * ONLY FOR CIPHERTEXTS THAT WERE COMPUTED HONESTLY, against others who read what is shared. Whoever chooses
 * the ciphertext takes the whole key from one shared decryption, and no noise prevents it: docs/security.md,
 * "Sharing decrypted results".
 *
 * log2_noise: 1 .. CM_CKKS_SHARED_MAX_LOG2_NOISE, and only with CM_FIXED_63; otherwise CM_ERR_SHARED_NOISE.
 * Also CM_ERR_RANDOM, CM_ERR_COUNTER. Any error wipes the arena, unless the decryption was already over.
 */
CM_MUST_CHECK cm_status cm_ckks_decrypt_shared(cm_decryptor *decryptor, cm_device *device,
                                               unsigned log2_noise);

#ifdef __cplusplus
}
#endif
#endif
