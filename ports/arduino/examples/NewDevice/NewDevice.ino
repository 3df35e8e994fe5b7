/*
 * Begins a board's counter in EEPROM: once in its life, after `ciphermote provision` has drawn a new device secret for it.
 *
 * Never for a board whose EEPROM was erased: its old secret with a new counter repeats seeds, which shows what it
 * encrypted. Provision it anew first.
 */
#include <Ciphermote.h>

void setup()
{
    const Ciphermote board(nullptr, 0);
    Serial.begin(115200);
    Serial.println(board.createCounter() ? F("The counter begins at 0.")
                                         : F("Nothing was changed: there is a counter already, or the EEPROM fails."));
}

void loop()
{
}
