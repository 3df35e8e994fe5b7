/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole encryptions and decryptions in the hardware of rtl/client (docs/client-engine.md), for chips that
 * have it: compile the library with -DCM_ARCH_HEADER='"client_arch.h"', and add the three files. Calls that
 * encrypt or decrypt stay as they are, and no byte of a ciphertext and no value changes. The driver has the
 * engine encrypt BFV in coefficients and CKKS at 31 bits, and decrypt both in NTT form, in frames with tags
 * or without, with ChaCha20 or SHAKE256, and in whole polynomials; portable C does the rest, and what the
 * engine fails at.
 *
 * The port provides the bus, opens the engine, and says which one serves a parameter set. The engine draws
 * its random bytes itself, from the source that is wired to it: it must be as good as cm_platform's. Keys and
 * the device's secret are written to it and never read; it keeps them until it is reset, meets a fault, or is
 * given others. That they stay the same is what the encryptor requires anyway (encryptor.h).
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

/* Bytes of frames, whole words in memory. */
typedef struct client_piece {
    const uint8_t *bytes;
    uint32_t length;
} client_piece;

/*
 * How to reach an engine. Registers are those of rtl/client/client_registers.md, offsets in bytes. send and
 * receive begin a transfer, and drop what is left of the one before: values of a cm_number, and so many words
 * at most. sending says whether values are still to be sent, received how many words are in memory.
 * send_frames begins to send frames that are to be decrypted, in so many pieces, which stay until then; null
 * if the chip cannot, and portable C decrypts. If it centres, receive takes halves of words below a modulus,
 * if that is not 0, and subtracts it from those above its half. clear begins to write zeros, and clearing
 * says whether it still does; without them the driver writes them. wait returns once the engine's interrupt
 * is raised, or false if that takes longer than any job; null: the driver polls.
 */
typedef struct client_bus {
    uint32_t (*read)(void *context, uint32_t offset);
    void (*write)(void *context, uint32_t offset, uint32_t value);
    void (*send)(void *context, const void *values, uint32_t count, cm_number number);
    void (*send_frames)(void *context, const client_piece *pieces, uint32_t count);
    void (*receive)(void *context, uint32_t *words, uint32_t count, uint32_t modulus);
    bool (*sending)(void *context);
    uint32_t (*received)(void *context);
    void (*clear)(void *context, uint32_t *words, uint32_t count);
    bool (*clearing)(void *context);
    bool (*wait)(void *context);
    void *context;
    bool centres;
} client_bus;

/* Words that an engine needs, for the frames of a ciphertext with this many primes. */
#define CLIENT_WORDS(n, primes) (35u + 2u * (primes) * (19u + (size_t)(n) / 32u * 27u))

/* Allocated by the caller, filled by client_engine_open: treat as opaque. */
typedef struct client_engine {
    client_bus bus;
    uint32_t *words;
    size_t count;
    cm_status (*frames_begin)(cm_emitter *self, const cm_ciphertext_info *info); /* of a frame writer */
    uint32_t shape;
    bool open;
    const cm_params *served;                   /* a set that it can serve, or null */
    uint32_t residue_words[CM_MAX_PRIMES + 1]; /* of a component's first primes, in frames */
    /* What it holds: null, or 0. */
    const cm_params *params;
    const cm_secret_key *secret;
    const cm_public_key *public_key;
    uint32_t encodes; /* constants of a message space */
    uint8_t sums;     /* fractions for so many primes */
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
 * Start to use an engine; it is reset. words points at count words, lent for as long as it is used; they hold
 * frames alone. CM_ERR_ARGUMENT for null pointers, CM_ERR_UNSUPPORTED if there is no engine on the bus.
 */
CM_MUST_CHECK cm_status client_engine_open(client_engine *engine, const client_bus *bus, uint32_t *words,
                                           size_t count);

/*
 * Lend words, CLIENT_WORDS of them, in which the frames of a ciphertext gather that is to be decrypted;
 * without them portable C decrypts. They are one decryptor's until its decryption ends, begins anew or is
 * wiped; what others decrypt meanwhile, portable C does. CM_ERR_ARGUMENT for null pointers.
 */
CM_MUST_CHECK cm_status client_engine_gather(client_engine *engine, uint32_t *words, size_t count);

/*
 * The same without a copy: what cm_decryptor_feed is given must stay as it is until the decryption ends, and
 * be whole words at addresses of words; else portable C decrypts. count pieces are lent, and bytes that
 * follow each other in memory are one. CM_ERR_ARGUMENT for null pointers, or no piece.
 */
CM_MUST_CHECK cm_status client_engine_gather_in_place(client_engine *engine, client_piece *pieces,
                                                      size_t count);

/* The application defines this function: the engine for a parameter set, or null. */
client_engine *client_engine_for(const cm_params *params);

#endif
