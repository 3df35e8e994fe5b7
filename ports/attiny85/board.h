/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The board around the node: its sensor and its radio. NODE_SIMULATED: both are registers that a simulator
 * watches (bench/avr/machine.c). Otherwise readings are the converter's, from ADC1 (PB2), and board_send is
 * where the radio's driver goes.
 */
#ifndef CM_ATTINY85_BOARD_H
#define CM_ATTINY85_BOARD_H

#include <avr/io.h>
#include <stdint.h>

#ifndef NODE_SIMULATED
#define NODE_SIMULATED 0
#endif

/* A simulator counts what the node takes from 0x80 | a region to the region. */
static inline void board_mark(uint8_t region)
{
    GPIOR0 = region;
}

/* The next reading, 16 bits. */
static inline uint16_t board_reading(void)
{
#if NODE_SIMULATED
    const uint8_t low = GPIOR1;
    return (uint16_t)(low | (uint16_t)GPIOR1 << 8);
#else
    ADMUX = 1 << MUX0;
    ADCSRA = 1 << ADEN | 1 << ADSC | 1 << ADPS2 | 1 << ADPS1; /* the clock / 64: 125 kHz of 8 MHz */
    while (ADCSRA & 1 << ADSC) {
    }
    ADCSRA = 0;
    return ADC;
#endif
}

/* A byte to the radio. */
static inline void board_send(uint8_t byte)
{
    GPIOR2 = byte;
}

#endif
