/* SPDX-License-Identifier: Apache-2.0 */
/* The mutator of targets whose inputs are choices and a stream of frames. */
#include "common/bytes.h"
#include "fuzz.h"
#include "random/sample.h"

/* The length that the payload of a frame with these fields must have, if the fields can be valid at all. */
static uint32_t payload_bytes(const uint8_t *frame)
{
    if (frame[3] == CM_PAYLOAD_SEED) {
        return (uint32_t)cm_public_seed_bytes((cm_xof_kind)frame[36]);
    }
    const uint32_t q = fuzz_params()->primes[frame[38] % FUZZ_PRIMES].q;
    uint32_t bits = 0;
    while (q >> bits != 0) {
        bits++;
    }
    return ((uint32_t)FUZZ_N >> (frame[39] & 7u)) / 8u * bits;
}

enum { TAGGED_BYTES = CM_FRAME_TAGGED_HEADER_BYTES + CM_TAG_BYTES + CM_FRAME_CRC_BYTES };

/*
 * Give the frames in the stream, one after the other, a matching magic, length and checksum, but no tag. Some
 * are left alone.
 */
static void repair(uint8_t *bytes, size_t length, unsigned *seed)
{
    while (length > CM_FRAME_HEADER_BYTES + CM_FRAME_CRC_BYTES) {
        const bool spare = fuzz_chance(seed) % 64 == 0;
        const bool tagged = bytes[2] == CM_FRAME_TAGGED_VERSION && length > TAGGED_BYTES;
        if (!spare) {
            memcpy(bytes, "CM", 2);
            bytes[2] = tagged ? CM_FRAME_TAGGED_VERSION : CM_FRAME_VERSION;
            cmi_store32(bytes + 8, fuzz_params()->id);
            cmi_store32(bytes + 40, payload_bytes(bytes));
        }
        const size_t rest = tagged ? TAGGED_BYTES : CM_FRAME_HEADER_BYTES + CM_FRAME_CRC_BYTES;
        const size_t room = length - rest;
        const uint32_t claimed = cmi_load32(bytes + 40);
        const size_t covered = rest - CM_FRAME_CRC_BYTES + (claimed < room ? claimed : room);
        if (!spare) {
            cmi_store32(bytes + covered, cm_crc32c(0, bytes, covered));
        }
        bytes += covered + CM_FRAME_CRC_BYTES;
        length -= covered + CM_FRAME_CRC_BYTES;
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    if (size <= fuzz_choices) {
        return LLVMFuzzerMutate(data, size, max_size);
    }
    switch (fuzz_chance(&seed) % 4) {
    case 0:
        (void)LLVMFuzzerMutate(data, fuzz_choices, fuzz_choices);
        break;
    case 1: { /* the header of any frame: headers are short compared with what follows them */
        const size_t last = size - fuzz_choices;
        size_t at = 0;
        for (unsigned skip = fuzz_chance(&seed) % 8; skip > 0 && at + CM_FRAME_HEADER_BYTES < last; skip--) {
            const size_t frame = CM_FRAME_HEADER_BYTES + CM_FRAME_CRC_BYTES;
            const size_t next = at + frame + cmi_load32(data + fuzz_choices + at + 40) % (4u * FUZZ_N);
            at = next + CM_FRAME_HEADER_BYTES < last ? next : at;
        }
        const size_t head = last - at < CM_FRAME_HEADER_BYTES ? last - at : CM_FRAME_HEADER_BYTES;
        (void)LLVMFuzzerMutate(data + fuzz_choices + at, head, head);
        break;
    }
    default:
        size = fuzz_choices +
               LLVMFuzzerMutate(data + fuzz_choices, size - fuzz_choices, max_size - fuzz_choices);
    }
    if (fuzz_chance(&seed) % 8 != 0) {
        repair(data + fuzz_choices, size - fuzz_choices, &seed);
    }
    return size;
}
