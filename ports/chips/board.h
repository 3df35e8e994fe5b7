/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What start-up code and drivers offer the rest of a port to a chip. Each chip implements the first three
 * groups; the files of this folder build the others on them. Interrupts stay masked; everything is polled.
 */
#ifndef BOARD_H
#define BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memory.h"

/* ---- start and end ---- */

/* Clocks, the tick and the link, once data is in place. */
void chip_start(void);
/* The application has stopped: nothing but a reset wakes the chip. */
_Noreturn void chip_stop(void);

/* ---- time ---- */

#define CLOCK_TICK_MS 10u

/* Whether a tick has passed since this was last asked. */
bool clock_ticked(void);
/* Sleep until a tick passes, a byte arrives or a random number is ready; it may return early. */
void sleep_until_event(void);

/* ---- the link, a byte at a time; the generator ---- */

bool serial_ready(void); /* a byte has come */
uint8_t serial_take(void);
void serial_put(uint8_t byte); /* returns when there is room for the next */

/* How many ticks random_bytes waits for a byte of the generator before it gives up. */
#define GENERATOR_PATIENCE_TICKS 10u

typedef enum generated { GENERATED, GENERATOR_WAITS, GENERATOR_FAILED } generated;

void generator_start(void);
/* The next byte; or none yet; or an error of the generator's own tests that it does not recover from. */
generated generator_next(uint8_t *out);
void generator_stop(void);

/* ---- serial.c ---- */

/* As port_receive. */
size_t uart_receive(uint8_t *out, size_t length, uint32_t patience_ms);
void uart_send(const uint8_t *bytes, size_t length);

/* ---- random.c and counter.c: callbacks of cm_platform ---- */

int random_bytes(void *context, uint8_t *out, size_t length);
int counter_read(void *context, uint64_t *value);
int counter_write(void *context, uint64_t value);

#endif
