/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decryption, on the simulated Cortex-M4, of what another library encrypted: reads a request and frames from
 * the file "request" (test_decryption.py writes it), and writes a status and the values to the file "values".
 */
#include "board.h"
#include "ciphermote/ciphermote.h"

/* As test_decryption.py packs it: 32-bit words, the low half of the key id first. The secret and the frames
   follow. */
typedef struct request {
    uint32_t parameters; /* a cm_params id */
    uint32_t key_id[2];
    uint32_t plain_modulus; /* 0: CKKS */
    uint32_t form;          /* a cm_bfv_encoding or a cm_slots */
    uint32_t number;        /* a cm_number */
    uint32_t width;         /* a cm_bfv_sums or a cm_precision */
    uint32_t log2_tiles;
    uint32_t frame_bytes;
} request;

#define LARGEST_N ((size_t)1 << CM_CONFIG_MAX_LOG2_N)
#define LARGER(a, b) ((a) > (b) ? (a) : (b))

static _Alignas(
    8) uint8_t arena[LARGER(CM_CKKS_DECRYPT_ARENA_BYTES(LARGEST_N, CM_SLOTS_COMPLEX, CM_FIXED_63, 0),
                            CM_BFV_DECRYPT_ARENA_BYTES(LARGEST_N, CM_BFV_SUMS_32, 0))];
static uint8_t ternary[LARGEST_N / 4];

static cm_status expect(cm_decryptor *decryptor, const request *wanted)
{
    if (wanted->plain_modulus > 0) {
        const cm_bfv_expected expected = {.encoding = (cm_bfv_encoding)wanted->form,
                                          .number = (cm_number)wanted->number,
                                          .sums = (cm_bfv_sums)wanted->width,
                                          .log2_tiles = (uint8_t)wanted->log2_tiles,
                                          .plain_modulus = wanted->plain_modulus};
        return cm_bfv_expect(decryptor, &expected);
    }
    const cm_ckks_expected expected = {.slots = (cm_slots)wanted->form,
                                       .precision = (cm_precision)wanted->width,
                                       .number = (cm_number)wanted->number,
                                       .exponent = 0,
                                       .log2_tiles = (uint8_t)wanted->log2_tiles,
                                       .largest = 2};
    return cm_ckks_expect(decryptor, &expected);
}

static cm_status feed(cm_decryptor *decryptor, int32_t file, uint32_t frame_bytes)
{
    uint8_t piece[100];
    cm_status status = CM_OK;
    while (frame_bytes > 0 && status == CM_OK) {
        const uint32_t length = frame_bytes < sizeof piece ? frame_bytes : (uint32_t)sizeof piece;
        status =
            host_read(file, piece, length) ? cm_decryptor_feed(decryptor, piece, length) : CM_ERR_FRAME_SHORT;
        frame_bytes -= length;
    }
    return status;
}

static cm_status decrypt(const cm_params *params, const request *wanted, int32_t file)
{
    cm_decryptor decryptor;
    const cm_decryptor_setup setup = {.arena = arena, .arena_bytes = sizeof arena};
    const uint64_t key_id = (uint64_t)wanted->key_id[1] << 32 | wanted->key_id[0];
    const cm_secret_key key = {.params = params, .key_id = key_id, .ternary = ternary};
    cm_status status = cm_decryptor_init(&decryptor, &key, &setup);
    if (status == CM_OK) {
        status = expect(&decryptor, wanted);
    }
    if (status == CM_OK) {
        status = feed(&decryptor, file, wanted->frame_bytes);
    }
    if (status == CM_OK) {
        status = wanted->plain_modulus > 0 ? cm_bfv_decrypt(&decryptor) : cm_ckks_decrypt(&decryptor);
    }
    return status;
}

/* Bytes of the values: n integers, n/2 real slots or n/2 complex ones. */
static size_t value_bytes(const cm_params *params, const request *wanted)
{
    const size_t n = (size_t)1 << params->log2_n;
    if (wanted->plain_modulus > 0) {
        return n * (wanted->number == CM_INT16 || wanted->number == CM_UINT16 ? 2u : 4u);
    }
    return n / 2 * (wanted->form == CM_SLOTS_COMPLEX ? 8u : 4u);
}

int main(void)
{
    request wanted;
    const int32_t in = host_open("request", HOST_READ);
    if (in < 0 || !host_read(in, (uint8_t *)&wanted, sizeof wanted)) {
        return 2;
    }
    const cm_params *params = cm_params_by_id(wanted.parameters);
    if (!params || !host_read(in, ternary, ((size_t)1 << params->log2_n) / 4)) {
        return 3;
    }
    const uint32_t status = (uint32_t)decrypt(params, &wanted, in);
    const int32_t out = host_open("values", HOST_WRITE);
    const bool written = out >= 0 && host_write(out, (const uint8_t *)&status, sizeof status) &&
                         host_write(out, arena, value_bytes(params, &wanted)) && host_close(out);
    return written ? 0 : 4;
}
