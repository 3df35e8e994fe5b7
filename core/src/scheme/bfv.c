/* SPDX-License-Identifier: Apache-2.0 */
/* BFV: integers modulo t, encoded and scaled to q / t, as the message of an encryption. */
#include "ciphermote/bfv.h"

#include <string.h>

#include "random/sample.h"
#include "scheme/encrypt.h"

/* In place, numbers that are wider than the message would overlap what follows it. */
static bool overlaps(const cm_bfv_values *values, const void *arena)
{
    const bool wide = values->number == CM_INT32 || values->number == CM_UINT32;
    return values->data == arena && wide && values->width == CM_BFV_16;
}

static cm_status encode_integers(cm_message_source *self, const cm_params *params,
                                 const cm_encryptor_setup *setup, cmi_ring *ring)
{
    const cm_bfv_values *values = self->of.bfv.values;
    cmi_plain *plain = &self->of.bfv.plain;
    if (!self->ntt_form && cmi_log2_tiles(setup) != 0) {
        return CM_ERR_UNSUPPORTED;
    }
    if (overlaps(values, setup->arena)) {
        return CM_ERR_ARGUMENT;
    }
    if (!cmi_leaves_room(params, values->plain_modulus, self->under_public_key)) {
        return CM_ERR_PLAIN_MODULUS;
    }
    setup->emitter->info.plain_modulus = values->plain_modulus;
    plain->data = setup->arena;
    const cm_status status = cmi_plain_encode(params, values, cmi_source_tables(self), plain, ring);
    if (status == CM_OK) {
        cmi_plain_scale(params, plain);
    }
    return status;
}

static void fold_integers(const cm_message_source *self, const int8_t *noise, const cmi_ring *ring,
                          uint32_t *out)
{
#if CM_CONFIG_STORE_NOISE
    cmi_plain_fold_noisy(&self->of.bfv.plain, noise, ring, out);
#else
    (void)noise;
    cmi_plain_fold(&self->of.bfv.plain, ring, out);
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
    cm_message_source source;
    memset(&source, 0, sizeof source);
    source.encode = encode_integers;
    source.fold = fold_integers;
#if CM_CONFIG_STORE_NOISE
    source.keep_noise = keep_noise_in_order;
#endif
    source.scheme = CM_BFV;
    if (values && (values->domain == CM_DOMAIN_NTT || values->domain == CM_DOMAIN_COEFFICIENTS)) {
        source.ntt_form = values->domain == CM_DOMAIN_NTT;
        source.data = values->data;
        source.bytes_per_coefficient = (uint8_t)CM_BFV_MESSAGE_BYTES(1, values->width);
    }
    source.of.bfv.values = values;
    return cmi_encrypt(encryptor, &source);
}

/* ---- values that are read ---- */

static const cm_bfv_reader *reader_of(const cm_message_source *self)
{
    return self->data;
}

static cm_status check_reader(cm_message_source *self, const cm_params *params,
                              const cm_encryptor_setup *setup, cmi_ring *ring)
{
    (void)ring;
    const cm_status status = cmi_bfv_reader_check(params, reader_of(self));
    if (status != CM_OK) {
        return status;
    }
    const uint32_t t = reader_of(self)->plain_modulus;
    if (!cmi_below_every_prime(t, params) || !cmi_leaves_room(params, t, false)) {
        return CM_ERR_PLAIN_MODULUS;
    }
    setup->emitter->info.plain_modulus = t;
    cmi_bfv_reader_scaling_init(&self->of.read, params, t);
    return CM_OK;
}

static void fold_reader(const cm_message_source *self, const int8_t *noise, const cmi_ring *ring,
                        uint32_t *out)
{
    cmi_bfv_reader_fold(reader_of(self), &self->of.read, noise, ring, out);
}

cm_status cm_bfv_encrypt_read(const cm_secret_key *key, const cm_encryptor_setup *setup,
                              const cm_bfv_reader *reader)
{
    cm_message_source source;
    memset(&source, 0, sizeof source);
    source.encode = check_reader;
    source.fold = fold_reader;
#if CM_CONFIG_STORE_NOISE
    source.keep_noise = keep_noise_in_order;
#endif
    source.scheme = CM_BFV;
    source.ntt_form = true;
    source.data = reader;
    return cmi_encrypt_symmetric(key, setup, &source);
}
