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

volatile uint16_t mask __attribute__((used)) = 0x2A55; /* value i is i ^ mask; of 15 bits */

alignas(8) static uint8_t arena[CIPHERMOTE_INTEGERS_ARENA_BYTES(CM_PROVISIONED_N)];
static Ciphermote ciphermote(arena, sizeof arena);

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
}

void loop()
{
    const cm_bfv_reader values = {value, nullptr, CM_PROVISIONED_N, 40961};
    GPIOR0 = 0x80;
    const cm_status status = ciphermote.encryptIntegers(Serial, cm_provisioned_secret_key, values);
    GPIOR0 = 0;
    GPIOR2 = status;
    mask = (mask * 25173u + 13849u) & 0x7FFF; /* other values the next time */
    Serial.flush();
}
