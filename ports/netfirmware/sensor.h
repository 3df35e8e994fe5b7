/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A window: its readings are kept until its receipt has come, and each attempt to send it encrypts them anew.
 * Implemented for full ciphertexts (sensor_full.c) and for the compact lane (sensor_compact.c).
 */
#ifndef SENSOR_H
#define SENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ciphermote/ciphermote.h"
#include "outcome.h"

/* Once, at start-up. */
cm_status sensor_start(void);

/* Take readings from the board's sensor: they are a new window. Only when none is open. */
outcome sensor_measure(void);

/* Whether there is a window without a receipt. */
bool sensor_open(void);
/* Its number, once the first byte of an attempt has left; before that CM_NEW_WINDOW. */
uint64_t sensor_window(void);

/* When its readings were taken, in seconds since 1970; 0 if the board does not know. */
uint32_t sensor_measured(void);

/* How many bytes sensor_send gives to the sink. */
size_t sensor_window_bytes(void);

/* Encrypt the window into the sink, as a new attempt. */
cm_status sensor_send(cm_sink sink);

/* What may be the receipt of the last whole attempt: CM_OK forgets the readings. */
cm_status sensor_take_receipt(const uint8_t *bytes, size_t length, cm_verdict *verdict);

/*
 * The board's sensor: up to most readings of so many bytes each, 4 for binary32 and 2 for the compact lane's
 * integers; DONE only with 1 to most.
 */
outcome sensor_readings(void *out, uint32_t bytes_each, uint32_t most, uint32_t *count);

#endif
