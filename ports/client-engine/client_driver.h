/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the driver's files, and not for applications: access to registers, and what the engine holds. */
#ifndef CLIENT_DRIVER_H
#define CLIENT_DRIVER_H

#include "ciphermote/keys.h"
#include "client_engine.h"
#include "client_registers.h"

enum {
    CLIENT_MOST_POLLS = 1000000,
    CLIENT_HEADER_WORDS = CM_FRAME_HEADER_BYTES / 4,
    CLIENT_TAGGED_HEADER_WORDS = CM_FRAME_TAGGED_HEADER_BYTES / 4,
    CLIENT_TAG_WORDS = CM_TAG_BYTES / 4,
    CLIENT_CRC_WORDS = CM_FRAME_CRC_BYTES / 4
};

/* Bits of MAP_SHAPE. */
#define CLIENT_IS_SIGNED ((uint32_t)1 << 8)
#define CLIENT_IN_COEFFICIENTS ((uint32_t)1 << 9)
#define CLIENT_IS_CKKS ((uint32_t)1 << 16)
#define CLIENT_IS_COMPLEX ((uint32_t)1 << 17)
#define CLIENT_IS_FLOAT ((uint32_t)1 << 18)
#define CLIENT_IS_SHAKE256 ((uint32_t)1 << CM_CLIENT_SHAPE_SHAKE256)
#define CLIENT_HAS_TAGS ((uint32_t)1 << CM_CLIENT_SHAPE_TAGS)

/* What a job needs, of what the first command fixes: null if it does not. */
typedef struct client_needs {
    const uint8_t *device_secret;
    const uint8_t *tag_key;
    const uint8_t *result_key;
} client_needs;

/* Wait until the engine is idle. False if that takes too long, or if a fault has wiped its keys. */
bool client_settled(const client_engine *self);
/* Reset the engine, which then holds no table and no key. */
void client_reset(client_engine *self);
uint32_t client_fault(const client_engine *self);

void client_write(const client_engine *self, uint32_t offset, uint32_t value);
void client_command(client_engine *self, uint32_t code);
void client_set(const client_engine *self, uint32_t setting, uint32_t value);
void client_set_two(const client_engine *self, uint32_t setting, uint64_t value);
void client_set_prime(const client_engine *self, unsigned prime, uint32_t setting, uint32_t value);
/* Write some words, which are stored as bytes, to as many settings. */
void client_set_bytes(const client_engine *self, uint32_t setting, const uint8_t *bytes, unsigned words);
/* Write MAP_SHAPE; and scale: BFV's t, or CKKS's client_ckks_setting(). */
void client_set_shape(const client_engine *self, unsigned primes, uint32_t shape, uint32_t scale);
uint32_t client_ckks_setting(int exponent, unsigned log2_scale, unsigned limit);
/* Write the settings of frames of version 2, besides their key. */
void client_set_tags(const client_engine *self, uint32_t device, uint16_t epoch, uint64_t window);

/* Whether the engine is built for a set's data primes, and for all that keys have. The answer is kept:
 * finding it takes as long as a part of a job. */
bool client_serves(client_engine *self, const cm_params *params);
bool client_serves_keys(client_engine *self, const cm_params *params);
/* Whether a job with this secret key, or null, leaves a key that the engine has drawn in its place. */
bool client_spares_key(const client_engine *self, const cm_params *params, const uint8_t *ternary,
                       const client_needs *needs);
/* The id of the key that this names, in place of a key; 0: it is none (client_engine_make_keys). */
uint64_t client_named_key(const uint8_t *ternary);
/* Count a call that portable C does; returns 0. */
int client_declined(client_engine *self);
/* Whether a fault, or none, has left the keys. */
bool client_keeps_keys(uint32_t fault);
/* Give the engine the secrets of a job and the tables of a set's first primes, or a key, unless it holds
 * them; it may still work on them when these return. False if it does not become idle, or if the key is
 * incomplete. */
bool client_hold_tables(client_engine *self, const cm_params *params, unsigned primes,
                        const client_needs *needs);
bool client_hold_secret(client_engine *self, const cm_params *params, unsigned primes,
                        const uint8_t *ternary);
bool client_hold_public(client_engine *self, const cm_public_key *key);
/* 2^exponent modulo a prime, for exponents below 64; and log2 of S (docs/client-engine-integration.md). */
uint32_t client_power_of_two(unsigned exponent, const cm_prime *prime);
unsigned client_log2_scale_r(const client_engine *self);

/* Words of a frame besides its payload; of a seed; of a component's residues at the set's first primes. */
uint32_t client_frame_words(bool tagged);
uint32_t client_seed_words(uint32_t xof);
uint32_t client_residue_words(const client_engine *self, unsigned primes);

#endif
