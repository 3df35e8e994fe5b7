/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The owner's side of an encryption, for tests: transforms, residue numbers and slots by their definitions,
 * using nothing of the library but its parameter sets. One ciphertext at a time, in static memory.
 */
#ifndef CM_TESTS_DECRYPT_H
#define CM_TESTS_DECRYPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ciphermote/config.h"
#include "ciphermote/params.h"

/* The largest ring that tests encrypt in: -DCM_TEST_MAX_LOG2_N=12 leaves out those above 4096, and so on. */
#ifndef CM_TEST_MAX_LOG2_N
#define CM_TEST_MAX_LOG2_N 14
#endif
#define TEST_LOG2_N (CM_TEST_MAX_LOG2_N < CM_CONFIG_MAX_LOG2_N ? CM_TEST_MAX_LOG2_N : CM_CONFIG_MAX_LOG2_N)
#define TEST_N ((size_t)1 << TEST_LOG2_N)

typedef struct test_complex {
    double re;
    double im;
} test_complex;

/* Begin with a ciphertext under this secret key (packed as in ciphermote/keys.h, the caller keeps it). */
void decrypt_open(const cm_params *params, const uint8_t *ternary, bool ntt_form);

/*
 * Take residues first .. first + count - 1 of a component (0 or 1) at a data prime, in any order; all n of
 * them at once unless they are in NTT form.
 */
void decrypt_residues(unsigned component, unsigned prime, size_t first, const uint32_t *residues,
                      size_t count);

/* Compute the polynomial c0 + c1 s. False unless all residues were given, each below its prime. */
bool decrypt_close(void);

/* A CKKS slot of that polynomial, in SEAL's order; the value times the scale. */
test_complex decrypt_slot(uint32_t slot);

/*
 * BFV: the n coefficients modulo t that, times q / t, are nearest to that polynomial; valid until the next
 * call.
 */
const uint32_t *decrypt_integers(uint32_t t);

/* The value of a slot, in SEAL's order, of the batch that n coefficients modulo the prime t encode. */
uint32_t batched_value(const uint32_t *coefficients, unsigned log2_n, uint32_t slot, uint32_t t);

#endif
