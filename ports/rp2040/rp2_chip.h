/* SPDX-License-Identifier: Apache-2.0 */
/* The RP2040's addresses: RP2040 Datasheet, section 2.2 (Address Map). */
#ifndef RP2_CHIP_H
#define RP2_CHIP_H

#define CLOCKS_BASE 0x40008000u
#define RESETS_BASE 0x4000C000u
#define IO_BANK0_BASE 0x40014000u
#define PADS_BANK0_BASE 0x4001C000u
#define XOSC_BASE 0x40024000u
#define PLL_SYS_BASE 0x40028000u
#define UART0_BASE 0x40034000u
#define TIMER_BASE 0x40054000u
#define ROSC_BASE 0x40060000u

/* 2.14.3: those of IO, pads, the PLL, the timer and the UART. */
#define RESETS_USED (1u << 5 | 1u << 8 | 1u << 12 | 1u << 21 | 1u << 22)

/* 4.7.2: the watchdog makes the timer's tick, of 12 periods of the crystal. */
#define TICK_CONTROL 0x4005802Cu
#define TICK_ON (1u << 9 | 12u)

#define PLL_DIVIDERS_SYS (6u << 16 | 2u << 12) /* 125 MHz */

/* Flash of 2 MB, whose last two sectors are the counter's, seen without the cache (2.6.3.2). */
#define COUNTER_OFFSET 0x1FE000u
#define FLASH_UNCACHED 0x13000000u

#endif
