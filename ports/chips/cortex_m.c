/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From reset to main on a Cortex-M, and from a fault back to reset: a fault ends whatever was in progress,
 * and the host never gets that answer. A stack that grows too deep leaves RAM, which is a fault; an Armv8-M
 * core has a register for its limit besides.
 */
#include "cortex_m.h"
#include "start.h"

#define SCB_AIRCR 0xE000ED0Cu
#define SCB_RESET_REQUEST 0x05FA0004u

_Noreturn void reset(void);

/* Uses no stack: the stack may be what failed. */
IN_FLASH __attribute__((naked)) void fault(void)
{
    __asm__("ldr r0, =%c0\n\t"
            "ldr r1, =%c1\n\t"
            "str r1, [r0]\n\t"
            "dsb\n\t"
            "b .\n\t"
            ".ltorg" ::"i"(SCB_AIRCR),
            "i"(SCB_RESET_REQUEST));
}

/* A chip may have a use for its non-maskable interrupt. */
void chip_nmi(void) __attribute__((weak, alias("fault")));

typedef union vector {
    const void *stack;
    void (*handler)(void);
} vector;

/* The architecture's 16; no peripheral interrupt is ever taken. */
__attribute__((section(".vectors"), used)) static const vector vectors[16] = {
    {.stack = stack_top}, {.handler = reset}, {.handler = chip_nmi}, {.handler = fault},
    {.handler = fault},   {.handler = fault}, {.handler = fault},    {.handler = fault},
    {.handler = fault},   {.handler = fault}, {.handler = fault},    {.handler = fault},
    {.handler = fault},   {.handler = fault}, {.handler = fault},    {.handler = fault}};

static __attribute__((noinline, used)) _Noreturn void started(void)
{
    run();
}

IN_FLASH _Noreturn void reset(void)
{
    __asm__ volatile("cpsid i"); /* for good: a pending interrupt still ends a sleep */
#ifdef __ARM_ARCH_8M_MAIN__
    __asm__ volatile("msr msplim, %0" ::"r"(stack_limit));
#endif
    load_memory();
    started();
}
