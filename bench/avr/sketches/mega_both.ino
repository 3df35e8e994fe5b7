/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An Arduino Mega encrypts 2048 integers in slots (region 0) and 1024 real numbers (region 1), alternately,
 * in one arena that also holds the values. The start is region 2.
 */
#include <Ciphermote.h>

#include "provisioned_keys.h"

#define LARGER(a, b) ((a) > (b) ? (a) : (b))

const size_t SLOTS_BYTES = CIPHERMOTE_BATCH_ARENA_BYTES(CM_PROVISIONED_N);
const size_t REALS_BYTES = CIPHERMOTE_REALS_ARENA_BYTES(CM_PROVISIONED_N);
alignas(8) static uint8_t arena[LARGER(SLOTS_BYTES, REALS_BYTES)];
static Ciphermote ciphermote(arena, sizeof arena);

volatile uint16_t mask __attribute__((used)) = 0x0A55; /* of 11 bits */

void setup()
{
    Serial.begin(115200);
    GPIOR0 = 0x82;
    const cm_status status = ciphermote.begin(cm_provisioned_device_secret);
    GPIOR0 = 2;
    GPIOR2 = status;
}

/* Slot i has i ^ mask. */
static void slots()
{
    uint16_t *values = reinterpret_cast<uint16_t *>(arena);
    for (uint16_t i = 0; i < CM_PROVISIONED_N; i++) {
        values[i] = i ^ mask;
    }
    const cm_bfv_values numbers = {
        values, CM_PROVISIONED_N, CM_UINT16, CM_BFV_BATCH, CM_BFV_16, 12289, CM_DOMAIN_NTT, 12288};
    GPIOR0 = 0x80;
    const cm_status status = ciphermote.encryptBatch(Serial, cm_provisioned_secret_key, numbers);
    GPIOR0 = 0;
    GPIOR2 = status;
}

/*
 * Slot i has x = i ^ mask in a float's upper bits, from 1/64 to 4: assembled from bits, in time that does not
 * depend on x.
 */
static void reals()
{
    uint32_t *values = reinterpret_cast<uint32_t *>(arena);
    for (uint16_t i = 0; i < CM_PROVISIONED_N / 2; i++) {
        const uint16_t x = i ^ mask;
        values[i] = (uint32_t)(121 + (x & 7)) << 23 | (uint32_t)x << 11;
    }
    const cm_ckks_values numbers = {
        values, CM_PROVISIONED_N / 2, CM_FLOAT32, CM_SLOTS_REAL, 0, 18, CM_FIXED_31, 4};
    GPIOR0 = 0x81;
    const cm_status status = ciphermote.encryptReals(Serial, cm_provisioned_secret_key, numbers);
    GPIOR0 = 1;
    GPIOR2 = status;
}

void loop()
{
    slots();
    reals();
    Serial.flush();
}
