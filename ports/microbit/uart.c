/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UART 0, polled. Its receiver holds six bytes, so at 115200 baud the processor must poll it at least every
 * half millisecond.
 */
#include "board.h"
#include "nrf51.h"

#define PIN_TXD 24u
#define PIN_RXD 25u

void uart_init(void)
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

static bool wait_for_byte(uint32_t patience_ms)
{
    uint32_t waited_ms = 0;
    (void)clock_ticked();
    while (!UART_RECEIVED) {
        if (patience_ms != 0 && waited_ms >= patience_ms) {
            return false;
        }
        sleep_until_event();
        if (clock_ticked()) {
            waited_ms += CLOCK_TICK_MS;
        }
    }
    return true;
}

size_t uart_receive(uint8_t *out, size_t length, uint32_t patience_ms)
{
    for (size_t i = 0; i < length; i++) {
        if (!wait_for_byte(patience_ms)) {
            return i;
        }
        UART_RECEIVED = 0; /* before the byte is read: the next may come at once */
        out[i] = (uint8_t)UART_RXD;
    }
    return length;
}

void uart_send(const uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        UART_TXD = bytes[i];
        while (!UART_TRANSMITTED) {
        }
        UART_TRANSMITTED = 0;
    }
}
