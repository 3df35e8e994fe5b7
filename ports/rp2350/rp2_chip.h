/* SPDX-License-Identifier: Apache-2.0 */
/* The RP2350's addresses: RP2350 Datasheet, section 2.2 (Address Map). */
#ifndef RP2_CHIP_H
#define RP2_CHIP_H

#define CLOCKS_BASE 0x40010000u
#define PSM_BASE 0x40018000u
#define RESETS_BASE 0x40020000u
#define IO_BANK0_BASE 0x40028000u
#define PADS_BANK0_BASE 0x40038000u
#define XOSC_BASE 0x40048000u
#define PLL_SYS_BASE 0x40050000u
#define UART0_BASE 0x40070000u
#define TIMER_BASE 0x400B0000u
#define WATCHDOG_BASE 0x400D8000u

/* 7.5.3: those of IO, pads, the PLL, timer 0, the generator and the UART. */
#define RESETS_USED (1u << 6 | 1u << 9 | 1u << 14 | 1u << 23 | 1u << 25 | 1u << 26)

/* 8.5.2: the tick of timer 0 has a generator of its own; its periods are in a register beside it. */
#define TICK_CYCLES 0x4010801Cu
#define TICK_CONTROL 0x40108018u
#define TICK_ON 1u

#define PLL_DIVIDERS_SYS (5u << 16 | 2u << 12) /* 150 MHz */

/* Flash of 4 MB, whose last two sectors are the counter's, seen without the cache (4.4.1). */
#define COUNTER_OFFSET 0x3FE000u
#define FLASH_UNCACHED 0x14000000u

#endif
