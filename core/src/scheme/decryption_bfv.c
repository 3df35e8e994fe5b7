/* SPDX-License-Identifier: Apache-2.0 */
/* The decryption of BFV's integers from their sums, and of nothing but the noise. */
#include "scheme/decryption.h"

#include <string.h>

#include "common/wipe.h"
#include "encode/bfv.h"
#include "encode/bfv_numbers.h"
#include "ring/prime.h"
#include "scheme/decryption_parts.h"
#include "scheme/sums.h"
#include "scheme/usable.h"

static cm_bfv_width width_of(uint8_t type)
{
    return type == CM_UINT16 || type == CM_INT16 ? CM_BFV_16 : CM_BFV_32;
}

static cm_status check_bfv(const cm_params *params, const cm_bfv_expected *expected)
{
    const uint32_t t = expected->plain_modulus;
    if ((expected->encoding != CM_BFV_BATCH && expected->encoding != CM_BFV_COEFFICIENTS) ||
        expected->number < CM_INT16 || expected->number > CM_UINT32 ||
        (expected->sums != CM_BFV_SUMS_24 && expected->sums != CM_BFV_SUMS_32)) {
        return CM_ERR_ARGUMENT;
    }
    const bool narrow = width_of((uint8_t)expected->number) == CM_BFV_16;
    if (expected->sums == CM_BFV_SUMS_24 && !narrow) {
        return CM_ERR_ARGUMENT;
    }
    const uint32_t limit = expected->number == CM_UINT16 ? 0x10000u : 0xFFFFu;
    const uint64_t additions = (uint64_t)params->data_primes << expected->log2_tiles;
    if (t < 2u || (narrow && t > limit) || additions * t > (uint64_t)1 << ((unsigned)expected->sums - 2u)) {
        return CM_ERR_PLAIN_MODULUS;
    }
    return CM_OK;
}

/* All of begin except taking the arena; plain receives batching's modulus. */
static cm_status prepare_bfv(cm_decryption *decryption, const cm_bfv_expected *expected, cm_prime *plain)
{
    const cm_secret_key *key = decryption->key;
    memset(plain, 0, sizeof *plain);
    cm_status status = cmi_decryption_start(decryption, CM_BFV, expected ? expected->log2_tiles : 0u);
    if (status == CM_OK) {
        status = expected ? check_bfv(key->params, expected) : CM_ERR_ARGUMENT;
    }
    if (status == CM_OK && expected->encoding == CM_BFV_BATCH &&
        !cmi_prime_init(plain, expected->plain_modulus, key->params->log2_n, cmi_roots_of(key))) {
        status = CM_ERR_PLAIN_MODULUS;
    }
    if (status != CM_OK) {
        return status;
    }
    decryption->encoding = (uint8_t)expected->encoding;
    decryption->number = (uint8_t)expected->number;
    decryption->sum_bits = (uint8_t)expected->sums;
    decryption->plain_modulus = expected->plain_modulus;
    return cmi_decryption_divide_arena(decryption);
}

cm_status cmi_bfv_decryption_check(cm_decryption *decryption, const cm_bfv_expected *expected)
{
    cm_prime plain;
    return prepare_bfv(decryption, expected, &plain);
}

cm_status cmi_bfv_decryption_begin(cm_decryption *decryption, const cm_bfv_expected *expected)
{
    cm_prime plain;
    const cm_status status = prepare_bfv(decryption, expected, &plain);
    if (cmi_decryption_take_arena(decryption, status) == CM_OK) {
        cmi_decryption_parts(decryption).work->plain = plain;
    }
    return status;
}

/* Numbers above t/2 stand for negative ones. */
static void centre(void *values, cm_bfv_width width, uint32_t n, uint32_t t)
{
    for (uint32_t i = 0; i < n; i++) {
        const int32_t centred = cmi_centred(cmi_plain_get(values, width, i), t);
        cmi_plain_put(values, width, i, (uint32_t)centred);
    }
}

static bool wants_signed(const cm_decryption *decryption)
{
    return decryption->number == CM_INT16 || decryption->number == CM_INT32;
}

/* From n coefficients below t at the arena's start to the numbers that are expected. Returns their bytes. */
static size_t make_numbers(const cm_decryption *decryption, cm_bfv_width inner)
{
    const cmi_decryption_layout parts = cmi_decryption_parts(decryption);
    const uint32_t n = (uint32_t)cmi_decryption_degree(decryption);
    const cm_bfv_width width = width_of(decryption->number);
    if (decryption->encoding == CM_BFV_BATCH) {
        cmi_ring_init(&parts.work->ring, &parts.work->plain, decryption->key->params->log2_n,
                      cmi_roots_of(decryption->key));
        cmi_bfv_unbatch(parts.sums, inner, width, &parts.work->ring);
    }
    if (wants_signed(decryption)) {
        centre(parts.sums, width, n, (uint32_t)decryption->plain_modulus);
    }
    return (size_t)n * (width == CM_BFV_16 ? 2u : 4u);
}

cm_status cmi_bfv_decryption_end(cm_decryption *decryption)
{
    if (decryption->scheme != CM_BFV || cmi_decryption_is_of_noise(decryption)) {
        return CM_ERR_ARGUMENT;
    }
    const cm_status status = cmi_decryption_complete(decryption);
    if (status != CM_OK) {
        return status;
    }
    const cmi_decryption_layout parts = cmi_decryption_parts(decryption);
    const bool batch = decryption->encoding == CM_BFV_BATCH;
    /* Sums of 32 bits have room for the faster transform. */
    const cm_bfv_width inner =
        batch && decryption->sum_bits == CM_BFV_SUMS_32 ? CM_BFV_32 : width_of(decryption->number);
    cmi_bfv_sums_round(parts.sums, (cm_bfv_sums)decryption->sum_bits, inner,
                       (uint32_t)cmi_decryption_degree(decryption), (uint32_t)decryption->plain_modulus);
    return cmi_decryption_leave_values(decryption, make_numbers(decryption, inner));
}

/* Backwards: numbers become wider, in place. */
static void widen(cm_decryption *decryption, bool with_sign)
{
    for (size_t i = cmi_decryption_degree(decryption); i-- > 0;) {
        const uint32_t x = cmi_plain_get(decryption->arena, CM_BFV_16, i);
        cmi_plain_put(decryption->arena, CM_BFV_32, i, with_sign ? (uint32_t)(int32_t)(int16_t)x : x);
    }
}

cm_status cmi_bfv_decryption_given(cm_decryption *decryption, uint64_t counter, bool finished)
{
    const cm_bfv_width width = width_of(decryption->number);
    const bool widens = width == CM_BFV_32 && decryption->plain_modulus <= 0x10000u;
    if (widens) {
        widen(decryption, finished && wants_signed(decryption));
    }
    if (!finished) {
        (void)make_numbers(decryption, width);
    }
    if (widens || !finished) {
        cmi_wipe_stack();
    }
    return cmi_decryption_leave_given(decryption, counter);
}

cm_status cmi_noise_begin(cm_decryption *decryption, uint32_t plain_modulus, unsigned log2_tiles)
{
    cm_status status = cmi_decryption_start(decryption, CM_BFV, log2_tiles);
    decryption->sum_bits = CM_SUMS_OF_NOISE;
    decryption->plain_modulus = plain_modulus;
    if (status == CM_OK && plain_modulus < 2u) {
        status = CM_ERR_PLAIN_MODULUS;
    }
    if (status == CM_OK) {
        status = cmi_decryption_divide_arena(decryption);
    }
    return cmi_decryption_take_arena(decryption, status);
}

cm_status cmi_noise_budget(cm_decryption *decryption, unsigned *bits)
{
    if (bits) {
        *bits = 0;
    }
    if (!bits || !cmi_decryption_is_of_noise(decryption)) {
        return CM_ERR_ARGUMENT;
    }
    const cm_status status = cmi_decryption_complete(decryption);
    if (status != CM_OK) {
        return status;
    }
    *bits = cmi_noise_sums_budget((const uint32_t *)(const void *)decryption->arena,
                                  (uint32_t)cmi_decryption_degree(decryption),
                                  decryption->key->params->primes, decryption->primes);
    return cmi_decryption_leave_values(decryption, 0);
}
