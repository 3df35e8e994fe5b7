/* SPDX-License-Identifier: Apache-2.0 */
/* The build with the client engine: its bus is the chip's registers and transfers. */
#include "board.h"
#include "ciphermote/keygen.h"
#include "client_engine.h"
#include "client_registers.h"
#include "console.h"

static client_engine engine;
#define WORDS CLIENT_WORDS(APP_N, APP_PRIMES)
static BOARD_NOT_CLEARED uint32_t frame_words[WORDS];
#if APP_DECRYPTS
#if APP_COPIES
static BOARD_NOT_CLEARED uint32_t gathered_words[WORDS];
#else
#ifndef APP_PIECES
#define APP_PIECES 64
#endif
static client_piece pieces[APP_PIECES];
#endif
#endif
/* A sensor's key decrypts nothing: no command, of whatever firmware, gets a message out of it, or the key. */
#if APP_DECRYPTS
#define POLICY (CLIENT_ENCRYPTS | CLIENT_DECRYPTS)
#else
#define POLICY CLIENT_ENCRYPTS
#endif
#define MOST_CYCLES 10000000u /* no job takes longer */

static uint32_t read_register(void *context, uint32_t offset)
{
    (void)context;
    return *(volatile uint32_t *)(BOARD_ENGINE + offset);
}

static void write_register(void *context, uint32_t offset, uint32_t value)
{
    (void)context;
#if APP_LOSES_A_SETTING /* a test's broken bus: the engine then refuses every encryption */
    if (offset == CM_CLIENT_SETTINGS_OFFSET + 4u * CM_CLIENT_MAP_LARGEST) {
        return;
    }
#endif
    *(volatile uint32_t *)(BOARD_ENGINE + offset) = value;
}

static void send_to(uint32_t to, const void *values, uint32_t count, cm_number number)
{
    const bool is_signed = number == CM_INT16 || number == CM_INT32;
    const bool halves = number == CM_INT16 || number == CM_UINT16;
    board_order();
    BOARD_TO = to;
    BOARD_ADDRESS = (uint32_t)(uintptr_t)values;
    BOARD_SEND = count | (halves ? BOARD_SEND_HALVES : 0u) | (is_signed ? BOARD_SEND_SIGNED : 0u);
}

static void send(void *context, const void *values, uint32_t count, cm_number number)
{
    (void)context;
    send_to(BOARD_TO_MESSAGE, values, count, number);
}

static void write_all(void *context, uint32_t offset, const void *values, uint32_t count, cm_number number)
{
    (void)context;
    send_to(BOARD_TO_ENGINE(offset), values, count, number);
    while (BOARD_SEND) {
    }
}

_Static_assert(sizeof(client_piece) == 8, "as transfers read it: an address and a length");

static void send_frames(void *context, const client_piece *list, uint32_t count)
{
    (void)context;
    board_order();
    BOARD_TO = BOARD_TO_FRAMES;
    BOARD_ADDRESS = (uint32_t)(uintptr_t)list;
    BOARD_SEND = count | BOARD_SEND_PIECES;
}

static void receive(void *context, uint32_t *words, uint32_t count, uint32_t modulus)
{
    (void)context;
    BOARD_MODULUS = modulus;
    BOARD_ADDRESS = (uint32_t)(uintptr_t)words;
    BOARD_RECEIVE = count;
}

static bool sending(void *context)
{
    (void)context;
    return BOARD_SEND != 0;
}

static uint32_t received(void *context)
{
    (void)context;
    const uint32_t count = BOARD_RECEIVE;
    board_order();
    return count;
}

static void clear(void *context, uint32_t *words, uint32_t count)
{
    (void)context;
    board_order();
    BOARD_ADDRESS = (uint32_t)(uintptr_t)words;
    BOARD_CLEAR = count;
}

static bool clearing(void *context)
{
    (void)context;
    const bool busy = BOARD_CLEAR != 0;
    board_order();
    return busy;
}

static bool wait(void *context)
{
    (void)context;
    return board_wait(MOST_CYCLES) & BOARD_ENGINE_IRQ;
}

client_engine *client_engine_for(const cm_params *params)
{
    (void)params; /* the engine says what it serves */
    return &engine;
}

int board_start(const cm_params *params)
{
    static const client_bus bus = {.read = read_register,
                                   .write = write_register,
                                   .write_all = write_all,
                                   .send = send,
                                   .send_frames = send_frames,
                                   .receive = receive,
                                   .sending = sending,
                                   .received = received,
                                   .clear = clear,
                                   .clearing = clearing,
                                   .wait = wait,
                                   .centres = true};
    cm_status status = client_engine_open_for(&engine, &bus, POLICY, frame_words, WORDS, params);
#if APP_DECRYPTS
    if (status == CM_OK) {
#if APP_COPIES
        status = client_engine_gather(&engine, gathered_words, WORDS);
#else
        status = client_engine_gather_in_place(&engine, pieces, sizeof pieces / sizeof pieces[0]);
#endif
    }
#endif
    return status == CM_OK;
}

void board_hold(const uint8_t *device_secret, const cm_secret_key *key, uint32_t plain_modulus)
{
    (void)client_engine_hold(&engine, device_secret, key,
                             plain_modulus); /* or else the encryption says what is wrong */
}

cm_status board_make_secret_key(cm_device *device, const cm_params *params, uint8_t *ternary,
                                uint64_t *key_id)
{
    const cm_status status = client_engine_make_keys(&engine, NULL, NULL);
    return status == CM_OK ? cm_device_make_secret_key(device, params, ternary, key_id) : status;
}

void board_report(void)
{
    if (client_engine_failures(&engine) != 0) {
        console_say("failures", client_engine_failures(&engine));
    }
    if (client_engine_in_software(&engine) != 0) {
        console_say("in_software", client_engine_in_software(&engine));
    }
}
