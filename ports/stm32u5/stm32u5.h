/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The STM32U5's addresses without TrustZone (TZEN = 0, as it is delivered): RM0456, section 2.3 (Memory
 * organization).
 */
#ifndef STM32U5_H
#define STM32U5_H

#define TIM2_BASE 0x40000000u
#define USART1_BASE 0x40013800u
#define FLASH_BASE 0x40022000u
#define GPIOA_BASE 0x42020000u
#define RNG_BASE 0x420C0800u
#define RCC_BASE 0x46020C00u

/* ---- RCC, section 11.8 ---- */
#define RCC_CONTROL RCC_BASE
#define RCC_HSI48_ON (1u << 12)
#define RCC_HSI48_READY (1u << 13)
#define RCC_MSI_READY (1u << 2)
#define RCC_MSI (RCC_BASE + 0x08u)
#define RCC_MSI_RANGE_HERE (1u << 23)
#define RCC_MSI_RANGE (0xFu << 28)
#define RCC_MSI_24_MHZ (1u << 28)
#define RCC_AHB2_CLOCKS (RCC_BASE + 0x8Cu)
#define RCC_GPIOA 1u
#define RCC_RNG (1u << 18)
#define RCC_APB1_CLOCKS (RCC_BASE + 0x9Cu)
#define RCC_TIM2 1u
#define RCC_APB2_CLOCKS (RCC_BASE + 0xA4u)
#define RCC_USART1 (1u << 14)

#endif
