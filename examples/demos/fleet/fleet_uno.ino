/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A meter of the fleet's demo on an Arduino Uno: it encrypts a day of readings to a packet, and keeps the day
 * until the gateway's receipt for it has come; until then it takes no other, and encrypts the kept one again.
 *
 * The simulator feeds GPIOR1, in place of a meter and of a radio's receiver: a letter, and what belongs to
 * it. Each is answered on Serial: packets ('P', the length, the packet), then 'S' and a status.
 *     M and a day's readings, 16 bits each: encrypt them
 *     A                                     encrypt the kept day again
 *     R and a receipt                       drop the kept day if the receipt is for the latest attempt
 */
#include <Ciphermote.h>

#include "compact_keys.h"

#define READINGS 24
#define PACKET_BYTES CM_COMPACT_PACKET_BYTES(READINGS, 22) /* of set b */

alignas(8) static uint8_t arena[CM_COMPACT_ARENA_BYTES(1, READINGS, PACKET_BYTES)];
static CiphermoteCompact ciphermote(arena, sizeof arena);
static uint16_t kept[READINGS];
static uint64_t window;
static bool waits; /* for the receipt of kept */
static cm_attempt sent;

static int sendPacket(void *, const uint8_t *packet, size_t length)
{
    memcpy(&sent.counter, packet + 8, 4); /* of which an Uno uses 32 bits */
    cm_tags_add(&sent.tags, packet + length - CM_TAG_BYTES);
    Serial.write('P');
    Serial.write(static_cast<uint8_t>(length));
    return Serial.write(packet, length) == length ? 0 : 1;
}

static cm_status encryptKept()
{
    sent.tags = 0;
    const cm_status status = ciphermote.encrypt(kept, 0, READINGS, window);
    sent.window = window;
    return status;
}

static void take(void *to, size_t length)
{
    uint8_t *bytes = static_cast<uint8_t *>(to);
    while (length--) {
        *bytes++ = GPIOR1;
    }
}

static cm_status answer(uint8_t letter)
{
    if (letter == 'M') {
        uint16_t readings[READINGS];
        take(readings, sizeof readings);
        if (waits) {
            return CM_ERR_UNRECEIPTED;
        }
        memcpy(kept, readings, sizeof kept);
        window = CM_NEW_WINDOW;
        waits = true;
        return encryptKept();
    }
    if (letter == 'A') {
        return waits ? encryptKept() : CM_ERR_ARGUMENT;
    }
    if (letter == 'R') {
        uint8_t receipt[CM_RECEIPT_BYTES];
        cm_verdict verdict;
        take(receipt, sizeof receipt);
        const cm_status status = cm_receipt_check(receipt, sizeof receipt, cm_provisioned_compact_receipt_key,
                                                  &sent, &verdict);
        if (status == CM_OK) {
            waits = false;
        }
        return status;
    }
    return CM_ERR_ARGUMENT;
}

void setup()
{
    Serial.begin(115200);
    const cm_sink radio = {sendPacket, nullptr};
    sent.device = cm_provisioned_compact_key.device;
    sent.epoch = cm_provisioned_compact_key.epoch;
    const cm_status status = ciphermote.begin(cm_provisioned_compact_key, PACKET_BYTES, radio);
    Serial.write('S');
    Serial.write(static_cast<uint8_t>(status));
    Serial.flush();
}

void loop()
{
    const cm_status status = answer(GPIOR1);
    Serial.write('S');
    Serial.write(static_cast<uint8_t>(status));
    Serial.flush();
}
