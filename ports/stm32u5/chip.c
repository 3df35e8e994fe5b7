/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Start, end and time of an STM32U5, and USART 1 on PA9 and PA10, which lead to the USB interface of ST's
 * boards. The core runs at 24 MHz, as fast as the supply after a reset allows (RM0456, section 10.5.4, range
 * 4); a product that wants 160 MHz raises the range and starts the PLL.
 */
#include "board.h"
#include "registers.h"
#include "stm32u5.h"

#define FLASH_LATENCY FLASH_BASE
#define FLASH_LATENCY_24_MHZ 2u /* wait states in range 4: section 7.3.3 */

#define GPIO_MODES GPIOA_BASE
#define GPIO_MODE_MASK (0xFu << 18)
#define GPIO_MODE_ALTERNATE (0xAu << 18)
#define GPIO_PULLS (GPIOA_BASE + 0x0Cu)
#define GPIO_PULL_UP_RXD (1u << 20)
#define GPIO_ALTERNATES (GPIOA_BASE + 0x24u)
#define GPIO_USART1 (7u << 4 | 7u << 8)

#define USART_CONTROL USART1_BASE
#define USART_ON (1u << 29 | 1u << 3 | 1u << 2 | 1u) /* with its FIFO */
#define USART_DIVIDER (USART1_BASE + 0x0Cu)
#define USART_STATUS (USART1_BASE + 0x1Cu)
#define USART_OVERRUN (1u << 3)
#define USART_RECEIVED (1u << 5)
#define USART_ROOM (1u << 7)
#define USART_CLEAR (USART1_BASE + 0x20u)
#define USART_RXD (USART1_BASE + 0x24u)
#define USART_TXD (USART1_BASE + 0x28u)

#define TIMER_CONTROL TIM2_BASE
#define TIMER_EVENT (TIM2_BASE + 0x14u)
#define TIMER_COUNT (TIM2_BASE + 0x24u)
#define TIMER_PRESCALER (TIM2_BASE + 0x28u)

#define CLOCK_HZ 24000000u
#define BAUD 115200u
#define TICK_MICROSECONDS (1000u * CLOCK_TICK_MS)

static void start_clock(void)
{
    reg_write(FLASH_LATENCY, FLASH_LATENCY_24_MHZ);
    reg_wait(FLASH_LATENCY, 0xFu, FLASH_LATENCY_24_MHZ);
    reg_wait(RCC_CONTROL, RCC_MSI_READY, RCC_MSI_READY);
    reg_write(RCC_MSI, (reg_read(RCC_MSI) & ~RCC_MSI_RANGE) | RCC_MSI_24_MHZ | RCC_MSI_RANGE_HERE);
    reg_wait(RCC_CONTROL, RCC_MSI_READY, RCC_MSI_READY);
    reg_set(RCC_APB1_CLOCKS, RCC_TIM2);
    reg_write(TIMER_PRESCALER, CLOCK_HZ / 1000000u - 1u);
    reg_write(TIMER_EVENT, 1); /* takes the prescaler over */
    reg_write(TIMER_CONTROL, 1);
}

static void start_serial(void)
{
    reg_set(RCC_AHB2_CLOCKS, RCC_GPIOA);
    reg_set(RCC_APB2_CLOCKS, RCC_USART1);
    reg_set(GPIO_PULLS, GPIO_PULL_UP_RXD);
    reg_set(GPIO_ALTERNATES, GPIO_USART1);
    reg_write(GPIO_MODES, (reg_read(GPIO_MODES) & ~GPIO_MODE_MASK) | GPIO_MODE_ALTERNATE);
    reg_write(USART_DIVIDER, (CLOCK_HZ + BAUD / 2u) / BAUD);
    reg_write(USART_CONTROL, USART_ON);
}

void chip_start(void)
{
    start_clock();
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
    const uint32_t now = reg_read(TIMER_COUNT);
    if (now - last < TICK_MICROSECONDS) {
        return false;
    }
    last = now;
    return true;
}

/* Not at all: the receiver's eight bytes fill up in less than a millisecond. */
void sleep_until_event(void)
{
}

bool serial_ready(void)
{
    reg_write(USART_CLEAR, USART_OVERRUN); /* bytes between requests; within one, its CRC tells */
    return (reg_read(USART_STATUS) & USART_RECEIVED) != 0;
}

uint8_t serial_take(void)
{
    return (uint8_t)reg_read(USART_RXD);
}

void serial_put(uint8_t byte)
{
    reg_wait(USART_STATUS, USART_ROOM, USART_ROOM);
    reg_write(USART_TXD, byte);
}
