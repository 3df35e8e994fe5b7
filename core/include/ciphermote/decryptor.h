/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A decryptor: set up once with a key and memory. From then on a ciphertext at a time comes in frames, in
 * pieces of any size, and leaves as values in the arena.
 *
 *     cm_decryptor decryptor;
 *     const cm_decryptor_setup setup = {.arena = arena, .arena_bytes = sizeof arena};
 *     status = cm_decryptor_init(&decryptor, &cm_provisioned_secret_key, &setup);
 *     ... status = cm_bfv_expect(&decryptor, &expected); ...
 *     ... status = cm_decryptor_feed(&decryptor, bytes, length); ...
 *     ... status = cm_bfv_decrypt(&decryptor); ... // the values lie at the arena's start
 *
 * A ciphertext is never held. For each prime in turn, and each tile of it, component 1 comes and then
 * component 0, both in NTT form (ciphermote.returning.device_frames on the gateway puts them so): the
 * products with the secret are made as the residues arrive, and what is left of a tile goes into sums of a
 * few bytes a coefficient. Every field of a frame is checked before it is used; any fault ends the decryption
 * with a status and a wiped arena, and there is no half answer. The arena is lent from cm_..._expect on until
 * the ciphertext is decrypted: if anything else uses it from its start meanwhile, the decryption ends in
 * CM_ERR_ARENA.
 *
 * Time depends on the parameters and on what is expected, never on keys, values or noise. Results are for the
 * owner alone: to whoever chose a ciphertext, what it decrypts to tells of the key, in either scheme.
 * docs/security.md says who else may see them, and what to do before CKKS results are shared.
 */
#ifndef CIPHERMOTE_DECRYPTOR_H
#define CIPHERMOTE_DECRYPTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ciphermote/bfv.h"
#include "ciphermote/ckks.h"
#include "ciphermote/device.h"
#include "ciphermote/expander.h"
#include "ciphermote/frame.h"
#include "ciphermote/keys.h"
#include "ciphermote/receiver.h"
#include "ciphermote/status.h"

#ifdef __cplusplus
extern "C" {
#endif

CM_REFUSE_PACKING(decryptor);

/* What a decryptor works with. What is pointed at must stay as long as it is used. */
typedef struct cm_decryptor_setup {
    void *arena;                /* aligned to 8 bytes */
    size_t arena_bytes;         /* CM_BFV_DECRYPT_ARENA_BYTES or CM_CKKS_DECRYPT_ARENA_BYTES */
    cm_seed_expander *expander; /* memory to expand seeds, so that what devices send is taken too; null: it is
                                   refused */
} cm_decryptor_setup;

/* The ciphertext at hand. Treat as opaque but counter and scale_or_t, which say what came, once it is
   complete. */
typedef struct cm_decryption {
    cm_receiver receiver; /* first: what a frame reader hands residues to */
    uint64_t counter;
    uint64_t scale_or_t; /* CKKS: the scale as IEEE 754 binary64 bits; BFV: the plaintext modulus */
    const cm_secret_key *key;
    uint8_t *arena;
    uint32_t *tile; /* in the arena, behind the sums */
    size_t arena_bytes;
    uint32_t largest;  /* CKKS: as expected */
    uint16_t position; /* of the open frame's next residue; or CM_FRAME_LEFT_OUT, and between frames
                          CM_NO_FRAME_OPEN */
    uint16_t next;     /* number of the frame to come */
    uint8_t primes;    /* of the ciphertext, 0 until it began */
    uint8_t log2_tiles;
    uint8_t scheme;
    uint8_t encoding;    /* BFV: a cm_bfv_encoding; CKKS: a cm_slots */
    int8_t exponent;     /* CKKS: of integers */
    uint8_t number;      /* a cm_number */
    uint8_t number_bits; /* BFV: of a sum, 24 or 32; CKKS: a cm_precision */
    cm_status status;
} cm_decryption;
#define CM_NO_FRAME_OPEN 0xFFFFu
#define CM_FRAME_LEFT_OUT 0xFFFEu

/* Treat as opaque but the two fields of decryption that are not. */
typedef struct cm_decryptor {
    cm_decryption decryption;
    cm_frame_reader reader;
    cm_seed_expander *expander;
} cm_decryptor;

/*
 * CM_ERR_ARGUMENT for what is missing, CM_ERR_PARAMS, CM_ERR_ARENA for one that is missing or not aligned, or
 * that the key lies in: the decryptor refuses all ciphertexts then.
 */
CM_MUST_CHECK cm_status cm_decryptor_init(cm_decryptor *decryptor, const cm_secret_key *key,
                                          const cm_decryptor_setup *setup);

/*
 * Take the next bytes of the expected ciphertext's frames. Errors are those of cm_frame_reader_feed
 * (frame.h), and CM_ERR_FRAME_FOREIGN if a frame is of another key or kind than expected, or of another
 * ciphertext than the first, CM_ERR_FRAME_ORDER if it is not the next one, CM_ERR_FRAME_SEED and
 * CM_ERR_FRAME_DOMAIN for a seed without an expander and for coefficient form. CM_ERR_ARGUMENT if no
 * ciphertext is expected.
 */
CM_MUST_CHECK cm_status cm_decryptor_feed(cm_decryptor *decryptor, const uint8_t *bytes, size_t length);

/* Forget a ciphertext that is not wanted any more, and wipe the arena. Safe at any time after
   cm_decryptor_init. */
void cm_decryptor_wipe(cm_decryptor *decryptor);

/* ---- BFV ---- */

/*
 * How many bits a coefficient's sum keeps of the fraction t x / q: 24 save a quarter of the arena, if t
 * primes 2^log2_tiles is at most 2^22; with 32 bits, 2^30. Then every ciphertext whose noise is below q / 3t
 * decrypts exactly: with two bits of noise budget left it always is, with one if q is at least 3/4 of the
 * next power of two, as in all sets of ours up to n = 8192.
 */
typedef enum cm_bfv_sums { CM_BFV_SUMS_24 = 24, CM_BFV_SUMS_32 = 32 } cm_bfv_sums;

/* What is expected, and how it shall come out. */
typedef struct cm_bfv_expected {
    cm_bfv_encoding
        encoding;     /* as the sender's: nothing in a ciphertext tells, and the other gives other numbers */
    cm_number number; /* CM_UINT16 (t <= 2^16), CM_UINT32, CM_INT16 (t < 2^16) or CM_INT32: signed are within
                   +-t/2 */
    cm_bfv_sums sums; /* 24 bits for numbers of 16 bits alone */
    uint8_t log2_tiles;     /* how many tiles each polynomial comes in: 0 .. 4 */
    uint32_t plain_modulus; /* t */
} cm_bfv_expected;

/* Bytes of the arena; n is the ring degree: integer constant expressions. */
#define CM_DECRYPT_WORKSPACE_BYTES (64u + 8u * CM_CONFIG_MAX_LOG2_N)
#define CM_DECRYPT_TILE_BYTES(n, log2_tiles) (4u * (size_t)(n) >> (log2_tiles))
#define CM_BFV_DECRYPT_ARENA_BYTES(n, sums, log2_tiles) \
    ((size_t)(n) / 8u * (sums) + CM_DECRYPT_TILE_BYTES(n, log2_tiles) + CM_DECRYPT_WORKSPACE_BYTES)

/*
 * Expect a BFV ciphertext; one that was under way is forgotten. CM_ERR_ARGUMENT, CM_ERR_PLAIN_MODULUS,
 * CM_ERR_ARENA; nothing is taken then, and all that follows is answered with the same status.
 */
CM_MUST_CHECK cm_status cm_bfv_expect(cm_decryptor *decryptor, const cm_bfv_expected *expected);

/*
 * After the last frame: n values lie at the arena's start, of the number expected (batching: two rows of
 * n/2), and all else in it is wiped. The status of the first fault, if there was one; CM_ERR_FRAME_SHORT if
 * frames are missing. A ciphertext of another key under this key's id, or one whose noise is spent, gives
 * numbers without meaning and CM_OK: all numbers below t are possible results. (The owner's toolkit, which
 * has all primes, measures the noise and refuses it.)
 */
CM_MUST_CHECK cm_status cm_bfv_decrypt(cm_decryptor *decryptor);

/*
 * How much noise a ciphertext holds, FOR TESTS ALONE: who learns it of ciphertexts that they made learns the
 * secret key, so it is as SECRET as that. It never leaves the device, and nothing that leaves may depend on
 * it (docs/security.md).
 *
 * As cm_bfv_expect, for any t from 2; the arena holds all residues.
 */
#define CM_BFV_NOISE_ARENA_BYTES(n, data_primes, log2_tiles) \
    (4u * (size_t)(n) * (data_primes) + CM_DECRYPT_TILE_BYTES(n, log2_tiles) + CM_DECRYPT_WORKSPACE_BYTES)
CM_MUST_CHECK cm_status cm_bfv_expect_noise(cm_decryptor *decryptor, uint32_t plain_modulus,
                                            unsigned log2_tiles);

/*
 * After the last frame, in place of cm_bfv_decrypt: how many bits the noise may still grow by until
 * decryption fails, SEAL's invariant noise budget. The arena is wiped. Errors as there; *bits is 0 then.
 */
CM_MUST_CHECK cm_status cm_bfv_noise_budget(cm_decryptor *decryptor, unsigned *bits);

/* ---- CKKS ---- */

/*
 * What is expected, and how it shall come out. A device decrypts at the first prime with 31 bits and at the
 * first two with 63; residues at further primes are checked and left out, which changes no value as long as
 * largest times the ciphertext's scale is below a quarter of the product of the primes in use. A ciphertext
 * for which it is not is refused (CM_ERR_SCALE).
 *
 * A slot that comes out beyond twice largest is refused too (CM_ERR_VALUE_RANGE): so is what another key
 * encrypted. A value, encrypted or computed, beyond half the product of the primes in use over the scale
 * wraps around it, and may come to lie within: choose largest for the result, not for what was encrypted.
 */
typedef struct cm_ckks_expected {
    cm_slots slots; /* as the sender's: nothing in a ciphertext tells, and real ones lack the imaginary
                       parts */
    cm_precision precision;
    cm_number number;   /* CM_FLOAT32 or CM_INT32 */
    int16_t exponent;   /* an integer counts times 2^exponent, -128 .. 127; ignored for floats */
    uint8_t log2_tiles; /* as in cm_bfv_expected */
    uint32_t largest;   /* no slot is larger in magnitude, |z| if it is complex; from 1 */
} cm_ckks_expected;

#define CM_CKKS_DECRYPT_ARENA_BYTES(n, slots, precision, log2_tiles) \
    (CM_CKKS_MESSAGE_BYTES(n, slots, precision) + CM_DECRYPT_TILE_BYTES(n, log2_tiles) + \
     CM_DECRYPT_WORKSPACE_BYTES)

/* As cm_bfv_expect; CM_ERR_UNSUPPORTED for what config.h left out. */
CM_MUST_CHECK cm_status cm_ckks_expect(cm_decryptor *decryptor, const cm_ckks_expected *expected);

/*
 * As cm_bfv_decrypt, for n/2 slots; a complex one is two numbers. CM_ERR_VALUE_RANGE, and a wiped arena, if a
 * slot is beyond twice largest, or too large for the precision or the number. For the owner of the key alone:
 * these values carry the noise of the ciphertext.
 */
CM_MUST_CHECK cm_status cm_ckks_decrypt(cm_decryptor *decryptor);

/*
 * The same for values that others will see, even in part: uniform noise of up to 2^log2_noise units of a
 * coefficient drowns the ciphertext's own, which tells of the secret key (docs/security.md says how to choose
 * it). It moves a real slot by sqrt(n / 12) 2^log2_noise / scale, rms, and either part of a complex one by
 * sqrt(2) as much. So slots are not held to largest.
 *
 * ONLY FOR CIPHERTEXTS THAT WERE COMPUTED HONESTLY, against others who read what is shared. Whoever chooses
 * the ciphertext takes the whole key from one shared decryption, and no noise prevents it: docs/security.md,
 * "Sharing decrypted results".
 *
 * log2_noise: 1 .. CM_CKKS_SHARED_MAX_LOG2_NOISE, for 63 bits alone; else CM_ERR_SHARED_NOISE. Also
 * CM_ERR_RANDOM, CM_ERR_COUNTER. Any error wipes the arena, but of a decryption that was over before.
 */
#define CM_CKKS_SHARED_MAX_LOG2_NOISE 49
CM_MUST_CHECK cm_status cm_ckks_decrypt_shared(cm_decryptor *decryptor, cm_device *device,
                                               unsigned log2_noise);

#ifdef __cplusplus
}
#endif
#endif
