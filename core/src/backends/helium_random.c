/* SPDX-License-Identifier: Apache-2.0 */
/* ChaCha20 and the uniform sampler on Helium. */
#include "arch/backends.h"

#if CM_HELIUM

#include <arm_mve.h>

#include "common/compiler.h"

/* ---- ChaCha20: a row of the state in a vector, so that a round's four quarter rounds are one ---- */

/* Twice, so that a load from the middle is rotated. */
typedef struct helium_row {
    uint32_t words[8];
} helium_row;

static inline uint32x4_t helium_rotate_lanes(uint32x4_t row, unsigned lanes, helium_row *room)
{
    vst1q_u32(room->words, row);
    vst1q_u32(room->words + 4, row);
    return vld1q_u32(room->words + lanes);
}

/* Lane 3 to lane 0, the others upwards: lanes rotated by 3. */
static inline uint32x4_t helium_rotate_up(uint32x4_t row)
{
    uint32_t last = vgetq_lane_u32(row, 3);
    return vshlcq_u32(row, &last, 32);
}

#define HELIUM_ROTATE(word, bits) vsriq_n_u32(vshlq_n_u32(word, bits), word, 32 - (bits))

static CM_ALWAYS_INLINE void helium_quarter(uint32x4_t *a, uint32x4_t *b, uint32x4_t *c, uint32x4_t *d)
{
    *a = vaddq_u32(*a, *b);
    *d = vreinterpretq_u32_u16(vrev32q_u16(vreinterpretq_u16_u32(veorq_u32(*d, *a))));
    *c = vaddq_u32(*c, *d);
    *b = veorq_u32(*b, *c);
    *b = HELIUM_ROTATE(*b, 12);
    *a = vaddq_u32(*a, *b);
    *d = veorq_u32(*d, *a);
    *d = HELIUM_ROTATE(*d, 8);
    *c = vaddq_u32(*c, *d);
    *b = veorq_u32(*b, *c);
    *b = HELIUM_ROTATE(*b, 7);
}

void cmi_helium_chacha20_blocks(uint8_t *out, uint32_t input[12], size_t blocks)
{
    /* "expand 32-byte k" */
    static const uint32_t constants[4] = {0x61707865u, 0x3320646Eu, 0x79622D32u, 0x6B206574u};
    const uint32x4_t constant = vld1q_u32(constants);
    helium_row room;
    for (; blocks > 0; blocks--, out += 64) {
        uint32x4_t a = constant;
        uint32x4_t b = vld1q_u32(input);
        uint32x4_t c = vld1q_u32(input + 4);
        uint32x4_t d = vld1q_u32(input + 8);
        for (unsigned i = 0; i < 10; i++) {
            helium_quarter(&a, &b, &c, &d);
            /* Column j of the second round has b's lane j + 1, c's j + 2 and d's j + 3: all less b's. */
            a = helium_rotate_up(a);
            c = helium_rotate_lanes(c, 1, &room);
            d = helium_rotate_lanes(d, 2, &room);
            helium_quarter(&a, &b, &c, &d);
            a = helium_rotate_lanes(a, 1, &room);
            c = helium_rotate_up(c);
            d = helium_rotate_lanes(d, 2, &room);
        }
        vstrbq_u8(out, vreinterpretq_u8_u32(vaddq_u32(a, constant)));
        vstrbq_u8(out + 16, vreinterpretq_u8_u32(vaddq_u32(b, vld1q_u32(input))));
        vstrbq_u8(out + 32, vreinterpretq_u8_u32(vaddq_u32(c, vld1q_u32(input + 4))));
        vstrbq_u8(out + 48, vreinterpretq_u8_u32(vaddq_u32(d, vld1q_u32(input + 8))));
        input[8]++;
    }
}

/* ---- uniform residues ---- */

/* Where four fields of 26 bits begin: their words, in bytes, and minus the bits before them there. */
typedef struct helium_fields {
    uint32_t words[4];
    int32_t bits[4];
} helium_fields;

static const helium_fields helium_groups[4] = {{{0, 0, 4, 8}, {0, -26, -20, -14}},
                                               {{12, 16, 16, 20}, {-8, -2, -28, -22}},
                                               {{24, 28, 32, 32}, {-16, -10, -4, -30}},
                                               {{36, 40, 44, 48}, {-24, -18, -12, -6}}};

/* The words after those of the last four fields. The last field needs none: its own stands in, masked. */
static const uint32_t helium_last[4] = {40, 44, 48, 48};

/*
 * Sixteen fields in thirteen words at a time. All are stored; if one is not below q, those that are close up.
 * Four fields never take the place of a word that is still to be read, because there are three places more
 * than words.
 */
uint32_t *cmi_helium_uniform_26(uint32_t *next, const uint32_t *words, uint32_t q, const uint32_t *end)
{
    for (; words < end; words += 13) {
        uint32x4_t greatest = vdupq_n_u32(0);
#pragma GCC unroll 4
        for (unsigned i = 0; i < 4; i++) {
            const uint32x4_t places = vld1q_u32(helium_groups[i].words);
            const int32x4_t bits = vld1q_s32(helium_groups[i].bits);
            const uint32x4_t low = vshlq_u32(vldrwq_gather_offset_u32(words, places), bits);
            const uint32x4_t next_words = i == 3 ? vldrwq_gather_offset_u32(words, vld1q_u32(helium_last))
                                                 : vldrwq_gather_offset_u32(words + 1, places);
            const uint32x4_t high = vshlq_u32(next_words, vaddq_n_s32(bits, 32));
            const uint32x4_t fields = vandq_u32(vorrq_u32(low, high), vdupq_n_u32(0x3FFFFFFu));
            greatest = vmaxq_u32(greatest, fields);
            vst1q_u32(next + 4u * i, fields);
        }
        if (vmaxvq_u32(0, greatest) < q) {
            next += 16;
            continue;
        }
        const uint32_t *field = next;
        for (unsigned i = 0; i < 16; i++, field++) {
            *next = *field;
            next += *field < q;
        }
    }
    return next;
}

#endif
