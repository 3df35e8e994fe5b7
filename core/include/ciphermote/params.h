/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameter sets: a ring degree n and a chain of primes, all below 2^27 and 1 mod 2n.
 *
 * The last prime of a set with two or more is the special prime of key switching: keys have residues modulo
 * it, ciphertexts do not. A set with one prime has no key switching (additions and plain products only).
 *
 * Sets have 128-bit security by the 2024 guidelines (ePrint 2024/463, classical, ternary secret); those whose
 * names start with std2018_ have it only by the 2018 HomomorphicEncryption.org table.
 *
 * Make custom sets with `ciphermote params`, which refuses insecure and invalid ones. Calls refuse a set
 * whose constants do not belong to its primes (CM_ERR_PARAMS). They do not check that the primes are prime,
 * different and secure, nor, with CM_CONFIG_SMALL, that psi is a root of unity.
 */
#ifndef CIPHERMOTE_PARAMS_H
#define CIPHERMOTE_PARAMS_H

#include <stdint.h>

#include "ciphermote/status.h"

#ifdef __cplusplus
extern "C" {
#endif

CM_REFUSE_PACKING(params);

/* A prime q and its Montgomery constants, with R = 2^32. All values except q and neg_q_inv are below q. */
typedef struct cm_prime {
    uint32_t q;         /* q < 2^27, q = 1 mod 2n */
    uint32_t neg_q_inv; /* -q^-1 mod 2^32 */
    uint32_t r1;        /* 2^32 mod q */
    uint32_t r2;        /* 2^64 mod q */
    uint32_t psi;       /* the smallest primitive 2n-th root of unity mod q, as in SEAL */
    uint32_t n_inv;     /* n^-1 mod q */
} cm_prime;

/* A root of unity for the transform, below q/2 in magnitude, and round(root * 2^32 / q). */
typedef struct cm_root {
    int32_t root;
    int32_t quotient;
} cm_root;

/*
 * The n roots of unity modulo a prime of a set, or modulo BFV's plain modulus: roots[i] = psi^bitrev(i), with
 * bitrev over log2 n bits; roots[0] is unused. `ciphermote provision` writes them along with the keys, in an
 * array that ends with q = 0 (CM_CONFIG_NTT_ROOTS).
 */
typedef struct cm_root_table {
    uint32_t q; /* 0: the array of tables ends here */
    uint32_t psi;
    const cm_root *roots;
} cm_root_table;

typedef struct cm_params {
    const char *name; /* for example "n4096_q26x3_p27" */
    uint32_t id;    /* first 4 bytes (little-endian) of BLAKE2b-256 over the u64 words [n, q_0 .. q_{K-1}] */
    uint8_t log2_n; /* 10 .. 14 */
    uint8_t key_primes;     /* K: the number of primes, the special one included */
    uint8_t data_primes;    /* K - 1, or 1 if K is 1: the number of primes of a fresh ciphertext */
    uint8_t log2_q_data;    /* floor(log2(product of the data primes)); 255 if larger */
    const cm_prime *primes; /* K primes, in SEAL's order */
} cm_params;

#define CM_MAX_PRIMES 17 /* the largest K of any set */

/* 128-bit security by the 2024 guidelines. q26x3 means three data primes of 26 bits, p27 a special prime of
   27 bits. */
extern const cm_params cm_n1024_q26;
extern const cm_params cm_n2048_q26_p27;
extern const cm_params cm_n4096_q26x3_p27;
extern const cm_params cm_n8192_q26x7_p27;
extern const cm_params cm_n16384_q26x15_p27;

/* As close to the papers' total sizes as 27-bit primes come (27, 54, 108, 216 and 432 bits): 128-bit
   security by the 2018 table only. */
extern const cm_params cm_std2018_n1024_q27;
extern const cm_params cm_std2018_n2048_q27_p27;
extern const cm_params cm_std2018_n4096_q27x3_p27;
extern const cm_params cm_std2018_n8192_q27x7_p27;
extern const cm_params cm_std2018_n16384_q27x15_p27;

/* All sets above, in that order. */
#define CM_PARAMS_COUNT 10
extern const cm_params *const cm_params_all[CM_PARAMS_COUNT];

/* The set with this id among cm_params_all, or null. */
const cm_params *cm_params_by_id(uint32_t id);

#ifdef __cplusplus
}
#endif
#endif
