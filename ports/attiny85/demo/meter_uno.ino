/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A meter of the demo on an Arduino Uno: it has measured a day, hour by hour, and sends it in as few packets
 * as its radio takes. The day is in flash, in place of a meter, and packets leave by Serial, each behind its
 * length, in place of a radio.
 */
#include <Ciphermote.h>

#include "compact_keys.h"
#include "day.h"

alignas(8) static uint8_t arena[CM_COMPACT_ARENA_BYTES(1, DAY_READINGS, DAY_PACKET_BYTES)];
static CiphermoteCompact ciphermote(arena, sizeof arena);

static int sendPacket(void *, const uint8_t *packet, size_t length)
{
    Serial.write(static_cast<uint8_t>(length));
    return Serial.write(packet, length) == length ? 0 : 1;
}

void setup()
{
    Serial.begin(115200);
    const cm_sink radio = {sendPacket, nullptr};
    cm_status status = ciphermote.begin(cm_provisioned_compact_key, DAY_PACKET_BYTES, radio);
    uint16_t readings[DAY_READINGS];
    memcpy_P(readings, day_readings, sizeof readings);
    uint64_t window = CM_NEW_WINDOW;
    GPIOR0 = 0x80; /* a mark for the simulator, as is GPIOR2 */
    if (status == CM_OK) {
        status = ciphermote.encrypt(readings, 0, DAY_READINGS, window);
    }
    GPIOR0 = 0;
    GPIOR2 = status;
    Serial.flush();
}

void loop()
{
}
