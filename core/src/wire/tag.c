/* SPDX-License-Identifier: Apache-2.0 */
/* The tag of a frame. No time here depends on anything but lengths. */
#include "wire/tag.h"

#include <string.h>

#include "arch/backends.h"
#include "common/bytes.h"
#include "common/compiler.h"
#include "common/declassify.h"
#include "common/provisioned.h"
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

/* sum = the lower words of h + x; returns its upper one, which is at most 5: h is below 2^130 + 2^32. */
CM_NOINLINE static uint8_t add_to_hash(uint32_t sum[4], const uint32_t h[5], uint8_t x)
{
#ifdef __AVR__ /* byte by byte, which takes little code */
    uint8_t carry = x;
    for (uint8_t i = 0; i < 16; i++) {
        const uint16_t added = (uint16_t)(((const uint8_t *)h)[i] + carry);
        ((uint8_t *)sum)[i] = (uint8_t)added;
        carry = (uint8_t)(added >> 8);
    }
    return (uint8_t)((uint8_t)h[4] + carry);
#else
    uint32_t carry = x;
    for (unsigned i = 0; i < 4; i++) {
        const uint64_t added = (uint64_t)h[i] + carry;
        sum[i] = (uint32_t)added;
        carry = cmi_upper_word(added);
    }
    return (uint8_t)(h[4] + carry);
#endif
}

/* The number below 2^130 - 5, less its bits from 2^128 on: h + 5 reaches 2^130 if h is not below 2^130 - 5.
   Then top is 4, otherwise less, and 5 or 0 is added. */
static void reduce_hash(uint32_t reduced[4], const uint32_t h[5])
{
    const uint32_t top = add_to_hash(reduced, h, 5);
    add_to_hash(reduced, h, (uint8_t)((top & 4u) | top >> 2));
}

static void absorb(uint32_t h[5], const uint32_t r[4], const uint8_t *bytes, size_t blocks, uint32_t top)
{
    if (CM_ARCH_TRY(poly1305_blocks, h, r, bytes, blocks, top)) {
        return;
    }
    for (; blocks > 0; blocks--, bytes += CM_POLY1305_BLOCK_BYTES) {
        absorb_block(h, r, bytes, top);
    }
}

static void load_clamped(uint32_t r[4], const uint8_t bytes[16])
{
    cmi_load_words(r, bytes, 4);
    r[0] &= 0x0FFFFFFFu;
    for (unsigned i = 1; i < 4; i++) {
        r[i] &= 0x0FFFFFFCu;
    }
}

void cmi_tagger_init(cmi_tagger *tagger, const uint8_t r[16])
{
    load_clamped(tagger->r, r);
    memset(tagger->h, 0, sizeof tagger->h);
    tagger->filled = 0;
}

void cmi_tagger_start(cmi_tagger *tagger, const uint8_t *bytes, size_t length)
{
    const size_t rest = length % CM_POLY1305_BLOCK_BYTES;
    absorb(tagger->h, tagger->r, bytes, length / CM_POLY1305_BLOCK_BYTES, 1);
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
        absorb(tagger->h, tagger->r, tagger->block, 1, 1);
    }
    cmi_tagger_start(tagger, bytes, length);
}

/* The last bytes, and a 1 behind them. */
static void pad_block(uint8_t block[CM_POLY1305_BLOCK_BYTES], size_t filled)
{
    memset(block + filled, 0, CM_POLY1305_BLOCK_BYTES - filled);
    block[filled] = 1;
}

void cmi_tagger_finish(cmi_tagger *tagger, uint32_t position[4])
{
    if (tagger->filled > 0) {
        pad_block(tagger->block, tagger->filled);
        absorb(tagger->h, tagger->r, tagger->block, 1, 0);
    }
    reduce_hash(position, tagger->h);
}

bool cmi_tag_key_usable(const uint8_t *key)
{
#ifdef __AVR__
    return key; /* its sketches have no flash left for a look at what was compiled in */
#else
    return key && cmi_flash_filled_in(key, 32) && cmi_flash_filled_in(key + 32, CM_TAG_KEY_BYTES - 32);
#endif
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
    cmi_wipe(position, sizeof position); /* the message's hash under r: r follows from it */
    cmi_wipe(&stream, sizeof stream);
    cmi_wipe_stack();
    return cmi_declassified(difference != 0) ? CM_ERR_FRAME_TAG : CM_OK;
}

cm_status cmi_tag_verify(const uint8_t *message, size_t length, const uint8_t *more, size_t more_length,
                         const uint8_t *key, const uint8_t tag[CM_TAG_BYTES])
{
    cmi_tagger tagger;
    if (!cmi_tag_key_usable(key)) {
        return CM_ERR_ARGUMENT;
    }
    cmi_tagger_begin(&tagger, key);
    cmi_tagger_update(&tagger, message, length);
    cmi_tagger_update(&tagger, more, more_length);
    return cmi_tagger_verify(&tagger, key, tag);
}

/* ---- full frames ---- */

/* The payload's last bytes, where they are no whole blocks. Out of line, to keep its block off the stack. */
CM_NOINLINE static void absorb_last(cm_frame_sender *self, const uint8_t *bytes, size_t length)
{
    const size_t rest = length % CM_POLY1305_BLOCK_BYTES;
    uint8_t block[CM_POLY1305_BLOCK_BYTES];
    absorb(self->state.hash, self->state.factor, bytes, length / CM_POLY1305_BLOCK_BYTES, 1);
    memcpy(block, bytes + (length - rest), rest);
    pad_block(block, rest);
    absorb(self->state.hash, self->state.factor, block, 1, 0);
}

/* On AVR all are: a tile is an eighth, at least 128 residues. */
#ifdef __AVR__
#define WHOLE_BLOCKS 1
#else
#define WHOLE_BLOCKS 0
#endif

static void absorb_frame(cm_frame_sender *self, const uint8_t *bytes, size_t length)
{
    if (!WHOLE_BLOCKS && length % CM_POLY1305_BLOCK_BYTES > 0) {
        absorb_last(self, bytes, length);
        return;
    }
    absorb(self->state.hash, self->state.factor, bytes, length / CM_POLY1305_BLOCK_BYTES, 1);
}

_Static_assert(CM_TAG_WORDS == CM_CHACHA20_INPUT_WORDS, "of which the tag becomes the first");

static void add_to_tags(uint64_t *tags, const uint8_t tag[CM_TAG_BYTES])
{
#ifdef __AVR__ /* byte by byte, which takes little code */
    uint16_t sum = 0;
    for (uint8_t i = 0; i < CM_TAG_BYTES; i++) {
        sum = (uint16_t)((sum >> 8) + ((uint8_t *)tags)[i] + tag[i]);
        ((uint8_t *)tags)[i] = (uint8_t)sum;
    }
#else
    *tags += cmi_load64(tag);
#endif
}

/* Begin a tag: no frame that failed has left anything. Or end it, in words. */
static void turn_tag(cm_frame_sender *self, uint32_t *words)
{
    uint8_t block[CM_CHACHA20_BLOCK_BYTES];
    if (words) {
        reduce_hash(words + CM_CHACHA20_COUNTER, self->state.hash);
        cmi_chacha20_derive(block, words, self->tag_key);
        cmi_declassify(block, CM_TAG_BYTES); /* it is sent */
        add_to_tags(&self->tags, block);
        cmi_wipe(words, CM_TAG_WORDS * sizeof *words);
        memcpy(words, block, CM_TAG_BYTES);
    }
    cmi_wipe(&self->state, sizeof self->state);
    if (!words) {
        cmi_flash_copy(block, self->tag_key + 32, CM_TAG_KEY_BYTES - 32);
        load_clamped(self->state.factor, block);
    }
    cmi_wipe(block, sizeof block);
}

void cm_frame_sender_init(cm_frame_sender *sender, const uint8_t *tag_key, uint32_t device, uint16_t epoch)
{
    memset(sender, 0, sizeof *sender);
    sender->window = CM_NEW_WINDOW;
    sender->tag_key = tag_key;
    sender->device = device;
    sender->epoch = epoch;
    sender->absorb = absorb_frame;
    sender->turn = cmi_tag_key_usable(tag_key) ? turn_tag : NULL; /* without it, nothing is sent */
}
