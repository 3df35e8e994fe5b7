/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sensor node on an ATtiny85: takes NODE_VALUES readings, encrypts them as one window, sends its packets,
 * and begins again. A packet goes to the radio as its length and its bytes; a length of 0 and a status
 * (ciphermote/status.h) say why the node has stopped.
 *
 * 512 bytes of RAM are for everything: the variables here, and a stack that every change may deepen. Tests
 * measure it (tests/avr/test_attiny85.py).
 */
#include <avr/eeprom.h>
#include <avr/io.h>
#include <avr/sleep.h>

#include "board.h"
#include "ciphermote/compact.h"
#include "compact_keys.h"
#include "counter_log.h"

/* In a window, and the coefficient of the first. */
#ifndef NODE_VALUES
#define NODE_VALUES 16
#endif
#ifndef NODE_FIRST
#define NODE_FIRST 0
#endif
/* Past the last coefficient of all: windows take turns up to here, and the last of a round may be shorter. */
#ifndef NODE_END
#define NODE_END (NODE_FIRST + NODE_VALUES)
#endif
/* The most in a packet, which decides how many packets a window takes. */
#ifndef NODE_PACKET_BYTES
#define NODE_PACKET_BYTES 67
#endif
/* How many are computed at a time: the public seed is expanded once for each time. */
#ifndef NODE_AT_ONCE
#define NODE_AT_ONCE NODE_VALUES
#endif

#if CM_CONFIG_COMPACT_SET == CM_CONFIG_COMPACT_SET_A10
#define WIRE_BITS 16
#elif CM_CONFIG_COMPACT_SET == CM_CONFIG_COMPACT_SET_A16
#define WIRE_BITS 17
#elif CM_CONFIG_COMPACT_SET == CM_CONFIG_COMPACT_SET_B
#define WIRE_BITS 22
#elif CM_CONFIG_COMPACT_SET == CM_CONFIG_COMPACT_SET_L
#define WIRE_BITS 24
#else
#error "Name a set of one prime: CM_CONFIG_COMPACT_SET must be CM_CONFIG_COMPACT_SET_A10, _A16, _B or _L."
#endif

_Static_assert(NODE_END <= 255 && NODE_FIRST + NODE_VALUES <= NODE_END, "positions are bytes: at most 255");
_Static_assert(NODE_PACKET_BYTES <= 255, "a packet's length is a byte: at most 255");

/* Less RAM will do where one packet takes all that is computed at a time. */
#define ONE_PACKET (CM_COMPACT_PACKET_BYTES(NODE_AT_ONCE, WIRE_BITS) <= NODE_PACKET_BYTES)
#define ARENA_BYTES \
    (ONE_PACKET ? CM_COMPACT_ONE_PACKET_ARENA_BYTES(NODE_AT_ONCE, NODE_PACKET_BYTES) \
                : CM_COMPACT_ARENA_BYTES(1, NODE_AT_ONCE, NODE_PACKET_BYTES))

/* ---- EEPROM ---- */

#define LOG_START 8
#define LOG_SLOTS 32
#define CHECK_OF_0 0x9CDEA25Fu /* arduino/src/counter_log.c */

/* A counter that has never counted, for a new device: programmed with the flash, once (README.md). */
const struct node_eeprom {
    uint8_t unused[LOG_START];
    struct {
        uint32_t value;
        uint32_t check;
    } slots[LOG_SLOTS];
} node_eeprom EEMEM __attribute__((used)) = {
    .unused = {[0 ... LOG_START - 1] = 0xFF},
    .slots = {[0 ... LOG_SLOTS - 1] = {0, CHECK_OF_0}},
};

static cm_counter_log counter_log = {LOG_START, LOG_SLOTS};

/* ---- RAM ---- */

static uint16_t node_values[NODE_VALUES];
static cm_counter counter;
static cm_compact_encryptor encryptor;
/* Not cleared: at the start, its first bytes are the salt. */
static uint8_t arena[ARENA_BYTES] __attribute__((section(".noinit")));

#define SALT_BYTES 8

/*
 * The salt, before anything is written to RAM: all of it, as the power found it or the last run left it,
 * folded into the arena's first bytes. Straight-line start-up code, not a function.
 */
void node_salt(void) __attribute__((naked, used, section(".init3")));
void node_salt(void)
{
    uint8_t at = 0;
    for (const uint8_t *byte = (const uint8_t *)RAMSTART; byte <= (const uint8_t *)RAMEND; byte++) {
        const uint8_t old = arena[at];
        arena[at] = (uint8_t)((uint8_t)(old << 1 | old >> 7) ^ *byte);
        at = (uint8_t)(at + 1u) & (SALT_BYTES - 1u);
    }
}

/* ---- the node ---- */

static int send(void *context, const uint8_t *packet, size_t length)
{
    (void)context;
    board_send((uint8_t)length);
    for (uint8_t left = (uint8_t)length; left > 0; left--) {
        board_send(*packet++);
    }
    return 0;
}

/* Assigned one by one: a structure's initial value would take RAM of its own. */
static __attribute__((noinline)) cm_status start(void)
{
    cm_platform platform;
    platform.random = 0;
    platform.counter_read = cm_counter_log_read;
    platform.counter_write = cm_counter_log_write;
    platform.context = &counter_log;
    cm_compact_setup setup;
    setup.counter = &counter;
    setup.sink.write = send;
    setup.sink.context = 0;
    setup.arena = arena;
    setup.arena_bytes = sizeof arena;
    setup.packet_bytes = NODE_PACKET_BYTES;
    setup.salt = arena;
    const cm_status status = cm_counter_init(&counter, &platform);
    return status == CM_OK ? cm_compact_init(&encryptor, &cm_provisioned_compact_key, &setup) : status;
}

/* Nobody returns to its callers, so it saves no registers for them (OS_main); what it calls once is in it. */
int main(void) __attribute__((OS_main, flatten));
int main(void)
{
    cm_status status = start();
    uint8_t first = NODE_FIRST;
    while (status == CM_OK) {
        const uint8_t left = (uint8_t)(NODE_END - first);
        const uint8_t count = left < NODE_VALUES ? left : NODE_VALUES;
        for (uint8_t i = 0; i < count; i++) {
            node_values[i] = board_reading();
        }
        uint64_t window = CM_NEW_WINDOW;
        board_mark(0x80 | 1);
        status = cm_compact_encrypt(&encryptor, node_values, first, count, &window);
        board_mark(1);
        first = count < left ? (uint8_t)(first + count) : NODE_FIRST;
    }
    board_send(0);
    board_send((uint8_t)status);
    for (;;) {
        sleep_mode();
    }
}
