/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the RP2040 and the RP2350 have in common, at the addresses of rp2_chip.h. From their datasheets'
 * sections "Clocks", "XOSC", "PLL", "Subsystem resets", "GPIO", "UART" and "System timer".
 */
#ifndef RP2_H
#define RP2_H

#include "registers.h"
#include "rp2_chip.h"

/* Every register has an alias that clears the bits written as ones. */
#define RP2_CLEAR 0x3000u

#define RESETS_RESET RESETS_BASE
#define RESETS_DONE (RESETS_BASE + 8u)

#define CLOCK_REF (CLOCKS_BASE + 0x30u)
#define CLOCK_SYS (CLOCKS_BASE + 0x3Cu)
#define CLOCK_PERI (CLOCKS_BASE + 0x48u)
#define CLOCK_SELECTED 8u /* offset from a clock's control: one bit, that of its source */
#define CLOCK_REF_CRYSTAL 2u
#define CLOCK_SYS_REF 0u
#define CLOCK_SYS_PLL 1u
#define CLOCK_PERI_CRYSTAL (1u << 11 | 4u << 5)

#define XOSC_CONTROL XOSC_BASE
#define XOSC_ON (0xFABu << 12 | 0xAA0u) /* and up to 15 MHz */
#define XOSC_STATUS (XOSC_BASE + 4u)
#define XOSC_STABLE (1u << 31)
#define XOSC_STARTUP (XOSC_BASE + 0xCu)
#define XOSC_STARTUP_1_MS 47u /* in 256 periods of 12 MHz */

#define PLL_STATUS PLL_SYS_BASE /* its low bits divide the crystal's clock */
#define PLL_LOCKED (1u << 31)
#define PLL_POWER (PLL_SYS_BASE + 4u)
#define PLL_POWER_CORE (1u << 5 | 1u)
#define PLL_POWER_DIVIDER (1u << 3)
#define PLL_FEEDBACK (PLL_SYS_BASE + 8u)
#define PLL_FEEDBACK_1500_MHZ 125u
#define PLL_DIVIDERS (PLL_SYS_BASE + 0xCu)

#define GPIO_FUNCTION(pin) (IO_BANK0_BASE + 8u * (pin) + 4u)
#define GPIO_UART 2u
#define GPIO_PAD(pin) (PADS_BANK0_BASE + 4u + 4u * (pin))
#define GPIO_PAD_PULLED_UP 0x5Au /* input on, Schmitt trigger, 4 mA; not isolated */

#define UART_DATA UART0_BASE
#define UART_FLAGS (UART0_BASE + 0x18u)
#define UART_NOTHING_CAME (1u << 4)
#define UART_FULL (1u << 5)
#define UART_DIVIDER (UART0_BASE + 0x24u)
#define UART_DIVIDER_64THS (UART0_BASE + 0x28u)
#define UART_LINE (UART0_BASE + 0x2Cu)
#define UART_LINE_8_BITS_FIFO (3u << 5 | 1u << 4)
#define UART_CONTROL (UART0_BASE + 0x30u)
#define UART_ON (1u << 9 | 1u << 8 | 1u)

#define TIMER_MICROSECONDS (TIMER_BASE + 0x28u)

#endif
