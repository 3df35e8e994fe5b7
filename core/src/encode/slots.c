/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of the slots: SEAL puts slot j at zeta^(3^j), the transform needs them in the order of the
 * exponents.
 */
#include "encode/slots.h"

#include <stddef.h>

#include "encode/bfv_numbers.h"
#include "encode/slot_order.h"

/*
 * Slot j belongs to the exponents e = 3^j and -e; one of the two is 4v + 1, and the transform's sample v is
 * the slot (its conjugate, if 4v + 1 = -e: for every odd j). The transform reads samples in bit-reversed
 * order: complex ones singly, real ones in pairs that act as one complex sample.
 */

#if !CM_SLOT_ORDER_TABLE

static uint32_t reverse_16_bits(uint32_t x)
{
    x = (x & 0x5555u) << 1 | (x >> 1 & 0x5555u);
    x = (x & 0x3333u) << 2 | (x >> 2 & 0x3333u);
    x = (x & 0x0F0Fu) << 4 | (x >> 4 & 0x0F0Fu);
    return (x & 0x00FFu) << 8 | x >> 8;
}

/* power is 3^slot modulo 2^15, or any multiple of 2n. */
static uint32_t position_from_power(uint32_t power, uint32_t slot, unsigned log2_n, cm_slots slots)
{
    const uint32_t exponent = (slot & 1u) ? 0u - power : power;
    const uint32_t sample = (exponent & (((uint32_t)2 << log2_n) - 1u)) >> 2;
    if (slots == CM_SLOTS_COMPLEX) {
        return reverse_16_bits(sample) >> (17u - log2_n);
    }
    return reverse_16_bits(sample >> 1) >> (18u - log2_n) << 1 | (sample & 1u);
}

typedef unsigned slot_order;

/* 3^j mod 2^15, which is enough for 2n up to 2^15. */
static const uint16_t powers_of_three[32] = {1,     3,     9,     27,    81,    243,   729,   2187,
                                             6561,  19683, 26281, 13307, 7153,  21459, 31609, 29291,
                                             22337, 1475,  4425,  13275, 7057,  21171, 30745, 26699,
                                             14561, 10915, 32745, 32699, 32561, 32147, 30905, 27179};
/* 3^(32 j) and 3^(512 j) */
static const uint16_t powers_of_three_32[16] = {1,     16001, 15617, 31617, 31233, 14465, 14081, 30081,
                                                29697, 12929, 12545, 28545, 28161, 11393, 11009, 27009};
static const uint16_t powers_of_three_512[16] = {1,     26625, 20481, 14337, 8193,  2049,  28673, 22529,
                                                 16385, 10241, 4097,  30721, 24577, 18433, 12289, 6145};

static inline uint32_t position_of(uint32_t slot, const slot_order *log2_n, cm_slots slots)
{
    const uint32_t high = (uint32_t)powers_of_three_512[slot >> 9] * powers_of_three_32[slot >> 5 & 15u];
    return position_from_power((high & 0x7FFFu) * powers_of_three[slot & 31u], slot, *log2_n, slots);
}

static inline slot_order open_order(unsigned log2_n)
{
    return log2_n;
}

#else

/*
 * The table is for the largest ring. Modulo a smaller 2n, sample numbers lose their upper bits, which are the
 * lower ones once reversed.
 */
typedef struct slot_order {
    uint8_t bits; /* of a real sample's number: log2 n - 1 */
    uint8_t lost;
} slot_order;

static inline uint32_t position_of(uint32_t slot, const slot_order *order, cm_slots slots)
{
    const uint32_t largest = cmi_slot_positions[slot];
    const uint32_t parity = largest & 1u;
    const uint32_t reversed = largest >> 1 >> order->lost;
    return slots == CM_SLOTS_COMPLEX ? parity << (order->bits - 1u) | reversed : reversed << 1 | parity;
}

static inline slot_order open_order(unsigned log2_n)
{
    return (slot_order){(uint8_t)(log2_n - 1u), (uint8_t)(CM_CONFIG_MAX_LOG2_N - log2_n)};
}

#endif

/* Each slot of a cycle takes the place of the next; a slot has `words` words of 4 bytes, at most 4. */
static inline void follow_cycle(uint32_t *data, unsigned words, uint32_t start, const slot_order *order,
                                cm_slots slots)
{
    uint32_t carried[4];
    uint32_t position = start;
    for (unsigned i = 0; i < words; i++) {
        carried[i] = data[(size_t)start * words + i];
    }
    do {
        position = position_of(position, order, slots);
        uint32_t *const place = data + (size_t)position * words;
        for (unsigned i = 0; i < words; i++) {
            const uint32_t word = place[i];
            place[i] = carried[i];
            carried[i] = word;
        }
    } while (position != start);
}

/* The starts of the cycles of a ring's slots: cmi_slot_cycles has those of each ring and kind in turn. */
static const uint16_t *first_cycle(unsigned log2_n, cm_slots slots)
{
    const uint16_t *start = cmi_slot_cycles;
    for (unsigned skip = 2u * (log2_n - 10u) + (slots == CM_SLOTS_COMPLEX ? 1u : 0u); skip > 0; start++) {
        skip -= *start == 0 ? 1u : 0u;
    }
    return start;
}

void cmi_slots_permute(uint32_t *data, unsigned words, unsigned log2_n, cm_slots slots)
{
    const slot_order order = open_order(log2_n);
    for (const uint16_t *start = first_cycle(log2_n, slots); *start != 0; start++) {
        if (words == 1u) {
            follow_cycle(data, 1, *start, &order, CM_SLOTS_REAL);
        } else {
            follow_cycle(data, words, *start, &order, slots);
        }
    }
}

/*
 * Batching has the slots j < n/2 at psi^(3^j), those of the second row at psi^(-3^j), and value k of the
 * transform's order at psi^(2 bitrev(k) + 1), over log2 n bits. With v the sample of slot j, 4v + 1 has place
 * bitrev(2v), which is v reversed over one bit less, as complex slots are; and -(4v + 1) has the place of the
 * complement, n - 1 - k. Even columns have their first row at 4v + 1, odd ones their second.
 */

static inline void swap(void *data, cm_bfv_width width, size_t i, size_t j)
{
    const uint32_t x = cmi_plain_get(data, width, i);
    cmi_plain_put(data, width, i, cmi_plain_get(data, width, j));
    cmi_plain_put(data, width, j, x);
}

/* With the second row backwards, a column is k and n - 1 - k. */
static inline void arrange_rows(void *data, cm_bfv_width width, uint32_t n)
{
    for (uint32_t j = 1; j < n / 2u; j += 2u) {
        swap(data, width, j, n / 2u + j);
    }
    for (uint32_t j = 0; j < n / 4u; j++) {
        swap(data, width, n / 2u + j, n - 1u - j);
    }
}

static inline void restore_rows(void *data, cm_bfv_width width, uint32_t n)
{
    for (uint32_t j = 0; j < n / 4u; j++) {
        swap(data, width, n / 2u + j, n - 1u - j);
    }
    for (uint32_t j = 1; j < n / 2u; j += 2u) {
        swap(data, width, j, n / 2u + j);
    }
}

/* As follow_cycle, a column at a time. */
static inline void follow_columns(void *data, cm_bfv_width width, uint32_t n, uint32_t start,
                                  const slot_order *order)
{
    uint32_t position = start;
    uint32_t first = cmi_plain_get(data, width, start);
    uint32_t second = cmi_plain_get(data, width, n - 1u - start);
    do {
        position = position_of(position, order, CM_SLOTS_COMPLEX);
        const uint32_t next_first = cmi_plain_get(data, width, position);
        const uint32_t next_second = cmi_plain_get(data, width, n - 1u - position);
        cmi_plain_put(data, width, position, first);
        cmi_plain_put(data, width, n - 1u - position, second);
        first = next_first;
        second = next_second;
    } while (position != start);
}

static inline void permute_columns(void *data, cm_bfv_width width, unsigned log2_n)
{
    const uint32_t n = (uint32_t)1 << log2_n;
    const slot_order order = open_order(log2_n);
    arrange_rows(data, width, n);
    for (const uint16_t *start = first_cycle(log2_n, CM_SLOTS_COMPLEX); *start != 0; start++) {
        follow_columns(data, width, n, *start, &order);
    }
}

void cmi_slots_permute_columns(void *data, cm_bfv_width width, unsigned log2_n)
{
    if (width == CM_BFV_16) {
        permute_columns(data, CM_BFV_16, log2_n);
    } else {
        permute_columns(data, CM_BFV_32, log2_n);
    }
}

/* ---- and back ---- */

/* Each slot of a cycle takes what is at its own position. */
static inline void follow_cycle_back(uint32_t *data, unsigned words, uint32_t start, const slot_order *order,
                                     cm_slots slots)
{
    uint32_t first[4];
    uint32_t slot = start;
    uint32_t position = position_of(start, order, slots);
    for (unsigned i = 0; i < words; i++) {
        first[i] = data[(size_t)start * words + i];
    }
    while (position != start) {
        for (unsigned i = 0; i < words; i++) {
            data[(size_t)slot * words + i] = data[(size_t)position * words + i];
        }
        slot = position;
        position = position_of(slot, order, slots);
    }
    for (unsigned i = 0; i < words; i++) {
        data[(size_t)slot * words + i] = first[i];
    }
}

void cmi_slots_restore(uint32_t *data, unsigned words, unsigned log2_n, cm_slots slots)
{
    const slot_order order = open_order(log2_n);
    for (const uint16_t *start = first_cycle(log2_n, slots); *start != 0; start++) {
        if (words == 1u) {
            follow_cycle_back(data, 1, *start, &order, CM_SLOTS_REAL);
        } else {
            follow_cycle_back(data, words, *start, &order, slots);
        }
    }
}

static inline void follow_columns_back(void *data, cm_bfv_width width, uint32_t n, uint32_t start,
                                       const slot_order *order)
{
    const uint32_t first = cmi_plain_get(data, width, start);
    const uint32_t second = cmi_plain_get(data, width, n - 1u - start);
    uint32_t slot = start;
    uint32_t position = position_of(start, order, CM_SLOTS_COMPLEX);
    while (position != start) {
        cmi_plain_put(data, width, slot, cmi_plain_get(data, width, position));
        cmi_plain_put(data, width, n - 1u - slot, cmi_plain_get(data, width, n - 1u - position));
        slot = position;
        position = position_of(slot, order, CM_SLOTS_COMPLEX);
    }
    cmi_plain_put(data, width, slot, first);
    cmi_plain_put(data, width, n - 1u - slot, second);
}

static inline void restore_columns(void *data, cm_bfv_width width, unsigned log2_n)
{
    const uint32_t n = (uint32_t)1 << log2_n;
    const slot_order order = open_order(log2_n);
    for (const uint16_t *start = first_cycle(log2_n, CM_SLOTS_COMPLEX); *start != 0; start++) {
        follow_columns_back(data, width, n, *start, &order);
    }
    restore_rows(data, width, n);
}

void cmi_slots_restore_columns(void *data, cm_bfv_width width, unsigned log2_n)
{
    if (width == CM_BFV_16) {
        restore_columns(data, CM_BFV_16, log2_n);
    } else {
        restore_columns(data, CM_BFV_32, log2_n);
    }
}
