/* SPDX-License-Identifier: Apache-2.0 */
/* ChaCha20, where the state fits into registers, and the uniform sampler on cores of 32 bits. */
#include "arch/backends.h"

#if CM_WORD32

#include "common/compiler.h"
#include "random/sample.h"
#include "random/xof.h"

#if CM_RV32

/* ---- ChaCha20 ---- */

static inline uint32_t word32_rotate(uint32_t word, unsigned bits)
{
    return word << bits | word >> (32u - bits);
}

static CM_ALWAYS_INLINE void word32_quarter(uint32_t *a, uint32_t *b, uint32_t *c, uint32_t *d)
{
    *a += *b;
    *d = word32_rotate(*d ^ *a, 16);
    *c += *d;
    *b = word32_rotate(*b ^ *c, 12);
    *a += *b;
    *d = word32_rotate(*d ^ *a, 8);
    *c += *d;
    *b = word32_rotate(*b ^ *c, 7);
}

/* "expand 32-byte k" */
static const uint32_t word32_constants[4] = {0x61707865u, 0x3320646Eu, 0x79622D32u, 0x6B206574u};

static CM_ALWAYS_INLINE uint32_t *word32_put_row(uint32_t *out, uint32_t x0, uint32_t x1, uint32_t x2,
                                                 uint32_t x3, const uint32_t input[4])
{
    out[0] = x0 + input[0];
    out[1] = x1 + input[1];
    out[2] = x2 + input[2];
    out[3] = x3 + input[3];
    return out + 4;
}

/*
 * In the first round, three of the four columns do not depend on the block counter: they are computed once
 * per call. Only to words.
 */
int cmi_word32_chacha20_blocks(uint8_t *bytes, uint32_t input[12], size_t blocks)
{
    uint32_t *out = (uint32_t *)(void *)bytes;
    if ((uintptr_t)bytes % 4u != 0) {
        return 0;
    }
    uint32_t columns[4][3];
    for (unsigned i = 1; i < 4; i++) {
        uint32_t x[4] = {word32_constants[i], input[i], input[4u + i], input[8u + i]};
        word32_quarter(&x[0], &x[1], &x[2], &x[3]);
        for (unsigned row = 0; row < 4; row++) {
            columns[row][i - 1u] = x[row];
        }
    }
    for (; blocks > 0; blocks--) {
        uint32_t x0 = word32_constants[0], x1 = columns[0][0], x2 = columns[0][1], x3 = columns[0][2];
        uint32_t x4 = input[0], x5 = columns[1][0], x6 = columns[1][1], x7 = columns[1][2];
        uint32_t x8 = input[4], x9 = columns[2][0], x10 = columns[2][1], x11 = columns[2][2];
        uint32_t x12 = input[8], x13 = columns[3][0], x14 = columns[3][1], x15 = columns[3][2];
        word32_quarter(&x0, &x4, &x8, &x12);
        for (unsigned pairs = 9;; pairs--) {
            word32_quarter(&x0, &x5, &x10, &x15);
            word32_quarter(&x1, &x6, &x11, &x12);
            word32_quarter(&x2, &x7, &x8, &x13);
            word32_quarter(&x3, &x4, &x9, &x14);
            if (pairs == 0) {
                break;
            }
            word32_quarter(&x0, &x4, &x8, &x12);
            word32_quarter(&x1, &x5, &x9, &x13);
            word32_quarter(&x2, &x6, &x10, &x14);
            word32_quarter(&x3, &x7, &x11, &x15);
        }
        out = word32_put_row(out, x0, x1, x2, x3, word32_constants);
        out = word32_put_row(out, x4, x5, x6, x7, input);
        out = word32_put_row(out, x8, x9, x10, x11, input + 4);
        out = word32_put_row(out, x12, x13, x14, x15, input + 8);
        input[8]++;
    }
    return 1;
}

#endif

/* ---- uniform residues ---- */

/*
 * A group of fields that fills whole words. All are stored; if one is not below q, those that are close up.
 * The words, which are in the same array further on, are read before a field can take their place.
 */
static CM_ALWAYS_INLINE uint32_t *word32_cut_group(uint32_t *next, const uint32_t *word, uint32_t q,
                                                   const unsigned bits, const unsigned group)
{
    const uint32_t mask = ((uint32_t)1 << bits) - 1u;
    uint32_t pending = 0;
    uint32_t beyond = 0;
#pragma GCC unroll 32
    for (unsigned i = 0; i < group; i++) {
        const unsigned from = i * bits % 32u; /* where the field begins in its word */
        if (from == 0) {
            pending = *word++;
        }
        uint32_t field = pending >> from;
        if (from + bits > 32u) {
            pending = *word++;
            field |= pending << (32u - from);
        }
        field = from + bits == 32u ? field : field & mask;
        beyond |= q - 1u - field;
        next[i] = field;
    }
    if (beyond >> 31 == 0) {
        return next + group;
    }
    const uint32_t *field = next;
    for (unsigned i = 0; i < group; i++, field++) {
        *next = *field;
        next += *field < q;
    }
    return next;
}

int cmi_word32_uniform_cut(uint32_t *residues, uint32_t count, uint32_t *accepted, uint32_t bytes,
                           unsigned bits, uint32_t q, uint32_t *pending, uint8_t *pending_bits)
{
    uint32_t *next = residues;
    const uint32_t *const end = residues + count;
    const uint32_t *word = end - bytes / 4u;
    (void)pending;
    (void)pending_bits;
    if (bits == 20u) {
        for (; word < end; word += 5) {
            next = word32_cut_group(next, word, q, 20, 8);
        }
    } else if (bits == 26u) {
        for (; word < end; word += 13) {
            next = word32_cut_group(next, word, q, 26, 16);
        }
    } else {
        for (; word < end; word += 27) {
            next = word32_cut_group(next, word, q, 27, 32);
        }
    }
    *accepted = (uint32_t)(next - residues);
    return 1;
}

#endif
