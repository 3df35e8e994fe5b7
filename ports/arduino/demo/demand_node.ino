/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node of the demo: an Arduino Uno that has measured some days of demand, hour by hour, and sends them
 * once, encrypted. The days are in flash, in place of a meter.
 */
#include <Ciphermote.h>

#include "demand.h"
#include "provisioned_keys.h"

alignas(8) static uint8_t arena[CIPHERMOTE_INTEGERS_ARENA_BYTES(CM_PROVISIONED_N)];
static Ciphermote ciphermote(arena, sizeof arena);

static uint16_t reading(void *, uint16_t index)
{
    return pgm_read_word(demand_readings + index);
}

void setup()
{
    Serial.begin(115200);
    cm_status status = ciphermote.begin(cm_provisioned_device_secret);
    static const cm_bfv_reader values = {reading, nullptr, DEMAND_READINGS, DEMAND_PLAIN_MODULUS,
                                         DEMAND_LARGEST};
    GPIOR0 = 0x80; /* a mark for the simulator, as is GPIOR2 */
    if (status == CM_OK) {
        status = ciphermote.encryptIntegers(Serial, cm_provisioned_secret_key, values);
    }
    GPIOR0 = 0;
    GPIOR2 = status;
    Serial.flush();
}

void loop()
{
}
