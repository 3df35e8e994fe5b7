/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The negacyclic NTT of n = 2 to 1024 points at primes below 2^27, in words of 32 bits: the arithmetic of
 * ring/ring.h, which encryption uses, behind checks. CiphermoteNtt.h wraps it for sketches.
 */
#ifndef CM_ARDUINO_NTT27_H
#define CM_ARDUINO_NTT27_H

#include <stdint.h>

#include "ciphermote/params.h"
#include "ciphermote/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#include "ring/ring.h"

#define CM_NTT27_MAX_LOG2_N 10

/* The constants of one prime and one n. It must not be copied: it points into itself. */
typedef struct cm_ntt27 {
    cm_prime prime;
    cmi_ring ring;
    uint8_t log2_n; /* 0: not initialized */
} cm_ntt27;

/*
 * CM_ERR_PARAMS, and ntt can do nothing, unless q is a prime below 2^27 that is 1 mod 2048, the same
 * condition for every n: it is what makes sure that q is prime. log2_n: 1 to 10, else CM_ERR_ARGUMENT.
 */
CM_MUST_CHECK cm_status cm_ntt27_init(cm_ntt27 *ntt, uint32_t q, uint8_t log2_n);

/*
 * In place, from residues to residues; order and root are those of ntt14.h. CM_ERR_RESIDUE, with nothing
 * changed, if a value is not below q; CM_ERR_PARAMS if ntt was not initialized. cm_ntt27_product leaves the
 * negacyclic product of two polynomials in a and the transform of b in b; these must be two arrays
 * (CM_ERR_ARGUMENT).
 */
CM_MUST_CHECK cm_status cm_ntt27_forward(uint32_t *a, const cm_ntt27 *ntt);
CM_MUST_CHECK cm_status cm_ntt27_inverse(uint32_t *a, const cm_ntt27 *ntt);
CM_MUST_CHECK cm_status cm_ntt27_multiply(uint32_t *a, const uint32_t *b, const cm_ntt27 *ntt);
CM_MUST_CHECK cm_status cm_ntt27_product(uint32_t *a, uint32_t *b, const cm_ntt27 *ntt);

#ifdef __cplusplus
}
#endif

#endif
