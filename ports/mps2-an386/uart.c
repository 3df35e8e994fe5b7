/* SPDX-License-Identifier: Apache-2.0 */
/* UART 0 of the board (Arm CMSDK APB UART), polled. Between requests the processor sleeps. */
#include "board.h"

typedef struct cmsdk_uart {
    volatile uint32_t data;
    volatile uint32_t state;
    volatile uint32_t control;
    volatile uint32_t interrupt; /* reads the status; writing 1 clears */
    volatile uint32_t baud_divider;
} cmsdk_uart;

#ifndef UART_BASE
#define UART_BASE 0x40004000u
#endif
#define UART ((cmsdk_uart *)UART_BASE)
#define STATE_TRANSMIT_FULL 1u
#define STATE_RECEIVE_FULL 2u
#define CONTROL_TRANSMIT 1u
#define CONTROL_RECEIVE 2u
#define CONTROL_RECEIVE_INTERRUPT 8u
#define INTERRUPT_RECEIVE 2u
#define RECEIVE_IRQ_BIT 1u /* interrupt 0 */

#define SYSTICK_CONTROL (*(volatile uint32_t *)0xE000E010u)
#define SYSTICK_RELOAD (*(volatile uint32_t *)0xE000E014u)
#define SYSTICK_VALUE (*(volatile uint32_t *)0xE000E018u)
#define SYSTICK_ON 7u /* counting, pending its exception, at the processor's clock */
#define SYSTICK_PASSED (1u << 16)
#define NVIC_ENABLE (*(volatile uint32_t *)0xE000E100u)
#define NVIC_CLEAR_PENDING (*(volatile uint32_t *)0xE000E280u)
#define ICSR (*(volatile uint32_t *)0xE000ED04u)
#define ICSR_CLEAR_SYSTICK (1u << 25)

#define CLOCK_HZ 25000000u
#define TICK_MS 10u
#define BAUD_DIVIDER 16u /* the smallest; the simulator does not wait for bits to pass */

void uart_init(void)
{
    UART->baud_divider = BAUD_DIVIDER;
    UART->control = CONTROL_TRANSMIT | CONTROL_RECEIVE | CONTROL_RECEIVE_INTERRUPT;
    NVIC_ENABLE = RECEIVE_IRQ_BIT;
    SYSTICK_RELOAD = CLOCK_HZ / 1000u * TICK_MS - 1u;
    SYSTICK_VALUE = 0;
    SYSTICK_CONTROL = SYSTICK_ON;
}

/*
 * Sleep until a byte comes or the tick passes. The interrupts are masked, so they are never taken, but a
 * pending one ends the sleep, even if it became pending just before it. Clearing in this order misses no
 * byte: the pending bit first, then the UART's request, whose next rise sets the pending bit again.
 */
static void sleep_until_event(void)
{
    __asm__ volatile("wfi" ::: "memory");
    NVIC_CLEAR_PENDING = RECEIVE_IRQ_BIT;
    UART->interrupt = INTERRUPT_RECEIVE;
    ICSR = ICSR_CLEAR_SYSTICK;
}

static bool wait_for_byte(uint32_t patience_ms)
{
    uint32_t waited_ms = 0;
    while (!(UART->state & STATE_RECEIVE_FULL)) {
        if (patience_ms != 0 && waited_ms >= patience_ms) {
            return false;
        }
        sleep_until_event();
        if (SYSTICK_CONTROL & SYSTICK_PASSED) {
            waited_ms += TICK_MS;
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
        out[i] = (uint8_t)UART->data;
    }
    return length;
}

void uart_send(const uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        while (UART->state & STATE_TRANSMIT_FULL) {
        }
        UART->data = bytes[i];
    }
}
