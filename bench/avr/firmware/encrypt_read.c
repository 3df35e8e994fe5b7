/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A symmetric BFV encryption of n values that are read one by one: region 0. Frames are sent on UART 0 as
 * they are made, with tags if TAGGED; waits for it are not counted. On a host the same program writes to a
 * file, for comparison.
 *
 * A simulator may write to `bench` before main runs: with fixed seeds, only secrets differ between
 * encryptions.
 */
#include <string.h>

#include "ciphermote/ciphermote.h"
#include "scheme/seeds.h"
#include "workload.h"

#define N 1024
#define LOG2_TILES 3 /* on hosts too */
#define PLAIN_MODULUS 40961u
#ifndef TAGGED
#define TAGGED 0
#endif

typedef struct bench_inputs {
    uint16_t mask;       /* value i is i ^ mask, below t for any mask of 15 bits */
    uint8_t fixed;       /* whether the seeds below are used */
    uint8_t public_seed; /* its first byte; the rest is 0 */
    uint8_t secret_seed; /* the same */
} bench_inputs;

volatile bench_inputs bench = {0x2A55, 0, 0, 0};

static _Alignas(8) uint8_t arena[CM_BFV_READ_ARENA_BYTES(N, LOG2_TILES)];
static cm_frame_writer writer;
#if TAGGED
static cm_frame_sender sender;
#endif
static cm_device device;
static uint64_t counter;

static uint16_t read_value(void *context, uint16_t index)
{
    return index ^ *(const uint16_t *)context;
}

static int random_bytes(void *context, uint8_t *out, size_t length)
{
    (void)context;
    for (size_t i = 0; i < length; i++) {
        out[i] = (uint8_t)(37u * i + 1u);
    }
    return 0;
}

static int counter_read(void *context, uint64_t *value)
{
    (void)context;
    *value = counter;
    return 0;
}

static int counter_write(void *context, uint64_t value)
{
    (void)context;
    counter = value;
    return 0;
}

static int send(void *context, const uint8_t *bytes, size_t length)
{
    (void)context;
    board_send(bytes, length);
    return 0;
}

/* The linker's --wrap puts this in place of the library's own. */
#define __real_cmi_seeds_draw CM_SYMBOL(__real_cmi_seeds_draw)
#define __wrap_cmi_seeds_draw CM_SYMBOL(__wrap_cmi_seeds_draw)
cm_status __real_cmi_seeds_draw(cm_device *from, cmi_seeds *seeds);
cm_status __wrap_cmi_seeds_draw(cm_device *from, cmi_seeds *seeds);

cm_status __wrap_cmi_seeds_draw(cm_device *from, cmi_seeds *seeds)
{
    const cm_status status = __real_cmi_seeds_draw(from, seeds);
    if (bench.fixed) {
        memset(seeds->public_seed, 0, sizeof seeds->public_seed);
        memset(seeds->secret_seed, 0, sizeof seeds->secret_seed);
        seeds->public_seed[0] = bench.public_seed;
        seeds->secret_seed[0] = bench.secret_seed;
    }
    return status;
}

/* Out of line, so that its frame is not on the stack while values are encrypted. */
__attribute__((noinline)) static cm_status start_device(void)
{
    const cm_platform platform = {random_bytes, counter_read, counter_write, NULL};
    const uint8_t secret[CM_DEVICE_SECRET_BYTES] = {1, 2, 3};
    return cm_device_init(&device, secret, &platform);
}

/* On a host, the argument names the file to write. */
int main(int count, char **arguments)
{
    uint16_t mask = bench.mask;
    const cm_bfv_reader reader = {read_value, &mask, N, PLAIN_MODULUS, PLAIN_MODULUS - 1};
    const cm_secret_key key = {.params = &cm_n1024_q26,
                               .key_id = 1,
                               .ternary = (const uint8_t *)workload_transformed, /* not read */
                               .transformed = workload_transformed};
    board_start(count, arguments);
    cm_status status = start_device();
    cm_frame_writer_init(&writer, (cm_sink){.write = send});
#if TAGGED
    cm_frame_sender_init(&sender, workload_tag_key, WORKLOAD_DEVICE, WORKLOAD_EPOCH);
    cm_frame_writer_tag(&writer, &sender);
#endif
    board_mark_begin();
    if (status == CM_OK) {
        const cm_encryptor_setup setup = {.device = &device,
                                          .emitter = &writer.emitter,
                                          .arena = arena,
                                          .arena_bytes = sizeof arena,
                                          .xof = CM_XOF_CHACHA20,
                                          .log2_tiles = LOG2_TILES};
        status = cm_bfv_encrypt_read(&key, &setup, &reader);
    }
    board_mark_end();
    board_stop(status);
    return status;
}
