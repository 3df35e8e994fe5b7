/* SPDX-License-Identifier: Apache-2.0 */
/* Key generation, a prime at a time, and the keys' forms on the device. */
#include "ciphermote/keys.h"

#include "common/declassify.h"
#include "common/wipe.h"
#include "random/sample.h"
#include "scheme/noise.h"
#include "scheme/usable.h"

const uint32_t *cm_flat_public_key_polynomial(void *context, unsigned component, unsigned prime)
{
    const cm_flat_public_key *key = context;
    if (!key || !key->residues || key->n < 1024u || key->n > 16384u) {
        return NULL;
    }
    return key->residues + ((size_t)prime * 2u + component) * key->n;
}

#ifndef __AVR__
const uint32_t cm_refused_polynomial[4] = {0}; /* here: encryption needs no more of a streamed key */
#endif

static cm_status check_key_call(const cm_params *params, const void *input, unsigned prime,
                                const void *output)
{
    if (!params || !input || !output || prime >= params->key_primes) {
        return CM_ERR_ARGUMENT;
    }
    return cmi_params_usable(params) ? CM_OK : CM_ERR_PARAMS;
}

/* The same for calls that read a secret key: one of zeros hides nothing. */
static cm_status check_secret_call(const cm_params *params, const uint8_t *ternary, unsigned prime,
                                   const void *output)
{
    const cm_status status = check_key_call(params, ternary, prime, output);
    return status == CM_OK && !cmi_filled_in_ternary(ternary) ? CM_ERR_ARGUMENT : status;
}

cm_status cm_secret_key_generate(const cm_params *params, const uint8_t seed[CM_SEED_BYTES], uint8_t *ternary)
{
    const cm_status status = check_key_call(params, seed, 0, ternary);
    if (status != CM_OK) {
        return status;
    }
    const uint32_t nonce[3] = {CM_LABEL_TERNARY, 0, 0};
    cmi_stream stream;
    cmi_stream_init(&stream, seed, nonce);
    cmi_sample_ternary(&stream, ternary, (uint32_t)1 << params->log2_n);
    cmi_wipe(&stream, sizeof stream);
    cmi_wipe_stack();
    return CM_OK;
}

/* The secret times a factor, transformed. */
static void transform_secret(const cm_params *params, const uint8_t *ternary, unsigned prime, uint32_t factor,
                             uint32_t *out)
{
    cmi_ring ring;
    cmi_ring_init(&ring, &params->primes[prime], params->log2_n, NULL);
    cmi_ternary_transform(out, ternary, factor, &ring);
    cmi_reduce_all(out, cmi_ring_points(&ring), ring.prime);
}

cm_status cm_secret_key_residues(const cm_params *params, const uint8_t *ternary, unsigned prime,
                                 uint32_t *residues)
{
    const cm_status status = check_secret_call(params, ternary, prime, residues);
    if (status != CM_OK) {
        return status;
    }
    transform_secret(params, ternary, prime, 1, residues);
    cmi_wipe_stack();
    return CM_OK;
}

cm_status cm_secret_key_transform(const cm_params *params, const uint8_t *ternary, unsigned prime,
                                  uint32_t *transformed)
{
    const cm_status status = check_secret_call(params, ternary, prime, transformed);
    if (status != CM_OK) {
        return status;
    }
    const cm_prime *modulus = &params->primes[prime];
    transform_secret(params, ternary, prime, modulus->q - modulus->r1, transformed);
    cmi_wipe_stack();
    return CM_OK;
}

/*
 * c0 = NTT(INTT(-a s) + e): the noise is added in coefficient form, so that two polynomials of memory
 * suffice.
 */
cm_status cm_zero_encryption(const cm_params *params, const uint8_t *ternary,
                             const uint8_t seed[CM_SEED_BYTES], unsigned prime, uint32_t *c0, uint32_t *c1)
{
    const cm_status status = check_secret_call(params, ternary, prime, c0);
    if (status != CM_OK || !seed || !c1) {
        return status != CM_OK ? status : CM_ERR_ARGUMENT;
    }
    const uint32_t public_part[3] = {CM_LABEL_KEY_PUBLIC, 0, 0};
    const uint32_t secret_part[3] = {CM_LABEL_KEY_SECRET, 0, 0};
    const cm_prime *modulus = &params->primes[prime];
    uint8_t block[CM_CHACHA20_BLOCK_BYTES];
    cmi_ring ring;
    cmi_uniform uniform;
    cmi_noise noise;
    cmi_ring_init(&ring, modulus, params->log2_n, NULL);

    cmi_chacha20_block(block, seed, public_part, 0);
    /* The seed of a public polynomial, whose expansion branches on its residues. */
    cmi_declassify(block, cm_public_seed_bytes(CM_XOF_CHACHA20));
    cmi_uniform_init(&uniform, CM_XOF_CHACHA20, block, params->log2_n, params->key_primes);
    cmi_uniform_polynomial(&uniform, modulus, prime, c1);

    cmi_ternary_transform(c0, ternary, modulus->q - modulus->r1, &ring);
    cmi_multiply(c0, c0, c1, cmi_ring_points(&ring), modulus);
    cmi_ntt_inverse(c0, &ring);

    cmi_chacha20_block(block, seed, secret_part, 0);
    cmi_stream_set_key(&noise.stream, block);
    noise.kept = NULL;
    cmi_noise_add(&noise, 0, c0, &ring);
    cmi_ntt_forward(c0, &ring);
    cmi_reduce_all(c0, cmi_ring_points(&ring), modulus);
    cmi_wipe(block, sizeof block);
    cmi_wipe(&noise, sizeof noise);
    cmi_wipe(&uniform, sizeof uniform); /* c1 is published, its seed is not */
    cmi_wipe_stack();
    return CM_OK;
}
