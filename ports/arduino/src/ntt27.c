/* SPDX-License-Identifier: Apache-2.0 */
/* Transforms and products at primes below 2^27: ntt27.h. */
#include "ntt27.h"

#include "ring/prime.h"

/* The least degree for which cmi_prime_init finds no root modulo a composite number. */
#define PROVING_LOG2_N 10

CM_STATIC_ASSERT(CM_NTT27_MAX_LOG2_N <= CM_CONFIG_MAX_LOG2_N, "a cmi_ring has that many levels");

cm_status cm_ntt27_init(cm_ntt27 *ntt, uint32_t q, uint8_t log2_n)
{
    ntt->log2_n = 0;
    if (log2_n < 1 || log2_n > CM_NTT27_MAX_LOG2_N) {
        return CM_ERR_ARGUMENT;
    }
    if (!cmi_prime_init(&ntt->prime, q, PROVING_LOG2_N, NULL) ||
        !cmi_prime_init(&ntt->prime, q, log2_n, NULL)) {
        return CM_ERR_PARAMS;
    }
    cmi_ring_init(&ntt->ring, &ntt->prime, log2_n, NULL);
    ntt->log2_n = log2_n;
    return CM_OK;
}

/* In a time that depends on n alone: bit 31 of a[i] or of q - 1 - a[i] is set unless a[i] < q. */
static cm_status check_residues(const uint32_t *a, const cm_ntt27 *ntt)
{
    if (ntt->log2_n == 0) {
        return CM_ERR_PARAMS;
    }
    uint32_t bits = 0;
    for (uint16_t left = (uint16_t)1 << ntt->log2_n; left > 0; left--) {
        const uint32_t value = *a++;
        bits |= (ntt->prime.q - 1u - value) | value;
    }
    return bits >> 31 ? CM_ERR_RESIDUE : CM_OK;
}

static cm_status check_both(const uint32_t *a, const uint32_t *b, const cm_ntt27 *ntt)
{
    const cm_status status = check_residues(a, ntt);
    return status == CM_OK ? check_residues(b, ntt) : status;
}

static void forward(uint32_t *a, const cm_ntt27 *ntt)
{
    cmi_ntt_forward(a, &ntt->ring);
    cmi_reduce_all(a, (uint32_t)1 << ntt->log2_n, &ntt->prime);
}

static void multiply(uint32_t *a, const uint32_t *b, const cm_ntt27 *ntt)
{
    const uint16_t n = (uint16_t)1 << ntt->log2_n;
    for (uint16_t i = 0; i < n; i++) {
        const uint32_t factor = cmi_montgomery_residue(a[i], ntt->prime.r2, &ntt->prime);
        a[i] = cmi_montgomery_residue(factor, b[i], &ntt->prime);
    }
}

cm_status cm_ntt27_forward(uint32_t *a, const cm_ntt27 *ntt)
{
    const cm_status status = check_residues(a, ntt);
    if (status == CM_OK) {
        forward(a, ntt);
    }
    return status;
}

cm_status cm_ntt27_inverse(uint32_t *a, const cm_ntt27 *ntt)
{
    const cm_status status = check_residues(a, ntt);
    if (status == CM_OK) {
        cmi_ntt_inverse(a, &ntt->ring);
    }
    return status;
}

cm_status cm_ntt27_multiply(uint32_t *a, const uint32_t *b, const cm_ntt27 *ntt)
{
    const cm_status status = check_both(a, b, ntt);
    if (status == CM_OK) {
        multiply(a, b, ntt);
    }
    return status;
}

cm_status cm_ntt27_product(uint32_t *a, uint32_t *b, const cm_ntt27 *ntt)
{
    const cm_status status = a == b ? CM_ERR_ARGUMENT : check_both(a, b, ntt);
    if (status == CM_OK) {
        forward(a, ntt);
        forward(b, ntt);
        multiply(a, b, ntt);
        cmi_ntt_inverse(a, &ntt->ring);
    }
    return status;
}
