/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of CiphermoteNtt.h: the negacyclic NTT at primes q = 256 k + 1 below 2^14 (12289, 7681) in
 * words of 16 bits, on AVR. Such primes are too small for homomorphic encryption; other ring-LWE schemes, and
 * polynomial products, use them.
 *
 * Order and root are those of ring/ring.h: output i is a(psi^(2 bitrev(i) + 1)), psi the smallest primitive
 * 2n-th root of unity. Residues in, residues out; time depends on n alone.
 */
#ifndef CM_ARDUINO_NTT14_H
#define CM_ARDUINO_NTT14_H

#include <stdint.h>

#include "ciphermote/config.h"
#include "ciphermote/status.h"

#if CM_AVR_MUL

#ifdef __cplusplus
extern "C" {
#endif

/* What a transform of n points reads from flash. ntt14.S depends on the order of the fields. */
typedef struct cm_avr_ntt14 {
    int16_t r2; /* 2^32 mod q, below q/2 in magnitude */
    uint8_t log2_n;
    uint8_t k;        /* q = 256 k + 1 */
    uint8_t quotient; /* 2^16 / q, rounded */
    uint8_t unused;
    int16_t outer_over_n; /* the first root over n. All these are times 2^16 mod q, and below q/2 in
                             magnitude */
    int16_t minus_n_inv;  /* -1/n */
} cm_avr_ntt14;

/* The header, and n - 1 roots in the order of their use (a 0 for n = 1): ntt14_tables.c has them. */
#define CM_AVR_NTT14_TABLE(n) \
    typedef struct { \
        cm_avr_ntt14 header; \
        int16_t roots[(n) > 1 ? (n)-1 : 1]; \
    } cm_avr_ntt14_table_##n;
CM_AVR_NTT14_TABLE(1)
CM_AVR_NTT14_TABLE(2)
CM_AVR_NTT14_TABLE(4)
CM_AVR_NTT14_TABLE(8)
CM_AVR_NTT14_TABLE(16)
CM_AVR_NTT14_TABLE(32)
CM_AVR_NTT14_TABLE(64)
CM_AVR_NTT14_TABLE(128)
CM_AVR_NTT14_TABLE(256)
CM_AVR_NTT14_TABLE(512)
CM_AVR_NTT14_TABLE(1024)

/* In flash (PROGMEM). */
extern const cm_avr_ntt14_table_64 cm_avr_ntt14_q7681_n64;
extern const cm_avr_ntt14_table_128 cm_avr_ntt14_q7681_n128;
extern const cm_avr_ntt14_table_256 cm_avr_ntt14_q7681_n256;
extern const cm_avr_ntt14_table_1 cm_avr_ntt14_q12289_n1;
extern const cm_avr_ntt14_table_2 cm_avr_ntt14_q12289_n2;
extern const cm_avr_ntt14_table_4 cm_avr_ntt14_q12289_n4;
extern const cm_avr_ntt14_table_8 cm_avr_ntt14_q12289_n8;
extern const cm_avr_ntt14_table_16 cm_avr_ntt14_q12289_n16;
extern const cm_avr_ntt14_table_32 cm_avr_ntt14_q12289_n32;
extern const cm_avr_ntt14_table_64 cm_avr_ntt14_q12289_n64;
extern const cm_avr_ntt14_table_128 cm_avr_ntt14_q12289_n128;
extern const cm_avr_ntt14_table_256 cm_avr_ntt14_q12289_n256;
extern const cm_avr_ntt14_table_512 cm_avr_ntt14_q12289_n512;
extern const cm_avr_ntt14_table_1024 cm_avr_ntt14_q12289_n1024;

/* Transform n = 1 to 1024 residues in place; table: the header of one of the above, in flash. */
void cm_avr_ntt14_forward(uint16_t *a, const cm_avr_ntt14 *table);
void cm_avr_ntt14_inverse(uint16_t *a, const cm_avr_ntt14 *table);

/*
 * a[i] = a[i] b[i], for transformed a and b of n = 1 to 1024 residues: transformed back, a is the
 * polynomials' product.
 */
void cm_avr_ntt14_multiply(uint16_t *a, const uint16_t *b, const cm_avr_ntt14 *table);

/*
 * The transforms of 1024 residues in 1792 bytes. Group i of four, a[4i] to a[4i + 3], has seven bytes: the
 * lower bytes, then the upper bits of the first three in bits 0 to 5, with those of the fourth, two by two
 * from the lowest on, in bits 6 and 7.
 */
#define CM_AVR_NTT14_PACKED_BYTES 1792
void cm_avr_ntt14_forward_packed(uint8_t *a, const cm_avr_ntt14 *table);
void cm_avr_ntt14_inverse_packed(uint8_t *a, const cm_avr_ntt14 *table);

/*
 * The same transforms and products, which refuse what is not a residue: CM_ERR_RESIDUE, with nothing changed.
 * cm_ntt14_product leaves the negacyclic product of two polynomials in a and the transform of b in b; these
 * must be two arrays (CM_ERR_ARGUMENT).
 */
CM_MUST_CHECK cm_status cm_ntt14_forward(uint16_t *a, const cm_avr_ntt14 *table);
CM_MUST_CHECK cm_status cm_ntt14_inverse(uint16_t *a, const cm_avr_ntt14 *table);
CM_MUST_CHECK cm_status cm_ntt14_multiply(uint16_t *a, const uint16_t *b, const cm_avr_ntt14 *table);
CM_MUST_CHECK cm_status cm_ntt14_product(uint16_t *a, uint16_t *b, const cm_avr_ntt14 *table);

/* One of the 1024 packed residues; index below 1024, residue below q. */
uint16_t cm_ntt14_packed_get(const uint8_t *packed, uint16_t index);
void cm_ntt14_packed_set(uint8_t *packed, uint16_t index, uint16_t residue);

#ifdef __cplusplus
}
#endif

#endif
#endif
