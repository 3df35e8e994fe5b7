/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of the fuzzed device, as `ciphermote provision` would write them; they protect nothing. */
#ifndef CM_PROVISIONED_KEYS_H
#define CM_PROVISIONED_KEYS_H

#include "ciphermote/device.h"
#include "ciphermote/keys.h"

#define CM_PROVISIONED_N 1024
#define CM_PROVISIONED_LARGEST 100.0f
#define CM_PROVISIONED_SECRET_KEY 1
#define CM_PROVISIONED_PUBLIC_KEY 1
#define CM_PROVISIONED_STREAMED_KEY 1

#define FOUR(x) x, x, x, x
#define SIXTEEN(x) FOUR(x), FOUR(x), FOUR(x), FOUR(x)
static const uint8_t cm_provisioned_device_secret[CM_DEVICE_SECRET_BYTES] = {SIXTEEN(1), SIXTEEN(2)};
static const uint8_t cm_provisioned_ternary[CM_PROVISIONED_N / 4] = {
    FOUR(SIXTEEN(0x24)), FOUR(SIXTEEN(0x61)), FOUR(SIXTEEN(0x86)), FOUR(SIXTEEN(0x19))};
static const cm_secret_key cm_provisioned_secret_key = {
    .params = &cm_n1024_q26, .key_id = 42, .ternary = cm_provisioned_ternary};

/* Word i of component c is 1 + i + 4096 c (device.c). */
static const uint8_t cm_provisioned_key_digests[] = {
    0xc1, 0x00, 0x30, 0xa9, 0xf6, 0x28, 0x9d, 0xd9, 0x42, 0x74, 0x92, 0xb6, 0xd3, 0xe5, 0xc2, 0xbd,
    0x11, 0xba, 0xa7, 0xf1, 0x85, 0x6b, 0x1a, 0x6a, 0x0c, 0xf5, 0xd0, 0xf0, 0x96, 0x34, 0x02, 0x06,
    0xd2, 0x85, 0xc1, 0x65, 0x82, 0x09, 0xd9, 0x47, 0xec, 0xe6, 0x61, 0xf5, 0xe4, 0x1f, 0x46, 0x79,
    0x08, 0x74, 0xb6, 0x5a, 0x56, 0x0a, 0x43, 0x00, 0x44, 0xe4, 0x4e, 0xa1, 0x6f, 0x20, 0xa9, 0xf8,
};
static cm_streamed_public_key cm_provisioned_streamed_key = {
    .params = &cm_n1024_q26, .key_id = 42, .digests = cm_provisioned_key_digests};
static const cm_public_key cm_provisioned_public_key = {.params = &cm_n1024_q26,
                                                        .key_id = 42,
                                                        .polynomial = cm_streamed_public_key_polynomial,
                                                        .context = &cm_provisioned_streamed_key};

#endif
