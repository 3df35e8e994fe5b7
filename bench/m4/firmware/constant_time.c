/*
 * Encryptions that differ in every secret and in nothing public: the runner checks that all take the same
 * instructions and cycles. Region 0 is symmetric, region 1 asymmetric encryption into frames. Frames have
 * check sums, computed by tables that the ciphertext indexes, which is public; regions 2 and 3 leave the
 * frames out, and there no address may differ either.
 *
 * The public seed steers the uniform sampler's rejections, in public, so it has to stay the same while the
 * noise changes. The linker wraps cm_seeds_draw (--wrap) for that: the derivation still takes place, from
 * secrets of its own for each run, and then the public seed is set.
 */
#include <string.h>

#include "mark.h"
#include "random/xof.h"
#include "report.h"
#include "scheme/seeds.h"
#include "workload.h"

#define RUNS 104u
#define STREAM_OF_SECRETS 0u
#define STREAM_OF_VALUES 1u

cm_status __wrap_cm_seeds_draw(cm_device *device, cm_seeds *seeds);

/* What one run keeps secret. */
typedef struct secrets {
    uint8_t device[CM_DEVICE_SECRET_BYTES];
    uint8_t randomness[32];
    uint8_t key[CM_SEED_BYTES];
} secrets;

static secrets current;
static uint8_t ternary[CM_TERNARY_BYTES(WORKLOAD_N)];
#if CM_TRANSFORMED_SECRET
static uint32_t transformed[WORKLOAD_PRIMES][WORKLOAD_N];
#endif
static _Alignas(8) uint8_t arena[CM_CKKS_ASYMMETRIC_ARENA_BYTES(WORKLOAD_N, CM_REAL, WORKLOAD_PRECISION)];
static workload_sink sink;
static cm_frame_writer writer;
static cm_device device;

cm_status __wrap_cm_seeds_draw(cm_device *unused, cm_seeds *seeds)
{
    (void)unused;
    cm_seeds_derive(current.device, current.randomness, 0, seeds);
    memset(seeds->public_seed, 0x5A, sizeof seeds->public_seed);
    return CM_OK;
}

static void draw(uint8_t *out, size_t length, uint32_t run, uint32_t purpose)
{
    static const uint8_t test_key[32] = {1};
    const uint32_t nonce[3] = {run, purpose, 0};
    cm_stream stream;
    cm_stream_init(&stream, test_key, nonce);
    cm_stream_read(&stream, out, length);
}

/* The first runs encrypt the ends of the range; the others values of any sign and size, subnormal too. */
static void draw_values(uint32_t run)
{
    static const uint32_t ends[4] = {0x00000000u, 0x40FFFFFFu, 0xC0FFFFFFu, 0x80000001u};
    draw(arena, 4u * WORKLOAD_VALUES, run, STREAM_OF_VALUES);
    for (uint32_t i = 0; i < WORKLOAD_VALUES; i++) {
        uint32_t bits;
        memcpy(&bits, arena + 4u * i, sizeof bits);
        if (run < 4) {
            bits = ends[run];
        } else if ((bits >> 23 & 0xFFu) > 129u) { /* 8 and more: as much smaller */
            bits -= 0x80u << 23;
        }
        memcpy(arena + 4u * i, &bits, sizeof bits);
    }
}

static cm_status discard_residues(cm_emitter *self, unsigned component, unsigned prime, unsigned tile,
                                  const uint32_t *residues)
{
    (void)self;
    (void)component;
    (void)prime;
    (void)tile;
    (void)residues;
    return CM_OK;
}

static cm_status make_key(void)
{
    cm_status status = cm_secret_key_generate(&WORKLOAD_PARAMS, current.key, ternary);
#if CM_TRANSFORMED_SECRET
    for (unsigned i = 0; i < WORKLOAD_PRIMES && status == CM_OK; i++) {
        status = cm_secret_key_transform(&WORKLOAD_PARAMS, ternary, i, transformed[i]);
    }
#endif
    return status;
}

static cm_status prepare(uint32_t run, bool framed)
{
    draw((uint8_t *)&current, sizeof current, run, STREAM_OF_SECRETS);
    draw_values(run);
    cm_frame_writer_init(&writer, workload_sink_open(&sink));
    if (!framed) {
        writer.emitter.residues = discard_residues;
    }
    return make_key();
}

static cm_status encrypt_symmetric(void)
{
    const cm_secret_key key = {
        .params = &WORKLOAD_PARAMS,
        .ternary = ternary,
#if CM_TRANSFORMED_SECRET
        .transformed = &transformed[0][0],
#endif
    };
    const cm_ckks_values values = workload_describe(arena);
    return cm_ckks_encrypt_symmetric(&device, &key, WORKLOAD_XOF, &values, arena, sizeof arena,
                                     &writer.emitter);
}

static cm_status encrypt_asymmetric(void)
{
    const cm_public_key key = workload_public();
    const cm_ckks_values values = workload_describe(arena);
    return cm_ckks_encrypt_asymmetric(&device, &key, &values, arena, sizeof arena, &writer.emitter);
}

#define MEASURE(region, encryption) \
    do { \
        if (prepare(run, (region) < 2) != CM_OK) { \
            return 1; \
        } \
        MARK_BEGIN(region); \
        const cm_status status = encryption(); \
        MARK_END(region); \
        if (status != CM_OK) { \
            return 1; \
        } \
    } while (0)

int main(void)
{
    if (workload_device(&device) != CM_OK) {
        return 1;
    }
    for (uint32_t run = 0; run < RUNS; run++) {
        MEASURE(0, encrypt_symmetric);
        MEASURE(1, encrypt_asymmetric);
        MEASURE(2, encrypt_symmetric);
        MEASURE(3, encrypt_asymmetric);
    }
    report("runs", RUNS);
    return 0;
}
