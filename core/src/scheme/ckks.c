/* SPDX-License-Identifier: Apache-2.0 */
/* CKKS: a vector, encoded in fixed point, as the message of an encryption. */
#include "ciphermote/ckks.h"

#include <string.h>

#include "scheme/encrypt.h"

static cm_status encode_vector(cm_message_source *self, const cm_params *params,
                               const cm_encryptor_setup *setup, cmi_ring *ring)
{
    (void)ring;
    setup->emitter->info.scale_bits = (uint64_t)((int32_t)1023 + self->of.ckks.values->log2_scale) << 52;
    self->of.ckks.message.data = setup->arena;
    return cmi_ckks_encode(params, self->of.ckks.values, &self->of.ckks.message);
}

static void fold_vector(const cm_message_source *self, const int8_t *noise, const cmi_ring *ring,
                        uint32_t *out)
{
#if CM_CONFIG_STORE_NOISE
    cmi_ckks_message_fold_noisy(&self->of.ckks.message, noise, ring, out);
#else
    (void)noise;
    cmi_ckks_message_fold(&self->of.ckks.message, ring, out);
#endif
}

#if CM_CONFIG_STORE_NOISE

static void keep_vector_noise(const cm_message_source *self, uint32_t start, const int8_t *block,
                              int8_t *kept)
{
    cmi_ckks_message_keep_noise(&self->of.ckks.message, start, block, kept);
}

static void transform_vector(const cm_message_source *self, const int8_t *noise, const cmi_ring *ring,
                             uint32_t *out)
{
    cmi_ckks_message_transform_noisy(&self->of.ckks.message, noise, ring, out);
}

#endif

static void open_source(cm_message_source *source, const cm_ckks_values *values)
{
    memset(source, 0, sizeof *source);
    source->encode = encode_vector;
    source->fold = fold_vector;
#if CM_CONFIG_STORE_NOISE
    source->keep_noise = keep_vector_noise;
    source->transform = transform_vector;
#endif
    source->scheme = CM_CKKS;
    source->ntt_form = true;
    if (values && (values->precision == CM_FIXED_31 || values->precision == CM_FIXED_63)) {
        source->data = values->data;
        source->bytes_per_coefficient =
            (uint8_t)(CM_CKKS_MESSAGE_BYTES(2, values->slots, values->precision) / 2u);
    }
    source->of.ckks.values = values;
}

cm_status cm_ckks_encrypt(const cm_encryptor *encryptor, const cm_ckks_values *values)
{
    cm_message_source source;
    open_source(&source, values);
    return cmi_encrypt(encryptor, &source);
}
