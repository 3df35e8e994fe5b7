/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the raw noise that the library's entropy is gathered from, as it is gathered: how long each watchdog
 * period took, in iterations of an 8-cycle loop. No secrets, no keys.
 *
 * Let it run for ten minutes, or better for hours and from several starts, each in its own file, and assess
 * them:
 *     stty -F /dev/ttyACM0 115200 raw && timeout 600 cat /dev/ttyACM0 > noise.txt
 *     tools/arduino_entropy.py noise.txt
 */
#include <Ciphermote.h>
#include <watchdog.h>

const uint16_t PERIODS = CM_ENTROPY_SAMPLES + 1; /* samples are differences */

static uint16_t counts[PERIODS];

void setup()
{
    Serial.begin(115200);
}

void loop()
{
    cm_watchdog found;
    const bool heard = cm_watchdog_start(&found);
    for (uint16_t i = 0; i < PERIODS; i++) {
        counts[i] = heard ? cm_watchdog_next() : 0;
    }
    cm_watchdog_stop(&found);
    Serial.println(F("gathered"));
    for (uint16_t i = 0; i < PERIODS; i++) {
        Serial.println(counts[i]);
    }
    Serial.println(F("end"));
    Serial.flush();
}
