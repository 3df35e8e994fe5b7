/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receipts: an input is taken for one of an attempt that it may name itself. The mutator tags most inputs, or
 * nothing behind the tag would be reached.
 */
#include "ciphermote/receipt.h"

#include "common/bytes.h"
#include "fuzz.h"
#include "wire/tag.h"

const size_t fuzz_choices = 0;

static const uint8_t key[CM_TAG_KEY_BYTES] = {1, 2, 3, [32] = 4};

static void tag_receipt(uint8_t bytes[CM_RECEIPT_BYTES])
{
    cmi_tagger tagger;
    cmi_stream stream;
    uint32_t position[4];
    cmi_tagger_begin(&tagger, key);
    cmi_tagger_update(&tagger, bytes, CM_RECEIPT_BYTES - CM_TAG_BYTES);
    cmi_tagger_finish(&tagger, position);
    cmi_stream_derive(&stream, key, position);
    memcpy(bytes + CM_RECEIPT_BYTES - CM_TAG_BYTES, stream.block, CM_TAG_BYTES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cm_attempt sent = {0};
    if (size >= 32) {
        sent = (cm_attempt){.window = cmi_load64(data + 8),
                            .counter = cmi_load64(data + 16),
                            .tags = cmi_load64(data + 24),
                            .device = cmi_load32(data + 4),
                            .epoch = (uint16_t)cmi_load32(data + 2)};
    }
    uint8_t *bytes = malloc(size);
    memcpy(bytes, data, size);
    cm_verdict verdict = CM_VERDICT_COUNTED;
    const cm_status status = cm_receipt_check(bytes, size, key, &sent, &verdict);
    fuzz_expect((status == CM_OK) == (verdict != CM_VERDICT_NONE), "only a receipt gives a verdict");
    fuzz_expect(status != CM_ERR_FRAME_FOREIGN, "a receipt is of the attempt that it names");
    if (status == CM_OK) {
        fuzz_expect(verdict <= CM_VERDICT_TOO_OLD && (cm_verdict)data[1] == verdict, "verdicts are known");
        sent.counter++;
        fuzz_expect(cm_receipt_check(bytes, size, key, &sent, &verdict) == CM_ERR_FRAME_FOREIGN,
                    "a receipt is of no other attempt");
    }
    free(bytes);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    size = LLVMFuzzerMutate(data, size, max_size);
    if (max_size >= CM_RECEIPT_BYTES && fuzz_chance(&seed) % 4 != 0) {
        for (; size < CM_RECEIPT_BYTES; size++) {
            data[size] = 0;
        }
        size = CM_RECEIPT_BYTES;
        data[0] = 0x22;
        tag_receipt(data);
    }
    return size;
}

void fuzz_first_inputs(fuzz_store store)
{
    uint8_t receipt[CM_RECEIPT_BYTES] = {0x22, 1, 2, 3, 4};
    tag_receipt(receipt);
    store("receipt", receipt, sizeof receipt);
    store("short", receipt, sizeof receipt - 1);
}
