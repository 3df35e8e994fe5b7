/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Begins a board's counter in EEPROM and draws its salt. Run it once in a board's life, after `ciphermote
 * provision` has drawn a new device secret for it.
 *
 * Never run it on a board whose EEPROM was erased: its old secret with a new counter repeats seeds, which
 * reveals what it encrypted. Provision it again first.
 */
#include <Ciphermote.h>

static const __FlashStringHelper *outcome(cm_status status)
{
    switch (status) {
    case CM_OK:
        return F("The counter begins at 0.");
    case CM_ERR_RANDOM:
        return F("Nothing was changed: the watchdog gives no noise. WatchdogNoise shows what it gives.");
    default:
        return F("Nothing was changed: there is a counter already, or the EEPROM fails.");
    }
}

void setup()
{
    Ciphermote board(nullptr, 0);
    Serial.begin(115200);
    Serial.println(outcome(board.createCounter())); /* after some seconds */
}

void loop()
{
}
