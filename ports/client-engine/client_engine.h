/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver of the client engine (rtl/client, docs/client-engine.md): whole encryptions and decryptions in
 * hardware. docs/client-soc.md says how to build it into firmware, and which calls the engine serves;
 * portable C does all others, and what the engine fails at. Calls that encrypt or decrypt stay as they are,
 * and so does every byte of a ciphertext and every value.
 *
 * The port provides a client_bus, calls client_engine_open once, and defines client_engine_for. The engine
 * draws its random bytes itself, from the source that is wired to it: that source must be as good as
 * cm_platform's. Keys and the device's secret are written to the engine and never read. It keeps them until
 * it is reset or meets a fault that wipes it, and what its secret key may do is fixed until then
 * (client_policy). The driver compares encryption keys by the addresses of what they hold, so a key must stay
 * as it is at its address; encryptor.h requires that anyway. It keeps copies of the device's secret and of
 * tag keys.
 */
#ifndef CLIENT_ENGINE_H
#define CLIENT_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ciphermote/decryptor.h"
#include "ciphermote/encryptor.h"
#include "ciphermote/params.h"
#include "ciphermote/status.h"

/*
 * What the engine's secret key may do, whoever gives it commands: a sum of these. 0 for a device that
 * encrypts under a public key. docs/security.md says what it protects from, and who should choose it.
 */
typedef enum client_policy {
    CLIENT_DECRYPTS_TAGGED = 1, /* frames with tags alone */
    CLIENT_DECRYPTS = 2,        /* any frames: whoever sends them, and sees the results, can find the key */
    CLIENT_ENCRYPTS = 4
} client_policy;

/* Bytes of frames: an address of words in memory, and a length in bytes that is a multiple of 4. */
typedef struct client_piece {
    const uint8_t *bytes;
    uint32_t length;
} client_piece;

/*
 * How to reach an engine: functions of the port, each with context as its first argument. Those marked as
 * optional may be null. Transfers go on by themselves, as by DMA; beginning one drops what is left of the one
 * before it in the same direction. Where transfers bypass a cache, these functions keep it coherent.
 */
typedef struct client_bus {
    /* A register of rtl/client/client_registers.md, by its offset in bytes. */
    uint32_t (*read)(void *context, uint32_t offset);
    void (*write)(void *context, uint32_t offset, uint32_t value);
    /* Write count numbers to one register, each extended to a word, and return when all are written. They are
     * at an address of a word. Optional: without it the driver calls write for each. */
    void (*write_all)(void *context, uint32_t offset, const void *values, uint32_t count, cm_number number);
    /* Begin to send values to s_axis_value: count of them, each extended to a word, TLAST with the last. */
    void (*send)(void *context, const void *values, uint32_t count, cm_number number);
    /* Begin to send frames to s_axis_read, from so many pieces, which stay there until the job has ended.
     * Optional: without it portable C decrypts. */
    void (*send_frames)(void *context, const client_piece *pieces, uint32_t count);
    /* Begin to store what comes from m_axis_frame or m_axis_result, at most count words; 0: nothing more.
     * modulus, never other than 0 unless centres is set: words are two numbers of 16 bits below it, and it is
     * subtracted from those above half of it. */
    void (*receive)(void *context, uint32_t *words, uint32_t count, uint32_t modulus);
    /* Whether values are still to be sent. */
    bool (*sending)(void *context);
    /* How many words have come since receive, all of them in memory. */
    uint32_t (*received)(void *context);
    /* Begin to write zeros to words, and whether that still goes on. Optional, but both or none: without them
     * the core writes the zeros. */
    void (*clear)(void *context, uint32_t *words, uint32_t count);
    bool (*clearing)(void *context);
    /* Sleep until irq is high, and return true; false after longer than any job takes. Optional: without it
     * the driver polls. */
    bool (*wait)(void *context);
    void *context;
    bool centres; /* receive can subtract a modulus */
} client_bus;

/* Words of memory that hold the frames of any ciphertext of degree n with this many primes. */
#define CLIENT_WORDS(n, primes) (35u + 2u * (primes) * (19u + (size_t)(n) / 32u * 27u))

/* Treat as opaque: secrets that the engine holds, or is given again behind a reset. */
enum { CLIENT_SECRETS = 3 };
typedef struct client_secret {
    uint32_t words[CM_TAG_KEY_BYTES / 4];
    bool known;
} client_secret;

/*
 * A public key in the form in which the engine takes it, as `ciphermote provision --client-engine` writes
 * it: the driver hands the residues on as they are, where it converts those of a cm_flat_public_key one by
 * one. Of a cm_public_key, let polynomial be client_public_key_polynomial, and context point at this. Only
 * the engine can use such a key: what portable C would do under it ends in CM_ERR_ARGUMENT, and so does an
 * encryption by an engine of another LOG2_R, or with residues that are not in this form.
 */
typedef struct client_public_key {
    const cm_params *params;
    uint8_t log2_r;           /* the field LOG2_R of the engine's register SHAPE */
    const uint32_t *residues; /* [data_primes][2][n], NTT form, times 2^log2_r modulo the prime */
    const uint32_t *first;    /* [data_primes][2]: residue 0 of each, as the library has it */
} client_public_key;
const uint32_t *client_public_key_polynomial(void *context, unsigned component, unsigned prime);

/* Allocated by the caller, filled by client_engine_open: treat as opaque. */
typedef struct client_engine {
    client_bus bus;
    uint32_t *words;
    size_t count;
    cm_status (*frames_begin)(cm_emitter *self, const cm_ciphertext_info *info); /* of a frame writer */
    uint32_t shape;
    bool open;
    const cm_params *served;                   /* a set that it can serve, or null */
    uint8_t served_primes;                     /* how many of its primes, the data primes first */
    uint32_t residue_words[CM_MAX_PRIMES + 1]; /* of a component's first primes, in frames */
    /* What it holds: null, or 0. */
    const cm_params *params;
    uint8_t primes;        /* tables of so many */
    const uint8_t *secret; /* the packed key, where it was read */
    uint8_t secret_primes; /* at so many primes */
    uint64_t made;         /* the id of a key that it has drawn, in place of secret */
    const cm_public_key *public_key;
    uint32_t encodes; /* constants of a message space */
    uint8_t sums;     /* fractions for so many primes */
    /* What the first command behind a reset fixes. */
    uint8_t policy;
    bool entered; /* the policy and the secrets */
    bool fixed;
    bool makes_keys;
    uint32_t failures;
    uint32_t in_software;
    client_secret secrets[CLIENT_SECRETS];
    /* The frames that it gathers, for one decryptor at a time. */
    client_piece *pieces;
    size_t most_pieces;
    size_t used;
    uint8_t *copies; /* null: in place */
    size_t room;
    client_piece copy;
    const cm_decryptor *decryptor; /* or null */
} client_engine;

/*
 * Reset an engine and start to use it. policy: a sum of client_policy's values; portable C does what it does
 * not allow. words points at count words, CLIENT_WORDS of them, in which the driver receives the frames that
 * it makes; they are lent for as long as the engine is used, and hold nothing secret. With fewer words,
 * portable C encrypts what does not fit.
 *
 * CM_ERR_ARGUMENT for null pointers, for a bus without one of the functions that are not optional, and for
 * another policy; CM_ERR_UNSUPPORTED if the ID register is not an engine's, or if the engine does not become
 * idle.
 */
CM_MUST_CHECK cm_status client_engine_open(client_engine *engine, const client_bus *bus, unsigned policy,
                                           uint32_t *words, size_t count);

/*
 * The same for a chip whose first encryption must not wait, as one that gates its power: the engine makes the
 * tables of this set while the program goes on, if it can serve the set. Otherwise the first job for a set
 * has them made, and waits for them.
 */
CM_MUST_CHECK cm_status client_engine_open_for(client_engine *engine, const client_bus *bus, unsigned policy,
                                               uint32_t *words, size_t count, const cm_params *params);

/*
 * Give the engine what encryptions under a secret key need, before the first of them: the device's secret of
 * CM_DEVICE_SECRET_BYTES, the set's tables, constants for BFV's plain modulus or, if that is 0, for CKKS, and
 * the key. Returns while the engine transforms the key. Without this call the first encryption does that,
 * with the same bytes. CM_ERR_ARGUMENT for null pointers; CM_ERR_UNSUPPORTED if the engine is not open,
 * cannot serve the key's set or the plain modulus, or fails, or if the key is not one.
 */
CM_MUST_CHECK cm_status client_engine_hold(client_engine *engine, const uint8_t *device_secret,
                                           const cm_secret_key *key, uint32_t plain_modulus);

/*
 * How many encryptions and decryptions portable C has taken over since the engine was opened because the
 * engine failed at them: not those that it does not serve, nor frames and values that it refuses. It is more
 * than 0 if the engine is broken or its bus loses words; calls then take as long as in software.
 */
uint32_t client_engine_failures(const client_engine *engine);

/*
 * How many calls portable C has done since the engine was opened in place of an engine that there is for the
 * set, for whatever reason: the engine does not serve them, refuses their frames or values, or fails. The
 * difference of two readings says what became of the calls between them. Such a call takes as long as in
 * software; it may be one that portable C refuses, too.
 */
uint32_t client_engine_in_software(const client_engine *engine);

/*
 * From now on cm_device_make_secret_key has the engine draw the key, which never leaves it: ternary then
 * holds a name for it, which encryptors, decryptors and cm_device_emit_public_key take in place of a key, and
 * which says nothing of it. The key is uniform ternary, as cm_secret_key_generate makes it of the engine's
 * own random bytes; it takes no counter, and the key's id is of the platform's random bytes. It is gone with
 * the next reset, the next key that is made, or a fault of the engine that wipes it.
 *
 * While it is there, the engine holds no other secret key, and portable C does what others are for. Nothing
 * replaces the secrets that are entered with it: the device's, and the tag keys of cm_frame_sender and
 * cm_frame_expected, which are given here, CM_TAG_KEY_BYTES each, or null for frames without tags. A call
 * under this key that the engine does not serve, or fails at, ends in CM_ERR_UNSUPPORTED, as does one under a
 * key that is gone; so does cm_device_make_secret_key for a set whose key primes, the special one included,
 * are not all served. With CLIENT_DECRYPTS_TAGGED, the engine does not decrypt BFV under it.
 *
 * CM_ERR_ARGUMENT for a null pointer in place of engine; CM_ERR_UNSUPPORTED if it is not open.
 */
CM_MUST_CHECK cm_status client_engine_make_keys(client_engine *engine, const uint8_t *tag_key,
                                                const uint8_t *result_key);

/*
 * Let the engine decrypt: lend count words, CLIENT_WORDS of them, into which the driver copies a ciphertext's
 * frames as cm_decryptor_feed gets them. Without this call, or the next one, portable C decrypts. The words
 * are one decryptor's until its decryption ends, begins anew or is wiped; portable C does what others decrypt
 * meanwhile. CM_ERR_ARGUMENT for null pointers.
 */
CM_MUST_CHECK cm_status client_engine_gather(client_engine *engine, uint32_t *words, size_t count);

/*
 * The same without a copy: lend a list of count pieces, in which the driver notes where the frames are. What
 * cm_decryptor_feed is given must then stay where and as it is until the decryption ends, and be whole words
 * at addresses of words; otherwise portable C decrypts. Bytes that follow each other in memory share a piece.
 * CM_ERR_ARGUMENT for null pointers, or if count is 0.
 */
CM_MUST_CHECK cm_status client_engine_gather_in_place(client_engine *engine, client_piece *pieces,
                                                      size_t count);

/*
 * The application defines this function: the opened engine for a parameter set, or null if there is none. The
 * driver itself compares the set's degree and primes with what the engine was built for.
 */
client_engine *client_engine_for(const cm_params *params);

#endif
