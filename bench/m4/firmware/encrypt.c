/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One encryption, measured: cycles from the input values to the last packed byte in the sink, and RAM, all of
 * which is static data and stack here. BENCH_ASYMMETRIC and BENCH_BFV choose the kind of key and the scheme;
 * with BENCH_TAGGED, frames have tags. The values are at the arena's start, where they are encoded in place.
 */
#include "board.h"
#include "mark.h"
#include "report.h"
#include "workload.h"

#ifndef BENCH_ASYMMETRIC
#define BENCH_ASYMMETRIC 0
#endif

#if BENCH_BFV && BENCH_ASYMMETRIC
#define ARENA_BYTES CM_BFV_ASYMMETRIC_ARENA_BYTES(WORKLOAD_N, CM_BFV_16, WORKLOAD_LOG2_TILES)
#elif BENCH_BFV
#define ARENA_BYTES CM_BFV_SYMMETRIC_ARENA_BYTES(WORKLOAD_N, CM_BFV_16, WORKLOAD_LOG2_TILES)
#elif BENCH_ASYMMETRIC
#define ARENA_BYTES \
    CM_CKKS_ASYMMETRIC_ARENA_BYTES(WORKLOAD_N, CM_SLOTS_REAL, WORKLOAD_PRECISION, WORKLOAD_LOG2_TILES)
#else
#define ARENA_BYTES \
    CM_CKKS_SYMMETRIC_ARENA_BYTES(WORKLOAD_N, CM_SLOTS_REAL, WORKLOAD_PRECISION, WORKLOAD_LOG2_TILES)
#endif

static _Alignas(8) uint8_t arena[ARENA_BYTES];
static workload_sink sink;
static cm_frame_writer writer;
static cm_device device;
#if BENCH_TAGGED
static cm_frame_sender sender;
#endif

static cm_status open_encryptor(cm_encryptor *encryptor)
{
    const cm_encryptor_setup setup = {.device = &device,
                                      .emitter = &writer.emitter,
                                      .arena = arena,
                                      .arena_bytes = sizeof arena,
                                      .xof = BENCH_ASYMMETRIC ? CM_XOF_NONE : WORKLOAD_XOF,
                                      .log2_tiles = WORKLOAD_LOG2_TILES};
#if BENCH_ASYMMETRIC
    static cm_public_key key;
    key = workload_public();
    return cm_encryptor_init_asymmetric(encryptor, &key, &setup);
#else
    static cm_secret_key key;
    key = workload_secret();
    return cm_encryptor_init_symmetric(encryptor, &key, &setup);
#endif
}

#if BENCH_BFV

static void make_values(void)
{
    workload_integers(arena, 1);
}

static cm_status encrypt(const cm_encryptor *encryptor)
{
    const cm_bfv_values values = workload_describe_integers(arena);
    return cm_bfv_encrypt(encryptor, &values);
}

#else

static void make_values(void)
{
    workload_values(arena, 1);
}

static cm_status encrypt(const cm_encryptor *encryptor)
{
    const cm_ckks_values values = workload_describe(arena);
    return cm_ckks_encrypt(encryptor, &values);
}

#endif

int main(void)
{
    stack_paint();
    if (workload_device(&device) != CM_OK) {
        return 1;
    }
    make_values();
    cm_frame_writer_init(&writer, workload_sink_open(&sink));
#if BENCH_TAGGED
    cm_frame_sender_init(&sender, workload_tag_key, WORKLOAD_DEVICE, WORKLOAD_EPOCH);
    cm_frame_writer_tag(&writer, &sender);
#endif
    MARK_BEGIN(0);
    cm_encryptor encryptor;
    cm_status status = open_encryptor(&encryptor);
    if (status == CM_OK) {
        status = encrypt(&encryptor);
    }
    MARK_END(0);
    report("status", (uint32_t)status);
    report("emitted", sink.received);
    report("arena", sizeof arena);
    report("static", (uint32_t)static_bytes());
    report("stack", (uint32_t)stack_used());
    return status == CM_OK ? 0 : 1;
}
