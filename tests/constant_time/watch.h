/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Constant time, shown by valgrind: memcheck is told that every secret is uninitialised memory, and so
 * reports each branch and each address that depends on one. What may become public is declared in two places:
 * in the library with common/declassify.h, together with the reasons, and here when residues are emitted and
 * when a public key is published.
 *
 * All files of this test share what is declared here: marks, drawn secrets, keys, and a cloud that returns
 * ciphertexts as they came.
 */
#ifndef CM_CONSTANT_TIME_WATCH_H
#define CM_CONSTANT_TIME_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "build.h"
#include "check.h"
#include "ciphermote/ciphermote.h"
#include "encrypting.h"
#include "platform.h"

#ifndef CM_TEST_CONSTANT_TIME
#error "Compile the library and this test with CM_TEST_CONSTANT_TIME=1, or nothing public is known to be so."
#endif

enum { MOST = 4096, DATA_PRIMES = 3, KEY_ID = 1, LOG2_SCALE = 15, EXPONENT_OF_INTEGERS = -12 };

/* Used by one call after another. */
extern uint64_t arena[BUILD_MOST_ARENA_BYTES(MOST) / 8];
extern uint32_t words[MOST];

extern cm_device device; /* its secret and its random bytes are secret */
extern test_platform platform;
extern uint8_t ternary[CM_TERNARY_BYTES(MOST)]; /* the secret key, which is secret */

/* ---- marks ---- */

void mark_secret(void *memory, size_t bytes);
void mark_public(const void *memory, size_t bytes);
/* How many of the words depend on a secret, in any bit; count is at most MOST. */
size_t secret_words(const void *memory, size_t count);
/* Errors that memcheck found since the last call. */
unsigned new_errors(void);
/*
 * Check that a call ended in this status, which depends on secrets only where declared, and that memcheck
 * found nothing.
 */
void check_call(cm_status status, cm_status expected);

/* ---- secrets ---- */

void draw_secret(void *out, size_t bytes);
void start_device(void);
/* Draw ternary for the set, by cm_secret_key_generate. */
void make_secret_key(const cm_params *params);
cm_secret_key secret_key_of(const cm_params *params);
/* Publish a public key for it, with cm_zero_encryption. It is in static memory. */
void make_public_key(const cm_params *params);
cm_public_key public_key_of(const cm_params *params);

/* ---- what leaves ---- */

typedef enum form_of_bytes { FRAMES, SEAL_FULL, SEAL_SEEDED } form_of_bytes;

/*
 * An emitter whose bytes are discarded, but checked to be public. Residues must depend on secrets, except
 * those of an expanded public seed; they become public as they are emitted, because they are the ciphertext.
 */
cm_emitter *open_writer(form_of_bytes form);

/* An emitter that keeps a ciphertext, whose seed is expanded. */
cm_emitter *open_cloud(void);

/* cm_decryptor_feed or cm_aided_feed. */
typedef cm_status feed_function(void *to, const uint8_t *bytes, size_t length);

/* The ciphertext as the frames that a decryption takes, in 2^log2_tiles tiles, at its first primes. */
cm_status return_ciphertext(unsigned log2_tiles, unsigned primes, feed_function *feed, void *to);
/* The same to a decryptor that expects it. */
cm_status decrypt_ciphertext(unsigned log2_tiles, unsigned primes, cm_decryptor *decryptor);

/* The most tiles that a decryption of this build takes. */
#define MOST_LOG2_TILES 4u

/* ---- values ---- */

/*
 * Numbers of any sign and many sizes, below 2^3 in magnitude; with a zero and a subnormal among the floats.
 * In the arena or apart from it.
 */
cm_ckks_values draw_reals(const cm_params *params, cm_number number, cm_slots slots, cm_precision precision,
                          bool in_place);

/* n integers from 0 to below t/2. */
cm_bfv_values draw_integers(const cm_params *params, cm_number number, cm_bfv_encoding encoding,
                            cm_bfv_width width, uint32_t t);

/*
 * Plaintext moduli for batching at n = 1024 and 4096: one of 16 bits, and one as large as 26 bits and the
 * secret key allow.
 */
enum { SMALL_T = 40961, LARGE_T = 1032193 };

/* ---- the behaviours, each named as a sentence; main.c lists them ---- */

typedef struct behaviour {
    const char *name;
    void (*run)(void);
} behaviour;

#define BEHAVIOUR_OF(function) \
    { \
#function, function \
    }

/* Each list ends with a null name. */
extern const behaviour key_behaviours[];
extern const behaviour encryption_behaviours[];
extern const behaviour decryption_behaviours[];
extern const behaviour compact_behaviours[];
extern const behaviour planted_behaviours[]; /* leaks that must be found, in the test's own code */

#endif
