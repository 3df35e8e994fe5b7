/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of the fuzzed device, as `ciphermote provision` would write them; they protect nothing. */
#ifndef CM_PROVISIONED_KEYS_H
#define CM_PROVISIONED_KEYS_H

#include "ciphermote/device.h"
#include "ciphermote/keys.h"

#define CM_PROVISIONED_N 1024
#define CM_PROVISIONED_LARGEST 100.0f
#define CM_PROVISIONED_SECRET_KEY 1
#define CM_PROVISIONED_PUBLIC_KEY 0

#define FOUR(x) x, x, x, x
#define SIXTEEN(x) FOUR(x), FOUR(x), FOUR(x), FOUR(x)
static const uint8_t cm_provisioned_device_secret[CM_DEVICE_SECRET_BYTES] = {SIXTEEN(1), SIXTEEN(2)};
static const uint8_t cm_provisioned_ternary[CM_PROVISIONED_N / 4] = {
    FOUR(SIXTEEN(0x24)), FOUR(SIXTEEN(0x61)), FOUR(SIXTEEN(0x86)), FOUR(SIXTEEN(0x19))};
static const cm_secret_key cm_provisioned_secret_key = {
    .params = &cm_n1024_q26, .key_id = 42, .ternary = cm_provisioned_ternary};

#endif
