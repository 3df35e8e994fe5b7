/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A window of compact values: region 0, without its tag, which is paused, and the writes of the
 * counter, regions 1. A simulator writes keys to flash and `bench` to RAM before main runs, and takes packets
 * from board_take_packet's arguments.
 *
 * BENCH_VALUES: in the window. BENCH_SET: of how many primes and bits. BENCH_COUNTER_LOG: keep the counter in
 * EEPROM, as on Arduino.
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/pgmspace.h>
#include <avr/sleep.h>
#include <string.h>

#include "ciphermote/ciphermote.h"
#include "wire/tag.h"
#ifdef BENCH_COUNTER_LOG
#include "counter_log.h"
#endif

#define PACKET_BYTES CM_COMPACT_PACKET_BYTES(BENCH_VALUES, BENCH_WIRE_BITS)

typedef struct bench_inputs {
    uint32_t device;
    uint16_t epoch;
    uint16_t first;
    uint64_t counter;  /* of the first window */
    uint8_t random[8]; /* or the salt */
    uint8_t salted;    /* whether there is no random source */
    uint16_t values[BENCH_VALUES];
} bench_inputs;

volatile bench_inputs bench = {.device = 1};

const uint8_t bench_material[CM_COMPACT_MATERIAL_BYTES] PROGMEM = {1};
const uint8_t bench_ternary[CM_TERNARY_BYTES(1u << CM_CONFIG_MAX_LOG2_N)] PROGMEM = {1};

static _Alignas(8) uint8_t arena[CM_COMPACT_ARENA_BYTES(BENCH_PRIMES, BENCH_VALUES, PACKET_BYTES)];
static cm_compact_encryptor encryptor;
static cm_counter counter;
static cm_compact_key key;

/* ---- what is not counted ---- */

#define __real_cmi_tagger_init CM_SYMBOL(__real_cmi_tagger_init)
#define __wrap_cmi_tagger_init CM_SYMBOL(__wrap_cmi_tagger_init)
#define __real_cmi_stream_derive CM_SYMBOL(__real_cmi_stream_derive)
#define __wrap_cmi_stream_derive CM_SYMBOL(__wrap_cmi_stream_derive)
void __real_cmi_tagger_init(cmi_tagger *tagger, const uint8_t *r);
void __wrap_cmi_tagger_init(cmi_tagger *tagger, const uint8_t *r);
void __real_cmi_stream_derive(cmi_stream *stream, const uint8_t *key, const uint32_t position[4]);
void __wrap_cmi_stream_derive(cmi_stream *stream, const uint8_t *key, const uint32_t position[4]);

void __wrap_cmi_tagger_init(cmi_tagger *tagger, const uint8_t *r)
{
    GPIOR1 = 1;
    __real_cmi_tagger_init(tagger, r);
}

/* What a tag ends with; elsewhere, nothing is paused. */
void __wrap_cmi_stream_derive(cmi_stream *stream, const uint8_t *key, const uint32_t position[4])
{
    __real_cmi_stream_derive(stream, key, position);
    GPIOR1 = 0;
}

/* ---- the board ---- */

static int random_bytes(void *context, uint8_t *out, size_t length)
{
    (void)context;
    for (size_t i = 0; i < length; i++) {
        out[i] = bench.random[i];
    }
    return 0;
}

__attribute__((noinline)) int board_take_packet(void *context, const uint8_t *bytes, size_t length);

int board_take_packet(void *context, const uint8_t *bytes, size_t length)
{
    (void)context;
    (void)bytes;
    (void)length;
    return 0;
}

#ifdef BENCH_COUNTER_LOG

static cm_counter_log counter_place = {8, 32};

static int counter_read(void *context, uint64_t *value)
{
    return cm_counter_log_read(context, value);
}

static int counter_write(void *context, uint64_t value)
{
    GPIOR0 = 0x81;
    const int status = cm_counter_log_write(context, value);
    GPIOR0 = 1;
    return status;
}

#define COUNTER_CONTEXT &counter_place

#else

static int counter_read(void *context, uint64_t *value)
{
    (void)context;
    *value = bench.counter;
    return 0;
}

static int counter_write(void *context, uint64_t value)
{
    (void)context;
    bench.counter = value;
    return 0;
}

#define COUNTER_CONTEXT NULL

#endif

/* Out of line, so that its frame is not on the stack while values are encrypted. */
__attribute__((noinline)) static cm_status start(void)
{
    cm_platform platform = {random_bytes, counter_read, counter_write, COUNTER_CONTEXT};
    uint8_t salt[8];
    random_bytes(NULL, salt, sizeof salt);
    if (bench.salted) {
        platform.random = NULL;
    }
    key =
        (cm_compact_key){&BENCH_SET, bench_ternary, bench_material, bench.device, bench.epoch, BENCH_LARGEST};
    const cm_status status = cm_counter_init(&counter, &platform);
    const cm_compact_setup setup = {.counter = &counter,
                                    .sink = {.write = board_take_packet},
                                    .arena = arena,
                                    .arena_bytes = sizeof arena,
                                    .packet_bytes = PACKET_BYTES,
                                    .salt = salt};
    return status == CM_OK ? cm_compact_init(&encryptor, &key, &setup) : status;
}

int main(void)
{
#ifdef BENCH_COUNTER_LOG
    cm_counter_log_create(&counter_place);
#endif
    cm_status status = start();
    while (status == CM_OK) {
        uint64_t window = CM_NEW_WINDOW;
        GPIOR0 = 0x80;
        status = cm_compact_encrypt(&encryptor, (const uint16_t *)bench.values, bench.first, BENCH_VALUES,
                                    &window);
        GPIOR0 = 0;
    }
    GPIOR2 = (uint8_t)status;
    cli();
    sleep_enable();
    sleep_cpu();
}
