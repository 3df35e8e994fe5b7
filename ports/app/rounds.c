/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds of a network: spreading vectors over blocks, ReLU, and finding the class with the highest score. */
#include "rounds.h"

#include <string.h>

#include "phase.h"

/* ---- values, as both schemes have them ---- */

static int32_t load_int16(const uint8_t *values, uint32_t index)
{
    int16_t value;
    memcpy(&value, values + 2u * index, sizeof value);
    return value;
}

static void store_int16(uint8_t *values, uint32_t index, int32_t number)
{
    const int16_t value = (int16_t)number;
    memcpy(values + 2u * index, &value, sizeof value);
}

static uint32_t load_bits(const uint8_t *values, uint32_t index)
{
    uint32_t bits;
    memcpy(&bits, values + 4u * index, sizeof bits);
    return bits;
}

static void store_bits(uint8_t *values, uint32_t index, uint32_t bits)
{
    memcpy(values + 4u * index, &bits, sizeof bits);
}

/* All ones if value is negative, else zero; |value| below 2^31. */
static uint32_t if_negative(int32_t value)
{
    return 0u - ((uint32_t)value >> 31);
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return b ^ ((a ^ b) & if_negative((int32_t)(a - b)));
}

/* |z| <= 2^15 and multiplier <= 2^16, so that products stay below 2^31. */
static int32_t activated_int16(int32_t z, const rounds_layer *layer, uint32_t limit)
{
    const uint32_t positive = (uint32_t)z & ~if_negative(z);
    return (int32_t)smaller((positive * layer->multiplier + 0x8000u) >> 16, limit);
}

/* Floats that are not negative compare as their bits do. */
static uint32_t activated_bits(uint32_t bits, uint32_t cap_bits)
{
    return smaller(bits & ~if_negative((int32_t)bits), cap_bits);
}

/* An integer that compares as the float does. */
static int32_t ordered(uint32_t bits)
{
    return (int32_t)(bits ^ (if_negative((int32_t)bits) >> 1));
}

/* ---- blocks ---- */

static uint32_t slot_of_block(const rounds_model *model, uint32_t slot)
{
    return slot & (((uint32_t)1 << model->log2_stride) - 1u);
}

/* From contiguous vectors to vectors in blocks, in place: no value moves down, so the last is moved first. */
static void spread(uint8_t *values, unsigned bytes, uint32_t slots, uint32_t vectors,
                   const rounds_model *model)
{
    const rounds_layer *layer = &model->layers[0];
    for (uint32_t slot = slots; slot-- > 0;) {
        const uint32_t block = slot >> model->log2_stride;
        const uint32_t input =
            slot_of_block(model, slot) - layer->first_input; /* wraps in front of the first */
        if (block < vectors && input < layer->inputs) {
            memmove(values + bytes * slot, values + bytes * (block * layer->inputs + input), bytes);
        } else {
            memset(values + bytes * slot, 0, bytes);
        }
    }
}

/* Move the activated outputs of one layer to where the next one needs them; all other slots become zero. */
static cm_status step(void *context, unsigned round, void *values, uint32_t count)
{
    const rounds *self = (const rounds *)context;
    const rounds_model *model = self->model;
    const rounds_layer *layer = &model->layers[round];
    const uint32_t first = model->layers[round + 1u].first_input;
    const bool integers = self->aided.plan.scheme == CM_BFV;
    (void)phase_enter(PHASE_STEP);
    for (uint32_t slot = count; slot-- > 0;) {
        const uint32_t output = slot_of_block(model, slot) - first; /* wraps in front of the first */
        const bool kept = output < layer->outputs && slot >> model->log2_stride < self->vectors;
        if (integers) {
            store_int16(values, slot,
                        kept ? activated_int16(load_int16(values, slot - first), layer, model->limit) : 0);
        } else {
            store_bits(values, slot,
                       kept ? activated_bits(load_bits(values, slot - first), model->cap_bits) : 0);
        }
    }
    (void)phase_enter(PHASE_ENCRYPT);
    return CM_OK;
}

static uint8_t largest(const uint8_t *values, uint32_t first, uint32_t count, bool integers)
{
    int32_t most = INT32_MIN;
    uint32_t place = 0;
    for (uint32_t i = 0; i < count; i++) {
        const int32_t score =
            integers ? load_int16(values, first + i) : ordered(load_bits(values, first + i));
        /* All ones if most < score, by the sign of a difference that does not overflow. */
        const uint32_t above = 0u - (uint32_t)((uint64_t)((int64_t)most - score) >> 63);
        most = (int32_t)((uint32_t)most ^ (((uint32_t)most ^ (uint32_t)score) & above));
        place ^= (place ^ i) & above;
    }
    return (uint8_t)place;
}

/* Where the vectors are, and the scores. */
static uint8_t *arena_of(const rounds *self)
{
    return self->aided.encryptor.setup.arena;
}

static void find_classes(rounds *self)
{
    const rounds_model *model = self->model;
    const uint32_t outputs = model->layers[model->count - 1u].outputs;
    for (uint32_t i = 0; i < self->vectors; i++) {
        self->classes[i] =
            largest(arena_of(self), i << model->log2_stride, outputs, self->aided.plan.scheme == CM_BFV);
    }
}

/* Through a volatile pointer, so that this is not optimised away. */
static void wipe(volatile uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bytes[i] = 0;
    }
}

/* ---- the calls ---- */

static cm_aided_plan plan_of(const rounds_model *model, cm_scheme scheme)
{
    cm_aided_plan plan = {
        .scheme = scheme,
        .rounds = model->count,
        .bfv = {CM_BFV_BATCH, CM_INT16, CM_BFV_SUMS_24, 0, model->plain_modulus},
        .ckks = {.slots = CM_SLOTS_REAL,
                 .precision = CM_FIXED_63,
                 .number = CM_FLOAT32,
                 .largest = model->largest},
        .precision = CM_FIXED_31,
        .log2_scale = model->log2_scale,
    };
    memcpy(&plan.largest, &model->cap_bits, sizeof plan.largest); /* activations are limited to it */
    return plan;
}

static unsigned bytes_of_value(cm_scheme scheme)
{
    return scheme == CM_BFV ? 2u : 4u;
}

static uint32_t slots_of(const cm_params *params, cm_scheme scheme)
{
    return (uint32_t)1 << (params->log2_n - (scheme == CM_BFV ? 0u : 1u));
}

cm_status rounds_open(rounds *self, const rounds_model *model, cm_scheme scheme, uint32_t length,
                      const cm_secret_key *key, const cm_encryptor_setup *setup)
{
    const uint32_t vector_bytes = bytes_of_value(scheme) * model->layers[0].inputs;
    const cm_aided_plan plan = plan_of(model, scheme);
    if (length == 0 || length % vector_bytes != 0) {
        return CM_ERR_FRAME_FIELD;
    }
    const uint32_t vectors = length / vector_bytes;
    const uint32_t slots = slots_of(key->params, scheme);
    if (vectors > slots >> model->log2_stride || vectors > ROUNDS_MAX_VECTORS) {
        return CM_ERR_TOO_MANY;
    }
    self->model = model;
    self->slots = slots;
    self->vectors = (uint16_t)vectors;
    return cm_aided_begin(&self->aided, key, &plan, setup);
}

cm_status rounds_send(rounds *self)
{
    const cm_scheme scheme = self->aided.plan.scheme;
    (void)phase_enter(PHASE_STEP);
    spread(arena_of(self), bytes_of_value(scheme), self->slots, self->vectors, self->model);
    (void)phase_enter(PHASE_ENCRYPT);
    const cm_status status = cm_aided_send(&self->aided, self->slots);
    (void)phase_enter(PHASE_NONE);
    self->awaiting = status == CM_OK;
    return status;
}

cm_status rounds_feed(rounds *self, const uint8_t *bytes, size_t length)
{
    (void)phase_enter(PHASE_DECRYPT);
    const cm_status status = cm_aided_feed(&self->aided, bytes, length);
    (void)phase_enter(PHASE_NONE);
    return status;
}

cm_status rounds_answer(rounds *self)
{
    cm_status status;
    const bool last = self->aided.round + 1u == self->model->count;
    (void)phase_enter(PHASE_DECRYPT);
    if (last) {
        status = cm_aided_finish(&self->aided);
        (void)phase_enter(PHASE_STEP);
        if (status == CM_OK) {
            find_classes(self);
        }
        wipe(arena_of(self), self->aided.encryptor.setup.arena_bytes); /* the scores are no longer needed */
    } else {
        status = cm_aided_answer(&self->aided, step, self);
    }
    (void)phase_enter(PHASE_NONE);
    self->awaiting = status == CM_OK && !last;
    return status;
}

void rounds_stop(rounds *self)
{
    cm_aided_wipe(&self->aided);
    wipe(self->classes, sizeof self->classes);
    self->awaiting = false;
}
