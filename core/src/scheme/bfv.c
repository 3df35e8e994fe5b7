/* SPDX-License-Identifier: Apache-2.0 */
/* BFV: integers modulo t, encoded and scaled to q / t, as the message of an encryption. */
#include "ciphermote/bfv.h"

#include <string.h>

#include "encode/bfv.h"
#include "random/sample.h"
#include "scheme/encrypt.h"

typedef struct bfv_source {
    cm_message_source source;
    const cm_bfv_values *values;
    cmi_plain plain;
} bfv_source;

/*
 * Whether q holds twice t times the largest noise: see ciphermote/bfv.h. Two primes, of 10 bits or more,
 * always do for n.
 */
static bool leaves_room(const cm_params *params, uint32_t t, bool public_key)
{
    const uint32_t noise = public_key ? (uint32_t)45 << (params->log2_n + 1u) / 2u : 44u;
    uint64_t q = params->primes[0].q;
    if (params->data_primes > 1) {
        q *= params->primes[1].q;
    }
    return (uint64_t)noise * t <= q;
}

/* Numbers that are wider than the message would lie over what is behind it. */
static bool overlaps(const cm_bfv_values *values, const void *arena)
{
    const bool wide = values->number == CM_INT32 || values->number == CM_UINT32;
    return values->data == arena && wide && values->width == CM_BFV_16;
}

static cm_status encode_integers(cm_message_source *self, const cm_params *params,
                                 const cm_encryptor_setup *setup, cmi_ring *ring)
{
    bfv_source *bfv = (bfv_source *)(void *)self;
    if (!self->ntt_form && cmi_log2_tiles(setup) != 0) {
        return CM_ERR_UNSUPPORTED;
    }
    if (overlaps(bfv->values, setup->arena)) {
        return CM_ERR_ARGUMENT;
    }
    if (!leaves_room(params, bfv->values->plain_modulus, self->under_public_key)) {
        return CM_ERR_PLAIN_MODULUS;
    }
    setup->emitter->info.scale_or_t = bfv->values->plain_modulus;
    bfv->plain.data = setup->arena;
    bfv->plain.tables = cmi_source_tables(self);
    const cm_status status = cmi_plain_encode(params, bfv->values, &bfv->plain, ring);
    if (status == CM_OK) {
        cmi_plain_scale(params, &bfv->plain);
    }
    return status;
}

static void fold_integers(const cm_message_source *self, const int8_t *noise, const cmi_ring *ring,
                          uint32_t *out)
{
    const bfv_source *bfv = (const bfv_source *)(const void *)self;
#if CM_CONFIG_STORE_NOISE
    cmi_plain_fold_noisy(&bfv->plain, noise, ring, out);
#else
    (void)noise;
    cmi_plain_fold(&bfv->plain, ring, out);
#endif
}

#if CM_CONFIG_STORE_NOISE

static void keep_noise_in_order(const cm_message_source *self, uint32_t start, const int8_t *block,
                                int8_t *kept)
{
    (void)self;
    memcpy(kept + start, block, CM_SAMPLE_BLOCK);
}

#endif

cm_status cm_bfv_encrypt(const cm_encryptor *encryptor, const cm_bfv_values *values)
{
    bfv_source bfv;
    memset(&bfv, 0, sizeof bfv);
    bfv.source.encode = encode_integers;
    bfv.source.fold = fold_integers;
#if CM_CONFIG_STORE_NOISE
    bfv.source.keep_noise = keep_noise_in_order;
#endif
    bfv.source.scheme = CM_BFV;
    if (values && (values->domain == CM_DOMAIN_NTT || values->domain == CM_DOMAIN_COEFFICIENTS)) {
        bfv.source.ntt_form = values->domain == CM_DOMAIN_NTT;
        bfv.source.data = values->data;
        bfv.source.bytes_per_coefficient = (uint8_t)CM_BFV_MESSAGE_BYTES(1, values->width);
    }
    bfv.values = values;
    return cmi_encrypt(encryptor, &bfv.source);
}

/* ---- values that are read ---- */

typedef struct reader_source {
    cm_message_source source; /* its data is the reader */
    cmi_plain_scaling scaling;
} reader_source;

static const cm_bfv_reader *reader_of(const reader_source *read)
{
    return read->source.data;
}

static cm_status check_reader(cm_message_source *self, const cm_params *params,
                              const cm_encryptor_setup *setup, cmi_ring *ring)
{
    reader_source *read = (reader_source *)(void *)self;
    (void)ring;
    const cm_status status = cmi_bfv_reader_check(params, reader_of(read));
    if (status != CM_OK) {
        return status;
    }
    const uint32_t t = reader_of(read)->plain_modulus;
    if (!cmi_below_every_prime(t, params) || !leaves_room(params, t, false)) {
        return CM_ERR_PLAIN_MODULUS;
    }
    setup->emitter->info.scale_or_t = t;
    cmi_plain_scaling_init(&read->scaling, params, t);
    return CM_OK;
}

static void fold_reader(const cm_message_source *self, const int8_t *noise, const cmi_ring *ring,
                        uint32_t *out)
{
    const reader_source *read = (const reader_source *)(const void *)self;
    cmi_bfv_reader_fold(reader_of(read), &read->scaling, noise, ring, out);
}

cm_status cm_bfv_encrypt_read(const cm_secret_key *key, const cm_encryptor_setup *setup,
                              const cm_bfv_reader *reader)
{
    reader_source read;
    memset(&read, 0, sizeof read);
    read.source.encode = check_reader;
    read.source.fold = fold_reader;
#if CM_CONFIG_STORE_NOISE
    read.source.keep_noise = keep_noise_in_order;
#endif
    read.source.scheme = CM_BFV;
    read.source.ntt_form = true;
    read.source.data = reader;
    return cmi_encrypt_symmetric(key, setup, &read.source);
}
