/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The registers of the nRF51822 that this port uses, from the nRF51 Series Reference Manual 3.0. Writing 1
 * starts a task; an event reads 1 from when it happens until 0 is written.
 */
#ifndef NRF51_H
#define NRF51_H

#include <stdint.h>

#define NRF51_REGISTER(address) (*(volatile uint32_t *)(address))

/* ---- power and clocks ---- */
#define CLOCK_START_CRYSTAL NRF51_REGISTER(0x40000000u)
#define CLOCK_CRYSTAL_STARTED NRF51_REGISTER(0x40000100u)
#define POWER_SYSTEM_OFF NRF51_REGISTER(0x40000500u)

/* ---- UART 0 ---- */
#define UART_START_RECEIVER NRF51_REGISTER(0x40002000u)
#define UART_START_TRANSMITTER NRF51_REGISTER(0x40002008u)
#define UART_RECEIVED NRF51_REGISTER(0x40002108u)
#define UART_TRANSMITTED NRF51_REGISTER(0x4000211Cu)
#define UART_INTERRUPTS_ON NRF51_REGISTER(0x40002304u)
#define UART_INTERRUPT_RECEIVED (1u << 2)
#define UART_ENABLE NRF51_REGISTER(0x40002500u)
#define UART_ENABLED 4u
#define UART_PIN_TXD NRF51_REGISTER(0x4000250Cu)
#define UART_PIN_RXD NRF51_REGISTER(0x40002514u)
#define UART_RXD NRF51_REGISTER(0x40002518u)
#define UART_TXD NRF51_REGISTER(0x4000251Cu)
#define UART_BAUD_RATE NRF51_REGISTER(0x40002524u)
#define UART_115200_BAUD 0x01D7E000u

/* ---- timer 0 ---- */
#define TIMER_START NRF51_REGISTER(0x40008000u)
#define TIMER_COMPARE_0 NRF51_REGISTER(0x40008140u)
#define TIMER_SHORTCUTS NRF51_REGISTER(0x40008200u)
#define TIMER_COMPARE_0_CLEARS 1u
#define TIMER_INTERRUPTS_ON NRF51_REGISTER(0x40008304u)
#define TIMER_INTERRUPT_COMPARE_0 (1u << 16)
#define TIMER_BIT_MODE NRF51_REGISTER(0x40008508u)
#define TIMER_32_BITS 3u
#define TIMER_PRESCALER NRF51_REGISTER(0x40008510u) /* counts at 16 MHz / 2^this */
#define TIMER_CC_0 NRF51_REGISTER(0x40008540u)

/* ---- random number generator ---- */
#define RNG_START NRF51_REGISTER(0x4000D000u)
#define RNG_STOP NRF51_REGISTER(0x4000D004u)
#define RNG_READY NRF51_REGISTER(0x4000D100u)
#define RNG_INTERRUPTS_ON NRF51_REGISTER(0x4000D304u)
#define RNG_INTERRUPT_READY 1u
#define RNG_CONFIG NRF51_REGISTER(0x4000D504u)
#define RNG_BIAS_CORRECTION 1u
#define RNG_VALUE NRF51_REGISTER(0x4000D508u)

/* ---- flash (non-volatile memory controller) ---- */
#define NVMC_READY NRF51_REGISTER(0x4001E400u)
#define NVMC_CONFIG NRF51_REGISTER(0x4001E504u)
#define NVMC_READ_ONLY 0u
#define NVMC_WRITE 1u
#define NVMC_ERASE 2u
#define NVMC_ERASE_PAGE NRF51_REGISTER(0x4001E508u) /* takes the page's address */

/* ---- pins ---- */
#define GPIO_SET NRF51_REGISTER(0x50000508u)
#define GPIO_PIN(number) NRF51_REGISTER(0x50000700u + 4u * (number))
#define GPIO_OUTPUT 3u                 /* and its input buffer disconnected */
#define GPIO_INPUT_PULLED_UP (3u << 2) /* so that a line without a driver is idle */

/* ---- the Cortex-M0's own ---- */
#define NVIC_ENABLE NRF51_REGISTER(0xE000E100u)
#define NVIC_CLEAR_PENDING NRF51_REGISTER(0xE000E280u)
#define IRQ_UART (1u << 2)
#define IRQ_TIMER (1u << 8)
#define IRQ_RNG (1u << 13)

#endif
