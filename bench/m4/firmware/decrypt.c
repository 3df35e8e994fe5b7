/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One decryption, measured: cycles from the first byte of the frames to the values, and RAM, all of which is
 * static data and stack here. BENCH_BFV chooses the scheme. Region 0 reads the frames, region 1 turns the
 * sums into values. A transport fills a buffer with WORKLOAD_PIECE_BYTES at a time: that is its own work, and
 * is not counted.
 */
#include <string.h>

#include "board.h"
#include "mark.h"
#include "report.h"
#include "workload.h"

#if BENCH_BFV
#define ARENA_BYTES CM_BFV_DECRYPT_ARENA_BYTES(WORKLOAD_N, WORKLOAD_SUMS, WORKLOAD_LOG2_FRAME_TILES)
#define VALUES_BYTES (2u * WORKLOAD_N)
#define STREAM workload_bfv_frames
#define STREAM_BYTES workload_bfv_frames_bytes
#else
#define ARENA_BYTES \
    CM_CKKS_DECRYPT_ARENA_BYTES(WORKLOAD_N, CM_SLOTS_REAL, WORKLOAD_PRECISION, WORKLOAD_LOG2_FRAME_TILES)
#define VALUES_BYTES (4u * WORKLOAD_VALUES)
#define STREAM workload_ckks_frames
#define STREAM_BYTES workload_ckks_frames_bytes
#endif

static _Alignas(8) uint8_t arena[ARENA_BYTES];
static _Alignas(4) uint8_t piece[WORKLOAD_PIECE_BYTES];
static cm_decryptor decryptor;

static cm_status expect(void)
{
#if BENCH_BFV
    const cm_bfv_expected expected = {.encoding = CM_BFV_BATCH,
                                      .number = CM_UINT16,
                                      .sums = WORKLOAD_SUMS,
                                      .log2_tiles = WORKLOAD_LOG2_FRAME_TILES,
                                      .plain_modulus = WORKLOAD_T};
    return cm_bfv_expect(&decryptor, &expected);
#else
    const cm_ckks_expected expected = {.slots = CM_SLOTS_REAL,
                                       .precision = WORKLOAD_PRECISION,
                                       .number = CM_FLOAT32,
                                       .log2_tiles = WORKLOAD_LOG2_FRAME_TILES,
                                       .largest = 1};
    return cm_ckks_expect(&decryptor, &expected);
#endif
}

static cm_status end(void)
{
#if BENCH_BFV
    return cm_bfv_decrypt(&decryptor);
#else
    return cm_ckks_decrypt(&decryptor);
#endif
}

static cm_status decrypt(const cm_secret_key *key)
{
    const cm_decryptor_setup setup = {.arena = arena, .arena_bytes = sizeof arena};
    MARK_BEGIN(0);
    cm_status status = cm_decryptor_init(&decryptor, key, &setup);
    if (status == CM_OK) {
        status = expect();
    }
    MARK_END(0);
    for (size_t at = 0; at < STREAM_BYTES && status == CM_OK; at += sizeof piece) {
        const size_t length = STREAM_BYTES - at < sizeof piece ? STREAM_BYTES - at : sizeof piece;
        memcpy(piece, STREAM + at, length);
        MARK_BEGIN(0);
        status = cm_decryptor_feed(&decryptor, piece, length);
        MARK_END(0);
    }
    if (status != CM_OK) {
        return status;
    }
    MARK_BEGIN(1);
    status = end();
    MARK_END(1);
    return status;
}

int main(void)
{
    const cm_secret_key key = workload_secret();
    stack_paint();
    const cm_status status = decrypt(&key);
    report("stack", (uint32_t)stack_used());
    report("status", (uint32_t)status);
    report("arena", sizeof arena);
    report("static", (uint32_t)static_bytes());
    report("received", STREAM_BYTES);
    report("values_crc", cm_crc32c(0, arena, VALUES_BYTES));
    return status == CM_OK ? 0 : 1;
}
