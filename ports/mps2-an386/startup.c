/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From reset to main: vectors, initialised data, FPU. A fault ends the simulation with exit code 64 + the
 * exception's number (67: a hard fault, to which the others escalate). Made for the Cortex-M4F; the tests of
 * the library use it on the other cores of this family of boards too.
 */
#include <stdint.h>
#include <string.h>

#include "board.h"

#define CPACR (*(volatile uint32_t *)0xE000ED88u)
#define CPACR_FPU_FULL_ACCESS (0xFu << 20)
#define FAULT_EXIT_CODE 64

#define CCR (*(volatile uint32_t *)0xE000ED14u)
#define CCR_UNALIGNED_TRAP (1u << 3)

#define MPU_CONTROL (*(volatile uint32_t *)0xE000ED94u)
#define MPU_ENABLE_OVER_DEFAULT 5u /* what no region covers stays as it is without the MPU */
#define MPU_NUMBER (*(volatile uint32_t *)0xE000ED98u)
#define MPU_BASE (*(volatile uint32_t *)0xE000ED9Cu)
#define MPU_ATTRIBUTES (*(volatile uint32_t *)0xE000EDA0u)
#define MPU_NO_ACCESS_64_KB (1u << 28 | 15u << 1 | 1u)
#define GUARD_BYTES 0x10000u

extern uint8_t stack_limit[], stack_top[], data_start[], data_end[], data_in_flash[], bss_start[], bss_end[];

int main(void);
_Noreturn void reset(void);

static __attribute__((used)) _Noreturn void end_by_fault(uint32_t exception)
{
    host_exit(FAULT_EXIT_CODE + (int)exception);
}

/* The stack may be what failed, so it is reset. */
static __attribute__((naked)) void fault(void)
{
    __asm__("ldr r0, =stack_top\n\t"
            "mov sp, r0\n\t"
            "mrs r0, ipsr\n\t"
            "b end_by_fault\n\t"
            ".ltorg");
}

typedef union vector {
    const void *stack;
    void (*handler)(void);
} vector;

/* The architecture's 16; no peripheral interrupt is ever taken. */
__attribute__((section(".vectors"), used)) static const vector vectors[16] = {
    {.stack = stack_top}, {.handler = reset}, {.handler = fault}, {.handler = fault},
    {.handler = fault},   {.handler = fault}, {.handler = fault}, {.handler = fault},
    {.handler = fault},   {.handler = fault}, {.handler = fault}, {.handler = fault},
    {.handler = fault},   {.handler = fault}, {.handler = fault}, {.handler = fault}};

#ifdef __ARM_ARCH_8M_MAIN__

static void guard_stack(void)
{
    __asm__ volatile("msr msplim, %0" ::"r"(stack_limit));
}

#else

/*
 * The simulator ignores writes where there is no memory, so the MPU is set to make those below the stack
 * fault.
 */
static void guard_stack(void)
{
    MPU_NUMBER = 0;
    MPU_BASE = (uint32_t)(uintptr_t)stack_limit - GUARD_BYTES;
    MPU_ATTRIBUTES = MPU_NO_ACCESS_64_KB;
    MPU_CONTROL = MPU_ENABLE_OVER_DEFAULT;
}

#endif

_Noreturn void reset(void)
{
    /*
     * Masked, an interrupt still ends a wait (uart.c). A fault escalates to a hard fault, which cannot be
     * masked.
     */
    __asm__ volatile("cpsid i");
    CPACR |= CPACR_FPU_FULL_ACCESS;
    guard_stack();
#ifdef __ARM_ARCH_6M__
    CCR |= CCR_UNALIGNED_TRAP; /* larger cores that run this then trap as an ARMv6-M core does */
#endif
    __asm__ volatile("dsb\n isb" ::: "memory");
    memcpy(data_start, data_in_flash, (size_t)(data_end - data_start));
    memset(bss_start, 0, (size_t)(bss_end - bss_start));
    uart_init();
    host_exit(main());
}
