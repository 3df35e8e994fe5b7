/* SPDX-License-Identifier: Apache-2.0 */
/* What bench/avr provides for its firmware: keys, and a board, which is an ATmega or the host. */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include <stddef.h>
#include <stdint.h>

/* On AVR in PROGMEM. */
extern const uint32_t workload_transformed[];
extern const uint8_t workload_tag_key[];

/* For frames with tags. */
#define WORKLOAD_DEVICE 77u
#define WORKLOAD_EPOCH 3u

#ifdef __AVR__

#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>

static inline void board_start(int count, char **arguments)
{
    (void)count;
    (void)arguments;
    UBRR0 = 0; /* 1 Mbit/s at 16 MHz */
    UCSR0B = 1 << TXEN0;
}

static inline void board_mark_begin(void)
{
    GPIOR0 = 0x80;
}

static inline void board_mark_end(void)
{
    GPIOR0 = 0;
}

static inline void board_send(const uint8_t *bytes, size_t length)
{
    while (length-- > 0) {
        GPIOR1 = 1;
        while (!(UCSR0A & 1 << UDRE0)) {
        }
        GPIOR1 = 0;
        UDR0 = *bytes++;
    }
}

/* Sleep forever, which ends the simulation, with the outcome in GPIOR2. */
static inline void board_stop(int status)
{
    while (!(UCSR0A & 1 << UDRE0)) {
    }
    GPIOR2 = (uint8_t)status;
    cli();
    sleep_enable();
    sleep_cpu();
}

#else

#include <stdio.h>
#include <stdlib.h>

static FILE *board_file;

static inline void board_start(int count, char **arguments)
{
    board_file = count == 2 ? fopen(arguments[1], "wb") : NULL;
    if (!board_file) {
        exit(EXIT_FAILURE);
    }
}

static inline void board_mark_begin(void)
{
}

static inline void board_mark_end(void)
{
}

static inline void board_send(const uint8_t *bytes, size_t length)
{
    fwrite(bytes, 1, length, board_file);
}

static inline void board_stop(int status)
{
    if (fclose(board_file) != 0 || status != 0) {
        exit(EXIT_FAILURE);
    }
}

#endif
#endif
