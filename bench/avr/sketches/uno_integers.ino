/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An Arduino Uno encrypts n = 1024 integers over and over (region 0), as a sketch does: the core's timer
 * ticks, and Serial has its interrupt and buffers. The start is region 2.
 *
 * A simulator writes the values' mask to `mask`, and the counter to the EEPROM.
 */
#include <Ciphermote.h>

#include "provisioned_keys.h"

#ifndef BIT_RATE
#define BIT_RATE 115200
#endif
#ifndef TAGGED
#define TAGGED 0
#endif

volatile uint16_t mask __attribute__((used)) = 0x2A55; /* value i is i ^ mask; of 15 bits */

alignas(8) static uint8_t arena[CIPHERMOTE_INTEGERS_ARENA_BYTES(CM_PROVISIONED_N)];
static Ciphermote ciphermote(arena, sizeof arena);

#if TAGGED
static const uint8_t tag_key[CM_TAG_KEY_BYTES] PROGMEM = {
    0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x0E, 0x0F,
    0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1A, 0x1B, 0x1C, 0x1D, 0x1E, 0x1F,
    0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28, 0x29, 0x2A, 0x2B, 0x2C, 0x2D, 0x2E, 0x2F};
static cm_frame_sender sender;
#define SENDER (&sender)
#else
#define SENDER nullptr
#endif

static uint16_t value(void *, uint16_t index)
{
    return index ^ mask;
}

void setup()
{
    Serial.begin(BIT_RATE);
    GPIOR0 = 0x82;
    const cm_status status = ciphermote.begin(cm_provisioned_device_secret);
    GPIOR0 = 2;
    GPIOR2 = status;
#if TAGGED
    cm_frame_sender_init(SENDER, tag_key, 77, 3);
#endif
}

void loop()
{
    static const cm_bfv_reader values = {value, nullptr, CM_PROVISIONED_N, 40961, 40960};
#if TAGGED
    cm_frame_sender_begin_window(&sender);
#endif
    GPIOR0 = 0x80;
    const cm_status status = ciphermote.encryptIntegers(Serial, cm_provisioned_secret_key, values, SENDER);
    GPIOR0 = 0;
    GPIOR2 = status;
    mask = (mask * 25173u + 13849u) & 0x7FFF; /* other values the next time */
    Serial.flush();
}
