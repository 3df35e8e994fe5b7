/* SPDX-License-Identifier: Apache-2.0 */
/* The back-end for AVR, the compact lane: around the assembly of this folder. */
#include "arch/backends.h"

#if CM_AVR && CM_AVR_COMPACT

#include <stddef.h>

#include "scheme/compact.h"

#define TERMS (CM_AVR_MUL ? 32 : 8) /* at a time */

/* What a group of sums needs at a time, in a few bytes a residue and four coefficients a byte. */
typedef struct ternary_room {
    uint8_t residues[CM_AVR_RESIDUE_BYTES * TERMS];
    uint8_t window[(TERMS + 2 + CM_COMPACT_GROUP) / 4];
} ternary_room;

_Static_assert(sizeof(ternary_room) <= CM_COMPACT_ROOM, "CM_COMPACT_ROOM has room");
_Static_assert(offsetof(cmi_uniform, pending) == offsetof(cmi_uniform, pending_bits) + 1,
               "the assembly takes the pending bits from after their number");

CMI_HIDDEN_BEGIN

/* The next residues of 20 bits. pending: how many bits, and the bits. */
void cmi_avr_uniform_20(uint8_t *residues, cmi_stream *stream, uint8_t count, uint32_t q, uint8_t *pending);
/* The same of 26 bits, in four bytes each. pending: how many bits, as the highest of the byte. */
void cmi_avr_uniform_bytes(uint8_t *residues, cmi_stream *stream, uint8_t count, uint32_t q,
                           uint8_t *pending);
#if CM_PRIME_BITS == 26
#define UNIFORM cmi_avr_uniform_bytes
#else
#define UNIFORM cmi_avr_uniform_20
#endif
/* Coefficients of -s from `from` on. */
void cmi_avr_ternary_window(uint8_t *window, const uint8_t *ternary, uint16_t ternary_bytes, int16_t from,
                            uint8_t bytes);
/* Terms of four sums at a time, of one, of one and a whole expansion for n = 1024, or of one after the
   other. */
void cmi_avr_ternary_fours(uint32_t *sums, const uint8_t *residues, const uint8_t *window, uint8_t fours);
void cmi_avr_ternary_one(uint32_t *sum, const uint8_t *residues, const uint8_t *window);
void cmi_avr_ternary_single(uint32_t *sum, cmi_stream *stream, const uint8_t *ternary, uint16_t from,
                            const uint32_t *q);
void cmi_avr_ternary_sums(uint32_t *sums, const uint8_t *residues, const uint8_t *window, uint8_t count);
/* Sums within 2 half of 0, to within half of it. */
void cmi_avr_ternary_halve(uint32_t *sums, uint8_t count, uint32_t half);
/* Sums of a residue and at most 2^10 more, positive or negative, for a prime of 20 bits. */
void cmi_avr_ternary_reduce(uint32_t *sums, uint8_t count, uint32_t q);

CMI_HIDDEN_END

/* At most a group is taken at a time. */
static inline uint8_t group_of(uint16_t left)
{
    return (uint8_t)(left < CM_COMPACT_GROUP ? left : CM_COMPACT_GROUP);
}

static inline void add_group(uint32_t *sums, uint8_t count, const ternary_room *room)
{
#if CM_AVR_MUL
    const uint8_t fours = count / 4u, rest = count % 4u;
    const uint8_t *const window = room->window + fours;
    uint32_t *const last = sums + 4u * fours;
    if (fours > 0) {
        cmi_avr_ternary_fours(sums, room->residues, room->window, fours);
    }
    if (rest == 1) {
        cmi_avr_ternary_one(last, room->residues, window);
    } else if (rest > 0) {
        uint32_t four[4] = {0};
        cmi_avr_ternary_fours(four, room->residues, window, 1);
        for (uint8_t i = 0; i < rest; i++) {
            last[i] += four[i];
        }
    }
#else
    cmi_avr_ternary_sums(sums, room->residues, room->window, count);
#endif
}

static void add_drawn_terms(uint32_t *sums, uint16_t count, cmi_uniform *uniform, const uint8_t *ternary,
                            int16_t from, uint16_t terms, ternary_room *room)
{
    const uint32_t q = cmi_uniform_q(uniform);
    const uint16_t ternary_bytes = (uint16_t)((uint16_t)1 << uniform->log2_n) / 4u;
    for (; terms > 0; terms = (uint16_t)(terms - TERMS), from = (int16_t)(from - TERMS)) {
        UNIFORM(room->residues, &uniform->stream.chacha, TERMS, q, &uniform->pending_bits);
        for (uint16_t at = 0; at < count; at += CM_COMPACT_GROUP) {
            const uint8_t some = group_of((uint16_t)(count - at));
            cmi_avr_ternary_window(room->window, ternary, ternary_bytes,
                                   (int16_t)(from + (int16_t)at - (TERMS - 1)),
                                   (uint8_t)((TERMS + 2u + some) / 4u));
            add_group(sums + at, some, room);
        }
    }
}

int cmi_avr_ternary_terms(uint32_t *sums, uint16_t count, cmi_uniform *uniform, const uint8_t *ternary,
                          int16_t from, uint16_t terms, void *room)
{
    if (cmi_uniform_bits(uniform) != (CM_PRIME_BITS == 26 ? 26u : 20u)) {
        return 0;
    }
    const uint32_t q = cmi_uniform_q(uniform);
#if CM_AVR_MUL
    const bool single = count == 1 && terms == 1024u && uniform->log2_n == 10u;
    if (single) {
        cmi_avr_ternary_single(sums, &uniform->stream.chacha, ternary, (uint16_t)from, &q);
    }
#else
    const bool single = false;
#endif
    if (!single) {
        add_drawn_terms(sums, count, uniform, ternary, from, terms, room);
    }
    for (uint16_t at = 0; at < count; at += CM_COMPACT_GROUP) {
        const uint8_t some = group_of((uint16_t)(count - at));
#if CM_PRIME_BITS == 26
        cmi_avr_ternary_halve(sums + at, some, q << 4); /* 16 terms to sums within 16 q of 0: 32 q < 2^31 */
#else
        cmi_avr_ternary_reduce(sums + at, some, q);
#endif
    }
    return 1;
}

#endif
