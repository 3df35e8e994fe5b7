// SPDX-License-Identifier: Apache-2.0
/*
 * The second stage of the RP2040's start (RP2040 Datasheet, section 2.8.1.3): the boot ROM copies the first
 * 256 bytes of flash to RAM, checks their CRC and runs them. They let the flash be read in place, serially
 * with command 03h, which every flash knows, at an eighth of the clock, and go on to the vectors behind them.
 */
    .syntax unified
    .cpu cortex-m0plus
    .thumb

#define SSI 0x18000000
#define SSI_FRAME 0x00          /* CTRLR0: frames of 32 bits, on one line, read after a command */
#define SSI_FRAME_READ 0x001F0300
#define SSI_WORDS 0x04          /* CTRLR1 */
#define SSI_ENABLE 0x08
#define SSI_DIVIDER 0x14
#define SSI_COMMAND 0xF4        /* SPI_CTRLR0: command 03h of 8 bits, address of 24 */
#define SSI_COMMAND_READ 0x03000218
#define SCB_VTOR 0xE000ED08
#define VECTORS 0x10000100

    .section .boot2, "ax"
boot2:
    ldr r3, =SSI
    movs r1, #0
    str r1, [r3, #SSI_ENABLE]
    movs r1, #8
    str r1, [r3, #SSI_DIVIDER]
    ldr r1, =SSI_FRAME_READ
    str r1, [r3, #SSI_FRAME]
    ldr r1, =SSI_COMMAND_READ
    ldr r0, =SSI + SSI_COMMAND
    str r1, [r0]
    movs r1, #0
    str r1, [r3, #SSI_WORDS]
    movs r1, #1
    str r1, [r3, #SSI_ENABLE]
    ldr r0, =VECTORS
    ldr r1, =SCB_VTOR
    str r0, [r1]
    ldmia r0!, {r1, r2}
    msr msp, r1
    bx r2
    .ltorg
    .fill 252 - (. - boot2), 1, 0
    .word 0x712ADBE8            // CRC-32/MPEG-2 of what is before it; test_chips.py computes it
