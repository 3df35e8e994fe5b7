/*
 * A symmetric BFV encryption of values that are read one by one, on an ATmega: region 0. Frames leave on UART 0 as they are
 * made; waits for it are not counted. The same file runs on a host, into standard output, to be compared with.
 */
#include <string.h>

#include "ciphermote/ciphermote.h"
#include "workload.h"

#define N 1024

static _Alignas(8) uint8_t arena[CM_BFV_READ_ARENA_BYTES(N)];
static cm_frame_writer writer;
static cm_device device;
static uint64_t counter;

static uint16_t read_value(void *context, uint16_t index)
{
    (void)context;
    return index ^ 0x2A55u;
}

static int random_bytes(void *context, uint8_t *out, size_t length)
{
    (void)context;
    for (size_t i = 0; i < length; i++) {
        out[i] = (uint8_t)(37u * i + WORKLOAD_SEED);
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

/* Out of line: what it needs is not on the stack while it encrypts. */
__attribute__((noinline)) static void start_device(void)
{
    const cm_platform platform = {random_bytes, counter_read, counter_write, NULL};
    const uint8_t secret[CM_DEVICE_SECRET_BYTES] = {1, 2, 3};
    if (cm_device_init(&device, secret, &platform) != CM_OK) {
        board_stop(CM_ERR_ARGUMENT);
    }
}

int main(void)
{
    static const cm_bfv_reader reader = {read_value, NULL, N, 40961};
    const cm_secret_key key = {.params = &cm_n1024_q26,
                               .ternary = (const uint8_t *)workload_transformed,
                               .transformed = workload_transformed};
    board_start();
    start_device();
    cm_frame_writer_init(&writer, (cm_sink){.write = send});
    board_mark_begin();
    const cm_status status = cm_bfv_encrypt_symmetric_read(&device, &key, CM_CHACHA20, &reader, arena,
                                                           sizeof arena, &writer.emitter);
    board_mark_end();
    board_stop(status);
    return status;
}
