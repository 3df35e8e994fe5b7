/* SPDX-License-Identifier: Apache-2.0 */
/* Receipts: a pinned one, and which are told apart from the one that is awaited. */
#include "ciphermote/receipt.h"

#include <string.h>

#include "check.h"
#include "common/bytes.h"
#include "wire/tag.h"

static uint8_t receipt_key[CM_TAG_KEY_BYTES];
static uint8_t receipt[CM_RECEIPT_BYTES];
static const cm_attempt sent = {.window = 0x1112131415161718u,
                                .counter = 0x2122232425262728u,
                                .tags = 0x3132333435363738u,
                                .device = 0x41424344u,
                                .epoch = 0x5152u};

/* The tag of the bytes before it, as a gateway makes it. */
static void seal(uint8_t bytes[CM_RECEIPT_BYTES])
{
    cmi_tagger tagger;
    cmi_stream stream;
    uint32_t position[4];
    cmi_tagger_begin(&tagger, receipt_key);
    cmi_tagger_update(&tagger, bytes, 32);
    cmi_tagger_finish(&tagger, position);
    cmi_stream_derive(&stream, receipt_key, position);
    memcpy(bytes + 32, stream.block, CM_TAG_BYTES);
}

static void make_receipt(uint8_t verdict)
{
    for (unsigned i = 0; i < sizeof receipt_key; i++) {
        receipt_key[i] = (uint8_t)(3u * i + 1u);
    }
    receipt[0] = 0x22;
    receipt[1] = verdict;
    receipt[2] = (uint8_t)sent.epoch;
    receipt[3] = (uint8_t)(sent.epoch >> 8);
    cmi_store32(receipt + 4, sent.device);
    cmi_store64(receipt + 8, sent.window);
    cmi_store64(receipt + 16, sent.counter);
    cmi_store64(receipt + 24, sent.tags);
    seal(receipt);
}

static cm_status check_receipt(cm_verdict *verdict)
{
    *verdict = CM_VERDICT_COUNTED;
    return cm_receipt_check(receipt, sizeof receipt, receipt_key, &sent, verdict);
}

/* The golden model's (golden/compact.py). */
static void a_receipt_is_as_pinned(void)
{
    make_receipt(1);
    CHECK_HEX(receipt, "2201525144434241181716151413121128272625242322213837363534333231");
    CHECK_HEX(receipt + 32, "999b4b8f0cdf0b07");
}

static void each_verdict_is_told(void)
{
    cm_verdict verdict;
    for (unsigned i = CM_VERDICT_COUNTED; i <= CM_VERDICT_TOO_OLD; i++) {
        make_receipt((uint8_t)i);
        CHECK(check_receipt(&verdict) == CM_OK && verdict == (cm_verdict)i);
    }
    const uint8_t unknown[] = {0, 4, 255};
    for (unsigned i = 0; i < sizeof unknown; i++) {
        make_receipt(unknown[i]);
        CHECK(check_receipt(&verdict) == CM_ERR_FRAME_FIELD && verdict == CM_VERDICT_NONE);
    }
}

/* Each bit but those of the kind is covered by the tag. */
static void an_altered_receipt_is_forged(void)
{
    cm_verdict verdict;
    make_receipt(1);
    for (unsigned bit = 0; bit < 8 * sizeof receipt; bit++) {
        receipt[bit / 8] = (uint8_t)(receipt[bit / 8] ^ 1u << bit % 8);
        const cm_status expected = bit < 8 ? CM_ERR_FRAME_VERSION : CM_ERR_FRAME_TAG;
        CHECK(check_receipt(&verdict) == expected && verdict == CM_VERDICT_NONE);
        receipt[bit / 8] = (uint8_t)(receipt[bit / 8] ^ 1u << bit % 8);
    }
    for (unsigned i = 0; i < sizeof receipt_key; i++) {
        receipt_key[i] ^= 0x04u; /* of r, clamping leaves this bit of every byte */
        CHECK(check_receipt(&verdict) == CM_ERR_FRAME_TAG);
        receipt_key[i] ^= 0x04u;
    }
    CHECK(check_receipt(&verdict) == CM_OK);
}

/* Anyone can tag under a key of zeros, or of erased flash. */
static void a_receipt_key_that_was_never_filled_in_is_refused(void)
{
    cm_verdict verdict;
    for (unsigned part = 0; part < 2; part++) {
        for (unsigned byte = 0; byte < 256; byte += 255) {
            make_receipt(1);
            memset(receipt_key + 32 * part, (int)byte, part == 0 ? 32 : 16);
            seal(receipt);
            CHECK(check_receipt(&verdict) == CM_ERR_ARGUMENT && verdict == CM_VERDICT_NONE);
        }
    }
}

/* The gateway's own, with the right tag: not forged, but not of what was sent. */
static void a_receipt_of_another_attempt_is_no_forgery(void)
{
    cm_verdict verdict;
    for (unsigned at = 2; at < 32; at++) {
        make_receipt(1);
        receipt[at] ^= 1;
        seal(receipt);
        CHECK(check_receipt(&verdict) == CM_ERR_FRAME_FOREIGN && verdict == CM_VERDICT_NONE);
    }
}

static void only_whole_receipts_are_checked(void)
{
    uint8_t longer[CM_RECEIPT_BYTES + 1] = {0};
    cm_verdict verdict = CM_VERDICT_COUNTED;
    make_receipt(1);
    memcpy(longer, receipt, sizeof receipt);
    for (size_t length = 0; length < sizeof receipt; length++) {
        CHECK(cm_receipt_check(receipt, length, receipt_key, &sent, &verdict) == CM_ERR_FRAME_SHORT);
    }
    CHECK(cm_receipt_check(longer, sizeof longer, receipt_key, &sent, &verdict) == CM_ERR_FRAME_FIELD);
    CHECK(verdict == CM_VERDICT_NONE);
    CHECK(cm_receipt_check(NULL, sizeof receipt, receipt_key, &sent, &verdict) == CM_ERR_ARGUMENT);
    CHECK(cm_receipt_check(receipt, sizeof receipt, NULL, &sent, &verdict) == CM_ERR_ARGUMENT);
    CHECK(cm_receipt_check(receipt, sizeof receipt, receipt_key, NULL, &verdict) == CM_ERR_ARGUMENT);
    CHECK(cm_receipt_check(receipt, sizeof receipt, receipt_key, &sent, NULL) == CM_ERR_ARGUMENT);
}

static void tags_add_up_in_any_order(void)
{
    uint8_t tags[2][CM_TAG_BYTES] = {{1, 2, 3, 4, 5, 6, 7, 8}};
    uint64_t sum = 0, again = 0;
    memset(tags[1], 0xFF, sizeof tags[1]);
    cm_tags_add(&sum, tags[0]);
    CHECK(sum == 0x0807060504030201u);
    cm_tags_add(&sum, tags[1]);
    CHECK(sum == 0x0807060504030200u);
    cm_tags_add(&again, tags[1]);
    cm_tags_add(&again, tags[0]);
    CHECK(sum == again);
}

void test_receipt(void)
{
    RUN(a_receipt_is_as_pinned);
    RUN(each_verdict_is_told);
    RUN(an_altered_receipt_is_forged);
    RUN(a_receipt_key_that_was_never_filled_in_is_refused);
    RUN(a_receipt_of_another_attempt_is_no_forgery);
    RUN(only_whole_receipts_are_checked);
    RUN(tags_add_up_in_any_order);
}
