/* SPDX-License-Identifier: Apache-2.0 */
/* An encoded vector: conjugating its slots, and folding it at a prime into a tile, with noise or without. */
#include "arch/backends.h"
#include "common/bytes.h"
#include "common/compiler.h"
#include "common/masks.h"
#include "encode/ckks.h"
#include "encode/ckks_fixed.h"
#include "random/sample.h"

#if CM_CONFIG_COMPLEX

/* The absolute value of a number, less its last places. */
static uint32_t magnitude_of(const cmi_ckks_message *message, size_t i, unsigned places)
{
    if (message->precision == CM_FIXED_31) {
        const uint32_t x = (uint32_t)((const int32_t *)message->data)[i];
        return cmi_negated(x, cmi_mask_of_top(x)) >> places;
    }
    const uint64_t x = (uint64_t)((const int64_t *)message->data)[i];
    return (uint32_t)(cmi_negated_64(x, cmi_mask_of_top((uint32_t)(x >> 32))) >> places);
}

/*
 * Roundings, of the parts and of what is dropped here, add less than two units, and as few places are dropped
 * as leave squares of 62 bits.
 */
CM_NOINLINE uint32_t cmi_ckks_any_beyond(const cmi_ckks_message *message, uint32_t count, uint64_t largest)
{
    unsigned places = 0;
    while (largest >> places >= 0x7FFFFFFFu) {
        places++;
    }
    const uint32_t radius = (uint32_t)(largest >> places) + 2u;
    const uint64_t square = cmi_product(radius, radius);
    uint64_t beyond = 0;
    for (size_t i = 0; i < 2u * (size_t)count; i += 2) {
        const uint32_t re = magnitude_of(message, i, places);
        const uint32_t im = magnitude_of(message, i + 1u, places);
        beyond |= square - cmi_product(re, re) - cmi_product(im, im);
    }
    return (uint32_t)(beyond >> 63);
}

#else

uint32_t cmi_ckks_any_beyond(const cmi_ckks_message *message, uint32_t count, uint64_t largest)
{
    (void)message;
    (void)count;
    (void)largest;
    return 0;
}

#endif

/* Their exponents are 3 mod 4: see slots.c. */
void cmi_ckks_conjugate_odd_slots(const cmi_ckks_message *message, uint32_t count)
{
    for (size_t i = 3; i < 2u * (size_t)count; i += 4u) {
        if (message->precision == CM_FIXED_31) {
            ((uint32_t *)message->data)[i] = 0u - ((uint32_t *)message->data)[i];
        } else {
            ((uint64_t *)message->data)[i] = 0u - ((uint64_t *)message->data)[i];
        }
    }
}

void cmi_ckks_message_fold(const cmi_ckks_message *message, const cmi_ring *ring, uint32_t *out)
{
#if CM_CONFIG_PRECISION_31
    if (message->precision == CM_FIXED_31) {
        cmi_fold_31(message->data, message->slots, ring, out);
    }
#endif
#if CM_CONFIG_PRECISION_63
    if (message->precision == CM_FIXED_63) {
        cmi_fold_63(message->data, message->slots, ring, out);
    }
#endif
}

#if CM_CONFIG_STORE_NOISE

/*
 * Four signed bytes, each above -128, negated where mask is all ones: 128 more than each is 1 .. 255, and no
 * byte carries.
 */
static inline uint32_t negate_bytes(uint32_t four, uint32_t mask)
{
    return ((((four ^ 0x80808080u) ^ mask) + (mask & 0x01010101u)) ^ 0x80808080u);
}

/*
 * ckks_fold.h gives the order: with real slots, each quarter of the coefficients has its own byte in every
 * group of four; the second and the last quarter run backwards, and coefficient M goes with 0.
 */
void cmi_ckks_message_keep_noise(const cmi_ckks_message *message, uint32_t start, const int8_t *block,
                                 int8_t *kept)
{
    const uint32_t n = (uint32_t)1 << message->log2_n;
    if (message->slots == CM_SLOTS_COMPLEX) {
        int8_t *to = start < n / 2u ? kept + 2u * start : kept + 2u * start - n + 1u;
        for (unsigned k = 0; k < CM_SAMPLE_BLOCK; k++) {
            to[2u * k] = block[k];
        }
        return;
    }
    const unsigned quarter = start >> (message->log2_n - 2u);
    const uint32_t from = start & (n / 4u - 1u);
    const uint32_t negated = quarter < 2u ? 0 : ~(uint32_t)0;
    uint8_t *const places = (uint8_t *)kept + quarter;
    for (unsigned k = 0; k < CM_SAMPLE_BLOCK; k += 4u) {
        const uint32_t four = negate_bytes(cmi_load32((const uint8_t *)block + k), negated);
        const uint32_t c = from + k;
        if (quarter % 2u == 0) {
            uint8_t *const to = places + 4u * (size_t)c;
            to[0] = (uint8_t)four;
            to[4] = (uint8_t)(four >> 8);
            to[8] = (uint8_t)(four >> 16);
            to[12] = (uint8_t)(four >> 24);
        } else { /* coefficient c of the quarter is at (M - c) mod M */
            uint8_t *const to = places + n - 4u * (size_t)c - 12u;
            *(c == 0 ? places : to + 12) = (uint8_t)four;
            to[8] = (uint8_t)(four >> 8);
            to[4] = (uint8_t)(four >> 16);
            to[0] = (uint8_t)(four >> 24);
        }
    }
}

void cmi_ckks_message_fold_noisy(const cmi_ckks_message *message, const int8_t *noise, const cmi_ring *ring,
                                 uint32_t *out)
{
#if CM_CONFIG_PRECISION_31
    if (message->precision == CM_FIXED_31) {
        cmi_fold_noisy_31(message->data, noise, message->slots, ring, out);
    }
#endif
#if CM_CONFIG_PRECISION_63
    if (message->precision == CM_FIXED_63) {
        cmi_fold_noisy_63(message->data, noise, message->slots, ring, out);
    }
#endif
}

void cmi_ckks_message_transform_noisy(const cmi_ckks_message *message, const int8_t *noise,
                                      const cmi_ring *ring, uint32_t *out)
{
#if CM_CONFIG_PRECISION_31
    if (message->precision == CM_FIXED_31 && message->slots != CM_SLOTS_COMPLEX &&
        CM_ARCH_TRY(real_transform_31, out, message->data, noise, ring)) {
        return;
    }
#endif
    cmi_ckks_message_fold_noisy(message, noise, ring, out);
    cmi_ntt_forward(out, ring);
}

#endif
