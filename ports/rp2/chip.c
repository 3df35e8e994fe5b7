/* SPDX-License-Identifier: Apache-2.0 */
/* Start, end and time of an RP2040 or RP2350: the crystal at 12 MHz, the PLL, and a timer of microseconds. */
#include "board.h"
#include "rp2.h"

#define TICK_MICROSECONDS (1000u * CLOCK_TICK_MS)

#define PIN_TXD 0u
#define PIN_RXD 1u

static void select_source(uint32_t clock, uint32_t source)
{
    reg_write(clock, source);
    reg_wait(clock + CLOCK_SELECTED, 1u << source, 1u << source);
}

static void start_crystal(void)
{
    reg_write(XOSC_STARTUP, XOSC_STARTUP_1_MS);
    reg_write(XOSC_CONTROL, XOSC_ON);
    reg_wait(XOSC_STATUS, XOSC_STABLE, XOSC_STABLE);
    select_source(CLOCK_REF, CLOCK_REF_CRYSTAL);
    select_source(CLOCK_SYS, CLOCK_SYS_REF);
}

static void start_pll(void)
{
    reg_write(PLL_STATUS, 1);
    reg_write(PLL_FEEDBACK, PLL_FEEDBACK_1500_MHZ);
    reg_clear(PLL_POWER, PLL_POWER_CORE);
    reg_wait(PLL_STATUS, PLL_LOCKED, PLL_LOCKED);
    reg_write(PLL_DIVIDERS, PLL_DIVIDERS_SYS);
    reg_clear(PLL_POWER, PLL_POWER_DIVIDER);
    select_source(CLOCK_SYS, CLOCK_SYS_PLL);
}

static void start_serial(void)
{
    for (uint32_t pin = PIN_TXD; pin <= PIN_RXD; pin++) {
        reg_write(GPIO_PAD(pin), GPIO_PAD_PULLED_UP);
        reg_write(GPIO_FUNCTION(pin), GPIO_UART);
    }
    reg_write(UART_DIVIDER, 6); /* 12 MHz / 16 / 115200 = 6 + 33 / 64 */
    reg_write(UART_DIVIDER_64THS, 33);
    reg_write(UART_LINE, UART_LINE_8_BITS_FIFO);
    reg_write(UART_CONTROL, UART_ON);
}

void chip_start(void)
{
    start_crystal();
    reg_write(CLOCK_PERI, CLOCK_PERI_CRYSTAL); /* without it the UART does not leave its reset */
    reg_write(RESETS_RESET + RP2_CLEAR, RESETS_USED);
    reg_wait(RESETS_DONE, RESETS_USED, RESETS_USED);
    start_pll();
#ifdef TICK_CYCLES
    reg_write(TICK_CYCLES, 12);
#endif
    reg_write(TICK_CONTROL, TICK_ON);
    start_serial();
}

void chip_stop(void)
{
    for (;;) {
        wait_for_interrupt();
    }
}

bool clock_ticked(void)
{
    static uint32_t last;
    const uint32_t now = reg_read(TIMER_MICROSECONDS);
    if (now - last < TICK_MICROSECONDS) {
        return false;
    }
    last = now;
    return true;
}

/* Not at all: the UART's 32 bytes fill up in 3 ms. */
void sleep_until_event(void)
{
}

bool serial_ready(void)
{
    return !(reg_read(UART_FLAGS) & UART_NOTHING_CAME);
}

uint8_t serial_take(void)
{
    return (uint8_t)reg_read(UART_DATA);
}

void serial_put(uint8_t byte)
{
    reg_wait(UART_FLAGS, UART_FULL, 0);
    reg_write(UART_DATA, byte);
}
