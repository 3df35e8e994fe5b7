/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A decryption of whatever comes, in both schemes, with and without the seed expander. Whatever goes wrong
 * must leave a wiped arena. Choices: scheme and expander, what is expected, tiles, lengths of pieces.
 */
#include "fuzz.h"

const size_t fuzz_choices = 4;

static cm_status feed(void *context, const uint8_t *bytes, size_t length)
{
    return cm_decryptor_feed((cm_decryptor *)context, bytes, length);
}

static bool wiped(const uint8_t *arena, size_t bytes)
{
    uint8_t any = 0;
    for (size_t i = 0; i < bytes; i++) {
        any |= arena[i];
    }
    return any == 0;
}

static cm_bfv_expected expected_bfv(const uint8_t *choices)
{
    static const cm_number numbers[] = {CM_INT16, CM_UINT16, CM_INT32, CM_UINT32};
    return (cm_bfv_expected){.encoding = choices[1] & 1 ? CM_BFV_BATCH : CM_BFV_COEFFICIENTS,
                             .number = numbers[choices[1] >> 1 & 3],
                             .sums = choices[1] & 8 ? CM_BFV_SUMS_24 : CM_BFV_SUMS_32,
                             .log2_tiles = (uint8_t)fuzz_choice(choices[2], 5),
                             .plain_modulus = FUZZ_T};
}

static cm_ckks_expected expected_ckks(const uint8_t *choices)
{
    return (cm_ckks_expected){.slots = choices[1] & 1 ? CM_SLOTS_REAL : CM_SLOTS_COMPLEX,
                              .precision = choices[1] & 2 ? CM_FIXED_31 : CM_FIXED_63,
                              .number = choices[1] & 4 ? CM_FLOAT32 : CM_INT32,
                              .exponent = (int16_t)((choices[1] >> 3) - 16),
                              .log2_tiles = (uint8_t)fuzz_choice(choices[2], 5),
                              .largest = FUZZ_LARGEST};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size <= fuzz_choices) {
        return 0;
    }
    const bool is_bfv = (data[0] & 1) != 0;
    const bool expands = (data[0] & 2) != 0;
    const cm_bfv_expected bfv = expected_bfv(data);
    const cm_ckks_expected ckks = expected_ckks(data);
    const size_t bytes =
        is_bfv ? CM_BFV_DECRYPT_ARENA_BYTES(FUZZ_N, (size_t)bfv.sums, bfv.log2_tiles)
               : CM_CKKS_DECRYPT_ARENA_BYTES(FUZZ_N, ckks.slots, ckks.precision, ckks.log2_tiles);
    uint8_t *arena = calloc(1, bytes);
    cm_seed_expander expander;
    cm_decryptor decryptor;
    cm_seed_expander_init(&expander);
    const cm_decryptor_setup setup = {
        .arena = arena, .arena_bytes = bytes, .expander = expands ? &expander : NULL};
    fuzz_expect(cm_decryptor_init(&decryptor, fuzz_key(), &setup) == CM_OK, "a decryptor is set up");
    cm_status status = is_bfv ? cm_bfv_expect(&decryptor, &bfv) : cm_ckks_expect(&decryptor, &ckks);
    if (status == CM_OK) {
        const cm_status fed =
            fuzz_pieces(data + fuzz_choices, size - fuzz_choices, data[3], feed, &decryptor);
        fuzz_expect(fed == CM_OK || wiped(arena, bytes), "a fault leaves a wiped arena");
        status = is_bfv ? cm_bfv_decrypt(&decryptor) : cm_ckks_decrypt(&decryptor);
        fuzz_expect(fed == CM_OK || status != CM_OK, "there is no answer after a fault");
        const cm_status again = is_bfv ? cm_bfv_decrypt(&decryptor) : cm_ckks_decrypt(&decryptor);
        fuzz_expect(again != CM_OK, "a decryption ends once");
    }
    fuzz_expect(status == CM_OK || wiped(arena, bytes), "an error leaves a wiped arena");
    free(arena);
    return 0;
}

void fuzz_first_inputs(fuzz_store store)
{
    static uint8_t bytes[1 << 15];
    static const struct {
        const char *name;
        cm_scheme scheme;
        cm_xof_kind xof;
        uint8_t log2_tiles;
        uint8_t choices;
    } kinds[] = {
        {"bfv", CM_BFV, CM_XOF_NONE, 1, 0x09},       {"ckks", CM_CKKS, CM_XOF_NONE, 2, 0x85},
        {"bfv-seed", CM_BFV, CM_XOF_CHACHA20, 0, 7}, {"ckks-seed", CM_CKKS, CM_XOF_BLAKE2XB, 0, 0x87},
        {"ckks-31", CM_CKKS, CM_XOF_NONE, 0, 0x86},  {"ckks-shake", CM_CKKS, CM_XOF_SHAKE256, 1, 0x80},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        bytes[0] = (uint8_t)((kinds[i].scheme == CM_BFV) | (kinds[i].xof != CM_XOF_NONE) << 1);
        bytes[1] = kinds[i].choices;
        bytes[2] = kinds[i].log2_tiles;
        bytes[3] = (uint8_t)i;
        store(kinds[i].name, bytes,
              fuzz_choices + fuzz_frames(bytes + fuzz_choices, sizeof bytes - fuzz_choices, fuzz_params(),
                                         kinds[i].scheme, kinds[i].xof, kinds[i].log2_tiles, 5));
    }
}
