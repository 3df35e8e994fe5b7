/* SPDX-License-Identifier: Apache-2.0 */
/*
 * On an Arduino Mega 2560: 2048 whole numbers in slots, and then 1024 real ones, encrypted and sent over USB.
 * A server can not only add slots, but also multiply them by weights of its own.
 *
 * Before the first run, write provisioned_keys.h into this folder, and run the sketch NewDevice with it once.
 *     ciphermote keygen keys --params n2048_q26_p27
 *     ciphermote provision keys -o provisioned_keys.h
 */
#include <Ciphermote.h>

#include "provisioned_keys.h"

const uint16_t PLAIN_MODULUS = 12289; /* 1 mod 2 n, as slots need */

/* Both kinds alternate in one arena, with the values at its start. */
const size_t SLOTS_BYTES = CIPHERMOTE_BATCH_ARENA_BYTES(CM_PROVISIONED_N);
const size_t REALS_BYTES = CIPHERMOTE_REALS_ARENA_BYTES(CM_PROVISIONED_N);
alignas(8) static uint8_t arena[SLOTS_BYTES > REALS_BYTES ? SLOTS_BYTES : REALS_BYTES];
static Ciphermote ciphermote(arena, sizeof arena);

static cm_status sendSlots()
{
    uint16_t *slots = reinterpret_cast<uint16_t *>(arena);
    for (uint16_t i = 0; i < CM_PROVISIONED_N; i++) {
        slots[i] = analogRead(A0);
    }
    const cm_bfv_values values = {slots,     CM_PROVISIONED_N, CM_UINT16,     CM_BFV_BATCH,
                                  CM_BFV_16, PLAIN_MODULUS,    CM_DOMAIN_NTT, 1023};
    return ciphermote.encryptBatch(Serial, cm_provisioned_secret_key, values);
}

static cm_status sendReals()
{
    float *volts = reinterpret_cast<float *>(arena);
    for (uint16_t i = 0; i < CM_PROVISIONED_N / 2; i++) {
        volts[i] = analogRead(A0) * (5.0f / 1024);
    }
    const cm_ckks_values values = {
        volts, CM_PROVISIONED_N / 2, CM_FLOAT32, CM_SLOTS_REAL, 0, 18, CM_FIXED_31, 5};
    return ciphermote.encryptReals(Serial, cm_provisioned_secret_key, values);
}

void setup()
{
    Serial.begin(115200);
    if (ciphermote.begin(cm_provisioned_device_secret) != CM_OK || sendSlots() != CM_OK ||
        sendReals() != CM_OK) {
        pinMode(LED_BUILTIN, OUTPUT);
        digitalWrite(LED_BUILTIN, HIGH);
    }
}

void loop()
{
}
