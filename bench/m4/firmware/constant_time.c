/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encryptions that differ in every secret and in nothing public: the runner checks that all take the same
 * instructions and cycles. Region 0 is symmetric, region 1 asymmetric encryption into frames. Frames have
 * check sums, computed by tables that the ciphertext indexes, which is public; regions 2 and 3 leave the
 * frames out, and there no address may differ either.
 */
#include "report.h"
#include "secrets.h"

static _Alignas(8) uint8_t
    arena[CM_CKKS_ASYMMETRIC_ARENA_BYTES(WORKLOAD_N, CM_SLOTS_REAL, WORKLOAD_PRECISION, WORKLOAD_LOG2_TILES)];
static workload_sink sink;
static cm_frame_writer writer;
static cm_device device;

static cm_status prepare(uint32_t run, bool framed)
{
    const cm_status status = secrets_draw(run);
    secrets_values(arena, run);
    cm_frame_writer_init(&writer, workload_sink_open(&sink));
    if (!framed) {
        writer.emitter.residues = discard_residues;
    }
    return status;
}

static cm_encryptor_setup setup_of(cm_xof_kind xof)
{
    return (cm_encryptor_setup){.device = &device,
                                .emitter = &writer.emitter,
                                .arena = arena,
                                .arena_bytes = sizeof arena,
                                .xof = xof,
                                .log2_tiles = WORKLOAD_LOG2_TILES};
}

static cm_status encrypt(const cm_encryptor *encryptor)
{
    const cm_ckks_values values = workload_describe(arena);
    return cm_ckks_encrypt(encryptor, &values);
}

static cm_status encrypt_symmetric(void)
{
    const cm_secret_key key = secrets_key();
    const cm_encryptor_setup setup = setup_of(WORKLOAD_XOF);
    cm_encryptor encryptor;
    const cm_status status = cm_encryptor_init_symmetric(&encryptor, &key, &setup);
    return status == CM_OK ? encrypt(&encryptor) : status;
}

static cm_status encrypt_asymmetric(void)
{
    const cm_public_key key = workload_public();
    const cm_encryptor_setup setup = setup_of(CM_XOF_NONE);
    cm_encryptor encryptor;
    const cm_status status = cm_encryptor_init_asymmetric(&encryptor, &key, &setup);
    return status == CM_OK ? encrypt(&encryptor) : status;
}

int main(void)
{
    if (workload_device(&device) != CM_OK) {
        return 1;
    }
    for (uint32_t run = 0; run < RUNS; run++) {
        MEASURE(0, prepare(run, true), encrypt_symmetric());
        MEASURE(1, prepare(run, true), encrypt_asymmetric());
        MEASURE(2, prepare(run, false), encrypt_symmetric());
        MEASURE(3, prepare(run, false), encrypt_asymmetric());
    }
    report("runs", RUNS);
    return 0;
}
