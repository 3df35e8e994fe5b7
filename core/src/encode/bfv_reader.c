/* SPDX-License-Identifier: Apache-2.0 */
/* BFV's coefficients, read from the caller whenever they are needed: none is stored. */
#include "arch/backends.h"
#include "common/declassify.h"
#include "encode/bfv.h"

/* Nonzero if any value is beyond the largest. All of them are read in any case. */
static uint32_t any_too_large(const cm_bfv_reader *reader)
{
    const uint32_t largest = reader->largest;
    uint32_t wrong = 0;
    for (uint16_t i = 0; i < reader->count; i++) {
        wrong |= largest - reader->read(reader->context, i);
    }
    return wrong >> 31;
}

cm_status cmi_bfv_reader_check(const cm_params *params, const cm_bfv_reader *reader)
{
    const uint32_t t = reader->plain_modulus;
    if (!reader->read || reader->count == 0) {
        return CM_ERR_ARGUMENT;
    }
    if (reader->count > (uint32_t)1 << params->log2_n) {
        return CM_ERR_TOO_MANY;
    }
    if (t < 2u || t > 0xFFFFu) {
        return CM_ERR_PLAIN_MODULUS;
    }
    if (reader->largest == 0 || reader->largest >= t) {
        return CM_ERR_ARGUMENT;
    }
    /* The status reveals whether any value is too large. */
    return cmi_declassified(any_too_large(reader) != 0) ? CM_ERR_VALUE_RANGE : CM_OK;
}

void cmi_bfv_reader_scaling_init(cmi_read_scaling *scaling, const cm_params *params, uint32_t t)
{
    cmi_plain_scaling whole;
    cmi_plain_scaling_init(&whole, params, t);
    *scaling = (cmi_read_scaling){(uint16_t)whole.factor, (uint16_t)(whole.quotient >> 16), (uint16_t)t,
                                  (uint16_t)whole.half};
}

/*
 * As cmi_plain_scale, with 16-bit factors: w + half, from 0 to 2^16 - 1 whatever is read. For m < 2^16, the
 * upper 16 bits of the quotient also leave a remainder below 2t: m quotient / 2^16 falls short by less than
 * 1, and rounding by less than another.
 */
static uint16_t shifted(uint16_t m, const cmi_read_scaling *scaling)
{
    const uint32_t t = scaling->t;
    const uint32_t quotient = (uint32_t)m * scaling->quotient >> 16;
    const uint32_t left = (uint32_t)m * scaling->factor - quotient * t;
    return (uint16_t)cmi_subtract_once(cmi_subtract_once(left, t) + scaling->half, t);
}

/* w + half of the values at `at`, at + step and so on. */
static void read_shifted(uint16_t *w, const cm_bfv_reader *reader, const cmi_read_scaling *scaling,
                         uint16_t at, uint16_t step, uint8_t terms)
{
    if (CM_ARCH_TRY(read_shifted, w, reader, scaling, at, step, terms)) {
        return;
    }
    for (uint8_t j = 0; j < terms; j++) {
        const uint16_t m = at < reader->count ? reader->read(reader->context, at) : 0;
        w[j] = shifted(m, scaling);
        at = (uint16_t)(at + step);
    }
}

/* The weights a tile is folded with. */
typedef struct fold_weights {
    int32_t values[CM_MAX_TILES]; /* (-1/t) r^j */
    int64_t start;                /* of the sum of (w + half) (-1/t) r^j: cancels half */
#if CM_CONFIG_STORE_NOISE
    int32_t noise[CM_MAX_TILES]; /* r^j */
#endif
} fold_weights;

static void open_weights(fold_weights *weights, const cmi_read_scaling *scaling, const cmi_ring *ring)
{
    cmi_ring_fold_powers(ring, cmi_plain_factor(scaling->t, ring->prime), weights->values);
    weights->start = 0;
    for (unsigned j = 0; j < 1u << ring->log2_tiles; j++) {
        weights->start -= cmi_product_signed(scaling->half, weights->values[j]);
    }
#if CM_CONFIG_STORE_NOISE
    cmi_ring_fold_powers(ring, ring->prime->r1, weights->noise);
#endif
}

/* Sums of at most sixteen terms below 2^16 q / 2 in magnitude are reduced to little more than q / 2. */
static int32_t reduced_sum(const uint16_t *w, const int32_t *weights, const int64_t *start, uint8_t terms,
                           const cm_prime *prime)
{
    int32_t reduced;
    if (CM_ARCH_TRY(dot, &reduced, w, weights, terms, start, prime)) {
        return reduced;
    }
    int64_t sum = *start;
    for (uint8_t j = 0; j < terms; j++) {
        sum += cmi_product_signed(w[j], weights[j]);
    }
    return cmi_montgomery_reduce_signed(sum, prime);
}

void cmi_bfv_reader_fold(const cm_bfv_reader *reader, const cmi_read_scaling *scaling, const int8_t *noise,
                         const cmi_ring *ring, uint32_t *out)
{
    const uint16_t points = (uint16_t)cmi_ring_points(ring);
    const uint8_t tiles = (uint8_t)(1u << ring->log2_tiles);
    uint16_t w[CM_MAX_TILES];
    fold_weights weights;
    open_weights(&weights, scaling, ring);
    for (uint16_t i = 0; i < points; i++) {
        read_shifted(w, reader, scaling, i, points, tiles);
#if CM_CONFIG_STORE_NOISE
        int64_t sum = weights.start;
        for (uint8_t j = 0; j < tiles; j++) {
            sum += cmi_product_signed(noise[i + j * points], weights.noise[j]);
        }
        const int64_t *const start = &sum;
#else
        const int64_t *const start = &weights.start;
        (void)noise;
#endif
        const int32_t folded = reduced_sum(w, weights.values, start, tiles, ring->prime);
        out[i] = (uint32_t)(folded + (int32_t)ring->prime->q);
    }
}
