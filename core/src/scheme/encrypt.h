/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The encryption that all schemes share: they differ in the message, which is encoded once and folded into
 * tiles.
 */
#ifndef CM_SCHEME_ENCRYPT_H
#define CM_SCHEME_ENCRYPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ciphermote/encryptor.h"
#include "common/names.h"
#include "encode/bfv.h"
#include "encode/ckks.h"
#include "ring/ring.h"

CMI_HIDDEN_BEGIN

/* A message, and what its scheme does with it. */
struct cm_message_source {
    /*
     * Check the values and encode them into the arena's first bytes. ring is free to use. Leaves the scale,
     * or t, in the emitter's info.
     */
    cm_status (*encode)(cm_message_source *self, const cm_params *params, const cm_encryptor_setup *setup,
                        cmi_ring *ring);
    /*
     * m at one prime, folded into the ring or tile: n/T values below 4q. With CM_CONFIG_STORE_NOISE, m + e,
     * for the noise kept.
     */
    void (*fold)(const cm_message_source *self, const int8_t *noise, const cmi_ring *ring, uint32_t *out);
    /*
     * With CM_CONFIG_STORE_NOISE: keep CM_SAMPLE_BLOCK coefficients of noise, those from start on, where fold
     * needs them. start is a multiple of CM_SAMPLE_BLOCK, and kept holds n bytes.
     */
#if CM_CONFIG_STORE_NOISE
    void (*keep_noise)(const cm_message_source *self, uint32_t start, const int8_t *block, int8_t *kept);
    /* What fold makes of them, transformed: lazy values. Null: there is no faster way than to do both. */
    void (*transform)(const cm_message_source *self, const int8_t *noise, const cmi_ring *ring,
                      uint32_t *out);
#endif
#if CM_CONFIG_NTT_ROOTS
    const cm_root_table *tables; /* the key's */
#endif
    const void *data; /* the caller's numbers, which may be at the arena's start; null is refused */
    uint8_t bytes_per_coefficient; /* of the message in the arena, 2, 4 or 8 */
    uint8_t scheme;                /* a cm_scheme */
    bool ntt_form : 1;             /* what leaves the device */
    bool under_public_key : 1;
    union {
        struct {
            const cm_ckks_values *values;
            cmi_ckks_message message;
        } ckks;
        struct {
            const cm_bfv_values *values;
            cmi_plain plain;
        } bfv;
        cmi_read_scaling read; /* of values that are read; data is the reader */
    } of;
};

static inline const cm_root_table *cmi_source_tables(const cm_message_source *source)
{
#if CM_CONFIG_NTT_ROOTS
    return source->tables;
#else
    (void)source;
    return NULL;
#endif
}

static inline void cmi_source_set_tables(cm_message_source *source, const cm_root_table *tables)
{
#if CM_CONFIG_NTT_ROOTS
    source->tables = tables;
#else
    (void)source;
    (void)tables;
#endif
}

/* A constant where there is only one choice, so that loops over tiles are compiled for it. */
static inline uint8_t cmi_log2_tiles(const cm_encryptor_setup *setup)
{
#ifdef __AVR__
    (void)setup;
    return CM_LOG2_TILES;
#else
    return setup->log2_tiles;
#endif
}

static inline bool cmi_tiles_supported(const cm_encryptor_setup *setup)
{
    return setup->log2_tiles <= CM_MAX_LOG2_TILES && setup->log2_tiles == cmi_log2_tiles(setup) &&
           (!CM_CONFIG_ACCELERATOR || setup->log2_tiles == 0);
}

/* What follows from the message and the set for a ciphertext's frames. */
static inline void cmi_describe(cm_ciphertext_info *info, const cm_message_source *source,
                                const cm_params *params)
{
    info->scheme = (cm_scheme)source->scheme;
    info->ntt_form = source->ntt_form;
    info->components = 2;
    info->primes = params->data_primes;
}

/* Encrypt a message. Whatever the outcome, the arena is wiped, together with the values if they are in it. */
CM_MUST_CHECK cm_status cmi_encrypt(const cm_encryptor *encryptor, cm_message_source *source);

/* The same without an encryptor, under a secret key. A setup that is refused leaves the arena alone. */
CM_MUST_CHECK cm_status cmi_encrypt_symmetric(const cm_secret_key *key, const cm_encryptor_setup *setup,
                                              cm_message_source *source);

/* Whether there is an emitter, and one that was initialised. */
static inline bool cmi_emitter_usable(const cm_emitter *emitter)
{
    return emitter && emitter->begin && emitter->residues && emitter->end;
}

CMI_HIDDEN_END

#endif
