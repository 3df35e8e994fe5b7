/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A day's 24 hourly readings, encrypted on an Arduino Uno and sent over USB as frames. A server adds up the
 * frames of many boards; only the owner of the key can read the sum.
 *
 * Before the first run, write provisioned_keys.h into this folder, and run the sketch NewDevice with it once.
 *     ciphermote keygen keys --params n1024_q26
 *     ciphermote provision keys -o provisioned_keys.h
 */
#include <Ciphermote.h>

#include "provisioned_keys.h"

const uint8_t HOURS = 24;
const uint16_t PLAIN_MODULUS = 40961; /* sums below it are exact */
const uint16_t LARGEST = 1023;        /* of analogRead */

alignas(8) static uint8_t arena[CIPHERMOTE_INTEGERS_ARENA_BYTES(CM_PROVISIONED_N)];
static Ciphermote ciphermote(arena, sizeof arena);
static uint16_t readings[HOURS];

/* With a number and a tag key in provisioned_keys.h, frames say which board sends them, and have tags. */
#if CM_PROVISIONED_TAGGED
static cm_frame_sender sender;
#define SENDER (&sender)
#else
#define SENDER nullptr
#endif

/* Must return the same value for the same index throughout an encryption. */
static uint16_t reading(void *, uint16_t hour)
{
    return readings[hour];
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
    if (ciphermote.begin(cm_provisioned_device_secret) != CM_OK) {
        halt(); /* no counter: run NewDevice; no noise: see WatchdogNoise */
    }
#if CM_PROVISIONED_TAGGED
    cm_frame_sender_init(SENDER, cm_provisioned_tag_key, CM_PROVISIONED_DEVICE, CM_PROVISIONED_EPOCH);
#endif
}

void loop()
{
    for (uint8_t hour = 0; hour < HOURS; hour++) {
        readings[hour] = analogRead(A0);
        delay(100); /* stands for an hour */
    }
    static const cm_bfv_reader values = {reading, nullptr, HOURS, PLAIN_MODULUS, LARGEST};
#if CM_PROVISIONED_TAGGED
    cm_frame_sender_begin_window(&sender); /* these are new readings, not the last ones once more */
#endif
    if (ciphermote.encryptIntegers(Serial, cm_provisioned_secret_key, values, SENDER) != CM_OK) {
        halt();
    }
}
