/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames on cores of 32 bits: checksums and residues by words, where portable C reads and writes bytes.
 * Groups of residues fill whole words, so each shift is known in advance. What is not aligned is declined.
 */
#include "arch/backends.h"

#if CM_WORD32

#include "common/compiler.h"
#include "wire/frame.h"

static inline bool word32_aligned(const void *bytes)
{
    return (uintptr_t)bytes % sizeof(uint32_t) == 0;
}

#if CM_CONFIG_CRC_TABLE == CM_CONFIG_CRC_TABLE_WORD

/* middle: the third of four tables, from which a load's offset reaches the others. */
static inline uint32_t word32_add_word(uint32_t crc, uint32_t word, const uint32_t *middle)
{
    crc ^= word;
    const uint32_t *const first = middle + (crc & 255u);
    const uint32_t *const second = middle + (crc >> 8 & 255u);
    const uint32_t *const third = middle + (crc >> 16 & 255u);
    const uint32_t *const fourth = middle + (crc >> 24);
    return (first[256] ^ *second) ^ (third[-256] ^ fourth[-512]);
}

int cmi_word32_crc32c(uint32_t *crc, const uint8_t *bytes, size_t length)
{
    const uint32_t *word = (const uint32_t *)(const void *)bytes;
    if (!word32_aligned(bytes) || length % sizeof *word != 0) {
        return 0;
    }
    uint32_t sum = ~*crc;
    const uint32_t *middle = cmi_crc32c_table[2];
    __asm__("" : "+r"(middle));
    const uint32_t *const end = word + length / sizeof *word;
    for (; end - word >= 8; word += 8) {
#pragma GCC unroll 8
        for (unsigned i = 0; i < 8; i++) {
            sum = word32_add_word(sum, word[i], middle);
        }
    }
    for (; word < end; word++) {
        sum = word32_add_word(sum, *word, middle);
    }
    *crc = ~sum;
    return 1;
}

#endif

/* ---- packing: where the next word goes ---- */

typedef struct word32_packing {
    cm_frame_writer *writer;
    uint32_t *at;
    cm_status status;
} word32_packing;

static CM_NOINLINE void word32_send(word32_packing *packing)
{
    cm_frame_writer *const writer = packing->writer;
    uint8_t *const piece = writer->piece;
    packing->at = writer->words;
    if (packing->status != CM_OK) {
        return; /* earlier in this group */
    }
    cmi_frame_fill(writer, piece + writer->filled, piece + CM_FRAME_PIECE_BYTES);
    packing->status = cmi_frame_send(writer);
}

/* A group of residues as words. */
static CM_ALWAYS_INLINE void word32_pack_group(word32_packing *packing, const uint32_t *residues,
                                               const unsigned bits, const unsigned group)
{
    const uint32_t *const end = packing->writer->words + CM_FRAME_PIECE_BYTES / 4;
    uint32_t *at = packing->at;
    uint32_t word = 0;
#pragma GCC unroll 32
    for (unsigned i = 0; i < group; i++) {
        const unsigned used = i * bits % 32u;
        word = used == 0 ? residues[i] : word | residues[i] << used;
        if (used + bits >= 32u) {
            *at++ = word;
            word = used + bits == 32u ? 0 : residues[i] >> (32u - used);
            if (at == end) {
                word32_send(packing);
                at = packing->at;
            }
        }
    }
    packing->at = at;
}

int cmi_word32_pack(cm_status *status, cm_frame_writer *writer, const uint32_t *residues, uint32_t count,
                    unsigned bits)
{
    const uint32_t *const end = residues + count;
    word32_packing packing = {writer, writer->words + writer->filled / 4u, CM_OK};
    if (bits != 26u && bits != 27u) {
        return 0;
    }
    while (residues < end && packing.status == CM_OK) {
        if (bits == 26u) {
            word32_pack_group(&packing, residues, 26, 16);
            residues += 16;
        } else {
            word32_pack_group(&packing, residues, 27, 32);
            residues += 32;
        }
    }
    if (packing.status == CM_OK) {
        cmi_frame_fill(writer, writer->piece + writer->filled, (const uint8_t *)packing.at);
    }
    *status = packing.status;
    return 1;
}

/* ---- unpacking ---- */

/* The next group; the result's top bit is set if all are below q. */
static CM_ALWAYS_INLINE uint32_t word32_unpack_group(uint32_t *residues, const uint32_t *word, uint32_t q,
                                                     const unsigned bits)
{
    const uint32_t mask = ((uint32_t)1 << bits) - 1u;
    uint32_t below = ~(uint32_t)0;
    uint32_t pending = 0;
#pragma GCC unroll 32
    for (unsigned i = 0; i < 32; i++) {
        const unsigned from = i * bits % 32u;
        if (from == 0) {
            pending = *word++;
        }
        uint32_t residue = pending >> from;
        if (from + bits > 32u) {
            pending = *word++;
            residue |= pending << (32u - from);
        }
        residue = from + bits == 32u ? residue : residue & mask;
        below &= residue - q;
        residues[i] = residue;
    }
    return below;
}

int cmi_word32_unpack(bool *all_below, uint32_t *residues, uint32_t count, const uint8_t *bytes,
                      unsigned bits, uint32_t q, uint32_t *crc)
{
    const uint32_t *word = (const uint32_t *)(const void *)bytes;
    if (!word32_aligned(bytes) || (bits != 26u && bits != 27u)) {
        return 0;
    }
    uint32_t below = ~(uint32_t)0;
    *crc = cm_crc32c(*crc, bytes, count / 8u * bits);
    for (const uint32_t *const end = residues + count; residues < end; residues += 32) {
        if (bits == 26u) {
            below &= word32_unpack_group(residues, word, q, 26);
        } else {
            below &= word32_unpack_group(residues, word, q, 27);
        }
        word += bits;
    }
    *all_below = below >> 31 != 0;
    return 1;
}

#endif
