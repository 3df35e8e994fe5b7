/* SPDX-License-Identifier: Apache-2.0 */
/* The decryption of CKKS's numbers from their sums, for the owner or for others, whom flooding noise keeps
   from learning the key. */
#include "scheme/decryption.h"

#include "common/wipe.h"
#include "encode/ckks.h"
#include "random/sample.h"
#include "scheme/decryption_parts.h"
#include "scheme/seeds.h"
#include "scheme/sums.h"

static cm_status check_ckks(const cm_ckks_expected *expected)
{
    if ((expected->slots != CM_SLOTS_REAL && expected->slots != CM_SLOTS_COMPLEX) ||
        (expected->precision != CM_FIXED_31 && expected->precision != CM_FIXED_63) ||
        (expected->number != CM_FLOAT32 && expected->number != CM_INT32) || expected->exponent < -128 ||
        expected->exponent > 127 || expected->largest == 0) {
        return CM_ERR_ARGUMENT;
    }
    const bool built = (expected->slots == CM_SLOTS_REAL || CM_CONFIG_COMPLEX) &&
                       (expected->precision == CM_FIXED_31 ? CM_CONFIG_PRECISION_31 : CM_CONFIG_PRECISION_63);
    return built ? CM_OK : CM_ERR_UNSUPPORTED;
}

static cm_status prepare_ckks(cm_decryption *decryption, const cm_ckks_expected *expected)
{
    cm_status status = cmi_decryption_start(decryption, CM_CKKS, expected ? expected->log2_tiles : 0u);
    if (status == CM_OK) {
        status = expected ? check_ckks(expected) : CM_ERR_ARGUMENT;
    }
    if (status != CM_OK) {
        return status;
    }
    decryption->slots = (uint8_t)expected->slots;
    decryption->precision = (uint8_t)expected->precision;
    decryption->number = (uint8_t)expected->number;
    decryption->exponent = (int8_t)expected->exponent;
    decryption->largest = expected->largest;
    return cmi_decryption_divide_arena(decryption);
}

cm_status cmi_ckks_decryption_check(cm_decryption *decryption, const cm_ckks_expected *expected)
{
    return prepare_ckks(decryption, expected);
}

cm_status cmi_ckks_decryption_begin(cm_decryption *decryption, const cm_ckks_expected *expected)
{
    return cmi_decryption_take_arena(decryption, prepare_ckks(decryption, expected));
}

/* Everything except opening the stream of flooding noise, which is null for none. */
static cm_status end_ckks(cm_decryption *decryption, cmi_stream *stream, unsigned log2_noise)
{
    const cmi_decryption_layout parts = cmi_decryption_parts(decryption);
    const cm_precision precision = cmi_decryption_precision(decryption);
    const cm_slots slots = cmi_decryption_slots(decryption);
    const size_t count = cmi_decryption_degree(decryption) >> (slots == CM_SLOTS_COMPLEX ? 0u : 1u);
    uint32_t *const sums = (uint32_t *)(void *)parts.sums;
    cmi_ckks_sums_join(sums, precision, (uint32_t)count, decryption->key->params->primes,
                       cmi_decryption_primes_used(decryption, decryption->primes));
    if (stream) {
        cmi_ckks_sums_flood((uint64_t *)(void *)sums, (uint32_t)count, stream, log2_noise);
    }
    const cmi_ckks_message message = {sums, decryption->key->params->log2_n, slots, precision};
    /* Flooding noise may be larger than the value. */
    const cmi_ckks_decoding wanted = {.scale = decryption->scale_bits,
                                      .number = (cm_number)decryption->number,
                                      .exponent = decryption->exponent,
                                      .largest = stream ? 0 : decryption->largest};
    const cm_status status = cmi_ckks_decode(&message, &wanted);
    if (status != CM_OK) {
        decryption->receiver.fail(&decryption->receiver, status);
        return status;
    }
    return cmi_decryption_leave_values(decryption, 4u * count);
}

cm_status cmi_ckks_decryption_end(cm_decryption *decryption)
{
    if (decryption->scheme != CM_CKKS) {
        return CM_ERR_ARGUMENT;
    }
    const cm_status status = cmi_decryption_complete(decryption);
    return status == CM_OK ? end_ckks(decryption, NULL, 0) : status;
}

cm_status cmi_ckks_decryption_given(cm_decryption *decryption, uint64_t counter, uint64_t scale)
{
    decryption->scale_bits = scale;
    return cmi_decryption_leave_given(decryption, counter);
}

/*
 * Each part of a slot is a sum of coefficients times cosines whose squares add up to n/2 at most, so that at
 * n = 2^14 noise of 2^49 moves it by 2^54.8 rms. cmi_embed_63 has room for 2^58, of which a message takes q/4
 * < 2^52: 9.6 times the rms are left, and because uniform numbers are strictly sub-Gaussian, fewer than one
 * decryption in 2^50 is refused. With 2^50, one in fifty is.
 */
static bool floods(const cm_decryption *decryption, unsigned log2_noise)
{
    return cmi_decryption_precision(decryption) == CM_FIXED_63 && log2_noise >= 1u &&
           log2_noise <= CM_CKKS_SHARED_MAX_LOG2_NOISE;
}

static cm_status end_flooded(cm_decryption *decryption, cm_device *device, unsigned log2_noise)
{
    const uint32_t nonce[3] = {CM_LABEL_FLOOD, 0, 0};
    cmi_seeds seeds;
    cmi_stream stream;
    cm_status status = floods(decryption, log2_noise) ? cmi_seeds_draw(device, &seeds) : CM_ERR_SHARED_NOISE;
    if (status == CM_OK) {
        cmi_stream_init(&stream, seeds.secret_seed, nonce);
        cmi_wipe(&seeds, sizeof seeds);
        status = end_ckks(decryption, &stream, log2_noise);
        cmi_wipe(&stream, sizeof stream);
        cmi_wipe_stack();
    }
    return status;
}

cm_status cmi_ckks_decryption_end_shared(cm_decryption *decryption, cm_device *device, unsigned log2_noise)
{
    cm_status status = decryption->scheme == CM_CKKS ? cmi_decryption_complete(decryption) : CM_ERR_ARGUMENT;
    if (status == CM_OK) {
        status = end_flooded(decryption, device, log2_noise);
    }
    if (status != CM_OK) {
        decryption->receiver.fail(&decryption->receiver, status);
    }
    return status;
}
