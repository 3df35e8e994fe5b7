/* SPDX-License-Identifier: Apache-2.0 */
/* Registers and flash by their addresses; in the tests, those of a simulated chip (tests/chips). */
#ifndef REGISTERS_H
#define REGISTERS_H

#include <stdint.h>

#ifdef SIMULATED_CHIP

uint32_t reg_read(uint32_t address);
void reg_write(uint32_t address, uint32_t value);
void wait_for_interrupt(void);

#else

static inline uint32_t reg_read(uint32_t address)
{
    return *(const volatile uint32_t *)address;
}

static inline void reg_write(uint32_t address, uint32_t value)
{
    *(volatile uint32_t *)address = value;
}

static inline void wait_for_interrupt(void)
{
    __asm__ volatile("wfi" ::: "memory");
}

#endif

static inline void reg_wait(uint32_t address, uint32_t bits, uint32_t value)
{
    while ((reg_read(address) & bits) != value) {
    }
}

static inline void reg_set(uint32_t address, uint32_t bits)
{
    reg_write(address, reg_read(address) | bits);
}

static inline void reg_clear(uint32_t address, uint32_t bits)
{
    reg_write(address, reg_read(address) & ~bits);
}

#endif
