/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A window's readings, kept until the gateway's receipt of an attempt to send them has come. The record holds
 * all that another attempt takes; a port that stores it keeps the window across restarts.
 */
#ifndef APP_WINDOW_H
#define APP_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ciphermote/receipt.h"

/* The record: a head, the values as they are encrypted, and a CRC-32C. */
#define WINDOW_HEAD_BYTES 48u
#define WINDOW_RECORD_BYTES(value_bytes) (WINDOW_HEAD_BYTES + (value_bytes) + 4u)

typedef struct window_head {
    cm_attempt sent; /* the newest whole attempt; its counter is WINDOW_NOT_SENT before there is one */
    uint64_t key_id;
    uint32_t value_bytes;
    uint8_t log2_scale;
} window_head;

/* No ciphertext has this counter, so no receipt does. */
#define WINDOW_NOT_SENT UINT64_MAX

/* Write the head, and the checksum behind the values that are in the record. Returns the record's bytes. */
size_t window_pack(uint8_t *record, const window_head *head);

/* False if the record is damaged, or of an identity other than head's device, epoch and key id. */
bool window_unpack(const uint8_t *record, size_t length, window_head *head);

#endif
