/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encryptions as a program for Linux, for cores whose instructions QEMU counts in user mode: linux_cores.py.
 *
 *     encrypt COUNT    prepare, and encrypt COUNT times, 1 or 2: what the second adds is one encryption
 *     encrypt send     encrypt once, and write the frames to standard output
 */
#include <stdio.h>
#include <string.h>

#include "workload.h"

#if BENCH_ASYMMETRIC
#define ARENA_BYTES \
    CM_CKKS_ASYMMETRIC_ARENA_BYTES(WORKLOAD_N, CM_SLOTS_REAL, WORKLOAD_PRECISION, WORKLOAD_LOG2_TILES)
#else
#define ARENA_BYTES \
    CM_CKKS_SYMMETRIC_ARENA_BYTES(WORKLOAD_N, CM_SLOTS_REAL, WORKLOAD_PRECISION, WORKLOAD_LOG2_TILES)
#endif
#ifndef RUNS
#define RUNS 2
#endif

/* One for each encryption, for the values are encoded in place. */
static _Alignas(8) uint8_t arenas[RUNS][(ARENA_BYTES + 7u) / 8u * 8u];
static cm_frame_writer writer;
static cm_device device;

static int send(void *file, const uint8_t *bytes, size_t length)
{
    return fwrite(bytes, 1, length, file) == length ? 0 : -1;
}

static cm_status encrypt(uint8_t *arena)
{
    const cm_encryptor_setup setup = {.device = &device,
                                      .emitter = &writer.emitter,
                                      .arena = arena,
                                      .arena_bytes = sizeof arenas[0],
                                      .xof = BENCH_ASYMMETRIC ? CM_XOF_NONE : WORKLOAD_XOF,
                                      .log2_tiles = WORKLOAD_LOG2_TILES};
    const cm_ckks_values values = workload_describe(arena);
    cm_encryptor encryptor;
#if BENCH_ASYMMETRIC
    const cm_public_key key = workload_public();
    const cm_status status = cm_encryptor_init_asymmetric(&encryptor, &key, &setup);
#else
    const cm_secret_key key = workload_secret();
    const cm_status status = cm_encryptor_init_symmetric(&encryptor, &key, &setup);
#endif
    return status == CM_OK ? cm_ckks_encrypt(&encryptor, &values) : status;
}

int main(int count, char **arguments)
{
    static workload_sink sink;
    const int sends = count == 2 && strcmp(arguments[1], "send") == 0;
    const int runs = count == 2 && strcmp(arguments[1], "2") == 0 ? RUNS : 1;
    for (unsigned i = 0; i < RUNS; i++) {
        workload_values(arenas[i], 1);
    }
    cm_status status = workload_device(&device);
    for (int i = 0; i < runs && status == CM_OK; i++) {
        cm_frame_writer_init(&writer, sends ? (cm_sink){send, stdout} : workload_sink_open(&sink));
        status = encrypt(arenas[i]);
    }
    return status == CM_OK && fflush(stdout) == 0 ? 0 : 1;
}
