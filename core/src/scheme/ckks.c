/* SPDX-License-Identifier: Apache-2.0 */
/* CKKS: a vector, encoded in fixed point, as the message of an encryption. */
#include "ciphermote/ckks.h"

#include <string.h>

#include "encode/ckks.h"
#include "scheme/encrypt.h"

typedef struct ckks_source {
    cm_message_source source;
    const cm_ckks_values *values;
    cmi_ckks_message message;
} ckks_source;

static cm_status encode_vector(cm_message_source *self, const cm_params *params,
                               const cm_encryptor_setup *setup, cmi_ring *ring)
{
    ckks_source *ckks = (ckks_source *)(void *)self;
    (void)ring;
    setup->emitter->info.scale_or_t = (uint64_t)((int32_t)1023 + ckks->values->log2_scale) << 52;
    ckks->message.data = setup->arena;
    return cmi_ckks_encode(params, ckks->values, &ckks->message);
}

static void fold_vector(const cm_message_source *self, const int8_t *noise, const cmi_ring *ring,
                        uint32_t *out)
{
    const ckks_source *ckks = (const ckks_source *)(const void *)self;
#if CM_CONFIG_STORE_NOISE
    cmi_ckks_message_fold_noisy(&ckks->message, noise, ring, out);
#else
    (void)noise;
    cmi_ckks_message_fold(&ckks->message, ring, out);
#endif
}

#if CM_CONFIG_STORE_NOISE

static void keep_vector_noise(const cm_message_source *self, uint32_t start, const int8_t *block,
                              int8_t *kept)
{
    cmi_ckks_message_keep_noise(&((const ckks_source *)(const void *)self)->message, start, block, kept);
}

#endif

static void open_source(ckks_source *ckks, const cm_ckks_values *values)
{
    memset(ckks, 0, sizeof *ckks);
    ckks->source.encode = encode_vector;
    ckks->source.fold = fold_vector;
#if CM_CONFIG_STORE_NOISE
    ckks->source.keep_noise = keep_vector_noise;
#endif
    ckks->source.scheme = CM_CKKS;
    ckks->source.ntt_form = true;
    if (values) {
        ckks->source.data = values->data;
        ckks->source.bytes_per_coefficient =
            (uint8_t)(CM_CKKS_MESSAGE_BYTES(2, values->slots, values->precision) / 2u);
    }
    ckks->values = values;
}

cm_status cm_ckks_encrypt(const cm_encryptor *encryptor, const cm_ckks_values *values)
{
    ckks_source ckks;
    open_source(&ckks, values);
    return cmi_encrypt(encryptor, &ckks.source);
}
