/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the memory is used for, and how deep the stack has been: unused stack is painted, and wherever the
 * paint is gone, it was used. The stack starts at stack_top and grows towards stack_limit.
 */
#include "memory.h"

#include <stdint.h>

#define PAINT 0x5AA55AA5u

extern uint32_t stack_limit[], stack_top[];
extern uint8_t data_start[], data_end[], bss_start[], bss_end[], ram_start[], ram_end[];

#define OWN_FRAME_WORDS 16 /* what the compiler may save after the stack pointer was read */

/* Paint everything below this function's own frame. */
__attribute__((noinline)) void stack_paint(void)
{
    uint32_t *pointer;
#ifdef __riscv
    __asm__ volatile("mv %0, sp" : "=r"(pointer));
#else
    __asm__ volatile("mov %0, sp" : "=r"(pointer));
#endif
    for (volatile uint32_t *word = stack_limit; word < pointer - OWN_FRAME_WORDS; word++) {
        *word = PAINT;
    }
}

size_t stack_used(void)
{
    const volatile uint32_t *word = stack_limit;
    while (word < stack_top && *word == PAINT) {
        word++;
    }
    return (size_t)((const volatile uint8_t *)stack_top - (const volatile uint8_t *)word);
}

size_t static_bytes(void)
{
    return (size_t)(data_end - data_start) + (size_t)(bss_end - bss_start);
}

size_t ram_bytes(void)
{
    return (size_t)(ram_end - ram_start);
}
