/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the library's tests need on QEMU's RISC-V machine `virt`: text goes to its UART (an NS16550A, ready at
 * reset, never full here), and its test device ends the simulation. picolibc starts the program.
 */
#include <stdint.h>
#include <stdio.h>

#define UART_TRANSMIT (*(volatile uint8_t *)0x10000000u)
#define TEST_DEVICE (*(volatile uint32_t *)0x00100000u)
#define TEST_PASSED 0x5555u
#define TEST_FAILED 0x3333u /* the exit code goes into the upper half */

_Noreturn void _exit(int code);

static int put_character(char character, FILE *file)
{
    (void)file;
    UART_TRANSMIT = (uint8_t)character;
    return (uint8_t)character;
}

static FILE uart = FDEV_SETUP_STREAM(put_character, NULL, NULL, _FDEV_SETUP_WRITE);
FILE *const stdout = &uart;

_Noreturn void _exit(int code)
{
    TEST_DEVICE = code == 0 ? TEST_PASSED : (uint32_t)code << 16 | TEST_FAILED;
    for (;;) {
    }
}
