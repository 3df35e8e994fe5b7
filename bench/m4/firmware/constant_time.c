/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encryptions that differ in every secret and in nothing public: the runner checks that all take the same
 * instructions and cycles. Region 0 is symmetric, region 1 asymmetric encryption into frames. Frames have
 * checksums, computed with tables that the ciphertext, which is public, indexes; regions 2 and 3 leave the
 * frames out, and there no address may differ either. Region 4 is symmetric encryption into frames with tags.
 */
#include "encryptions.h"
#include "report.h"
#include "secrets.h"

static _Alignas(8) uint8_t
    arena[CM_CKKS_ASYMMETRIC_ARENA_BYTES(WORKLOAD_N, CM_SLOTS_REAL, WORKLOAD_PRECISION, WORKLOAD_LOG2_TILES)];

static cm_status encrypt(const cm_encryptor *encryptor)
{
    const cm_ckks_values values = workload_describe(arena);
    return cm_ckks_encrypt(encryptor, &values);
}

static cm_status prepare_tagged(const encryptions *of, uint32_t run)
{
    const cm_status status = encryptions_prepare(of, run, true);
    encryptions_tag();
    return status;
}

int main(void)
{
    static const encryptions ckks = {arena, sizeof arena, secrets_values, encrypt};
    if (encryptions_start() != CM_OK) {
        return 1;
    }
    for (uint32_t run = 0; run < RUNS; run++) {
        MEASURE(0, encryptions_prepare(&ckks, run, true), encryptions_symmetric(&ckks));
        MEASURE(1, encryptions_prepare(&ckks, run, true), encryptions_asymmetric(&ckks));
        MEASURE(2, encryptions_prepare(&ckks, run, false), encryptions_symmetric(&ckks));
        MEASURE(3, encryptions_prepare(&ckks, run, false), encryptions_asymmetric(&ckks));
        MEASURE(4, prepare_tagged(&ckks, run), encryptions_symmetric(&ckks));
    }
    report("runs", RUNS);
    return 0;
}
