/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Start, end and time. Timer 0 ticks every 10 ms, on the 16 MHz crystal, which the UART's rate needs too. (An
 * nRF51's Cortex-M0 has no SysTick.)
 */
#include "board.h"
#include "nrf51.h"
#include "uart.h"

#define PRESCALER_1_MHZ 4u
#define TICKS_PER_MS 1000u

static void start_clock(void)
{
    CLOCK_START_CRYSTAL = 1;
    while (!CLOCK_CRYSTAL_STARTED) {
    }
    TIMER_BIT_MODE = TIMER_32_BITS;
    TIMER_PRESCALER = PRESCALER_1_MHZ;
    TIMER_CC_0 = CLOCK_TICK_MS * TICKS_PER_MS;
    TIMER_SHORTCUTS = TIMER_COMPARE_0_CLEARS;
    TIMER_INTERRUPTS_ON = TIMER_INTERRUPT_COMPARE_0;
    TIMER_START = 1;
    NVIC_ENABLE = IRQ_UART | IRQ_TIMER | IRQ_RNG;
}

bool clock_ticked(void)
{
    const bool ticked = TIMER_COMPARE_0 != 0;
    if (ticked) {
        TIMER_COMPARE_0 = 0;
    }
    return ticked;
}

/*
 * The interrupts are masked, so they are never taken, but a pending one ends the sleep, even if it became
 * pending just before it. Callers look at the events after this has cleared the pending bits: an earlier
 * event is seen then, and a later one sets its bit again.
 */
void sleep_until_event(void)
{
    __asm__ volatile("wfi" ::: "memory");
    NVIC_CLEAR_PENDING = IRQ_UART | IRQ_TIMER | IRQ_RNG;
}

void chip_start(void)
{
    start_clock();
    start_serial();
}

void chip_stop(void)
{
    for (;;) {
        POWER_SYSTEM_OFF = 1;
    }
}
