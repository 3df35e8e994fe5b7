/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The micro:bit: what start-up code and drivers offer the rest of this port. Interrupts stay masked; they
 * only end a sleep.
 */
#ifndef BOARD_H
#define BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- clock.c ---- */

#define CLOCK_TICK_MS 10u

/* Start the crystal and the tick. */
void clock_init(void);
/* Whether a tick has passed since this was last asked. */
bool clock_ticked(void);
/* Sleep until a tick passes, a byte arrives or a random number is ready; it may return early. */
void sleep_until_event(void);

/* ---- uart.c: 115200 baud on the pins that lead to the USB interface ---- */

void uart_init(void);
/* As port_receive. */
size_t uart_receive(uint8_t *out, size_t length, uint32_t patience_ms);
void uart_send(const uint8_t *bytes, size_t length);

/* ---- random.c and counter.c: callbacks of cm_platform ---- */

int random_bytes(void *context, uint8_t *out, size_t length);
int counter_read(void *context, uint64_t *value);
int counter_write(void *context, uint64_t value);

#endif
