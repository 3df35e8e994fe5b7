/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From reset to main on the Cortex-M0, and from a fault back to reset: a fault ends whatever was in progress,
 * and the host never gets that answer. A stack that grows too deep leaves RAM, which is a fault.
 */
#include <stdint.h>
#include <string.h>

#include "board.h"
#include "nrf51.h"

extern uint8_t stack_top[], data_start[], data_end[], data_in_flash[], bss_start[], bss_end[];

int main(void);
_Noreturn void reset(void);

/* Uses no stack: the stack may be what failed. */
static __attribute__((naked)) void fault(void)
{
    __asm__("ldr r0, =%c0\n\t"
            "ldr r1, =%c1\n\t"
            "str r1, [r0]\n\t"
            "dsb\n\t"
            "b .\n\t"
            ".ltorg" ::"i"(&SCB_AIRCR),
            "i"(SCB_RESET_REQUEST));
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

_Noreturn void reset(void)
{
    __asm__ volatile("cpsid i"); /* for good (clock.c) */
    memcpy(data_start, data_in_flash, (size_t)(data_end - data_start));
    memset(bss_start, 0, (size_t)(bss_end - bss_start));
    clock_init();
    uart_init();
    (void)main();
    POWER_SYSTEM_OFF = 1; /* stopped: nothing but a reset wakes the chip */
    for (;;) {
    }
}
