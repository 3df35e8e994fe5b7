/*
 * One encryption, measured: cycles from the input values to the last packed byte in the sink, and RAM, all
 * of which is static data and stack here. BENCH_ASYMMETRIC chooses the kind of key. The values lie at the
 * arena's start, where they are encoded in place.
 */
#include "board.h"
#include "mark.h"
#include "report.h"
#include "workload.h"

#if BENCH_ASYMMETRIC
#define ARENA_BYTES CM_CKKS_ASYMMETRIC_ARENA_BYTES(WORKLOAD_N, CM_REAL, WORKLOAD_PRECISION)
#else
#define ARENA_BYTES CM_CKKS_SYMMETRIC_ARENA_BYTES(WORKLOAD_N, CM_REAL, WORKLOAD_PRECISION)
#endif

static _Alignas(8) uint8_t arena[ARENA_BYTES];
static workload_sink sink;
static cm_frame_writer writer;
static cm_device device;

static cm_status encrypt(const cm_ckks_values *values, cm_emitter *emitter)
{
#if BENCH_ASYMMETRIC
    const cm_public_key key = workload_public();
    return cm_ckks_encrypt_asymmetric(&device, &key, values, arena, sizeof arena, emitter);
#else
    const cm_secret_key key = {
        .params = &WORKLOAD_PARAMS,
        .ternary = workload_ternary,
#if CM_TRANSFORMED_SECRET
        .transformed = &workload_transformed[0][0],
#endif
    };
    return cm_ckks_encrypt_symmetric(&device, &key, WORKLOAD_XOF, values, arena, sizeof arena, emitter);
#endif
}

int main(void)
{
    stack_paint();
    if (workload_device(&device) != CM_OK) {
        return 1;
    }
    workload_values(arena, 1);
    const cm_ckks_values values = workload_describe(arena);
    cm_frame_writer_init(&writer, workload_sink_open(&sink));
    MARK_BEGIN(0);
    const cm_status status = encrypt(&values, &writer.emitter);
    MARK_END(0);
    report("status", (uint32_t)status);
    report("emitted", sink.received);
    report("arena", sizeof arena);
    report("static", (uint32_t)static_bytes());
    report("stack", (uint32_t)stack_used());
    return status == CM_OK ? 0 : 1;
}
