/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A board that starts, and then, whatever the outcome, encrypts twice as far as the seed: 'B', begin's
 * status, WDTCSR before and after; then twice 'E', the encryption's status, the bytes that it sent and their
 * number.
 */
#include <Ciphermote.h>
#include <avr/wdt.h>

#include "provisioned_keys.h"

/* Takes the seed's frame and refuses the next one. */
class SeedFrame : public Print
{
  public:
    uint8_t bytes[CM_FRAME_HEADER_BYTES + 32 + CM_FRAME_CRC_BYTES];
    uint8_t filled;

    size_t write(uint8_t byte) override
    {
        if (filled == sizeof bytes) {
            return 0;
        }
        bytes[filled++] = byte;
        return 1;
    }
};

alignas(8) static uint8_t arena[CIPHERMOTE_INTEGERS_ARENA_BYTES(CM_PROVISIONED_N)];
static Ciphermote ciphermote(arena, sizeof arena);

static uint16_t value(void *, uint16_t index)
{
    ciphermote.stir(&index, sizeof index); /* where it is not allowed: no effect, and no harm */
    return index;
}

static void encrypt()
{
    const cm_bfv_reader values = {value, nullptr, 24, 40961, 23};
    SeedFrame sent;
    sent.filled = 0;
    const cm_status status = ciphermote.encryptIntegers(sent, cm_provisioned_secret_key, values);
    Serial.write('E');
    Serial.write(status);
    Serial.write(sent.bytes, sent.filled);
    Serial.write(sent.filled);
}

void setup()
{
    Serial.begin(1000000);
#ifdef OWN_WATCHDOG
    wdt_enable(WDTO_60MS);
#endif
    const uint8_t before = WDTCSR;
    const cm_status status = ciphermote.begin(cm_provisioned_device_secret);
    Serial.write('B');
    Serial.write(status);
    Serial.write(before);
    Serial.write(WDTCSR);
    Serial.flush();
    wdt_disable();
#ifdef STIR
    ciphermote.stir("more", 4);
#endif
    encrypt();
    encrypt();
}

void loop()
{
}
