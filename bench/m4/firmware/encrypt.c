/*
 * One encryption, measured: cycles from the input values to the last packed byte in the sink, and RAM, all
 * of which is static data and stack here. BENCH_ASYMMETRIC and BENCH_BFV choose the kind of key and the scheme.
 * The values lie at the arena's start, where they are encoded in place.
 */
#include "board.h"
#include "mark.h"
#include "report.h"
#include "workload.h"

#if BENCH_BFV && BENCH_ASYMMETRIC
#define ARENA_BYTES CM_BFV_ASYMMETRIC_ARENA_BYTES(WORKLOAD_N, CM_BFV_16)
#elif BENCH_BFV
#define ARENA_BYTES CM_BFV_SYMMETRIC_ARENA_BYTES(WORKLOAD_N, CM_BFV_16)
#elif BENCH_ASYMMETRIC
#define ARENA_BYTES CM_CKKS_ASYMMETRIC_ARENA_BYTES(WORKLOAD_N, CM_SLOTS_REAL, WORKLOAD_PRECISION)
#else
#define ARENA_BYTES CM_CKKS_SYMMETRIC_ARENA_BYTES(WORKLOAD_N, CM_SLOTS_REAL, WORKLOAD_PRECISION)
#endif

static _Alignas(8) uint8_t arena[ARENA_BYTES];
static workload_sink sink;
static cm_frame_writer writer;
static cm_device device;

#if BENCH_BFV

static void make_values(void)
{
    workload_integers(arena, 1);
}

static cm_status encrypt(cm_emitter *emitter)
{
    const cm_bfv_values values = workload_describe_integers(arena);
#if BENCH_ASYMMETRIC
    const cm_public_key key = workload_public();
    return cm_bfv_encrypt_asymmetric(&device, &key, &values, CM_DOMAIN_NTT, arena, sizeof arena, emitter);
#else
    const cm_secret_key key = workload_secret();
    return cm_bfv_encrypt_symmetric(&device, &key, WORKLOAD_XOF, &values, CM_DOMAIN_NTT, arena, sizeof arena,
                                    emitter);
#endif
}

#else

static void make_values(void)
{
    workload_values(arena, 1);
}

static cm_status encrypt(cm_emitter *emitter)
{
    const cm_ckks_values values = workload_describe(arena);
#if BENCH_ASYMMETRIC
    const cm_public_key key = workload_public();
    return cm_ckks_encrypt_asymmetric(&device, &key, &values, arena, sizeof arena, emitter);
#else
    const cm_secret_key key = workload_secret();
    return cm_ckks_encrypt_symmetric(&device, &key, WORKLOAD_XOF, &values, arena, sizeof arena, emitter);
#endif
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
    MARK_BEGIN(0);
    const cm_status status = encrypt(&writer.emitter);
    MARK_END(0);
    report("status", (uint32_t)status);
    report("emitted", sink.received);
    report("arena", sizeof arena);
    report("static", (uint32_t)static_bytes());
    report("stack", (uint32_t)stack_used());
    return status == CM_OK ? 0 : 1;
}
