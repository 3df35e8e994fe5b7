/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the two kinds of core of 32 bits differ in: multiplying by a number below q in magnitude, with its
 * quotient by q, and the product of two residues. The results are right modulo q; each says within what.
 *
 * Where there is no upper word of a product, a quotient is the sum of three products of half words, rounded
 * down, without that of the lower halves: up to 2 1/8 too small. To be included behind ring/ring.h.
 */
#ifndef CM_ARCH_WORD32_PRODUCTS_H
#define CM_ARCH_WORD32_PRODUCTS_H

#include "arch/api.h"

#if CM_WORD32

/* A factor, and 2^32 factor / q to the nearest. */
typedef struct word32_factor {
    int32_t factor;
    int32_t quotient;
} word32_factor;

#if CM_ARMV6M

/* The upper word of b c but for its fraction, in units of 2^-15; b and c as they come. */
static inline int32_t word32_upper(int32_t b, int32_t c)
{
    return (b >> 16) * (c >> 16);
}

static inline int32_t word32_crossed(int32_t b, int32_t c)
{
    return ((b >> 16) * (int32_t)((uint32_t)c & 0xFFFFu) >> 1) +
           ((int32_t)((uint32_t)b & 0xFFFFu) * (c >> 16) >> 1);
}

/*
 * Whether q is large enough for the next two functions, which leave out x's lower half: it is at most q / 4,
 * and their products fit.
 */
static inline bool word32_folds(uint32_t q)
{
    return q >> 18 != 0;
}

/* x less a multiple of q, from -1/4 q to 1 1/2 q; for |x| < 2^31, and inverse = 2^32 / q to the nearest. */
static inline uint32_t word32_reduced(uint32_t x, int32_t inverse, uint32_t q)
{
    return x - (uint32_t)(((int32_t)x >> 16) * inverse >> 16) * q;
}

/* x + y factor, for |x| and |y| < 2^29.6: q more than a number between -1/4 q and 2 1/2 q. */
static inline uint32_t word32_sum_of_two(int32_t x, int32_t y, word32_factor by, int32_t inverse, uint32_t q)
{
    const int32_t crossed = word32_crossed(y, by.quotient) + ((x >> 16) * inverse >> 1);
    const uint32_t quotients = (uint32_t)(word32_upper(y, by.quotient) + (crossed >> 15));
    return (uint32_t)x + (uint32_t)y * (uint32_t)by.factor + (1u - quotients) * q;
}

/* For q between 2^25 and 2^26. */
typedef struct word32_reduction {
    uint32_t q;
    uint32_t q_inv;   /* modulo 2^16 */
    uint32_t inverse; /* 2^41 / q, rounded down */
} word32_reduction;

static inline bool word32_reducible(const cm_prime *prime)
{
    return prime->q >> 25 == 1u;
}

/* 2^32 / q is what r1 lacks of 2^32, divided by q; the next nine binary digits follow one by one. */
static inline word32_reduction word32_reduction_of(const cm_prime *prime)
{
    uint32_t quotient = prime->r1 * prime->neg_q_inv;
    uint32_t rest = prime->r1;
    for (unsigned i = 0; i < 9u; i++) {
        const uint32_t doubled = 2u * rest;
        quotient = 2u * quotient + (doubled >= prime->q ? 1u : 0u);
        rest = doubled >= prime->q ? doubled - prime->q : doubled;
    }
    return (word32_reduction){prime->q, (0u - prime->neg_q_inv) & 0xFFFFu, quotient};
}

/*
 * a b / 2^32 mod q, above -q and below q, for a < 2^31 and b < q: two steps of 16 bits. A step subtracts the
 * multiple of q with the same lower half, so that of the lower halves nothing is left to carry. The first is
 * above -q; with q more, it and what is added are below 2^32.
 */
static inline uint32_t word32_montgomery(uint32_t a, uint32_t b, const word32_reduction *by)
{
    const uint32_t b_low = b & 0xFFFFu;
    const uint32_t b_high = b >> 16;
    const uint32_t q_low = by->q & 0xFFFFu;
    const uint32_t q_high = by->q >> 16;
    uint32_t half = a & 0xFFFFu;
    uint32_t low = half * b_low;
    uint32_t multiple = low * by->q_inv & 0xFFFFu;
    low = (low >> 16) - (multiple * q_low >> 16) + half * b_high - multiple * q_high + by->q;
    half = a >> 16;
    low += half * b_low;
    multiple = low * by->q_inv & 0xFFFFu;
    return (low >> 16) - (multiple * q_low >> 16) + half * b_high - multiple * q_high;
}

static inline uint32_t word32_subtract_once(uint32_t x, uint32_t q)
{
    return cmi_subtract_once(x, q);
}

/*
 * a + b c / 2^32 mod q, a residue, for a and b at most 31 q, and c < q. With q more, a and the product are
 * below 34 q. The quotient by q, from the upper halves, is at most 1 too small.
 */
static inline uint32_t word32_residue_of_sum(uint32_t a, uint32_t b, uint32_t c, const word32_reduction *by)
{
    const uint32_t sum = a + by->q + word32_montgomery(b, c, by);
    return word32_subtract_once(sum - ((sum >> 16) * by->inverse >> 25) * by->q, by->q);
}

#else

/* The upper word of a product. */
static inline int32_t word32_high(int32_t a, int32_t b)
{
    return (int32_t)((int64_t)a * b >> 32);
}

static inline uint32_t word32_high_unsigned(uint32_t a, uint32_t b)
{
    return (uint32_t)((uint64_t)a * b >> 32);
}

/* As above. */
static inline bool word32_folds(uint32_t q)
{
    (void)q;
    return true;
}

static inline uint32_t word32_reduced(uint32_t x, int32_t inverse, uint32_t q)
{
    return x - (uint32_t)word32_high((int32_t)x, inverse) * q;
}

static inline uint32_t word32_sum_of_two(int32_t x, int32_t y, word32_factor by, int32_t inverse, uint32_t q)
{
    const uint32_t quotients = (uint32_t)word32_high(x, inverse) + (uint32_t)word32_high(y, by.quotient);
    return (uint32_t)x + (uint32_t)y * (uint32_t)by.factor + (1u - quotients) * q;
}

typedef struct word32_reduction {
    uint32_t q;
    uint32_t q_inv;   /* modulo 2^32 */
    uint32_t inverse; /* 2^32 / q, rounded down */
} word32_reduction;

static inline bool word32_reducible(const cm_prime *prime)
{
    return prime->q >> 26 == 0;
}

static inline word32_reduction word32_reduction_of(const cm_prime *prime)
{
    return (word32_reduction){prime->q, 0u - prime->neg_q_inv, prime->r1 * prime->neg_q_inv};
}

/* a b / 2^32 mod q, above -q and below q, for any a and b < q. */
static inline uint32_t word32_montgomery(uint32_t a, uint32_t b, const word32_reduction *by)
{
    return word32_high_unsigned(a, b) - word32_high_unsigned(a * b * by->q_inv, by->q);
}

/* As cmi_subtract_once, in one instruction less where there is a minimum: x less q, which wraps if x < q. */
static inline uint32_t word32_subtract_once(uint32_t x, uint32_t q)
{
#ifdef __riscv_zbb
    uint32_t less = x - q;
    __asm__("minu %0, %0, %1" : "+r"(less) : "r"(x));
    return less;
#else
    return cmi_subtract_once(x, q);
#endif
}

/*
 * a + b c / 2^32 mod q, a residue, for any b and c < q. With q more, a of at most 32 q and the product are
 * below 34 q, which is below 2^32 for q < 2^26. The quotient, rounded down twice, is at most 1 too small.
 */
static inline uint32_t word32_residue_of_sum(uint32_t a, uint32_t b, uint32_t c, const word32_reduction *by)
{
    const uint32_t sum = a + by->q + word32_montgomery(b, c, by);
    return word32_subtract_once(sum - word32_high_unsigned(sum, by->inverse) * by->q, by->q);
}

#endif
#endif
#endif
