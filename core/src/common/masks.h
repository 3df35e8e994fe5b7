/* SPDX-License-Identifier: Apache-2.0 */
/* Masks that select without a branch. */
#ifndef CM_COMMON_MASKS_H
#define CM_COMMON_MASKS_H

#include <stdint.h>

/*
 * All ones if x is negative, else zero. The compiler must not know that these are the only two values: clang
 * 14 turns what is computed from such a mask into a choice, and branches.
 */
static inline uint32_t cmi_mask_of_sign(int32_t x)
{
#if defined(__GNUC__)
    int32_t mask = x >> 31;
    __asm__("" : "+r"(mask));
#else
    const volatile int32_t mask = x >> 31;
#endif
    return (uint32_t)mask;
}

/* All ones if the top bit of x is set. */
static inline uint32_t cmi_mask_of_top(uint32_t x)
{
    return cmi_mask_of_sign((int32_t)x);
}

/* All ones if bit, which is 0 or 1, is 1. */
static inline uint32_t cmi_mask_of_bit(uint32_t bit)
{
    return cmi_mask_of_top(bit << 31);
}

/* All ones if x is zero. */
static inline uint32_t cmi_mask_of_zero(uint32_t x)
{
    return cmi_mask_of_top(~x & (x - 1u));
}

/* The same mask for 64-bit numbers. */
static inline uint64_t cmi_mask_twice(uint32_t mask)
{
    return (uint64_t)mask << 32 | mask;
}

/* -x if the mask is all ones, x if it is zero. */
static inline uint32_t cmi_negated(uint32_t x, uint32_t mask)
{
    return (x ^ mask) - mask;
}

static inline uint64_t cmi_negated_64(uint64_t x, uint32_t mask)
{
    return (x ^ cmi_mask_twice(mask)) - cmi_mask_twice(mask);
}

/* x if d is negative, else 0. */
static inline uint32_t cmi_if_negative(uint32_t d, uint32_t x)
{
#if defined(__thumb2__)
    /* The same in one instruction, which the compiler cannot see through either. */
    uint32_t chosen;
    __asm__("and %0, %1, %2, asr #31" : "=r"(chosen) : "r"(x), "r"(d));
    return chosen;
#else
    return x & cmi_mask_of_top(d);
#endif
}

static inline uint64_t cmi_if_negative_64(uint64_t d, uint64_t x)
{
#if defined(__AVR__) /* few registers: a mask of one byte, then sign-extended */
    int8_t mask = (int8_t)((int8_t)(d >> 56) >> 7);
    __asm__("" : "+r"(mask));
    return x & (uint64_t)(int64_t)mask;
#else
    const uint32_t high = cmi_if_negative((uint32_t)(d >> 32), (uint32_t)(x >> 32));
    return (uint64_t)high << 32 | cmi_if_negative((uint32_t)(d >> 32), (uint32_t)x);
#endif
}

/* d + q if d is negative, else d. */
static inline uint32_t cmi_add_if_negative(uint32_t d, uint32_t q)
{
    return d + cmi_if_negative(d, q);
}

#endif
