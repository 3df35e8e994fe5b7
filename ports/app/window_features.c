/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A window's features, in place. Signs and magnitudes are taken from a float's bits, so that no
 * floating-point comparison is needed.
 */
#include "window_features.h"

#include <string.h>

#define MAGNITUDE_BITS 0x7FFFFFFFu
#define INFINITY_BITS 0x7F800000u

static uint32_t load_bits(const uint8_t *data, uint32_t index)
{
    uint32_t bits;
    memcpy(&bits, data + (size_t)index * sizeof bits, sizeof bits);
    return bits;
}

static void store_bits(uint8_t *data, uint32_t index, uint32_t bits)
{
    memcpy(data + (size_t)index * sizeof bits, &bits, sizeof bits);
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/*
 * All ones if a finite or infinite magnitude is above limit, else zero: as integers, magnitudes are below
 * 2^31.
 */
static uint32_t above(uint32_t magnitude, uint32_t limit)
{
    return 0u - ((limit - magnitude) >> 31);
}

static float clip(float value, uint32_t limit)
{
    const uint32_t bits = bits_of(value);
    const uint32_t magnitude = bits & MAGNITUDE_BITS;
    return float_of(bits ^ ((magnitude ^ limit) & above(magnitude, limit)));
}

/* Append the magnitudes to the samples, and the steps to those. Returns nonzero if a sample is not finite. */
static uint32_t derive(uint8_t *data, uint32_t channels, uint32_t samples)
{
    const uint32_t count = channels * samples;
    uint32_t not_finite = 0;
    for (uint32_t channel = 0; channel < channels; channel++) {
        float before = float_of(load_bits(data, channel * samples));
        for (uint32_t t = 0; t < samples; t++) {
            const uint32_t index = channel * samples + t;
            const uint32_t bits = load_bits(data, index);
            const float sample = float_of(bits);
            not_finite |= above(bits & MAGNITUDE_BITS, INFINITY_BITS - 1u);
            store_bits(data, count + index, bits & MAGNITUDE_BITS);
            store_bits(data, 2u * count + index, bits_of(sample - before) & MAGNITUDE_BITS);
            before = sample;
        }
    }
    return not_finite;
}

cm_status features_compute(uint8_t *data, uint32_t channels, uint32_t samples, const standardisation *rule)
{
    const uint32_t features = FEATURES_OF(channels, samples);
    if (derive(data, channels, samples)) {
        memset(data, 0, features * sizeof(float));
        return CM_ERR_NOT_FINITE;
    }
    const uint32_t limit = bits_of(rule->clip);
    for (uint32_t i = 0; i < features; i++) {
        const float centred = float_of(load_bits(data, i)) - rule->mean[i];
        store_bits(data, i, bits_of(clip(centred * rule->inverse_deviation[i], limit)));
    }
    return CM_OK;
}
