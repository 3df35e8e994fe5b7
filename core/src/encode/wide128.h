/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signed 128-bit accumulators for the 63-bit encoder: the compiler's own type where it has one, else two
 * halves. Both give the same bits; define CM_NO_INT128 to test the second where the first exists.
 */
#ifndef CM_ENCODE_WIDE128_H
#define CM_ENCODE_WIDE128_H

#include <stdint.h>

#include "common/masks.h"
#include "ring/product.h"

#if defined(__SIZEOF_INT128__) && !defined(CM_NO_INT128)

__extension__ typedef __int128 cmi_wide128;
__extension__ typedef unsigned __int128 cmi_uwide128;

static inline cmi_wide128 cmi_wide128_add(cmi_wide128 a, cmi_wide128 b)
{
    return (cmi_wide128)((cmi_uwide128)a + (cmi_uwide128)b);
}

static inline cmi_wide128 cmi_wide128_subtract(cmi_wide128 a, cmi_wide128 b)
{
    return (cmi_wide128)((cmi_uwide128)a - (cmi_uwide128)b);
}

static inline cmi_wide128 cmi_wide128_product(int64_t a, int64_t b)
{
    return (cmi_wide128)a * b;
}

/* a 2^bits, 0 <= bits < 64 */
static inline cmi_wide128 cmi_wide128_shifted(int64_t a, unsigned bits)
{
    return (cmi_wide128)((cmi_uwide128)(cmi_wide128)a << bits);
}

/* a >> bits, 64 <= bits < 128 */
static inline int64_t cmi_wide128_high(cmi_wide128 a, unsigned bits)
{
    return (int64_t)(a >> bits);
}

#else

typedef struct cmi_wide128 {
    uint64_t low;
    int64_t high;
} cmi_wide128;

/* By words: for a Cortex-M0, gcc branches on a 64-bit carry that is computed as sum < a. */
static inline cmi_wide128 cmi_wide128_add(cmi_wide128 a, cmi_wide128 b)
{
    const uint64_t first = (uint64_t)(uint32_t)a.low + (uint32_t)b.low;
    const uint64_t second = (a.low >> 32) + (b.low >> 32) + (first >> 32);
    cmi_wide128 sum;
    sum.low = second << 32 | (uint32_t)first;
    sum.high = (int64_t)((uint64_t)a.high + (uint64_t)b.high + (second >> 32));
    return sum;
}

/* a - b is the complement of (-1 - a) + b. */
static inline cmi_wide128 cmi_wide128_subtract(cmi_wide128 a, cmi_wide128 b)
{
    const cmi_wide128 sum = cmi_wide128_add((cmi_wide128){~a.low, ~a.high}, b);
    return (cmi_wide128){~sum.low, ~sum.high};
}

/*
 * Schoolbook on 32-bit halves; the signed product is the unsigned one less 2^64 b for a < 0 and 2^64 a for
 * b < 0.
 */
static inline cmi_wide128 cmi_wide128_product(int64_t a, int64_t b)
{
    uint64_t x = (uint64_t)a;
    uint64_t y = (uint64_t)b;
    uint64_t low = cmi_product((uint32_t)x, (uint32_t)y);
    uint64_t middle = cmi_product((uint32_t)(x >> 32), (uint32_t)y) + (low >> 32);
    uint64_t cross = cmi_product((uint32_t)x, (uint32_t)(y >> 32)) + (uint32_t)middle;
    uint64_t high = cmi_product((uint32_t)(x >> 32), (uint32_t)(y >> 32)) + (middle >> 32) + (cross >> 32);
    cmi_wide128 product;
    product.low = cross << 32 | (low & 0xFFFFFFFFu);
    product.high = (int64_t)(high - cmi_if_negative_64(x, y) - cmi_if_negative_64(y, x));
    return product;
}

/* a 2^bits, 0 <= bits < 64 */
static inline cmi_wide128 cmi_wide128_shifted(int64_t a, unsigned bits)
{
    cmi_wide128 shifted;
    shifted.low = (uint64_t)a << bits;
    shifted.high = bits == 0 ? a >> 63 : a >> (64u - bits);
    return shifted;
}

/* a >> bits, 64 <= bits < 128 */
static inline int64_t cmi_wide128_high(cmi_wide128 a, unsigned bits)
{
    return a.high >> (bits - 64u);
}

#endif

#endif
