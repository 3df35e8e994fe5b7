/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Eight readings in a packet of 51 bytes, small enough for LoRaWAN at its slowest. A server adds up the
 * packets of up to ten boards; only the owner of the key can read the sum.
 *
 * Before the first run, write compact_keys.h into this folder, and run the sketch NewDevice once.
 *     ciphermote compact keygen fleet.key --set a10
 *     ciphermote compact enroll fleet.key 1 --largest-value 409 -o compact_keys.h
 */
#include <Ciphermote.h>

#include "compact_keys.h"

const uint8_t COUNT = 8;
const uint8_t PACKET_BYTES = 51;

alignas(8) static uint8_t arena[CM_COMPACT_ARENA_BYTES(1, COUNT, PACKET_BYTES)];
static CiphermoteCompact ciphermote(arena, sizeof arena);

/* Prints a packet as a line of hexadecimal digits. A radio's library takes its place: return 0 once it has
   the packet. */
static int sendPacket(void *, const uint8_t *packet, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        Serial.print(packet[i] >> 4, HEX);
        Serial.print(packet[i] & 15, HEX);
    }
    Serial.println();
    return 0;
}

static void halt()
{
    pinMode(LED_BUILTIN, OUTPUT);
    for (;;) {
        digitalWrite(LED_BUILTIN, millis() / 100 % 2);
    }
}

void setup()
{
    Serial.begin(115200);
    const cm_sink radio = {sendPacket, nullptr};
    if (ciphermote.begin(cm_provisioned_compact_key, PACKET_BYTES, radio) != CM_OK) {
        halt(); /* no counter: run NewDevice; no noise: see WatchdogNoise */
    }
}

void loop()
{
    uint16_t readings[COUNT];
    for (uint8_t i = 0; i < COUNT; i++) {
        readings[i] = analogRead(A0) * 2 / 5; /* up to 409, so that ten boards can be added up */
        delay(100);                           /* stands for an hour */
    }
    uint64_t window = CM_NEW_WINDOW;
    if (ciphermote.encrypt(readings, 0, COUNT, window) != CM_OK) {
        halt();
    }
}
