/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UART 0, polled. Its receiver holds six bytes, so at 115200 baud the processor must poll it at least every
 * half millisecond.
 */
#include "uart.h"
#include "board.h"
#include "nrf51.h"

#define PIN_TXD 24u
#define PIN_RXD 25u

void start_serial(void)
{
    GPIO_SET = 1u << PIN_TXD; /* the line idles high */
    GPIO_PIN(PIN_TXD) = GPIO_OUTPUT;
    GPIO_PIN(PIN_RXD) = GPIO_INPUT_PULLED_UP;
    UART_PIN_TXD = PIN_TXD;
    UART_PIN_RXD = PIN_RXD;
    UART_BAUD_RATE = UART_115200_BAUD;
    UART_ENABLE = UART_ENABLED;
    UART_INTERRUPTS_ON = UART_INTERRUPT_RECEIVED;
    UART_START_TRANSMITTER = 1;
    UART_START_RECEIVER = 1;
}

bool serial_ready(void)
{
    return UART_RECEIVED != 0;
}

uint8_t serial_take(void)
{
    UART_RECEIVED = 0; /* before the byte is read: the next may come at once */
    return (uint8_t)UART_RXD;
}

void serial_put(uint8_t byte)
{
    UART_TXD = byte;
    while (!UART_TRANSMITTED) {
    }
    UART_TRANSMITTED = 0;
}
