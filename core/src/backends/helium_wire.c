/* SPDX-License-Identifier: Apache-2.0 */
/* Frames on Helium: residues of 26 bits packed, and four words at a time taken into the checksum. */
#include "arch/backends.h"

#if CM_HELIUM && CM_CONFIG_CRC_TABLE == CM_CONFIG_CRC_TABLE_WORD

#include <arm_mve.h>

#include "common/compiler.h"
#include "wire/frame.h"

/*
 * A checksum in four lanes, each of every fourth word: lane i is what is left of its words when they are
 * followed by i words less than a whole vector. Past the next vector, each lane moves by sixteen bytes.
 */
typedef struct helium_packing {
    cm_frame_writer *writer;
    uint32_t *at;
    uint32_t lanes[4];
    bool open; /* there are lanes; else the writer has the checksum */
    cm_status status;
} helium_packing;

static inline uint32x4_t helium_far_entries(unsigned table, uint32x4_t bytes)
{
    return vldrwq_gather_shifted_offset_u32(cmi_crc32c_far_table[table], bytes);
}

/* A whole piece. */
static inline void helium_sum(helium_packing *packing, const uint32_t *words)
{
    const uint32x4_t byte = vdupq_n_u32(255);
    uint32x4_t lanes = vld1q_u32(packing->lanes);
#pragma GCC unroll 4
    for (unsigned i = 0; i < CM_FRAME_PIECE_BYTES / 16; i++, words += 4) {
        if (i == 0 && !packing->open) {
            packing->open = true;
            lanes = veorq_u32(vsetq_lane_u32(~packing->writer->crc, vdupq_n_u32(0), 0), vld1q_u32(words));
            continue;
        }
        uint32x4_t sum = helium_far_entries(3, vandq_u32(lanes, byte));
        sum = veorq_u32(sum, helium_far_entries(2, vandq_u32(vshrq_n_u32(lanes, 8), byte)));
        sum = veorq_u32(sum, helium_far_entries(1, vandq_u32(vshrq_n_u32(lanes, 16), byte)));
        sum = veorq_u32(sum, helium_far_entries(0, vshrq_n_u32(lanes, 24)));
        lanes = veorq_u32(sum, vld1q_u32(words));
    }
    vst1q_u32(packing->lanes, lanes);
}

/* The lanes one after the other, which is how words are summed. */
static void helium_close(helium_packing *packing)
{
    if (packing->open) {
        packing->writer->crc =
            cm_crc32c(~(uint32_t)0, (const uint8_t *)packing->lanes, sizeof packing->lanes);
        packing->open = false;
    }
}

/* The piece is full. Only whole vectors go into the lanes: not the piece that began with a header. */
static CM_NOINLINE void helium_send(helium_packing *packing)
{
    cm_frame_writer *const writer = packing->writer;
    uint8_t *const end = writer->piece + CM_FRAME_PIECE_BYTES;
    if (writer->filled == 0 && !writer->sender) {
        helium_sum(packing, writer->words);
        writer->filled = CM_FRAME_PIECE_BYTES;
    } else {
        helium_close(packing);
        cmi_frame_fill(writer, writer->piece + writer->filled, end);
    }
    packing->status = cmi_frame_send(writer);
    packing->at = writer->words;
}

/* Sixteen residues as thirteen words: at most one piece is filled. */
static inline void helium_pack_group(helium_packing *packing, const uint32_t *residues)
{
    const uint32_t *const end = packing->writer->words + CM_FRAME_PIECE_BYTES / 4;
    uint32_t *at = packing->at;
    uint32_t word = 0;
#pragma GCC unroll 16
    for (unsigned i = 0; i < 16; i++) {
        const unsigned used = i * 26u % 32u;
        word = used == 0 ? residues[i] : word | residues[i] << used;
        if (used + 26u >= 32u) {
            *at++ = word;
            word = used + 26u == 32u ? 0 : residues[i] >> (32u - used);
            if (at == end) {
                helium_send(packing);
                at = packing->at;
            }
        }
    }
    packing->at = at;
}

int cmi_helium_pack_26(cm_status *status, cm_frame_writer *writer, const uint32_t *residues, uint32_t count)
{
    helium_packing packing = {writer, writer->words + writer->filled / 4u, {0}, false, CM_OK};
    for (const uint32_t *const end = residues + count; residues < end && packing.status == CM_OK;
         residues += 16) {
        helium_pack_group(&packing, residues);
    }
    helium_close(&packing);
    if (packing.status == CM_OK) {
        cmi_frame_fill(writer, writer->piece + writer->filled, (const uint8_t *)packing.at);
    }
    *status = packing.status;
    return 1;
}

#endif
