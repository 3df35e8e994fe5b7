/* SPDX-License-Identifier: Apache-2.0 */
/*
 * QEMU's RISC-V machine `virt` for the benches' firmware: from reset to main, its UART (an NS16550A, ready at
 * reset, never full here), and its test device, which ends the simulation. A fault ends it with exit code 64.
 */
#include <string.h>

#include "board.h"

#define UART_TRANSMIT (*(volatile uint8_t *)0x10000000u)
#define TEST_DEVICE (*(volatile uint32_t *)0x00100000u)
#define TEST_PASSED 0x5555u
#define TEST_FAILED 0x3333u /* the exit code goes into the upper half */
#define FAULT_EXIT_CODE 64

extern uint8_t data_start[], data_end[], data_in_flash[], bss_start[], bss_end[];

typedef uint32_t __attribute__((may_alias)) word;

int main(void);
_Noreturn void reset(void);

void uart_send(const uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        UART_TRANSMIT = bytes[i];
    }
}

/* Debian's picolibc for RISC-V copies and clears byte by byte; C libraries of products do it by words. */
void *memcpy(void *restrict to, const void *restrict from, size_t length)
{
    uint8_t *out = to;
    const uint8_t *in = from;
    if (((uintptr_t)out | (uintptr_t)in) % 4u == 0) {
        for (; length >= 4u; length -= 4u, out += 4, in += 4) {
            *(volatile word *)(void *)out = *(const word *)(const void *)in;
        }
    }
    for (; length > 0; length--) {
        *(volatile uint8_t *)out++ = *in++;
    }
    return to;
}

void *memset(void *to, int byte, size_t length)
{
    uint8_t *out = to;
    const uint32_t four = (uint8_t)byte * 0x01010101u;
    if ((uintptr_t)out % 4u == 0) {
        for (; length >= 4u; length -= 4u, out += 4) {
            *(volatile word *)(void *)out = four;
        }
    }
    for (; length > 0; length--) {
        *(volatile uint8_t *)out++ = (uint8_t)byte;
    }
    return to;
}

_Noreturn void host_exit(int code)
{
    TEST_DEVICE = code == 0 ? TEST_PASSED : (uint32_t)code << 16 | TEST_FAILED;
    for (;;) {
    }
}

/* The stack may be what failed: nothing is pushed before it is set. */
static __attribute__((used)) _Noreturn void end_by_fault(void)
{
    host_exit(FAULT_EXIT_CODE);
}

static __attribute__((naked, aligned(4))) void fault(void)
{
    __asm__("la sp, stack_top\n\t"
            "j end_by_fault");
}

static __attribute__((used)) _Noreturn void start(void)
{
    __asm__ volatile(".option push\n\t"
                     ".option arch, +zicsr\n\t"
                     "csrw mtvec, %0\n\t"
                     ".option pop" ::"r"(fault));
    memcpy(data_start, data_in_flash, (size_t)(data_end - data_start));
    memset(bss_start, 0, (size_t)(bss_end - bss_start));
    host_exit(main());
}

__attribute__((naked, section(".vectors"), used)) _Noreturn void reset(void)
{
    __asm__("la sp, stack_top\n\t"
            "j start");
}
