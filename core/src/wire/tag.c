/* SPDX-License-Identifier: Apache-2.0 */
/* The tag of a frame. No time here depends on anything but lengths. */
#include "wire/tag.h"

#include <string.h>

#include "arch/backends.h"
#include "common/bytes.h"
#include "common/compiler.h"
#include "common/declassify.h"
#include "common/flash.h"
#include "common/masks.h"
#include "common/wipe.h"
#include "ring/product.h"

/*
 * h = (h + block + top 2^128) r modulo 2^130 - 5, in words of 32 bits; top is 1 for a whole block.
 *
 * r is clamped: its words are below 2^28, and all but the first are multiples of 4. So modulo 2^130 - 5,
 * 2^128 r_i is 5 (r_i / 4) for i > 0, and 5 floor(r_0 / 4) + 2^128 (r_0 mod 4) for r_0: folded_i is below
 * 2^28.4. h is below 2^130 + 2^32, so the last word of h + block is below 8. Each sum is of four products
 * below 2^60.4, one below 2^31.4 and a carry below 2^32: below 2^63. The last carry is below 2^31, and what
 * it adds on top of 2^130 below 2^29, five times of which is a word.
 */
static void absorb_block(uint32_t h[5], const uint32_t r[4], const uint8_t block[CM_POLY1305_BLOCK_BYTES],
                         uint32_t top)
{
    uint32_t s[4], folded[4];
    uint64_t carry = 0;
    for (unsigned i = 0; i < 4; i++) {
        carry = cmi_upper_word(carry) + (uint64_t)h[i] + cmi_load32(block + 4 * i);
        s[i] = (uint32_t)carry;
        folded[i] = (r[i] >> 2) * 5u;
    }
    const uint32_t last = h[4] + cmi_upper_word(carry) + top;
    carry = 0;
    for (unsigned i = 0; i < 4; i++) {
        carry = cmi_upper_word(carry) + cmi_product(last, folded[i]);
        for (unsigned j = 0; j < 4; j++) {
            carry += cmi_product(s[j], j <= i ? r[i - j] : folded[4 + i - j]);
        }
        h[i] = (uint32_t)carry;
    }
    const uint32_t high = cmi_upper_word(carry) + last * (r[0] & 3u);
    carry = (uint64_t)((high >> 2) * 5u) << 32;
    for (unsigned i = 0; i < 4; i++) {
        carry = cmi_upper_word(carry) + (uint64_t)h[i];
        h[i] = (uint32_t)carry;
    }
    h[4] = (high & 3u) + cmi_upper_word(carry);
}

/* sum = the lower words of h + x; returns its upper one. */
CM_NOINLINE static uint32_t add_to_hash(uint32_t sum[4], const uint32_t h[5], uint32_t x)
{
#ifdef __AVR__ /* byte by byte, which takes little code; x is small */
    uint8_t carry = (uint8_t)x;
    for (uint8_t i = 0; i < 16; i++) {
        const uint16_t added = (uint16_t)(((const uint8_t *)h)[i] + carry);
        ((uint8_t *)sum)[i] = (uint8_t)added;
        carry = (uint8_t)(added >> 8);
    }
    return h[4] + carry;
#else
    for (unsigned i = 0; i < 4; i++) {
        const uint64_t carry = (uint64_t)h[i] + x;
        sum[i] = (uint32_t)carry;
        x = cmi_upper_word(carry);
    }
    return h[4] + x;
#endif
}

/* The number below 2^130 - 5, less its bits from 2^128 on, for h below twice that: h + 5 reaches 2^130 if h
   is not below 2^130 - 5. */
static void reduce_hash(uint32_t reduced[4], const uint32_t h[5])
{
    const uint32_t top = add_to_hash(reduced, h, 5);
    add_to_hash(reduced, h, 5u & ~cmi_mask_of_zero(top >> 2));
}

static void absorb(cmi_tagger *tagger, const uint8_t *bytes, size_t blocks, uint32_t top)
{
    if (CM_ARCH_TRY(poly1305_blocks, tagger->h, tagger->r, bytes, blocks, top)) {
        return;
    }
    for (; blocks > 0; blocks--, bytes += CM_POLY1305_BLOCK_BYTES) {
        absorb_block(tagger->h, tagger->r, bytes, top);
    }
}

void cmi_tagger_init(cmi_tagger *tagger, const uint8_t r[16])
{
    cmi_load_words(tagger->r, r, 4);
    tagger->r[0] &= 0x0FFFFFFFu;
    for (unsigned i = 1; i < 4; i++) {
        tagger->r[i] &= 0x0FFFFFFCu;
    }
    memset(tagger->h, 0, sizeof tagger->h);
    tagger->filled = 0;
    tagger->begun = true;
}

void cmi_tagger_start(cmi_tagger *tagger, const uint8_t *bytes, size_t length)
{
    const size_t rest = length % CM_POLY1305_BLOCK_BYTES;
    absorb(tagger, bytes, length / CM_POLY1305_BLOCK_BYTES, 1);
    memcpy(tagger->block, bytes + (length - rest), rest);
    tagger->filled = (uint8_t)rest;
}

void cmi_tagger_update(cmi_tagger *tagger, const uint8_t *bytes, size_t length)
{
    if (length == 0) {
        return;
    }
    if (tagger->filled > 0) {
        const size_t room = (size_t)CM_POLY1305_BLOCK_BYTES - tagger->filled;
        const size_t step = length < room ? length : room;
        memcpy(tagger->block + tagger->filled, bytes, step);
        tagger->filled = (uint8_t)(tagger->filled + step);
        bytes += step;
        length -= step;
        if (tagger->filled < CM_POLY1305_BLOCK_BYTES) {
            return;
        }
        absorb(tagger, tagger->block, 1, 1);
    }
    cmi_tagger_start(tagger, bytes, length);
}

void cmi_tagger_finish(cmi_tagger *tagger, uint32_t position[4])
{
    if (tagger->filled > 0) { /* the last bytes, and a 1 behind them */
        memset(tagger->block + tagger->filled, 0, (size_t)CM_POLY1305_BLOCK_BYTES - tagger->filled);
        tagger->block[tagger->filled] = 1;
        absorb(tagger, tagger->block, 1, 0);
    }
    reduce_hash(position, tagger->h);
}

void cmi_tagger_begin(cmi_tagger *tagger, const uint8_t *key)
{
    cmi_flash_copy(tagger->block, key + 32, sizeof tagger->block);
    cmi_tagger_init(tagger, tagger->block);
}

cm_status cmi_tagger_verify(cmi_tagger *tagger, const uint8_t *key, const uint8_t tag[CM_TAG_BYTES])
{
    cmi_stream stream;
    uint32_t position[4];
    cmi_tagger_finish(tagger, position);
    cmi_stream_derive(&stream, key, position);
    uint8_t difference = 0;
    for (unsigned i = 0; i < CM_TAG_BYTES; i++) {
        difference |= stream.block[i] ^ tag[i];
    }
    cmi_wipe(tagger, sizeof *tagger);
    cmi_wipe(&stream, sizeof stream);
    cmi_wipe_stack();
    return cmi_declassified(difference != 0) ? CM_ERR_FRAME_TAG : CM_OK;
}

cm_status cmi_tag_verify(const uint8_t *message, size_t length, const uint8_t *more, size_t more_length,
                         const uint8_t *key, const uint8_t tag[CM_TAG_BYTES])
{
    cmi_tagger tagger;
    cmi_tagger_begin(&tagger, key);
    cmi_tagger_update(&tagger, message, length);
    cmi_tagger_update(&tagger, more, more_length);
    return cmi_tagger_verify(&tagger, key, tag);
}

/* ---- full frames ---- */

_Static_assert(sizeof(cmi_tagger) <= sizeof((cm_frame_sender *)0)->state, "state has room for a tag so far");

/* Starts where the frame does. */
static void absorb_frame(cm_frame_sender *self, const uint8_t *bytes, size_t length)
{
    cmi_tagger *tagger = (cmi_tagger *)(void *)self->state;
    if (!tagger->begun) {
        uint8_t r[16];
        cmi_flash_copy(r, self->tag_key + 32, sizeof r);
        cmi_tagger_init(tagger, r);
        cmi_wipe(r, sizeof r);
    }
    cmi_tagger_update(tagger, bytes, length);
}

static void close_tag(cm_frame_sender *self, uint8_t tag[CM_TAG_BYTES])
{
    cmi_stream stream;
    uint32_t position[4];
    cmi_tagger_finish((cmi_tagger *)(void *)self->state, position);
    cmi_stream_derive(&stream, self->tag_key, position);
    memcpy(tag, stream.block, CM_TAG_BYTES);
    cmi_declassify(tag, CM_TAG_BYTES); /* it is sent */
    cmi_wipe(&stream, sizeof stream);
    cmi_wipe(self->state, sizeof self->state);
}

void cm_frame_sender_init(cm_frame_sender *sender, const uint8_t *tag_key, uint32_t device, uint16_t epoch)
{
    memset(sender, 0, sizeof *sender);
    sender->window = CM_NEW_WINDOW;
    sender->tag_key = tag_key;
    sender->device = device;
    sender->epoch = epoch;
    sender->absorb = absorb_frame;
    sender->close = close_tag;
}
